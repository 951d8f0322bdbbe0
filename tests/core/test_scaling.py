"""What every scaling has unless it says otherwise."""

import numpy as np
import pytest

from posenc.core.scaling import Blend, ByLength, Plain, Scaling


class Halved(Scaling):
    """One of somebody's own: every frequency halved."""

    def frequencies(self, dim, *, base):
        return Plain().frequencies(dim, base=base) / 2


def test_no_scaling_is_the_geometric_series():
    assert np.allclose(Plain().frequencies(8, base=10_000.0), [1, 0.1, 0.01, 0.001], rtol=1e-15)


def test_a_scaling_of_ones_own_states_its_frequencies_alone():
    scaling = Halved()
    assert (scaling.scale, scaling.fits_any_length, scaling.searched) == (1.0, True, False)
    assert scaling.original_length is None
    assert scaling.at(10**6) is scaling
    with pytest.raises(ValueError, match="length must be a whole number of at least 1"):
        scaling.at(0)


def test_frequencies_must_be_stated():
    with pytest.raises(TypeError, match="frequencies"):
        type("Nothing", (Scaling,), {})()


def test_one_that_goes_by_the_length_has_no_frequencies_before_it_is_known():
    scaling = type("Doubling", (ByLength,), {"at": lambda self, length: Plain()})()
    assert not scaling.fits_any_length
    with pytest.raises(ValueError, match="scaling Doubling depends on how long the text is"):
        scaling.frequencies(8, base=10_000.0)
    assert scaling.at(100).frequencies(2, base=10_000.0) == [1]


class Fading(Blend):
    """Keeps the fastest pair, stretches the slowest, and is between them in the middle."""

    factor, original_length = 4.0, 64

    def keep(self, dim, *, base):
        return np.linspace(1, 0, dim // 2)


def test_a_blend_is_of_kept_and_stretched_frequencies():
    w = Fading().frequencies(6, base=1000.0)
    assert np.allclose(w, [1, 0.1 * (0.5 + 0.5 / 4), 0.01 / 4], rtol=1e-12)
