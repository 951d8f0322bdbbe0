import dataclasses
import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posenc as pe
from tests.libraries import far_positions, libraries, numpy_of
from tests.oracles import additive as oracle
from tests.slow import seldom, slow

FAR = 2**24
VARIANTS = [
    {},
    {"layout": "concat"},
    {"spacing": "t2t"},
    {"layout": "concat", "spacing": "t2t"},
    {"base": 500_000.0},
]


@cache  # every library is held to the same
def truth_of(dim, number):
    return oracle.sinusoidal(far_positions(), dim, **VARIANTS[number])


@pytest.mark.parametrize(
    ("dim", "number"),  # every size; and every variant, where the last pair is whole and where not
    [
        *product([1, 2, 7, 8, 33], [0]),
        *product([7, 8], range(1, len(VARIANTS))),
        *slow(*product([1, 2, 33], range(1, len(VARIANTS)))),
    ],
)
def test_every_entry_is_within_the_bound_of_50_digits(xp, dim, number):
    positions, truth = far_positions(), truth_of(dim, number)
    encoding = pe.Sinusoidal(dim, **VARIANTS[number])
    for dtype, bound in (("float32", 1.5e-7), ("float64", 2e-9)):
        if dtype in xp.dtypes:
            ours = xp.call(lambda p, d=dtype: encoding.encode(p, dtype=xp.dtypes[d]), positions)
            assert ours.dtype == xp.dtypes[dtype]
            assert abs(numpy_of(ours) - truth).max() <= bound


@pytest.mark.parametrize(
    ("start", "length"),
    [
        *product([0], [1, 63, 1000, 4097]),
        *seldom(
            product([-31, FAR - 4097], [1, 63, 1000, 4097]),
            but=[(-31, 63), (-31, 4097), (FAR - 4097, 4097)],
        ),
    ],
)
def test_the_libraries_agree_within_2_ulp(length, start):
    """An ulp is that of the largest entries, which lie between 1/2 and 1: 2^-24 in float32."""
    positions, encoding = np.arange(start, start + length, dtype=np.int32), pe.Sinusoidal(12)
    tables = [
        numpy_of(
            xp.call(lambda p, xp=xp: encoding.encode(p, dtype=xp.dtypes["float32"]), positions)
        )
        for xp in libraries()
    ]
    for table in tables[1:]:
        assert abs(table - tables[0]).max() <= 2 * 2.0**-24


def test_the_oracle_rejects_wrong_encodings(rng):
    """The bound is tight enough to see each of these mutants."""
    positions, dim = rng.integers(0, 5000, 50), 8
    truth = oracle.sinusoidal(positions, dim)
    w = 10_000.0 ** (-np.arange(0, dim, 2) / dim)
    angles = positions[:, None] * w

    def interleaved(sin, cos):
        return np.stack([sin, cos], axis=-1).reshape(len(positions), dim)

    mutants = {
        "sine and cosine swapped": interleaved(np.cos(angles), np.sin(angles)),
        "float32 angles": interleaved(np.sin(angles.astype("f")), np.cos(angles.astype("f"))),
        "off by one": interleaved(np.sin(angles + w), np.cos(angles + w)),
        "2i counted twice": interleaved(np.sin(positions[:, None] * w**2), np.cos(angles)),
        "base 10001": pe.Sinusoidal(dim, base=10_001.0).encode(positions),
        "concat": pe.Sinusoidal(dim, layout="concat").encode(positions),
        "t2t": pe.Sinusoidal(dim, spacing="t2t").encode(positions),
    }
    assert abs(pe.Sinusoidal(dim).encode(positions) - truth).max() <= 2e-9
    for name, mutant in mutants.items():
        assert abs(mutant - truth).max() > 1.5e-7, name


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_4096_positions_have_4096_encodings_in_every_dtype(xp, dtype):
    if dtype not in xp.dtypes:
        return
    encoded = xp.call(
        lambda p: pe.Sinusoidal(64).encode(p, dtype=xp.dtypes[dtype]),
        np.arange(4096, dtype=np.int32),
    )
    assert len(np.unique(numpy_of(encoded), axis=0)) == 4096


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_add_rounds_once(xp, rng, dtype):
    if np.dtype(dtype).name not in xp.dtypes:
        return
    x, positions = rng.normal(size=(2, 5, 8)).astype(dtype), np.arange(3, 8, dtype=np.int32)
    added = xp.call(pe.Sinusoidal(8).add, x, positions)
    encoded = pe.Sinusoidal(8).encode(positions, dtype=np.float32)
    expected = (x.astype(np.float32) + encoded).astype(dtype)
    assert numpy_of(added).tolist() == numpy_of(expected).tolist()


def test_a_batch_has_its_own_positions(xp):
    positions = np.array([[0, 1, 2], [7, 8, 9]], dtype=np.int32)
    encoded = numpy_of(xp.call(lambda p: pe.Sinusoidal(4).encode(p), positions))
    for row, expected in zip(encoded, positions, strict=True):
        assert abs(row - oracle.sinusoidal(expected, 4)).max() <= 1.5e-7


def test_decoding_one_token_at_a_time_equals_prefill(rng):
    x, encoding = rng.normal(size=(1, 2000, 16)).astype("f"), pe.Sinusoidal(16)
    whole = encoding.add(x, np.arange(2000))
    steps = [encoding.add(x[:, p : p + 1], [p]) for p in range(0, 2000, 37)]
    truth = x.astype(np.float64) + encoding.encode(np.arange(2000))
    bound = 1.5e-7 + 2**-24 * (abs(truth) + 1e-6)  # the table, and the sum rounded once
    assert (abs(whole - truth) <= bound).all()
    assert (abs(np.concat(steps, axis=1) - truth[:, ::37]) <= bound[:, ::37]).all()


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@given(p=st.integers(-(2**20), 2**20), k=st.floats(-1000, 1000))
def test_shift_is_one_matrix_for_every_position(variant, p, k):
    encoding = pe.Sinusoidal(8, **variant)
    moved = encoding.shift(k) @ encoding.encode([float(p)])[0]
    assert np.allclose(moved, encoding.encode([p + k])[0], atol=1e-8)


def test_shift_composes_and_undoes_itself():
    encoding = pe.Sinusoidal(6)
    assert np.allclose(encoding.shift(3) @ encoding.shift(4), encoding.shift(7), atol=1e-14)
    assert np.allclose(encoding.shift(5) @ encoding.shift(-5), np.eye(6), atol=1e-14)


@pytest.mark.parametrize("layout", ["interleaved", "concat"])
@pytest.mark.parametrize("dim", [7, 64])
def test_locate_finds_the_position_of_a_noisy_encoding(rng, dim, layout):
    encoding = pe.Sinusoidal(dim, layout=layout)
    limit = int(encoding.wavelengths().max())
    positions = rng.integers(0, limit, 60)
    vectors = encoding.encode(positions)
    assert encoding.locate(vectors).tolist() == positions.tolist()
    if dim == 64:
        noisy = vectors + rng.normal(scale=0.2, size=vectors.shape)
        assert np.mean(encoding.locate(noisy) == positions) == 1.0


FARTHEST = 2**24 - 1


@pytest.mark.parametrize("layout", ["interleaved", "concat"])
@pytest.mark.parametrize("spacing", ["paper", "t2t"])
@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 17, 96, 512])
def test_locate_finds_every_position_below_the_limit(rng, dim, spacing, layout):
    encoding = pe.Sinusoidal(dim, spacing=spacing, layout=layout)
    positions = np.concatenate([[0, 1, 123_457, FARTHEST], rng.integers(0, FARTHEST, 6)])
    located = encoding.locate(encoding.encode(positions), with_distance=True)
    if dim == 1:  # sines alone come within 3e-9 of each other: some such position is found
        again = encoding.encode(located.positions)
        assert abs(again - encoding.encode(positions)).max() <= 1e-8
        return
    assert located.positions.tolist() == positions.tolist()
    assert located.distance.max() <= 2e-9 * np.sqrt(dim)  # an angle is off by 2e-9 at most
    assert (located.distance < located.next_distance).all()


@pytest.mark.parametrize("base", [1.0, 2.0, 100.0, 1e6])
def test_locate_with_any_base(rng, base):
    """With small ones no wave is slow: thousands of turns fit below the limit."""
    encoding = pe.Sinusoidal(32, base=base)
    positions = rng.integers(0, FARTHEST, 3)
    assert encoding.locate(encoding.encode(positions)).tolist() == positions.tolist()


@pytest.mark.parametrize(("dim", "noise"), [(16, 0.05), (32, 0.1), (96, 0.2), (512, 0.4)])
def test_locate_sees_through_noise(rng, dim, noise):
    """Neighbours are sqrt(sum 2 - 2 cos w) apart, noise along that line has this deviation."""
    encoding = pe.Sinusoidal(dim)
    apart = np.linalg.norm(np.subtract(*encoding.encode([0, 1])))
    assert noise < apart / 2 / 4  # at four deviations: 3e-5 of the vectors
    positions = rng.integers(0, FARTHEST, 10)
    vectors = encoding.encode(positions) + rng.normal(scale=noise, size=(10, dim))
    assert encoding.locate(vectors).tolist() == positions.tolist()


@pytest.mark.parametrize(
    ("dim", "base", "noise"),
    [(32, 2.0, 0.1), (33, 10.0, 0.1), (64, 10.0, 0.2), (96, 1.5, 0.2), (512, 2.0, 0.01)],
)
def test_locate_sees_through_noise_where_no_wave_is_slow(rng, dim, base, noise):
    """The slowest wave makes more than 2^15 turns: what is nearest is found by scoring all."""
    encoding = pe.Sinusoidal(dim, base=base)
    positions = rng.integers(0, FARTHEST, 3)
    vectors = encoding.encode(positions) + rng.normal(scale=noise, size=(3, dim))
    assert encoding.locate(vectors).tolist() == positions.tolist()


@pytest.mark.parametrize(("dim", "base"), [(3, 2.0), (4, 2.0), (4, 1.01), (5, 1.0)])
def test_locate_tells_how_far_the_nearest_of_all_positions_is(rng, dim, base):
    """Where noise leaves many positions alike the lowest is taken, and the nearest is told."""
    encoding = pe.Sinusoidal(dim, base=base)
    w, least = encoding.frequencies(), np.inf
    vector = encoding.encode([12_345_678])[0] + rng.normal(scale=0.05, size=dim)
    for start in range(0, 2**24, 2**20):
        p = np.arange(start, start + 2**20, dtype=np.float64)
        waves = [(np.cos if i % 2 else np.sin)(p * w[i // 2]) for i in range(dim)]
        least = min(least, np.min(sum((a - x) ** 2 for a, x in zip(waves, vector, strict=True))))
    located = encoding.locate(vector, with_distance=True)
    assert np.isclose(min(located.distance, located.next_distance), np.sqrt(least), rtol=1e-6)
    assert located.distance**2 <= least * (1 + 6 / dim) * (1 + 1e-6)


def test_locate_takes_any_dtype_of_any_library(xp):
    encoding, p = pe.Sinusoidal(96), np.array([[3, 60_000], [9_876_543, FARTHEST]], dtype=np.int32)
    dtypes = [xp.dtypes[name] for name in ("float32", "float16", "bfloat16") if name in xp.dtypes]
    assert dtypes
    for dtype in dtypes:
        found = encoding.locate(encoding.encode(xp.array(p), dtype=dtype))
        assert isinstance(found, np.ndarray)
        assert found.tolist() == p.tolist()


def test_locate_takes_the_lowest_of_positions_that_noise_makes_alike():
    """With w = 1, 0.1, 0.01, 0.001 a step of 169,646 = 27 * 2000 pi turns no pair by 0.004."""
    encoding = pe.Sinusoidal(8)
    noisy = encoding.encode([1234]) + 0.05
    located = encoding.locate(noisy, with_distance=True)
    assert located.positions == [1234]
    assert np.allclose(located.distance, 0.05 * np.sqrt(8))
    assert located.next_distance < 0.15  # and tells that others are as near
    assert pe.Sinusoidal(2).locate(pe.Sinusoidal(2).encode([3]) + 0.01) == [3]


@pytest.mark.parametrize("dim", [2, 8, 96])
def test_locate_refuses_what_lies_near_no_position(rng, dim):
    encoding = pe.Sinusoidal(dim)
    message = r"vector must lie within sqrt\(dim\) / 2 = .* of the encoding of a position, or "
    for vector in (np.zeros(dim), 3 * encoding.encode([5])[0], np.full(dim, -9.0)):
        with pytest.raises(ValueError, match=message):
            encoding.locate(vector)
        with pytest.raises(ValueError, match=message):
            encoding.locate(vector, candidates=[0, 1])
        located = encoding.locate(vector, with_distance=True)
        assert located.positions.shape == ()
        assert located.distance > np.sqrt(dim) / 2
    if dim == 96:  # of as many directions none is near by chance
        with pytest.raises(ValueError, match=message):
            encoding.locate(rng.normal(scale=np.sqrt(0.5), size=dim))
    assert encoding.locate(np.zeros((0, dim))).shape == (0,)


def test_locate_chooses_among_the_candidates():
    encoding = pe.Sinusoidal(16)
    vector = encoding.encode([-3.5])[0]
    assert encoding.locate(vector, candidates=[-4.0, -3.5, 2.0]) == -3.5
    assert encoding.locate(vector, candidates=[-4, 2]) == -4
    vector = encoding.encode([-3.4])[0]
    located = encoding.locate(vector, candidates=[2, -4, -3], with_distance=True)
    assert located.positions == -3
    off = np.linalg.norm(encoding.encode([-3, -4]) - vector, axis=-1)
    assert np.allclose([located.distance, located.next_distance], off)


def test_wavelengths_are_positions_per_turn_of_each_channel():
    encoding = pe.Sinusoidal(5, layout="concat")
    start, turned = encoding.encode([0])[0], encoding.encode(encoding.wavelengths())
    assert np.allclose(np.diag(turned), start, atol=1e-12)
    assert encoding.wavelengths().shape == (5,)
    assert np.isclose(encoding.wavelengths()[0], 2 * np.pi)


def test_golden_numbers_of_the_catalogue():
    table = pe.Sinusoidal(512).encode([0, 1, 2, 5, 10, 50, 100, 500, 1000])
    golden = [256, 249.1021, 231.7336, 189.5967, 173.7897, 131.0908, 111.9502, 67.2331, 44.9716]
    assert np.allclose(table @ table[0], golden, atol=5e-5)
    t2t = pe.Sinusoidal(8, layout="concat", spacing="t2t").encode([1])[0]
    golden = [0.841471, 0.046399, 0.002154, 0.0001, 0.540302, 0.998923, 0.999998, 1]
    assert np.allclose(t2t, golden, atol=5e-7)


def test_an_encoding_is_a_value():
    assert pe.Sinusoidal(8) == pe.Sinusoidal(8, base=10_000)
    assert hash(pe.Sinusoidal(8)) == hash(pe.Sinusoidal(8))
    assert pe.Sinusoidal(8) != pe.Sinusoidal(8, base=10_001.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        pe.Sinusoidal(8).dim = 16  # pyright: ignore
    assert pickle.loads(pickle.dumps(pe.Sinusoidal(8))) == pe.Sinusoidal(8)
    wider = dataclasses.replace(pe.Sinusoidal(8), dim=16)
    assert wider.encode([3]).shape == (1, 16)
    frequencies = pe.Sinusoidal(8).frequencies()
    frequencies[:] = 0  # the caller's copy, not ours
    assert pe.Sinusoidal(8).frequencies()[0] == 1.0


@pytest.mark.parametrize("encoding", [pe.Sinusoidal(8), pe.Sinusoidal(7), pe.AxialSinusoidal(8)])
def test_traits_hold(encoding, rng):
    assert {"unique", "any_length", "bounded"} <= set(encoding.traits.claims())
    shape = (500,) if encoding.axes is None else (500, encoding.axes)
    encoded = encoding.encode(rng.integers(-FAR + 1, FAR, shape))
    assert np.all(abs(encoded) <= 1.0)
    assert len(np.unique(encoded, axis=0)) == 500
    assert encoding.traits.linear_shift == (encoding.dim % 2 == 0)
