import numpy as np
import pytest

import posenc as pe
from posenc.core.arrays import is_torch
from tests.libraries import numpy_of
from tests.oracles import additive as oracle


def given(xp, params):
    return {name: xp.array(values) for name, values in params.items()}


def test_init_is_normal_with_the_papers_deviation(rng):
    table = pe.Learned(2000, 64).init(rng)["table"]
    assert table.dtype == np.float32
    assert abs(table.std() - 0.02) < 2e-4
    assert abs(table.mean()) < 2e-4
    assert not np.array_equal(table, pe.Learned(2000, 64).init(rng)["table"])


@pytest.mark.parametrize("positions", [[0, 9, 3], [[1, 2], [3, 3]], []])
def test_a_position_is_a_row_of_the_table(xp, rng, positions):
    encoding, positions = pe.Learned(10, 4), np.asarray(positions, dtype=np.int32)
    params = encoding.init(rng)
    rows = xp.call(lambda p, t: encoding.encode(p, {"table": t}), positions, params["table"])
    assert numpy_of(rows).tolist() == params["table"][positions].astype(float).tolist()


def test_positions_beyond_the_table_are_nan_where_nobody_can_look(rng):
    import jax

    table = pe.Learned(4, 2).init(rng)["table"]
    rows = jax.jit(lambda p: pe.Learned(4, 2).encode(p, {"table": jax.numpy.asarray(table)}))(
        np.array([3, 4, -1])
    )
    assert np.isnan(np.asarray(rows)).all(axis=1).tolist() == [False, True, True]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
def test_small_whole_numbers_index_long_tables(xp, rng, kind):
    encoding, positions = pe.Learned(300, 2), np.array([0, 100], dtype=kind)
    table = encoding.init(rng)["table"]
    if xp.name == "torch" and kind is np.uint16:
        return  # PyTorch hardly computes with it
    rows = xp.call(lambda p, t: encoding.encode(p, {"table": t}), positions, table)
    assert np.allclose(numpy_of(rows), table[[0, 100]])


def test_a_small_negative_index_does_not_wrap_under_jit(rng):
    import jax
    import jax.numpy as jnp

    encoding = pe.Learned(300, 2)
    params = {"table": jnp.asarray(encoding.init(rng)["table"])}
    rows = jax.jit(lambda p: encoding.encode(p, params))(jnp.array([-1], dtype=jnp.int8))
    assert np.isnan(rows).all()


def test_sixteen_bit_tables_are_resized_in_float32(rng):
    encoding = pe.Learned(5, 3)
    table = encoding.init(rng)["table"].astype(np.float16)
    half = encoding.resize({"table": table}, 9)["table"]
    whole = encoding.resize({"table": table.astype(np.float32)}, 9)["table"]
    assert half.dtype == np.float16
    assert np.array_equal(half, whole.astype(np.float16))


@pytest.mark.parametrize(("old", "new"), [(2, 4), (7, 13), (16, 5), (5, 5), (1, 3), (9, 1)])
def test_resize_interpolates_linearly_between_centres(xp, rng, old, new):
    encoding = pe.Learned(old, 3)
    params = encoding.init(rng)
    resized = encoding.resize(given(xp, params), new)["table"]
    assert abs(numpy_of(resized) - oracle.resize_1d(params["table"], new)).max() < 1e-7


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize(("old", "new"), [((4, 4), (7, 9)), ((8, 6), (3, 4)), ((5, 3), (5, 3))])
def test_resize_grid_is_bicubic(xp, rng, old, new, antialias):
    prefix = 2
    encoding = pe.Learned(prefix + old[0] * old[1], 3)
    params = encoding.init(rng)
    resized = encoding.resize_grid(given(xp, params), old, new, antialias=antialias, prefix=prefix)
    resized = numpy_of(resized["table"])
    truth = oracle.resize_2d(params["table"][prefix:], old, new, antialias=antialias)
    assert abs(resized[prefix:] - truth).max() < 1e-7
    assert resized[:prefix].tolist() == params["table"][:prefix].astype(float).tolist()


@pytest.mark.parametrize("antialias", [True, False])
def test_resize_grid_is_what_pytorch_does(rng, antialias):
    import torch

    encoding = pe.Learned(14 * 14, 8)
    table = torch.from_numpy(encoding.init(rng)["table"]).double()
    ours = encoding.resize_grid({"table": table}, (14, 14), (24, 10), antialias=antialias)["table"]
    image = table.reshape(1, 14, 14, 8).permute(0, 3, 1, 2)
    theirs = torch.nn.functional.interpolate(
        image, size=(24, 10), mode="bicubic", antialias=antialias, align_corners=False
    )
    theirs = theirs.permute(0, 2, 3, 1).reshape(240, 8)
    assert is_torch(ours)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-14)


def test_antialias_matters(rng):
    encoding = pe.Learned(64, 2)
    params = encoding.init(rng)
    tables = [
        encoding.resize_grid(params, (8, 8), (4, 4), antialias=antialias)["table"]
        for antialias in (True, False)
    ]
    assert abs(tables[0] - tables[1]).max() > 1e-3


def test_resized_parameters_serve_the_longer_encoding(rng):
    params = pe.Learned(4, 2).resize(pe.Learned(4, 2).init(rng), 9)
    assert pe.Learned(9, 2).encode([8], params).shape == (1, 2)


def test_dtype_is_the_tables_unless_given(rng):
    params = pe.Learned(4, 2).init(rng)
    assert pe.Learned(4, 2).encode([1], params).dtype == np.float32
    assert pe.Learned(4, 2).encode([1], params, dtype=np.float16).dtype == np.float16
