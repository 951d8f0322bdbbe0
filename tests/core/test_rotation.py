from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc.core.arrays import cast
from posenc.core.frequencies import geometric
from posenc.core.rotation import cos_sin, rotate, sin_cos
from tests.libraries import numpy_of
from tests.slow import seldom, slow

FAR = 2**24


def truth(positions, frequencies):
    """cos and sin from 50 digits; positions and frequencies are taken exactly."""
    return _truth(tuple(map(float, positions)), tuple(map(float, frequencies)))


@cache  # every library is held to the same
def _truth(positions, frequencies):
    with mpmath.workdps(50):
        angles = [[mpmath.mpf(p) * mpmath.mpf(w) for w in frequencies] for p in positions]
        return tuple(
            np.array([[float(f(a)) for a in row] for row in angles])
            for f in (mpmath.cos, mpmath.sin)
        )


def drawn(rng, kind):
    """Positions up to 2^24: whole, negative, fractional (as float32 and as float64)."""
    whole = np.concatenate([rng.integers(0, FAR, 150), [0, 1, 4095, 4096, FAR - 1]])
    return {
        "whole": whole.astype(np.int32),
        "negative": -whole.astype(np.int32),
        "fractions": rng.uniform(-FAR, FAR, 150) / 2.0 ** rng.integers(0, 20, 150),
        "fractions32": (rng.uniform(-FAR, FAR, 150) / 2.0 ** rng.integers(0, 20, 150)).astype("f"),
    }[kind]


@pytest.mark.parametrize("kind", ["whole", "negative", "fractions", "fractions32"])
def test_float32_cosines_are_within_1_5e_7_of_the_truth(xp, rng, kind):
    positions, w = drawn(rng, kind), geometric(24)
    if xp.name.startswith("jax"):  # JAX has no float64 positions
        positions = positions.astype(np.float32) if positions.dtype == np.float64 else positions
    result = xp.call(lambda p: cos_sin(p, w, dtype=xp.dtypes["float32"]), positions)
    for ours, exact in zip(result, truth(positions, w), strict=True):
        assert abs(numpy_of(ours) - exact).max() <= 1.5e-7


@pytest.mark.parametrize("kind", ["whole", "negative", "fractions"])
def test_float64_cosines_are_within_2e_9_of_the_truth(xp, rng, kind):
    if "float64" not in xp.dtypes:
        return
    positions, w = drawn(rng, kind), geometric(24)
    result = xp.call(lambda p: cos_sin(p, w, dtype=xp.dtypes["float64"]), positions)
    for ours, exact in zip(result, truth(positions, w), strict=True):
        assert abs(numpy_of(ours) - exact).max() <= 2e-9


def test_the_tables_without_float64_are_as_good_as_float64(rng):
    """In JAX under jit: heads of 12 bits multiply exactly, so only the last rounding counts."""
    import jax

    positions, w = rng.integers(0, FAR, 20_000).astype(np.int32), geometric(24)
    jitted = jax.jit(lambda p: cos_sin(p, w, dtype=np.float32))(positions)
    for ours, exact in zip(jitted, cos_sin(positions, w, dtype=np.float64), strict=True):
        assert abs(numpy_of(ours) - exact).max() <= 3.5e-8


def test_positions_past_the_limit_are_nan_where_nobody_can_look():
    import jax
    import jax.numpy as jnp

    far = jnp.asarray([0, FAR - 1, FAR, -FAR, 2**31 - 1, -(2**31)], dtype=jnp.int32)
    cos, _ = jax.jit(lambda p: cos_sin(p, geometric(4), dtype=jnp.float32))(far)
    assert np.isnan(np.asarray(cos)).all(axis=1).tolist() == [False, False, True, True, True, True]


@pytest.mark.parametrize(
    ("dtype", "inside"), [("uint32", [0, FAR - 1]), ("uint16", [0, 65_535]), ("int8", [-128, 127])]
)
def test_no_dtype_of_whole_positions_wraps_under_jit(dtype, inside):
    """2^32 - 1 as an int32 is -1: it must be NaN like all else past the limit."""
    import jax
    import jax.numpy as jnp

    w = geometric(4)
    jitted = jax.jit(lambda p: cos_sin(p, w, dtype=jnp.float32)[0])
    exact, _ = cos_sin(np.array(inside), w, dtype=np.float64)
    assert abs(numpy_of(jitted(jnp.asarray(inside, dtype=dtype))) - exact).max() <= 3.5e-8
    if dtype == "uint32":
        outside = jnp.asarray([FAR, 2**31, 2**32 - FAR + 1, 2**32 - 1], dtype=dtype)
        assert np.isnan(np.asarray(jitted(outside))).all()


@pytest.mark.parametrize(
    ("start", "length"),
    [
        *product([0], [1024, 1025, 1279, 5000]),
        *seldom(
            product([-700, FAR - 5000], [1024, 1025, 1279, 5000]),
            but=[(-700, 1279), (FAR - 5000, 5000)],
        ),
    ],
)
def test_long_runs_equal_one_position_at_a_time(xp, length, start):
    """Runs are built by angle addition: the same numbers, to the bound."""
    positions, w = np.arange(start, start + length, dtype=np.int32), geometric(6)
    run = numpy_of(xp.call(lambda p: sin_cos(p, w, dtype=xp.dtypes["float32"]), positions))
    cos, sin = cos_sin(positions, w, dtype=np.float64)
    assert abs(run - np.stack([sin, cos], axis=-1)).max() <= 3.5e-8
    if "float64" in xp.dtypes:
        run = numpy_of(xp.call(lambda p: sin_cos(p, w, dtype=xp.dtypes["float64"]), positions))
        cos, sin = truth(positions[::61], w)
        assert abs(run[::61] - np.stack([sin, cos], axis=-1)).max() <= 2e-9


@pytest.mark.parametrize("kind", ["swapped", "packed", "batched", "spread"])
def test_rows_of_one_table_come_in_the_order_asked_for(xp, rng, kind):
    """Two positions exchanged within a run, documents, a batch, and positions too far apart."""
    swapped = np.arange(2000, dtype=np.int32)
    swapped[[5, 6]] = 6, 5
    positions = {
        "swapped": swapped,
        "packed": np.concatenate([np.arange(n) for n in (700, 1, 900)]).astype(np.int32),
        "batched": np.stack([np.arange(700), np.arange(700)[::-1] + 40]).astype(np.int32),
        "spread": rng.permutation(np.arange(1500, dtype=np.int32) * 7),
    }[kind]
    pairs = xp.call(lambda p: sin_cos(p, geometric(6), dtype=xp.dtypes["float32"]), positions)
    cos, sin = cos_sin(positions, geometric(6), dtype=np.float64)
    assert abs(numpy_of(pairs) - np.stack([sin, cos], axis=-1)).max() <= 3.5e-8


def test_a_table_is_built_in_its_own_memory():
    """No temporary larger than the table: the peak is the table and the small blocks."""
    import tracemalloc

    positions = np.arange(65_536)
    sin_cos(positions, geometric(64), dtype=np.float32)
    tracemalloc.start()
    table = sin_cos(positions, geometric(64), dtype=np.float32)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.25 * table.nbytes


@pytest.mark.parametrize("kind", [np.int8, np.int16])
def test_the_smallest_whole_number_has_an_angle(xp, kind):
    lowest = np.array([np.iinfo(kind).min], dtype=kind)
    cos, sin = xp.call(lambda p: cos_sin(p, geometric(4), dtype=xp.dtypes["float32"]), lowest)
    expected = cos_sin(lowest.astype(np.int64), geometric(4), dtype=np.float64)
    assert abs(numpy_of(cos) - expected[0]).max() <= 1.5e-7
    assert abs(numpy_of(sin) - expected[1]).max() <= 1.5e-7


# the values come from the graph; that Inductor makes code of such graphs is tested elsewhere
@pytest.mark.parametrize("backend", ["aot_eager", *slow("inductor")])
def test_compiled_positions_past_the_limit_are_nan(backend):
    import torch

    torch.compiler.reset()
    w = geometric(4)
    run = torch.compile(
        lambda p: cos_sin(p, w, dtype=torch.float32)[0], fullgraph=True, backend=backend
    )
    assert torch.isnan(run(torch.tensor([5, FAR, -FAR]))).all(dim=1).tolist() == [False, True, True]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_the_rounded_float32_values(xp, dtype, shuffled, rng):
    if dtype not in xp.dtypes:
        return
    positions = np.arange(3000, dtype=np.int32)
    positions = rng.permutation(positions) if shuffled else positions
    whole = xp.call(lambda p: sin_cos(p, geometric(8), dtype=xp.dtypes["float32"]), positions)
    half = xp.call(lambda p: sin_cos(p, geometric(8), dtype=xp.dtypes[dtype]), positions)
    rounded = cast(whole, xp.dtypes[dtype])
    assert half.dtype == rounded.dtype
    assert np.array_equal(numpy_of(half), numpy_of(rounded))


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_rotation_is_multiplication_by_a_block_diagonal_matrix(xp, pairing, rng):
    dim, angle = 6, np.array([0.3, -1.2, 2.0])
    matrix = np.zeros((dim, dim))
    for i, a in enumerate(angle):
        first, second = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + dim // 2)
        matrix[first, first] = matrix[second, second] = np.cos(a)
        matrix[first, second], matrix[second, first] = -np.sin(a), np.sin(a)
    x = rng.normal(size=(2, 5, dim)).astype("f")
    cos, sin = np.cos(angle).astype("f"), np.sin(angle).astype("f")
    turned = xp.call(lambda x, c, s: rotate(x, c, s, pairing=pairing), x, cos, sin)
    assert np.allclose(numpy_of(turned), x @ matrix.T, atol=1e-6)
    back = xp.call(lambda x, c, s: rotate(x, c, s, pairing=pairing, inverse=True), x, cos, sin)
    assert np.allclose(numpy_of(back), x @ matrix, atol=1e-6)


def test_the_two_pairings_are_one_rotation_of_reordered_channels(rng):
    x, order = rng.normal(size=(3, 8)), [0, 2, 4, 6, 1, 3, 5, 7]
    cos, sin = cos_sin(np.arange(3), geometric(8), dtype=np.float64)
    halves = rotate(x[:, order], cos, sin, pairing="halves")
    assert np.array_equal(halves, rotate(x, cos, sin, pairing="interleaved")[:, order])


@given(a=st.integers(-(2**22), 2**22), b=st.integers(-(2**22), 2**22))
def test_rotations_compose_and_keep_the_norm(a, b):
    w, x = geometric(8), np.arange(1.0, 9.0)
    at = {
        p: [part[0] for part in cos_sin(np.array([p]), w, dtype=np.float64)] for p in (a, b, a + b)
    }
    twice = rotate(rotate(x, *at[a]), *at[b])
    assert np.allclose(twice, rotate(x, *at[a + b]), atol=1e-7)
    assert np.isclose(np.linalg.norm(twice), np.linalg.norm(x), rtol=1e-14)


def test_sixteen_bit_channels_are_turned_in_float32_and_rounded_once(rng):
    import torch

    x = torch.from_numpy(rng.normal(size=(64, 16))).to(torch.bfloat16)
    cos, sin = cos_sin(torch.arange(64), geometric(16), dtype=torch.float32)
    turned = rotate(x, cos, sin)
    assert turned.dtype == torch.bfloat16
    assert torch.equal(turned, rotate(x.float(), cos, sin).to(torch.bfloat16))
