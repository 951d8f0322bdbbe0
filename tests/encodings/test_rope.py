import dataclasses
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posenc as pe
from tests import bounds
from tests.libraries import far_positions, numpy_of
from tests.oracles import rotary as oracle
from tests.scaled import BASE, DIM, SCALINGS
from tests.slow import seldom

FAR = 2**24


def turned(x, positions, w, **options):
    """The oracle's rotation of rows of x, in float64."""
    return np.array(
        [
            [float(y) for y in oracle.rotate(row, p, w, **options)]
            for row, p in zip(x, positions, strict=True)
        ]
    )


@cache  # every library is held to the same
def true_cosines(name):
    """Cosines and sines at far_positions of 50 digits, rounded once."""
    _, w, factor = SCALINGS[name]
    with mpmath.workdps(50):
        angles = [[int(p) * x for x in w] for p in far_positions()]
        return [
            np.array([[float(factor * function(a)) for a in row] for row in angles])
            for function in (mpmath.cos, mpmath.sin)
        ]


@pytest.mark.parametrize("name", SCALINGS)
def test_cosines_are_within_1_5e_7_at_any_position(xp, name):
    rope = pe.RoPE(DIM, scaling=SCALINGS[name][0])
    ours = xp.call(lambda p: rope.cos_sin(p, dtype=xp.dtypes["float32"]), far_positions())
    for table, truth in zip(ours, true_cosines(name), strict=True):
        assert table.shape == (len(far_positions()), DIM // 2)
        assert abs(numpy_of(table) - truth).max() <= 1.5e-7


@pytest.mark.parametrize(
    ("pairing", "scaling"),  # neither sees the other: each scaling once, and each pairing
    seldom(
        product(["interleaved", "halves"], ["plain", "yarn", "llama3", "proportional"]),
        but=[
            ("interleaved", "plain"),
            ("halves", "plain"),
            ("interleaved", "yarn"),
            ("halves", "llama3"),
            ("interleaved", "proportional"),
        ],
    ),
)
def test_rotation_equals_the_oracle(xp, rng, pairing, scaling):
    scaling, w, factor = SCALINGS[scaling]
    x = rng.normal(size=(6, DIM)).astype("f")
    positions = np.array([0, 1, -5, 63, 1000, FAR - 1], dtype=np.int32)
    rope = pe.RoPE(DIM, pairing=pairing, scaling=scaling)
    truth = turned(x, positions, w, pairing=pairing, attention_factor=factor)

    def both_ways(x, y, p):
        return rope.rotate(x, p), rope.rotate(y, p, inverse=True)

    ours, back = xp.call(both_ways, x, truth.astype("f"), positions)
    assert abs(numpy_of(ours) - truth).max() <= 2e-6
    assert abs(numpy_of(back) - x).max() <= 2e-6


@pytest.mark.parametrize("rotated", ["leading", "trailing"])
@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_partial_rotation_turns_only_its_channels(xp, rng, pairing, rotated):
    rope = pe.RoPE(10, rotary_dim=4, pairing=pairing, rotated=rotated)
    x = rng.normal(size=(2, 3, 5, 10)).astype("f")
    positions = np.arange(5, dtype=np.int32) + 7
    ours = numpy_of(xp.call(rope.rotate, x, positions))
    part = slice(0, 4) if rotated == "leading" else slice(6, 10)
    rest = slice(4, 10) if rotated == "leading" else slice(0, 6)
    assert np.array_equal(ours[..., rest], x[..., rest])
    truth = turned(x[1, 2, :, part], positions, oracle.plain(4, BASE), pairing=pairing)
    assert abs(ours[1, 2, :, part] - truth).max() <= 1e-6


@pytest.mark.parametrize("kind", ["fractional", "negative", "packed", "batched"])
def test_any_positions(xp, rng, kind):
    positions = {
        "fractional": np.array([0.5, 1.25, 1000.75], dtype=np.float32),
        "negative": np.array([-1, -2, -3000], dtype=np.int32),
        "packed": pe.packed([2, 1]).astype(np.int32),
        "batched": np.array([[0, 1, 2], [9, 4, 7]], dtype=np.int32),
    }[kind]
    x = rng.normal(size=(2, 4, 3, 8)).astype("f")
    ours = numpy_of(xp.call(pe.RoPE(8).rotate, x, positions))
    for row in range(2):
        where = positions[row] if kind == "batched" else positions
        truth = turned(x[row, 3], where, oracle.plain(8, BASE))
        assert abs(ours[row, 3] - truth).max() <= 2e-6


def test_scores_depend_on_the_distance_only_even_at_2_to_the_24(xp, rng):
    """In float32, both against the scores of float64 at the near positions."""
    q, k = rng.normal(size=(2, 1, 64, 128)).astype("f")
    near = np.arange(64, dtype=np.int32)
    far = near + (FAR - 64)
    rope = pe.RoPE(128)
    truth = pe.logits(rope, q.astype(np.float64), k.astype(np.float64), near, near)
    # a turned channel is off by the table (1.5e-7, 2.6 u), two products and a sum (2 u), each for
    # both channels of its pair: 7 u of the pair's length, for q and for k, and two for the quotient
    lengths = (
        np.repeat(np.linalg.norm(x.reshape(1, 64, 64, 2).astype(np.float64), axis=-1), 2, axis=-1)
        for x in (q, k)
    )
    bound = bounds.products(*lengths, more=16) / 128**0.5
    for scores in xp.call(
        lambda q, k, *both: [pe.logits(rope, q, k, p, p) for p in both], q, k, near, far
    ):
        assert (abs(numpy_of(scores) - truth) <= bound).all()


@given(m=st.integers(0, 10**6), n=st.integers(0, 10**6), shift=st.integers(0, 10**7))
@settings(deadline=None)
def test_relative_norm_preserving_and_composed(m, n, shift):
    rope = pe.RoPE(8)
    q, k = np.arange(1.0, 9.0)[None], np.linspace(-1, 2, 8)[None]
    here = rope.rotate(q, [m]) @ rope.rotate(k, [n]).T
    there = rope.rotate(q, [m + shift]) @ rope.rotate(k, [n + shift]).T
    assert np.allclose(here, there, rtol=0, atol=1e-6)
    assert np.isclose(np.linalg.norm(rope.rotate(q, [m])), np.linalg.norm(q), rtol=1e-14)
    assert np.allclose(rope.rotate(rope.rotate(q, [m]), [n]), rope.rotate(q, [m + n]), atol=1e-7)


@pytest.mark.parametrize("length", [1, 63, 1000])
def test_decoding_equals_prefill(rng, length):
    x, rope = rng.normal(size=(length, 16)).astype("f"), pe.RoPE(16, scaling=pe.YaRN(8.0, 512))
    whole = rope.rotate(x, np.arange(length))
    steps = np.concat([rope.rotate(x[p : p + 1], [p]) for p in range(length)])
    assert np.array_equal(steps, whole)


def test_golden_numbers_of_the_catalogue():
    w = pe.RoPE(128).frequencies()
    kernel = [np.cos(r * w).mean() for r in (0, 1, 2, 5, 10, 50, 100, 1000, 10_000)]
    golden = [1, 0.9702, 0.8966, 0.7373, 0.6691, 0.5462, 0.4772, 0.159, -0.0279]
    assert np.allclose(kernel, golden, atol=6e-5)
    llama = pe.RoPE(128, base=5e5, scaling=pe.Llama3(8.0, 8192)).frequencies()
    ratios = (llama / pe.RoPE(128, base=5e5).frequencies())[29:35]
    assert np.allclose(
        ratios, [0.828168, 0.643743, 0.493507, 0.371122, 0.271425, 0.190211], atol=1e-6
    )
    assert pe.YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=1.0).softmax_factor() == pytest.approx(
        1.8739, abs=1e-4
    )


def test_the_seeds_demonstration_to_the_printed_digits():
    legacy = np.random.RandomState(42)
    q, k = legacy.randn(1, 8), legacy.randn(1, 8)
    rope = pe.RoPE(8)

    def dot(m, n):
        return f"{(rope.rotate(q, [m]) @ rope.rotate(k, [n]).T).item():.6f}"

    assert [dot(0, 0), dot(4, 4)] == ["-4.081900"] * 2
    assert [dot(10, 0), dot(15, 5), dot(18, 8)] == ["-2.769302"] * 3
    assert [dot(6, 16), dot(16, 26), dot(3, 13)] == ["-3.336345"] * 3
    turned_q = rope.rotate(q, [3])[0]
    assert turned_q[:6].round(3).tolist() == [-0.472, 0.207, 0.169, 1.646, -0.227, -0.241]
    assert (3 * rope.frequencies()[:3]).round(3).tolist() == [3.0, 0.3, 0.03]
    assert f"{np.linalg.norm(q):.8f}" == f"{np.linalg.norm(turned_q):.8f}" == "2.48947373"


def test_mutants_are_seen(rng):
    """An inverted ramp, a missing minus, a tiled cosine: each is far beyond the bound."""
    yarn = pe.YaRN(16.0, 4096)
    w = [float(x) for x in oracle.yarn(DIM, BASE, 16.0, 4096)]
    inverted = [
        float(a) / 16 + float(a) - b for a, b in zip(oracle.plain(DIM, BASE), w, strict=True)
    ]
    assert not np.allclose(inverted, w, rtol=1e-3)
    rotations = pe.RoPE(DIM, scaling=dataclasses.replace(yarn, ramp="rotations")).frequencies()
    assert not np.allclose(rotations, w, rtol=1e-3)
    x = rng.normal(size=(1, DIM))
    truth = turned(x, [5], oracle.plain(DIM, BASE))
    for mutant in (
        pe.RoPE(DIM, pairing="halves").rotate(x, [5]),
        pe.RoPE(DIM).rotate(x, [5], inverse=True),
        pe.RoPE(DIM).rotate(x, [6]),
        pe.RoPE(DIM, rotary_dim=DIM - 2).rotate(x, [5]),
        pe.RoPE(DIM, base=10_010.0).rotate(x, [5]),
    ):
        assert abs(mutant - truth).max() > 1e-5


def test_xpos_equals_the_oracle(xp, rng):
    x, positions = rng.normal(size=(4, 8)).astype("f"), np.array([0, 3, -700, 2000], np.int32)
    encoding = pe.XPos(8, centre=100.0)
    ours = xp.call(lambda x, p: (encoding.rotate(x, p), encoding.rotate_keys(x, p)), x, positions)
    for rows, sign in zip(ours, (1, -1), strict=True):
        for mine, row, p in zip(numpy_of(rows), x, positions.tolist(), strict=True):
            truth = [float(y) for y in oracle.xpos(row, p, 8, BASE, centre=100, sign=sign)]
            assert np.allclose(mine, truth, rtol=2e-5, atol=1e-6), p


def test_xpos_turns_back_within_its_reach(xp, rng):
    """At 25,000 the decay is e^-61: its square is no float32."""
    x, positions = rng.normal(size=(4, 64)).astype("f"), np.array([-25_000, -300, 0, 25_000], "i4")
    encoding = pe.XPos(64)

    def there_and_back(x, positions):
        q = encoding.rotate(encoding.rotate(x, positions), positions, inverse=True)
        k = encoding.rotate_keys(encoding.rotate_keys(x, positions), positions, inverse=True)
        return q, k

    # both ways have the same table. Roundings of u = 2^-24: a product and a sum for each turn; in
    # the inverse table a quotient, a product, a square and a sum of squares, a quotient, a product
    # (the square and the first product count twice): 12 in all, relative to the length of a pair,
    # of which a sum of two products may be sqrt(2) times as large
    length = np.repeat(np.linalg.norm(x.reshape(4, 32, 2).astype(np.float64), axis=-1), 2, axis=-1)
    for back in xp.call(there_and_back, x, positions):
        assert (abs(numpy_of(back) - x) <= 12 * 1.5 * 2**-24 * length).all()


def test_xpos_beyond_its_reach_is_nan_where_nobody_can_look():
    import jax
    import jax.numpy as jnp

    encoding = pe.XPos(8, centre=100.0)
    reach = 80 * 512 / np.log(1.4 / 0.4)  # |log decay| of the first pair, zeta = 0.4 / 1.4, is 80
    far = [100 - reach - 10, 100 - reach + 10, 0, 100 + reach - 10, 100 + reach + 10, 1e6]
    positions = jnp.asarray(np.array(far, dtype=np.int32))
    for tables in (encoding.cos_sin, encoding.key_cos_sin):
        for table in jax.jit(tables)(positions):
            assert np.isnan(table).all(axis=1).tolist() == [True, False, False, False, True, True]
            assert np.isfinite(np.asarray(table)[1:4]).all()


def test_xpos_logits_do_not_see_the_centre_nor_how_much_was_asked(rng):
    q, k = rng.normal(size=(2, 30, 8))
    p = np.arange(30)
    whole = pe.logits(pe.XPos(8), q, k, p, p)
    assert np.allclose(pe.logits(pe.XPos(8, centre=15.0), q, k, p, p), whole)
    assert np.allclose(pe.logits(pe.XPos(8), q[20:], k, p[20:], p), whole[20:])
    assert np.allclose(pe.logits(pe.XPos(8), q, k, p + 1000, p + 1000), whole)
    rope = pe.XPos(8, gamma=1e6)  # zeta is 1
    assert np.allclose(pe.logits(rope, q, k, p, p), pe.logits(pe.RoPE(8), q, k, p, p), atol=1e-5)


def test_an_encoding_is_a_value():
    assert pe.RoPE(8, scaling=pe.YaRN(4.0, 512)) == pe.RoPE(
        8, scaling=pe.YaRN(4.0, 512), rotary_dim=8
    )
    assert pe.RoPE(8, scaling=pe.YaRN(4.0, 512)) != pe.RoPE(8, scaling=pe.YaRN(4.0, 513))
    assert len({pe.RoPE(8), pe.RoPE(8), pe.RoPE(8, base=1e6)}) == 2
    assert pe.RoPE(8).at(100) == pe.RoPE(8)


def test_any_length_needs_at_most_8192_rows_and_nothing_grows():
    """Under jit the tables are the same for a short and a far sequence; eager needs none at all."""
    import jax
    import jax.numpy as jnp

    from posenc.core import rotation

    rope = pe.RoPE(16, base=123_456.0)
    rotation._tables.cache_clear()
    rope.cos_sin(np.arange(5000))
    assert rotation._tables.cache_info().currsize == 0
    encode = jax.jit(rope.cos_sin)
    encode(jnp.arange(5))
    encode(jnp.arange(100) + FAR - 100)
    assert rotation._tables.cache_info().currsize == 1
    coarse, fine = rotation._tables(rope.frequencies().tobytes())
    assert coarse.shape[-2] + fine.shape[-2] <= 8192


def test_tables_are_kept_by_every_frequency():
    """Two bases never share a table (a cache keyed by size alone returns the first one's)."""
    import jax
    import jax.numpy as jnp

    for base in (1e4, 5e5, 1e4):
        rope = pe.RoPE(16, base=base)
        jitted = jax.jit(lambda p, rope=rope: rope.cos_sin(p)[0])(jnp.arange(3000, 3005))
        assert np.allclose(jitted, rope.cos_sin(np.arange(3000, 3005))[0], atol=1e-7)


def test_a_rotation_that_does_not_turn_does_not_claim_to_tell_positions_apart():
    assert "unique" not in pe.RoPE(8, scaling=pe.Proportional(0.1)).traits.claims()
    assert "unique" in pe.RoPE(8, scaling=pe.Proportional(0.5)).traits.claims()


def test_a_batch_of_positions_must_be_that_of_x():
    with pytest.raises(ValueError, match="must agree; got shapes"):
        pe.RoPE(8).rotate(np.ones((4, 2, 3, 8)), np.zeros((2, 3), dtype=int))


def test_a_factor_on_the_tables_costs_no_digits_under_jit(rng):
    """Only the rounding of float32 above 1 is left, half of 2^-23."""
    import jax

    rope = pe.RoPE(DIM, scaling=pe.YaRN(40.0, 4096))
    positions = rng.integers(-FAR + 1, FAR, 20_000).astype(np.int32)
    jitted = jax.jit(lambda p: rope.cos_sin(p, dtype=np.float32))(positions)
    for ours, exact in zip(jitted, rope.cos_sin(positions, dtype=np.float64), strict=True):
        assert abs(numpy_of(ours) - exact).max() <= 7e-8
