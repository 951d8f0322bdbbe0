import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc.core.frequencies import geometric, geometric_to_base
from tests.oracles import additive as oracle


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 96, 512])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0, 1.0, 2.5])
@pytest.mark.parametrize(("ours", "spacing"), [(geometric, "paper"), (geometric_to_base, "t2t")])
def test_frequencies_are_correctly_rounded(dim, base, ours, spacing):
    with mpmath.workdps(50):
        truth = [float(w) for w in oracle.frequencies(dim, base=base, spacing=spacing)]
    assert ours(dim, base=base).tolist() == truth


@given(dim=st.integers(1, 300), base=st.floats(1.0, 1e9))
def test_frequencies_fall_geometrically_from_one(dim, base):
    w = geometric(dim, base=base)
    assert len(w) == (dim + 1) // 2
    assert w[0] == 1.0
    ratios = w[1:] / w[:-1]
    assert np.allclose(ratios, base ** (-2 / dim), rtol=1e-12)
