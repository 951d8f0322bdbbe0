"""`KVCache.take`, `shift` and `join`: attention to it equals attention to tokens always there."""

import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, KVCache, attend
from tests.slow import seldom
from tests.torch import test_cache as plain
from tests.torch.attention import truth as attention

ENCODINGS = [
    name for name, e in plain.encodings().items() if not isinstance(plain.value_of(e), pe.Additive)
]
LENGTH = plain.LENGTH


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def points(encoding, where):
    """Positions of the text: numbers, or points that move along the diagonal of the grid."""
    axes = plain.value_of(encoding).axes
    return where if axes is None else where[:, None] % 5 + torch.arange(axes) % 2


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_text_that_is_moved_is_the_text_at_the_other_place(name):
    encoding, (q, k, v) = plain.encodings()[name], plain.qkv()
    where = points(encoding, torch.arange(LENGTH))
    start = 0 if plain.value_of(encoding).axes else 3
    there = KVCache(encoding).append(k, v, where + start)
    here = KVCache(encoding).append(k, v, where + start + 2).shift(-2)
    assert torch.equal(here.positions, there.positions)
    assert torch.allclose(here.keys, there.keys, atol=1e-12)
    with torch.no_grad():
        ours, truth = (attend(q[:, :, -4:], cache=c, causal=True) for c in (here, there))
    assert torch.allclose(ours, truth, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    seldom(
        [n for n in ENCODINGS if plain.value_of(plain.encodings()[n]).axes is None],
        but=("rope", "xpos", "alibi", "t5", "dynamic ntk", "learned rope", "tempered rope"),
    ),
)
def test_the_middle_is_dropped_and_the_rest_moves_up(name):
    """Sinks and the newest tokens, as if nothing had been between them; then one token more."""
    encoding, (q, k, v) = plain.encodings()[name], plain.qkv()
    kept = torch.cat([torch.arange(4), torch.arange(10, LENGTH - 1)])
    cache = KVCache(encoding).append(k[:, :, :-1], v[:, :, :-1])
    left = cache.take(kept).shift(torch.arange(len(kept)) - kept)
    left = left.append(k[:, :, -1:], v[:, :, -1:])
    assert torch.equal(left.positions, torch.arange(len(kept) + 1))
    assert left.store.positions is None  # the short ways go on
    rest = torch.cat([kept, torch.tensor([LENGTH - 1])])
    truth = attention.wide_call(*(x[:, :, rest] for x in (q, k, v)), encoding=encoding, causal=True)
    with torch.no_grad():
        ours = attend(q[:, :, -1:], cache=left, causal=True)
    assert attention.excess(ours, call=truth, start=len(kept)) <= 1


@pytest.mark.parametrize(
    "name", seldom(ENCODINGS, but=("yarn", "axial-rope", "fire", "swin", "longrope", "shaw"))
)
def test_a_prefix_is_used_in_another_place(name):
    """Two texts that were each read from 0, one after the other; they do not change."""
    encoding, (q, k, v) = plain.encodings()[name], plain.qkv()
    axes = plain.value_of(encoding).axes
    cut = 6 if axes is None else 10
    first, second = slice(0, cut), slice(cut, LENGTH)
    if axes is None:
        where = [None, None]
        by = cut
    else:  # rows of a grid: the second text is two rows below
        grid = torch.from_numpy(pe.grid(5, 5))
        where, by = [grid[first], grid[: LENGTH - cut]], [2, 0]
    a, b = (
        KVCache(encoding).append(k[:, :, part], v[:, :, part], at)
        for part, at in zip((first, second), where, strict=True)
    )
    before = b.keys.clone()
    joined = a.join(b.shift(by))
    truth = plain.whole(encoding, q, k, v)
    with torch.no_grad():
        ours = attend(q[:, :, cut:], cache=joined, causal=True)
    assert attention.excess(ours, call=truth, start=cut) <= 1
    assert torch.equal(b.keys, before)
    assert (len(a), len(b), len(joined)) == (cut, LENGTH - cut, LENGTH)


def test_rows_move_by_differences_of_their_own():
    rope, (q, k, v) = pe.RoPE(plain.DIM), plain.qkv()
    cache = KVCache(rope).append(k, v, mask=plain.PADDED)
    moved = cache.shift(torch.tensor([[0], [-6]]))
    assert moved.positions[:, -1].tolist() == [LENGTH - 1, LENGTH - 7]
    assert torch.equal(moved.mask, plain.PADDED)
    ours = attend(q[:, :, -1:], cache=moved)
    alone = attend(q[1:, :, -1:], cache=KVCache(rope).append(k[1:, :, 6:], v[1:, :, 6:]))
    assert torch.allclose(ours[1:], alone, atol=1e-12)


def test_fractions_stay_fractions_and_whole_numbers_whole():
    _, k, v = plain.qkv(3)
    cache = KVCache(pe.RoPE(plain.DIM)).append(k, v)
    assert cache.shift(0.5).positions.tolist() == [0.5, 1.5, 2.5]
    assert cache.shift(-4).positions.dtype == torch.int64
    assert cache.shift(0.5).append(k, v).positions.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrow_keys_are_rounded_once_more(dtype):
    _, k, v = plain.qkv(dtype=dtype)
    rope = pe.RoPE(plain.DIM)
    cache = KVCache(rope).append(k, v)
    truth = rope.rotate_keys(cache.keys.double(), torch.full((LENGTH,), 1000))
    off = (cache.shift(1000).keys.double() - truth).abs()
    unit = torch.finfo(dtype).eps / 2
    pairs = cache.keys.double().unflatten(-1, (-1, 2)).abs().sum(-1).repeat_interleave(2, -1)
    assert (off <= unit * truth.abs() + 4 * 2.0**-24 * pairs).all()


def test_a_gradient_reaches_keys_that_were_moved_and_joined():
    _, k, v = plain.qkv(4)
    k.requires_grad_()
    cache = KVCache(pe.RoPE(plain.DIM)).append(k, v)
    cache.join(cache.shift(4)).take(slice(2, 6)).keys.sum().backward()
    assert k.grad.abs().sum() > 0


def test_nothing_is_joined_to_something():
    _, k, v = plain.qkv(4)
    empty = KVCache(pe.RoPE(plain.DIM))
    cache = empty.append(k, v)
    assert empty.join(cache) is cache
    assert cache.join(empty) is cache
    assert len(cache.take(slice(0, 0)).append(k, v)) == 4


def test_texts_whose_positions_were_added_are_joined_in_order():
    _, k, v = plain.qkv(4)
    cache = KVCache(pe.Sinusoidal(64)).append(k, v)
    assert cache.join(cache).positions.tolist() == [*range(8)]


_, K, V = plain.qkv(4)
CACHE = KVCache(pe.RoPE(plain.DIM)).append(K, V)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: KVCache(AddPositions(pe.Learned(4, 8))).append(K, V).shift(1),
            TypeError,
            "encoding must act in attention for keys to move; the positions of Learned were added",
        ),
        (lambda: KVCache(pe.RoPE(16)).shift(1), ValueError, "cache must hold a token; append keys"),
        (lambda: CACHE.shift("1"), TypeError, "by must be numbers; got '1'"),
        (lambda: CACHE.shift(torch.ones(3)), ValueError, r"got \(3,\) for keys \(2, 2, 4, 16\)"),
        (lambda: CACHE.take([0]), ValueError, r"tokens must be a tensor \(count,\) of int64; got"),
        (
            lambda: CACHE.take(torch.tensor([0, 4])),
            ValueError,
            "tokens must be at least 0 and below 4; got 0 to 4",
        ),
        (lambda: CACHE.join(3), TypeError, "other must be a KVCache; got int"),
        (
            lambda: CACHE.join(KVCache(pe.RoPE(16, base=5.0)).append(K, V)),
            ValueError,
            r"other must be a cache of the same encoding, RoPE\(16\); got RoPE\(16, base=5.0\)",
        ),
        (
            lambda: CACHE.join(KVCache(pe.RoPE(16)).append(K.float(), V.float())),
            ValueError,
            "k must have the batch, heads, dim, dtype and device of the cache",
        ),
    ],
)
def test_what_cannot_be_moved_is_a_sentence(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
