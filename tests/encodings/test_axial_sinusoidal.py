import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posenc as pe
from tests.libraries import numpy_of
from tests.oracles import additive as oracle


def test_mae_equals_the_oracle(xp):
    encoding = pe.AxialSinusoidal.mae(16)
    encoded = xp.call(encoding.encode, pe.grid(3, 5).astype(np.int32))
    assert abs(numpy_of(encoded) - oracle.mae_2d(3, 5, 16)).max() <= 1.5e-7


def test_detr_equals_the_oracle(xp):
    encoding = pe.AxialSinusoidal.detr(16)
    encoded = xp.call(encoding.encode, pe.detr_grid(4, 3).astype(np.float32))
    assert abs(numpy_of(encoded) - oracle.detr_2d(4, 3, 16)).max() <= 1e-6  # float32 positions
    exact = encoding.encode(pe.detr_grid(4, 3))
    assert abs(exact - oracle.detr_2d(4, 3, 16)).max() <= 1e-12


def test_the_oracle_tells_the_axes_apart():
    """MAE puts the column first; the other order must not pass for it."""
    swapped = pe.AxialSinusoidal(16, 2, layout="concat", order=(0, 1)).encode(pe.grid(3, 5))
    assert abs(swapped - oracle.mae_2d(3, 5, 16)).max() > 0.1


@given(axes=st.integers(1, 5), extra=st.integers(0, 20))
def test_every_axis_has_channels(axes, extra):
    encoding = pe.AxialSinusoidal(2 * (axes + extra), axes)
    start = encoding.encode(np.zeros((1, axes)))
    moved = encoding.encode(np.eye(axes))
    changed = abs(moved - start) > 1e-3
    assert changed.any(axis=1).all()  # every axis moves some channel
    assert (changed.sum(axis=0) <= 1).all()  # and no channel has two axes


@pytest.mark.parametrize(("dim", "axes"), [(8, 5), (2, 2), (4, 3), (7, 2)])
def test_an_axis_without_channels_is_an_error(dim, axes):
    with pytest.raises(ValueError, match="every axis gets a sine and a cosine; got dim="):
        pe.AxialSinusoidal(dim, axes)


def test_uneven_shares_go_to_the_first_axes():
    """Eight channels for three axes: two pairs, one pair, one pair; others drop the third axis."""
    encoded = pe.AxialSinusoidal(8, 3).encode([[0, 0, 1]])[0]
    assert encoded[:6].tolist() == [0, 1, 0, 1, 0, 1]
    assert np.allclose(encoded[6:], [np.sin(1), np.cos(1)])


def test_batches_of_points(xp):
    points = np.arange(24, dtype=np.int32).reshape(2, 6, 2)
    encoding = pe.AxialSinusoidal(8)
    encoded = numpy_of(xp.call(encoding.encode, points))
    assert encoded.shape == (2, 6, 8)
    assert abs(encoded[1] - encoding.encode(points[1])).max() <= 1.5e-7


def test_add_takes_points(xp, rng):
    x, encoding = rng.normal(size=(2, 6, 8)).astype("f"), pe.AxialSinusoidal(8)
    added = xp.call(encoding.add, x, pe.grid(2, 3).astype(np.int32))
    assert np.allclose(numpy_of(added), x + encoding.encode(pe.grid(2, 3)), atol=5e-7)
