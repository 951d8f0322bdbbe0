"""`KVCache`: generation from it equals attention to the whole text, and no value ever changes."""

import copy
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
from itertools import pairwise

import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, KVCache, RotateQK, ScoreQK, attend
from tests.core.test_calls import count_calls
from tests.torch.attention import truth as attention
from tests.torch.own_encodings import A, Forgetting, Turning

HEADS, DIM, BATCH, LENGTH = 4, 16, 2, 18
SIZES = {"dim": DIM, "heads": HEADS, "length": LENGTH, "axes": 2, "reach": 5, "window": (5, 5)}
LONG = tuple(1.0 + i for i in range(DIM // 2))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def with_params(encoding):
    """The encoding, or the module that owns what it learns."""
    if not encoding.parameters():
        return encoding
    modules = {pe.Additive: AddPositions, pe.Rotary: RotateQK, pe.Bias: BiasLogits}
    kind = next((module for kind, module in modules.items() if isinstance(encoding, kind)), ScoreQK)
    return kind(encoding).double()


def encodings():
    made = {name: with_params(kind.example(**SIZES)) for name, kind in pe.catalogue().items()}
    rope = pe.RoPE(DIM)
    return made | {
        "dynamic ntk": pe.RoPE(DIM, scaling=pe.DynamicNTK(2.0, LENGTH // 2)),
        "longrope": pe.RoPE(DIM, scaling=pe.LongRoPE(LONG[::-1], LONG, LENGTH // 2)),
        "yarn": pe.RoPE(DIM, scaling=pe.YaRN(4.0, LENGTH)),
        "partial rope": pe.RoPE(DIM, rotary_dim=8, pairing="halves"),
        "learned rope": RotateQK(Turning(DIM), params={"a": A}).double(),
        "t5, unscaled": with_params(pe.T5Bias(HEADS, scaled=False, std=1.0)),
        "wide transformer-xl": with_params(pe.TransformerXL(HEADS, DIM, std=0.3)),
        "tempered rope": pe.Tempered(rope, pe.LogN(4)),
        "tempered alibi": pe.Tempered(pe.ALiBi(HEADS), pe.LogN(4)),
        "tempered transformer-xl": with_params(
            pe.Tempered(pe.TransformerXL(HEADS, DIM, std=0.3), pe.LogN(4))
        ),
    }


ENCODINGS = list(encodings())


def value_of(encoding):
    return getattr(encoding, "encoding", encoding)


def acting(encoding):
    """What acts in attention: nothing, of an additive encoding."""
    return pe.NoPE() if isinstance(value_of(encoding), pe.Additive) else encoding


def positions_of(encoding):
    """Points on a grid where the encoding asks for them; else none are given."""
    axes = getattr(value_of(acting(encoding)), "axes", None)
    return None if axes is None else torch.from_numpy(pe.grid(5, 5))[:LENGTH]


def qkv(length=LENGTH, dtype=torch.float64, batch=BATCH, kv_heads=2):
    shapes = (batch, HEADS, length, DIM), *[(batch, kv_heads, length, DIM)] * 2
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


def whole(encoding, q, k, v, **options):
    """The uncached call, in float64."""
    positions = positions_of(encoding)
    where = {} if positions is None else {"q_pos": positions, "k_pos": positions}
    return attention.wide_call(q, k, v, encoding=acting(encoding), causal=True, **where, **options)


def parts(sizes):
    """Slices of these sizes, one after another."""
    ends = torch.tensor(sizes).cumsum(0).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def grow(cache, k, v, part, positions=None, mask=None):
    """The cache and this part of k and v; positions are (seq,), (seq, axis) or (batch, seq)."""
    if positions is not None:
        by_row = positions.shape[0] == BATCH
        positions = positions[:, part] if by_row else positions[part]
    mask = None if mask is None else mask[:, part]
    return cache.append(k[:, :, part], v[:, :, part], pos=positions, mask=mask)


@pytest.mark.parametrize("sizes", [[1] * LENGTH, [7, 1, 1, 4, 1, 4]], ids=["tokens", "chunks"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_generation_equals_the_whole(name, sizes):
    encoding, (q, k, v) = encodings()[name], qkv()
    truth, positions, cache = whole(encoding, q, k, v), positions_of(encoding), KVCache(encoding)
    with torch.no_grad():
        for part in parts(sizes):
            cache = grow(cache, k, v, part, positions)
            ours = attend(q[:, :, part], cache=cache, causal=True)
            if not value_of(encoding).fits_any_length:  # a text has the length that it has by then
                truth = whole(encoding, *(x[:, :, : part.stop] for x in (q, k, v)))
            assert attention.excess(ours, call=truth, start=part.start) <= 1, part
    assert len(cache) == LENGTH
    assert torch.equal(cache.values, v)


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_cache_in_another_layout_holds_the_same(name):
    encoding, heads_first = encodings()[name], qkv()
    q, k, v = (x.transpose(1, 2) for x in heads_first)
    positions = positions_of(encoding)
    cache, other = KVCache(encoding), KVCache(encoding, layout="bshd")
    with torch.no_grad():
        for part in parts([7] + [1] * (LENGTH - 7)):
            cache = grow(cache, *heads_first[1:], part, positions)
            where = None if positions is None else positions[part]
            other = other.append(k[:, part], v[:, part], where)
            wanted = attend(heads_first[0][:, :, part], cache=cache, causal=True)
            ours = attend(q[:, part], cache=other, causal=True)
            assert torch.equal(ours, wanted.transpose(1, 2))
            told, total = attend(
                q[:, part], cache=other, causal=True, layout="bshd", return_lse=True
            )
            assert torch.allclose(told, ours, atol=1e-5)
            assert total.shape == wanted.shape[:3]
    assert torch.equal(other.keys, cache.keys)
    rest = None if positions is None else positions[5:]
    kept = pickle.loads(pickle.dumps(other.crop(5))).append(k[:, 5:], v[:, 5:], rest)
    assert kept.keys.shape == cache.keys.shape


def test_the_layout_of_a_call_must_be_that_of_its_cache():
    """Else heads would be tokens, where queries are as many as heads of keys allow."""
    q, k, v = torch.randn(3, 1, 4, 1, 8)
    for layout, another in (("bhsd", "bshd"), ("bshd", "bhsd")):
        cache = KVCache(pe.RoPE(8), layout=layout).append(k, v)
        message = f"layout must be that of the cache, '{layout}'; got '{another}', which KVCache"
        with pytest.raises(ValueError, match=message):
            attend(q, cache=cache, layout=another)
    with pytest.raises(ValueError, match="layout must be"):
        KVCache(pe.RoPE(8), layout="bsdh")


def test_another_layout_is_kept_by_join_and_named_in_messages():
    other = KVCache(pe.RoPE(8), layout="bshd")
    joined = other.join(KVCache(pe.RoPE(8)).append(*torch.ones(2, 1, 4, 3, 8)))
    assert len(joined.append(*torch.ones(2, 1, 5, 4, 8))) == 8
    message = r"k and v must be floating tensors \(batch, seq, heads, dim\) .*; got torch.float32 "
    with pytest.raises(
        ValueError, match=message + r"\(1, 2, 3, 8\) and torch.float32 \(1, 3, 3, 8\)"
    ):
        other.append(torch.ones(1, 2, 3, 8), torch.ones(1, 3, 3, 8))
    with pytest.raises(
        ValueError, match=r"\(1, seq, 4, 8\) on cpu; got torch.float32 \(1, 4, 1, 8\)"
    ):
        joined.append(*torch.ones(2, 1, 4, 1, 8))


@pytest.mark.parametrize("name", ENCODINGS)
def test_crop_and_reorder_equal_the_whole_and_leave_the_trunk_alone(name):
    """A branch of six tokens after ten of sixteen, of the rows of the batch in another order."""
    encoding, (q, k, v), (q2, k2, v2) = encodings()[name], qkv(16), qkv(16)
    positions, rows = positions_of(encoding), torch.tensor([1, 1, 0])
    with torch.no_grad():
        trunk = KVCache(encoding)
        for part in parts([12, 1, 1, 1, 1]):
            trunk = grow(trunk, k, v, part, positions)
            attend(q[:, :, part], cache=trunk, causal=True)
        before = trunk.keys.clone(), trunk.values.clone(), trunk.positions.clone()
        branch = trunk.crop(10).reorder(rows)
        mixed = [
            torch.cat([x[:, :, :10], y[:, :, 10:]], 2)[rows]
            for x, y in zip((q, k, v), (q2, k2, v2), strict=True)
        ]
        where = {} if positions is None else {"q_pos": positions[:16], "k_pos": positions[:16]}
        truth = attention.wide_call(*mixed, encoding=acting(encoding), causal=True, **where)
        for part in parts([10, 1, 1, 4])[1:]:
            branch = grow(branch, mixed[1], mixed[2], part, positions)
            ours = attend(mixed[0][:, :, part], cache=branch, causal=True)
            if value_of(encoding).fits_any_length or part.stop == 16:
                assert attention.excess(ours, call=truth, start=part.start) <= 1
        for ours, then in zip((trunk.keys, trunk.values, trunk.positions), before, strict=True):
            assert torch.equal(ours, then)
        last = attend(q[:, :, 15:], cache=trunk, causal=True)
    truth = attention.wide_call(q, k, v, encoding=acting(encoding), causal=True, **where)
    assert attention.excess(last, call=truth, start=15) <= 1


@pytest.mark.parametrize("prompt", [1, 7])
def test_two_branches_of_one_cache_do_not_see_each_other(prompt):
    _, k, v = qkv()
    trunk = KVCache(pe.NoPE()).append(k[:, :, :prompt], v[:, :, :prompt])
    left, right = (trunk.append(k[:, :, at : at + 1], v[:, :, at : at + 1]) for at in (8, 9))
    again = trunk.crop(prompt).append(k[:, :, 10:12], v[:, :, 10:12])
    for cache, part in ((left, slice(8, 9)), (right, slice(9, 10)), (again, slice(10, 12))):
        assert torch.equal(cache.keys, torch.cat([k[:, :, :prompt], k[:, :, part]], 2))
    assert torch.equal(trunk.keys, k[:, :, :prompt])
    shared = left.keys.data_ptr() == trunk.keys.data_ptr()
    assert shared
    assert right.keys.data_ptr() != trunk.keys.data_ptr()


def test_the_newest_grows_in_place_and_copies_seldom():
    _, k, v = qkv(1)
    cache, places = KVCache(pe.NoPE()), []
    for _ in range(1000):
        cache = cache.append(k, v)
        places.append(cache.keys.data_ptr())
    moves = sum(a != b for a, b in pairwise(places))
    assert moves <= 5  # 64, 128, …, 1,024


PADDED = torch.ones(BATCH, LENGTH, dtype=torch.bool)
PADDED[1, :6] = False


@pytest.mark.parametrize("sizes", [[8] + [1] * (LENGTH - 8), [8, 4, 1, LENGTH - 13]])
@pytest.mark.parametrize(
    "name",
    [n for n, e in encodings().items() if value_of(e).axes is None and value_of(e).fits_any_length],
)
def test_a_left_padded_batch_generates_what_each_row_does_alone(name, sizes):
    """The prompt comes with a mask and positions; tokens after it go on by themselves."""
    encoding, (q, k, v) = encodings()[name], qkv()
    positions = pe.left_padded(PADDED)
    alone = [
        attention.wide_call(
            *(x[row : row + 1, :, pad:] for x in (q, k, v)), encoding=acting(encoding), causal=True
        )
        for row, pad in ((0, 0), (1, 6))
    ]
    cache = KVCache(encoding)
    with torch.no_grad():
        for part in parts(sizes):
            prompt = part.start == 0
            options = {"positions": positions, "mask": PADDED} if prompt else {}
            cache = grow(cache, k, v, part, **options)
            ours = attend(q[:, :, part], cache=cache, causal=True)
            for row, pad in ((0, 0), (1, 6)):
                mine = ours[row : row + 1, :, max(0, pad - part.start) :]
                start = max(part.start - pad, 0)
                assert attention.excess(mine, call=alone[row], start=start) <= 1
    assert torch.equal(cache.positions, positions)
    assert torch.equal(cache.mask, PADDED)


@pytest.mark.parametrize(
    "options",
    [
        {"window": 5},
        {"window": 100},
        {"documents": torch.arange(LENGTH) // 7},
        {"window": 4, "documents": torch.arange(LENGTH) // 7},
        {"mask": torch.rand(BATCH, 1, 1, LENGTH, generator=torch.Generator().manual_seed(0)) > 0.3},
    ],
    ids=["window", "wide window", "documents", "both", "mask"],
)
@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "fire", "shaw", "transformer-xl", "nope"])
def test_windows_documents_and_masks(name, options):
    encoding, (q, k, v) = encodings()[name], qkv()
    truth, cache = whole(encoding, q, k, v, **options), KVCache(encoding)
    with torch.no_grad():
        for part in parts([6, 1, 1, 5] + [1] * 5):
            cache = cache.append(k[:, :, part], v[:, :, part])
            here = {
                n: x[..., : part.stop] if isinstance(x, torch.Tensor) else x
                for n, x in options.items()
            }
            ours = attend(q[:, :, part], cache=cache, causal=True, **here)
            assert attention.excess(ours, call=truth, start=part.start) <= 1


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "fire", "nope", "learned rope"])
def test_positions_may_be_given(name):
    """Steps of three, later gaps, and queries elsewhere than at the end."""
    encoding, (q, k, v) = encodings()[name], qkv()
    positions = 3 * torch.arange(LENGTH) + torch.arange(LENGTH) // 5
    cache = KVCache(encoding)
    truth = attention.wide_call(
        q, k, v, encoding=encoding, causal=True, q_pos=positions, k_pos=positions
    )
    with torch.no_grad():
        for part in parts([4] + [1] * (LENGTH - 4)):
            cache = grow(cache, k, v, part, positions)
            ours = attend(q[:, :, part], cache=cache, causal=True)
            assert attention.excess(ours, call=truth, start=part.start) <= 1
        ours = attend(q[:, :, 3:9], cache=cache, q_pos=positions[3:9], causal=True)
    assert attention.excess(ours, call=truth, start=3) <= 1
    assert torch.equal(cache.positions, positions)


@pytest.mark.parametrize("name", ["rope", "alibi", "nope"])
def test_a_token_behind_those_before_it_does_not_see_them(name):
    encoding, (q, k, v) = encodings()[name], qkv(5)
    positions = torch.tensor([0, 7, 9, 3, 4])
    cache = KVCache(encoding)
    truth = attention.wide_call(
        q, k, v, encoding=encoding, causal=True, q_pos=positions, k_pos=positions
    )
    for part in parts([3, 1, 1]):
        cache = grow(cache, k, v, part, positions)
        # in the whole, later tokens that are nearer to the start are seen too
        seen = attention.wide_call(
            q[:, :, : part.stop],
            k[:, :, : part.stop],
            v[:, :, : part.stop],
            encoding=encoding,
            causal=True,
            q_pos=positions[: part.stop],
            k_pos=positions[: part.stop],
        )
        ours = attend(q[:, :, part], cache=cache, causal=True)
        assert attention.excess(ours, call=seen, start=part.start) <= 1
    assert attention.excess(ours, call=truth, start=4) <= 1


def test_positions_that_go_on_are_as_good_as_none():
    _, k, v = qkv()
    given, plain = KVCache(pe.RoPE(DIM)), KVCache(pe.RoPE(DIM))
    for part in parts([5, 1, 1]):
        where = torch.arange(part.start, part.stop)
        given = given.append(k[:, :, part], v[:, :, part], pos=where if part.start else where[None])
        plain = plain.append(k[:, :, part], v[:, :, part])
    assert given.store.positions is None
    assert torch.equal(given.keys, plain.keys)
    elsewhere = plain.append(k[:, :, :1], v[:, :, :1], pos=[40])
    assert elsewhere.positions.tolist() == [0, 1, 2, 3, 4, 5, 6, 40]
    assert elsewhere.append(k[:, :, :2], v[:, :, :2]).positions.tolist()[-3:] == [40, 41, 42]
    rows = plain.append(k[:, :, :1], v[:, :, :1], pos=torch.tensor([[7], [9]]))
    assert rows.positions[:, -2:].tolist() == [[6, 7], [6, 9]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "fire", "transformer-xl", "tempered rope"])
def test_other_dtypes_keep_to_the_bound(name, dtype):
    encoding = encodings()[name]
    q, k, v = (x.to(dtype) for x in qkv())
    if isinstance(encoding, torch.nn.Module):
        encoding = encoding.to(dtype)
    wide = copy.deepcopy(encoding).double() if hasattr(encoding, "double") else encoding
    exact = [x.double() for x in (q, k, v)]
    truth = attend(*exact, encoding=wide, causal=True, impl="dense")
    cache = KVCache(encoding)
    with torch.no_grad():
        for part in parts([5] + [1] * (LENGTH - 5)):
            cache = cache.append(k[:, :, part], v[:, :, part])
            ours = attend(q[:, :, part], cache=cache, causal=True)
            assert ours.dtype == dtype
            bound = attend.explain(q[:, :, part], cache=cache, causal=True).bound
            assert (ours.double() - truth[:, :, part]).abs().max() < bound


@pytest.mark.parametrize(
    "name", ["rope", "alibi", "t5", "fire", "shaw", "transformer-xl", "learned rope"]
)
def test_gradients_go_through_a_cache(name):
    """As through the whole, for q, k, v and what is learned, in float64."""
    encoding, tensors = encodings()[name], [x.requires_grad_() for x in qkv(12)]
    learned = list(encoding.parameters()) if isinstance(encoding, torch.nn.Module) else []
    cotangent = torch.randn(BATCH, HEADS, 12, DIM, dtype=torch.float64)
    q, k, v = tensors
    cache, made = KVCache(encoding), []
    for part in parts([5, 1, 1, 5]):
        cache = cache.append(k[:, :, part], v[:, :, part])
        made.append(attend(q[:, :, part], cache=cache, causal=True))
    ours = torch.autograd.grad(
        torch.cat(made, 2), [*tensors, *learned], cotangent, allow_unused=True
    )
    out = attend(q, k, v, encoding=encoding, causal=True, impl="dense")
    truth = torch.autograd.grad(out, [*tensors, *learned], cotangent, allow_unused=True)
    for mine, exact in zip(ours, truth, strict=True):
        if exact is not None:
            # biases are float32, so that weights are off by as much: 2^-24 of 12 keys and 2 sums
            assert (mine - exact).abs().max() < 1e-5 * max(1, exact.abs().max())


def test_what_a_backward_pass_reads_is_not_written_to():
    q, k, v = qkv()
    q.requires_grad_()
    cache = KVCache(pe.RoPE(DIM)).append(k[:, :, :5], v[:, :, :5])
    out = attend(q[:, :, 4:5], cache=cache, causal=True)
    with torch.no_grad():
        longer = cache.append(k[:, :, 5:], v[:, :, 5:])
    out.sum().backward()
    assert torch.isfinite(q.grad).all()
    assert len(longer) == LENGTH


def test_a_parameter_that_is_written_to_is_read_again():
    t5 = BiasLogits(pe.T5Bias(HEADS, std=1.0)).double()
    q, k, v = qkv()
    cache = KVCache(t5).append(k, v)
    for factor in (1.0, -3.0):
        with torch.no_grad():
            t5.params["table"].mul_(factor)
            ours = attend(q[:, :, -1:], cache=cache, causal=True)
        truth = attention.wide_call(q, k, v, encoding=t5, causal=True)
        assert attention.excess(ours, call=truth, start=LENGTH - 1) <= 1


def test_inference_mode_and_back():
    q, k, v = qkv()
    with torch.inference_mode():
        inside = KVCache(pe.ALiBi(HEADS)).append(k[:, :, :-1], v[:, :, :-1])
        attend(q[:, :, -2:-1], cache=inside, causal=True)
    cache = inside.append(k[:, :, -1:], v[:, :, -1:])
    truth = attention.wide_call(q, k, v, encoding=pe.ALiBi(HEADS), causal=True)
    assert (
        attention.excess(
            attend(q[:, :, -1:], cache=cache, causal=True), call=truth, start=LENGTH - 1
        )
        <= 1
    )


def test_threads_that_append_to_one_cache_each_get_their_own():
    _, k, v = qkv(64, batch=1)
    start = KVCache(pe.NoPE()).append(k[:, :, :8], v[:, :, :8])
    made, barrier = {}, threading.Barrier(2)

    def run(name):
        cache = start
        barrier.wait()
        for at in range(8, 64):
            cache = cache.append(k[:, :, at : at + 1] * name, v[:, :, at : at + 1])
        made[name] = cache

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(name,)) for name in (2.0, 3.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    for name, cache in made.items():
        assert torch.equal(cache.keys, torch.cat([k[:, :, :8], k[:, :, 8:] * name], 2))


def test_a_cache_is_a_value():
    _, k, v = qkv()
    cache = KVCache(pe.RoPE(DIM)).append(k, v)
    with pytest.raises(AttributeError, match="keys of a KVCache cannot be set"):
        cache.keys = k
    assert repr(cache) == "KVCache(RoPE(16), 18 tokens)"
    tempered = pe.Tempered(pe.RoPE(DIM), pe.LogN(512))
    assert repr(KVCache(tempered)) == f"KVCache({tempered}, 0 tokens)"
    assert KVCache(pe.RoPE(DIM))  # even when it is empty
    for twin in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert torch.equal(twin.keys, cache.keys)
        assert torch.equal(twin.append(k, v).keys[:, :, :LENGTH], cache.keys)
    assert KVCache(pe.NoPE()).encoding == pe.NoPE()


def test_a_cache_is_unpickled_in_a_process_without_kernels(tmp_path):
    """Which loads them anew, if it can."""
    _, k, v = qkv()
    caches = [KVCache(encoding).append(k, v) for encoding in (pe.RoPE(DIM), pe.ALiBi(HEADS))]
    torch.save([k[:, :, :1], *caches], tmp_path / "caches.pt")
    code = (
        "import sys, torch\n"
        "one, *caches = torch.load(sys.argv[1], weights_only=False)\n"
        "torch.save([cache.append(one, one).keys for cache in caches], sys.argv[1])"
    )
    wanted = [cache.append(k[:, :, :1], v[:, :, :1]).keys for cache in caches]
    for variable in ("1", "0"):
        path = tmp_path / variable
        shutil.copy(tmp_path / "caches.pt", path)
        command = [sys.executable, "-c", code, str(path)]
        subprocess.run(command, env=os.environ | {"POSENC_KERNELS": variable}, check=True)
        for ours, theirs in zip(torch.load(path), wanted, strict=True):
            assert (ours - theirs).abs().max() < 1e-12


def test_the_encoding_may_be_named_again():
    q, k, v = qkv()
    t5 = BiasLogits(pe.T5Bias(HEADS)).double()
    for kept, same, other in (
        (pe.RoPE(DIM), pe.RoPE(DIM), pe.RoPE(DIM, base=5e5)),
        (t5, t5, BiasLogits(pe.T5Bias(HEADS)).double()),
        (pe.RoPE(DIM), RotateQK(pe.RoPE(DIM)), pe.NoPE()),
    ):
        cache = KVCache(kept).append(k, v)
        named, unnamed = (
            attend(q[:, :, -1:], cache=cache, causal=True, **n) for n in ({"encoding": same}, {})
        )
        assert torch.equal(named, unnamed)
        with pytest.raises(ValueError, match=r"^encoding must be that of the cache, "):
            attend(q[:, :, -1:], cache=cache, causal=True, encoding=other)


def test_explain_tells_of_a_cache():
    q, k, v = qkv()
    forms = {"rope": "folded", "nope": "folded", "alibi": "blocked", "dynamic ntk": "folded"}
    for name, impl in forms.items():
        cache = KVCache(encodings()[name]).append(k, v)
        assert attend.explain(q[:, :, -1:], cache=cache, causal=True).impl == impl
        for form in (impl, "dense"):
            ours = attend(q[:, :, -1:], cache=cache, causal=True, impl=form)
            truth = attention.wide_call(q, k, v, encoding=encodings()[name], causal=True)
            assert attention.excess(ours, call=truth, start=LENGTH - 1) <= 1


K = torch.zeros(2, 2, 7, 8)
FULL = KVCache(pe.ALiBi(4)).append(K, K)
Q = torch.zeros(2, 4, 1, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: attend(Q, K, K, cache=FULL),
            "k must be left out for a cache, which has its own; got both",
        ),
        (
            lambda: attend(Q, cache=FULL, k_pos=[1]),
            "k_pos must be left out for a cache, which has its own; got both",
        ),
        (
            lambda: attend(Q, cache=FULL, params={}),
            "params must be left out for a cache, which has its own; got both",
        ),
        (lambda: attend(Q, cache=K), "cache must be a KVCache; got Tensor"),
        (
            lambda: attend(Q, cache=KVCache(pe.NoPE())),
            "cache must hold a token; append keys and values first",
        ),
        (lambda: attend(Q, encoding=pe.NoPE()), "k must be a torch.Tensor; got NoneType"),
        (lambda: attend(Q, K, K), "encoding must be an Encoding or a module of one; got None"),
        (lambda: attend(Q[..., :4], cache=FULL), "q and k must have the same dim; got 4 and 8"),
        (
            lambda: attend(Q[:, :3], cache=FULL),
            "q and k must have the same batch, and q a multiple of the heads of k; "
            "got shapes (2, 3, 1, 8) and (2, 2, 7, 8)",
        ),
        (
            lambda: attend(Q, cache=FULL, window=0),
            "window must be a whole number of at least 1 and at most 2,147,483,648; got window=0",
        ),
        (lambda: attend(Q, cache=FULL, causal=1), "causal must be True or False; got causal=1"),
        (
            lambda: KVCache("rope"),
            "encoding must be an Encoding or a module of one; got 'rope'; "
            "pe.make makes one by its name",
        ),
        (
            lambda: KVCache(pe.T5Bias(4)),
            "params must be given for an encoding that learns, or the module that owns them, "
            "BiasLogits(T5Bias(…)); got params=None",
        ),
        (
            lambda: KVCache(Forgetting(3)),
            "encoding must not depend on features of the tokens, which a cache does not hold; "
            "got Forgetting",
        ),
        (
            lambda: FULL.append(K, K[:, :, :6]),
            "k and v must be floating tensors (batch, heads, seq, dim) that agree in all but dim; "
            "got torch.float32 (2, 2, 7, 8) and torch.float32 (2, 2, 6, 8)",
        ),
        (
            lambda: FULL.append(K.double(), K.double()),
            "k must have the batch, heads, dim, dtype and device of the cache, "
            "torch.float32 (2, 2, seq, 8) on cpu; got torch.float64 (2, 2, 7, 8) on cpu",
        ),
        (
            lambda: FULL.append(K, K, mask=torch.ones(2, 6, dtype=torch.bool)),
            "mask must be (batch, seq) = (2, 7) of bool, True at tokens; got torch.bool (2, 6)",
        ),
        (
            lambda: FULL.append(K, K, pos=[1, 2]),
            "k (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
            "got shapes (2, 2, 7, 8) and (2,); "
            "if it is (batch, seq, heads, dim), give its transpose(1, 2)",
        ),
        (
            lambda: KVCache(pe.AxialRoPE.split(8)).append(K, K),
            "pos must be (…, seq, 2), as grid(…, like=k) makes them; got pos=None",
        ),
        (
            lambda: FULL.crop(8),
            "length must be a whole number of at least 0 and at most 7; got length=8",
        ),
        (lambda: FULL.reorder([0]), "rows must be a tensor (batch,) of int64; got [0]"),
        (
            lambda: FULL.reorder(torch.ones(2)),
            "rows must be a tensor (batch,) of int64; got torch.float32 (2,)",
        ),
    ],
)
def test_the_message_names_argument_rule_and_value(call, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize(
    ("name", "most"), [("nope", 34), ("alibi", 37), ("t5", 38), ("fire", 38), ("rope", 110)]
)
def test_a_token_takes_few_python_calls(name, most):
    """Appended and attended to: what a small model pays for each layer and token.

    With the kernels RoPE takes 43 of them, and the others 2 less than the bound.
    """
    encoding = encodings()[name]
    q, k, v = (x[:, :, :1] for x in qkv())
    caches = [KVCache(encoding).append(k, v)]

    def step():
        caches.append(caches[-1].append(k, v))
        attend(q, cache=caches[-1], causal=True)

    with torch.no_grad():
        assert count_calls(step) <= most


def test_plain_attention_takes_few_python_calls():
    """Of one query with NoPE: the first edition took 700 microseconds here."""
    q, k, v = qkv()
    call = lambda: attend(q[:, :, :1], k, v, encoding=pe.NoPE(), causal=True)  # noqa: E731
    assert count_calls(call) <= 40


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_a_view_that_is_negated_when_it_is_read(pairing):
    q, k, v = qkv()
    cache = KVCache(pe.RoPE(q.shape[3], pairing=pairing)).append(k, v)
    wanted = attend(-q[:, :, -1:], cache=cache, causal=True)
    made = attend(torch._neg_view(q[:, :, -1:]), cache=cache, causal=True)
    assert torch.allclose(made, wanted, atol=1e-6)
