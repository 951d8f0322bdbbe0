"""What every scaling has unless it says otherwise."""

import numpy as np
import pytest

from posenc.core.scaling import Plain, Scaling


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
