"""Keys of a cache, moved: against a product of complex numbers at 50 digits, on every library."""

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
import torch

import posenc as pe
from posenc.core.shift import find_rotary, read_shift
from tests import bounds
from tests.libraries import numpy_of
from tests.oracles import rotary as oracle
from tests.slow import in_turn

BATCH, HEADS, SEQ, DIM = 2, 2, 5, 8
PLAIN = oracle.plain(DIM, 10_000)
ENCODINGS = {
    "interleaved": (pe.RoPE(DIM), PLAIN),
    "halves": (pe.RoPE(DIM, pairing="halves"), PLAIN),
    "leading": (pe.RoPE(DIM, rotary_dim=4), oracle.plain(4, 10_000)),
    "trailing": (pe.RoPE(DIM, rotary_dim=4, rotated="trailing"), oracle.plain(4, 10_000)),
    # whose keys are longer by a factor, which is not to be applied twice
    "yarn": (pe.RoPE(DIM, scaling=pe.YaRN(4.0, 64)), oracle.yarn(DIM, 10_000, 4, 64)),
    "tempered": (pe.Tempered(pe.RoPE(DIM), pe.LogN(16)), PLAIN),
    "fixed": (
        pe.RoPE(DIM, scaling=pe.DynamicNTK(2.0, 64)).at(128),
        oracle.dynamic_ntk(DIM, 10_000, 2, 64, 128),
    ),
}
SHIFTS = {
    "a number": np.array(-3),
    "far": np.array(2**24 - 1),
    "fraction": np.array(0.375),
    "each token": np.array([0, -1, 7, 1000, -(2**20)]),
    "each row": np.array([[5], [-63]]),
    "each of all": np.arange(BATCH * SEQ).reshape(BATCH, SEQ) * 0.5 - 1,
}


def turn(keys, by, w, *, pairing="interleaved", first=0, axis=None):
    """keys (batch, head, seq, dim) in complex128, pair i times e^(i by w_i), by hand.

    by      broadcasts to (batch, seq), or to (batch, seq, axis) if pairs follow axes
    first   the first channel that turns
    """
    grid = (BATCH, SEQ) if axis is None else (BATCH, SEQ, 3)
    by, out = np.broadcast_to(by, grid), keys.astype(np.complex128).real.copy()
    pairs = len(w)
    for i, omega in enumerate(w):
        a, b = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + pairs)
        moved = by if axis is None else by[..., axis[i]]
        with mpmath.workdps(50):
            turns = np.array(
                [
                    complex(mpmath.expj(mpmath.mpf(float(each)) * omega))
                    for each in moved.reshape(-1)
                ]
            ).reshape(moved.shape)
        z = (keys[..., first + a] + 1j * keys[..., first + b]) * turns[:, None]
        out[..., first + a], out[..., first + b] = z.real, z.imag
    return out


def roundings(keys, by, w, dtype, *, pairing, first=0):
    """The bound of a rotation: 4 roundings of the pair's channels, and those of a half at the end.

    Two more of the angle in float64, where it is a product of rounded numbers; elsewhere 4 more for
    the fraction that jit turns by separately.
    """
    wide = "float64" if dtype == "float64" else "float32"
    angle = np.abs(by).max() * float(w[0]) if wide == "float64" else 0.0
    size = np.zeros(keys.shape)
    for i in range(len(w)):
        a, b = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + len(w))
        pair = np.abs(keys[..., first + a]) + np.abs(keys[..., first + b])
        size[..., first + a] = size[..., first + b] = pair
    return bounds.UNIT[wide] * (8 + 2 * angle) * size


def error(xp, encoding, w, keys, by, dtype, **how):
    """The largest error of `rotate_cached` as a multiple of its bound."""
    kept = xp.array(keys)
    kept = kept if dtype == str(kept.dtype).rpartition(".")[2] else _cast(kept, xp.dtypes[dtype])
    given = numpy_of(kept)
    if by.dtype.kind == "f" and "float64" not in xp.dtypes:
        by = by.astype("f")
    made = xp.run(lambda k, d: pe.rotate_cached(encoding, k, by=d), kept, xp.array(by))
    assert made.dtype == kept.dtype
    pairing = how.get("pairing", "interleaved")
    truth = turn(given, by, w, **how)
    bound = roundings(given, by, w, dtype, pairing=pairing, first=how.get("first", 0))
    if dtype in ("float16", "bfloat16"):
        bound = bound + bounds.UNIT[dtype] * np.abs(truth) + 2.0**-25
    return (np.abs(numpy_of(made) - truth) / np.maximum(bound, 1e-300)).max()


def _cast(array, dtype):
    return array.to(dtype) if isinstance(array, torch.Tensor) else array.astype(dtype)


def facts(name):
    encoding, w = ENCODINGS[name]
    inner = getattr(encoding, "encoding", encoding)
    first = DIM - 4 if inner.rotated == "trailing" else 0
    return encoding, w, {"pairing": inner.pairing, "first": first}


@pytest.mark.parametrize(("name", "shift"), in_turn(ENCODINGS, of=[*SHIFTS]))
def test_keys_are_turned_by_the_difference(xp, rng, name, shift):
    encoding, w, how = facts(name)
    keys = rng.normal(size=(BATCH, HEADS, SEQ, DIM)).astype("f")
    by = SHIFTS[shift]
    by = by.astype(np.int32) if by.dtype.kind == "i" else by
    assert error(xp, encoding, w, keys, by, "float32", **how) <= 1


def test_it_is_exact_to_one_rounding_of_every_dtype(xp, rng):
    encoding, w, how = facts("interleaved")
    for dtype in xp.dtypes:
        keys = rng.normal(size=(BATCH, HEADS, SEQ, DIM)).astype("d" if dtype == "float64" else "f")
        assert error(xp, encoding, w, keys, SHIFTS["a number"], dtype, **how) <= 1, dtype


@pytest.mark.parametrize("by", [-3, 2.5, 2**24 - 1])
def test_float32_is_rounded_once_where_there_is_float64(rng, by):
    """Half a unit in the last place, and what float64 is off by: 2 roundings of an angle."""
    encoding, w, how = facts("interleaved")
    keys = rng.normal(size=(BATCH, HEADS, SEQ, DIM)).astype("f")
    for made in (
        pe.rotate_cached(encoding, keys, by=by),
        pe.rotate_cached(encoding, torch.tensor(keys), by=by).numpy(),
    ):
        truth = turn(keys, np.array(by), w, **how)
        beside = 2.0**-52 * (2 + abs(by)) * np.abs(keys).max() * 2
        assert made.dtype == np.float32
        assert (np.abs(made - truth) <= np.spacing(np.abs(made)) / 2 + beside).all()


def test_the_bound_rejects_another_pairing_a_position_off_and_a_second_factor(xp, rng):
    keys = rng.normal(size=(BATCH, HEADS, SEQ, DIM)).astype("f")
    encoding, w, how = facts("interleaved")
    by = SHIFTS["a number"]
    assert error(xp, encoding, w, keys, by, "float32", pairing="halves") > 1
    assert error(xp, encoding, [x * (1 + 2.0**-20) for x in w], keys, by, "float32", **how) > 1
    yarn, w, how = facts("yarn")
    assert yarn.attention_factor > 1.1
    twice = np.array(yarn.rotate_keys(keys, np.full(SEQ, -3)))
    assert not np.allclose(twice, turn(keys, by, w, **how), rtol=0.05)


@pytest.mark.parametrize("length", [1, 63, 1000])
def test_moving_is_rotating_at_the_sum(rng, length):
    """In float64, whatever the positions: packed, negative, fractional, with a factor or decay."""
    keys = rng.normal(size=(3, length, DIM))
    where = rng.integers(-1000, 1000, (3, length)) + rng.choice([0.0, 0.5], (3, length))
    by = rng.integers(-500, 500, (3, 1)) + 0.25
    for encoding in (
        pe.RoPE(DIM, scaling=pe.YaRN(4.0, 64), pairing="halves"),
        pe.XPos(DIM),
        pe.XPos(DIM, centre=512.0, pairing="halves"),
    ):
        moved = pe.rotate_cached(encoding, encoding.rotate_keys(keys, where), by=by)
        truth = encoding.rotate_keys(keys, where + by)
        assert np.allclose(moved, truth, rtol=1e-11, atol=1e-12 * np.abs(truth).max())


def test_logits_are_those_of_the_new_positions(rng):
    """xPos decays by the distance: a query sees a moved key as one that was always there."""
    xpos = pe.XPos(DIM)
    q, k = rng.normal(size=(2, 1, DIM))
    moved = pe.rotate_cached(xpos, xpos.rotate_keys(k, [100]), by=200)
    truth = xpos.rotate(q, [310]) @ xpos.rotate_keys(k, [300]).T
    assert np.allclose(xpos.rotate(q, [310]) @ moved.T, truth, rtol=1e-12)


@pytest.mark.parametrize(
    "by", [4, [1, -2, 30], [[[1, 2, 3]], [[-4, 0, 9]]]], ids=["all axes", "each axis", "rows"]
)
@pytest.mark.parametrize("interleaved", [False, True])
def test_points_move_along_each_of_their_axes(rng, by, interleaved):
    mrope = pe.AxialRoPE.mrope(16, sections=(4, 2, 2), interleaved=interleaved)
    axis = [0, 1, 2, 0, 1, 2, 0, 0] if interleaved else [0] * 4 + [1] * 2 + [2] * 2
    keys = rng.normal(size=(BATCH, HEADS, SEQ, 16))
    made = pe.rotate_cached(mrope, keys, by=by)
    truth = turn(keys, np.array(by), oracle.plain(16, 10_000), pairing="halves", axis=axis)
    assert np.allclose(made, truth, rtol=1e-13, atol=1e-13)


@dataclass(frozen=True)
class Offset(pe.Rotary):
    """A user's own: a phase of 1 at position 0, a factor of 2, and angles that it learns."""

    dim: int
    claims: bool = True

    @property
    def traits(self):
        return pe.Traits(relative=self.claims)

    def init(self, rng, *, like=None):
        return {"w": np.full(self.dim // 2, 0.1, np.float32)}

    def cos_sin(self, positions, params=None, *, dtype=None):
        angles = 1 + np.asarray(positions)[..., None] * self.read_params(params)["w"].astype(float)
        return (2 * np.cos(angles)).astype(dtype), (2 * np.sin(angles)).astype(dtype)


def test_one_of_a_users_own_moves_if_it_says_that_it_is_relative(rng):
    own, k = Offset(4), rng.normal(size=(3, 4))
    params = own.init(rng)
    moved = pe.rotate_cached(own, own.rotate_keys(k, [0, 1, 9], params), by=7, params=params)
    assert np.allclose(moved, own.rotate_keys(k, [7, 8, 16], params))
    with pytest.raises(TypeError, match="Offset does not state that it is relative"):
        pe.rotate_cached(Offset(4, claims=False), k, by=1, params=params)


def test_the_gradient_is_turned_back(rng):
    keys = torch.tensor(rng.normal(size=(2, 3, DIM)), requires_grad=True)
    back = torch.tensor(rng.normal(size=(2, 3, DIM)))
    pe.rotate_cached(pe.RoPE(DIM), keys, by=11).backward(back)
    assert torch.allclose(keys.grad, pe.rotate_cached(pe.RoPE(DIM), back, by=-11), atol=1e-14)


def test_no_key_and_no_difference(rng):
    assert pe.rotate_cached(pe.RoPE(DIM), np.zeros((2, 0, DIM)), by=3).shape == (2, 0, DIM)
    keys = rng.normal(size=(SEQ, DIM)).astype("f")
    assert np.array_equal(pe.rotate_cached(pe.RoPE(DIM), keys, by=0), keys)


def test_wrappers_are_seen_through_if_they_leave_keys_alone():
    assert find_rotary(pe.Tempered(pe.RoPE(8), pe.LogN(4))) == pe.RoPE(8)


def test_small_whole_numbers_do_not_wrap():
    by = read_shift(np.array(-3, np.int8), np.zeros((2, 8)), axes=None)
    assert (by.dtype, by.tolist()) == (np.int64, [-3])


@pytest.mark.parametrize(
    "by",
    [np.int64(3), np.float32(3), torch.tensor(3, dtype=torch.uint8), [3], (3,) * SEQ, range(3, 4)],
    ids=repr,
)
def test_every_way_to_say_the_same_difference(by):
    keys = torch.randn(BATCH, HEADS, SEQ, DIM)
    expected = pe.rotate_cached(pe.RoPE(DIM), keys, by=3)
    assert torch.equal(pe.rotate_cached(pe.RoPE(DIM), keys, by=by), expected)


KEYS = np.zeros((2, 3, 5, 8))


@dataclass(frozen=True)
class Wrapping(pe.Scores):
    encoding: pe.Encoding

    @property
    def inner(self):
        return self.encoding

    def scores(self, q, k, q_pos, k_pos, params=None):
        return q @ k


@dataclass(frozen=True)
class Selective(pe.Rotary):
    dim: int
    needs = frozenset({"features"})

    def cos_sin(self, positions, params=None, *, dtype=None, features=None):
        return features, features


@pytest.mark.parametrize(
    ("encoding", "keys", "by", "kind", "message"),
    [
        (pe.ALiBi(3), KEYS, 1, TypeError, "ALiBi is bias, and its cached keys are as projected"),
        (pe.Sinusoidal(8), KEYS, 1, TypeError, "encoding must rotate keys; Sinusoidal is additive"),
        (RuntimeError, KEYS, 1, TypeError, "must be an Encoding; got <class 'RuntimeError'>$"),
        ("rope", KEYS, 1, TypeError, "got 'rope'; pe.make makes one by its name$"),
        (Selective(8), KEYS, 1, TypeError, "must not depend on the tokens; got Selective"),
        (Wrapping(pe.RoPE(8)), KEYS, 1, TypeError, "Wrapping does more than multiply queries"),
        (
            pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 64)),
            KEYS,
            1,
            ValueError,
            r"encoding must be fixed with encoding.at\(length\), the length that the keys were",
        ),
        (pe.RoPE(8), KEYS[..., :6], 1, ValueError, r"keys must be \(…, seq, 8\); got shape"),
        (pe.RoPE(8), KEYS[0, 0, 0], 1, ValueError, r"keys must be \(…, seq, dim\); got shape"),
        (pe.RoPE(8), KEYS.astype(int), 1, TypeError, "keys must have a real floating dtype"),
        (pe.RoPE(8), KEYS, np.nan, ValueError, "by must be finite; got by=nan"),
        (pe.RoPE(8), KEYS, "far", TypeError, "by must be numbers; got 'far'"),
        (pe.RoPE(8), KEYS, None, TypeError, "by must be numbers; got None"),
        (pe.RoPE(8), KEYS, 2**24, ValueError, "by must lie between .*; got by=16777216"),
        (
            pe.RoPE(8),
            KEYS,
            np.ones(5, np.float16),
            TypeError,
            "by must be whole numbers, float32 or",
        ),
        (
            pe.RoPE(8),
            KEYS,
            np.array([1, 2]),
            ValueError,
            r"by must be a number, \(seq,\) or \(batch, seq\), or \(batch, 1\) for keys "
            r"\(batch, …, seq, dim\); got \(2,\) for keys \(2, 3, 5, 8\)",
        ),
        (pe.RoPE(8), KEYS, np.zeros((3, 1)), ValueError, r"got \(3, 1\) for keys \(2, 3, 5, 8\)"),
        (
            pe.AxialRoPE(8, pe.Split(axes=2)),
            KEYS,
            [1, 2, 3],
            ValueError,
            r"by must be a number, \(2,\), \(seq, 2\) or \(batch, seq, 2\), or \(batch, 1, 2\)",
        ),
        (pe.RoPE(8), KEYS, torch.tensor(1), TypeError, "keys and by must come from the same array"),
    ],
)
def test_what_cannot_be_moved_is_a_sentence(encoding, keys, by, kind, message):
    with pytest.raises(kind, match=message):
        pe.rotate_cached(encoding, keys, by=by)


def test_an_argument_of_another_name_is_hinted():
    with pytest.raises(TypeError, match="rotate_cached has no argument 'delta'; it takes by, par"):
        pe.rotate_cached(pe.RoPE(8), KEYS, delta=1)
