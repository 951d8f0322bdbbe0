"""`attend`: against oracles, every form against `dense`, what is seen, what is refused."""

import copy
import math
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import BiasLogits, RotateQK, ScoreQK, attend
from posenc.torch.attention import flex
from posenc.torch.attention.blocked import FEW_PAIRS
from posenc.torch.attention.call import FEW
from tests.bounds import UNIT, gamma
from tests.oracles import bias as oracle
from tests.oracles import scores
from tests.slow import in_turn, seldom, slow
from tests.test_project import ROOT
from tests.torch.attention import truth as attention
from tests.torch.own_encodings import A, Forgetting, Turning, turn

HEADS, DIM = 4, 16


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def encodings(heads=HEADS, dim=DIM):
    return {
        "alibi": pe.ALiBi(heads),
        "alibi, 12 slopes": pe.ALiBi(heads, slopes="paper"),
        "alibi, offset": pe.ALiBi(heads, future="offset"),
        "two-sided": BiasLogits(pe.TwoSidedALiBi(heads)),
        "t5": BiasLogits(pe.T5Bias(heads, std=1.0)),
        "t5 both ways, unscaled": BiasLogits(
            pe.T5Bias(heads, bidirectional=True, std=1.0, scaled=False)
        ),
        "clipped": BiasLogits(pe.ClippedBias(heads, 7, std=1.0)),
        "kerple": BiasLogits(pe.KERPLE(heads)),
        "fire": BiasLogits(pe.FIRE(heads, hidden=8)),  # dense has so many numbers for each pair
        # of 70 queries on 90 keys the last four are beyond its length
        "fire, beyond": BiasLogits(pe.FIRE(heads, hidden=8, length=85)),
        "sandwich": pe.Sandwich(heads),
        "nope": pe.NoPE(),
        "rope": RotateQK(pe.RoPE(dim)),
        "shaw": ScoreQK(pe.Shaw(dim, 5)),
        "transformer-xl": ScoreQK(pe.TransformerXL(heads, dim, features=12, std=0.3)),
        "transformer-xl, wide": ScoreQK(pe.TransformerXL(heads, dim, std=0.3)),
        "tempered rope": pe.Tempered(pe.RoPE(dim), pe.LogN(16)),
        "tempered alibi": pe.Tempered(pe.ALiBi(heads), pe.LogN(16)),
    }


def qkv(queries, keys, *, kv_heads=HEADS, batch=2, grad=False):
    shapes = (batch, HEADS, queries, DIM), *[(batch, kv_heads, keys, DIM)] * 2
    return [torch.randn(shape, requires_grad=grad) for shape in shapes]


def of(encoding):
    return getattr(encoding, "encoding", encoding)


def forms(name):
    """The forms that can serve this encoding with causal=True, flex left out (it compiles)."""
    foldable = "alibi", "alibi, 12 slopes", "sandwich", "nope", "rope", "tempered rope"
    return ("blocked", "folded") if name in foldable or "xl" in name else ("blocked",)


def check(impls, q, k, v, **options):
    """Each form is within its bound of float64 truth."""
    with torch.no_grad():
        results = attention.forms_of(impls, q, k, v, **options)
    attention.assert_right(results, q, k, v, **options)


def in_dtype(dtype, encoding, *tensors):
    """An encoding with what it learns, and tensors, in a dtype."""
    encoding = encoding.to(dtype) if isinstance(encoding, torch.nn.Module) else encoding
    return encoding, *(x.to(dtype) for x in tensors)


def far_apart(length, step, start=0):
    """Positions that are no arange: steps of different size, in order."""
    return start + step * torch.arange(length) + torch.arange(length) // 3


def gradient_bound(exact, *, pairs=1, dtype="float32"):
    """How far a gradient may be from the truth.

    That of a query, key or value is a sum of at most 180 products (70 queries, 90 keys, 16
    channels) of weights, cotangents and values of about 1; that of a parameter is a sum over the
    pairs besides. 6 sqrt(n) unit roundoffs (Higham and Mary), doubled for sums whose terms are
    larger than they are, of the largest entry or of 1.
    """
    return 12 * math.sqrt(max(180, pairs)) * UNIT[dtype] * max(1, exact.abs().max())


def in_float64(encoding, tensors):
    """The same encoding, with its parameters, and tensors in float64, for a truth."""
    wide = copy.deepcopy(encoding).double() if isinstance(encoding, torch.nn.Module) else encoding
    return wide, [x.detach().double().requires_grad_() for x in tensors]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["alibi", "t5", "shaw", "transformer-xl"])
def test_dense_equals_the_oracles(kind, causal):
    """Logits, what is seen, softmax and values, each from an independent oracle."""
    q_pos, k_pos = [3, 9, 4], [0, 9, 2, 5, 30]
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, n, 4)) for n in (3, 5, 5))
    encoding = {
        "alibi": pe.ALiBi(2),
        "t5": pe.T5Bias(2, bidirectional=True, scaled=False),
        "shaw": pe.Shaw(4, 3),
        "transformer-xl": pe.TransformerXL(2, 4),
    }[kind]
    params = {name: x.astype(float) * 10 for name, x in encoding.init(rng).items()}
    products = q @ np.swapaxes(k, 1, 2)
    rule = {"buckets": 32, "max_distance": 128, "bidirectional": True}
    logits = {
        "alibi": lambda: products / 2 + oracle.alibi(2, q_pos, k_pos),
        "t5": lambda: products + oracle.bias(params["table"], q_pos, k_pos, **rule),
        "shaw": lambda: scores.shaw_logits(q, k, params["key_table"], q_pos, k_pos),
        "transformer-xl": lambda: scores.transformer_xl_logits(
            q, k, *params.values(), q_pos, k_pos
        ),
    }[kind]()
    seen = np.array(q_pos)[:, None] >= np.array(k_pos) if causal else np.ones((3, 5), dtype=bool)
    if kind == "shaw":
        weights = scores.attention(logits, np.tile(np.eye(5), (2, 1, 1)), seen)
        truth = scores.shaw_output(weights, v, params["value_table"], q_pos, k_pos)
    else:
        truth = scores.attention(logits, v, seen)
    # a logit has at most 64 roundings of products of queries, or what is added to them, with keys
    # and tables; weights are off by twice as much, relatively, here and in the oracle
    sizes = [np.abs(x).max() for x in (q, k, v)]
    added = max((np.abs(x).max() for x in params.values()), default=0.0)
    products = 4 * (sizes[0] + added) * (sizes[1] + 8 * added)
    bound = gamma(4 * 64, "float64") * (1 + products) * (sizes[2] + added)
    tensors = [torch.from_numpy(x)[None] for x in (q, k, v)]
    given = {name: torch.from_numpy(x) for name, x in params.items()} or None
    for impl in ("dense", "blocked"):
        ours = attend(
            *tensors,
            encoding=encoding,
            params=given,
            q_pos=q_pos,
            k_pos=k_pos,
            causal=causal,
            impl=impl,
        )
        assert np.abs(ours[0].numpy() - truth).max() < bound


LONG = ["alibi", "t5", "kerple", "fire", "sandwich", "rope"]


@pytest.mark.parametrize(
    ("name", "length"),
    [
        *product(encodings(), [1, 63]),
        *seldom(  # one of each way to go through the keys
            product(encodings(), [1000]),
            but=[(name, 1000) for name in (*LONG, "shaw", "transformer-xl", "tempered alibi")],
        ),
    ],
)
def test_every_form_equals_dense(name, length):
    """In float64 too, where no rounding hides what is wrong by little; two heads if it is long."""
    heads = HEADS if length < 1000 else 2
    drawn = encodings(heads=heads)[name], *torch.randn(3, 1, heads, length, DIM)
    both = (None, torch.float32), (far_apart(length, 2), torch.float64)
    for positions, dtype in both if length < 1000 or name in LONG else both[:1]:
        encoding, *q_k_v = in_dtype(dtype, *drawn)
        options = {"encoding": encoding, "causal": True, "q_pos": positions, "k_pos": positions}
        check(("dense", *forms(name)), *q_k_v, **options)


@pytest.mark.parametrize("length", [383, 384, 500, 767])
@pytest.mark.parametrize("name", ["nope", "rope"])
def test_texts_of_a_few_hundred_tokens_in_pieces(name, length):
    encoding, q, *kv = encodings(heads=2)[name], *torch.randn(3, 1, 2, length, DIM)
    check(("auto", "folded"), q, *(x[:, :1] for x in kv), encoding=encoding, causal=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("name", "length"), [("nope", 384), ("rope", 500), ("alibi", 767)])
def test_texts_of_a_few_hundred_tokens_go_backward_in_pieces(name, length, dtype):
    encoding, shape = encodings()[name], (2, HEADS, length, DIM)
    drawn = [torch.randn(shape), *(torch.randn(2, 2, length, DIM) for _ in range(2))]
    tensors, cotangent = [x.to(dtype).requires_grad_() for x in drawn], torch.randn(shape)

    def gradients(tensors, **options):
        out = attend(*tensors, encoding=encoding, causal=True, **options)
        return torch.autograd.grad(out, tensors, cotangent.to(out.dtype))

    truth = gradients(in_float64(encoding, tensors)[1], impl="dense")
    for ours, exact in zip(gradients(tensors), truth, strict=True):
        # sums over up to `length` queries or keys, of products over the channels
        bound = gradient_bound(exact, pairs=length + DIM, dtype=str(dtype).removeprefix("torch."))
        assert (ours - exact).abs().max() < bound


@pytest.mark.parametrize("length", [2049, *slow(4097)])
@pytest.mark.parametrize("name", seldom(LONG, but=("kerple",)))
def test_every_form_equals_dense_at_a_long_and_odd_length(name, length):
    drawn = encodings(heads=2)[name], *(torch.randn(1, 2, length, DIM) for _ in range(3))
    apart = far_apart(length, 3, start=7)
    for positions, dtype in ((None, torch.float32), (apart, torch.float64)):
        encoding, *q_k_v = in_dtype(dtype, *drawn)
        options = {"encoding": encoding, "causal": True, "q_pos": positions, "k_pos": positions}
        check(forms(name), *q_k_v, **options)


CALLS = {
    "one way": {"causal": True},
    "both ways": {},
    "a window": {"causal": True, "window": 9},
    "a window both ways": {"window": 9},
    "padding": {"causal": True, "mask": torch.rand(2, 90, generator=torch.Generator()) > 0.3},
    "any mask": {"mask": torch.rand(2, HEADS, 70, 90, generator=torch.Generator()) > 0.5},
    "documents": {"causal": True, "documents": torch.arange(90) // 25},
    "documents of each row": {
        "causal": True,
        "documents": torch.stack([torch.arange(90) // 25, torch.arange(90) // 40]),
        "mask": torch.rand(2, 90, generator=torch.Generator()) > 0.3,
    },
    "positions of each row": {
        "causal": True,
        "q_pos": torch.randint(0, 500, (2, 70), generator=torch.Generator()),
        "k_pos": torch.randint(0, 500, (2, 90), generator=torch.Generator()),
    },
    "few tokens far apart": {
        "causal": True,
        "q_pos": 10_000 * torch.arange(70),
        "k_pos": 9_000 * torch.arange(90),
    },
    "negative positions": {
        "causal": True,
        "q_pos": torch.arange(-20, 50),
        "k_pos": torch.arange(-40, 50),
    },
}


@pytest.mark.parametrize(
    ("name", "call", "kv_heads"), in_turn(encodings(), CALLS, of=[HEADS, 2, 1])
)
def test_forms_see_the_same(name, call, kv_heads):
    encoding, options = encodings()[name], CALLS[call]
    if of(encoding).causal_only and not options.get("causal"):
        options = options | {"causal": True}
    if "tempered" in name and call == "negative positions":
        options = {"causal": True}
    q, k, v = qkv(70, 90, kv_heads=kv_heads)
    unfolded = "alibi" in name and not options.get("causal")
    impls = "auto", "dense", *(f for f in forms(name) if f != "folded" or not unfolded)
    dtype = torch.float64 if kv_heads == 2 else torch.float32
    encoding, q, k, v = in_dtype(dtype, encoding, q, k, v)
    check(impls, q, k, v, encoding=encoding, **options)


@pytest.mark.parametrize(
    "call", ["one way", "a window", "documents of each row", "positions of each row"]
)
@pytest.mark.parametrize("name", encodings())
def test_gradients_of_every_form_equal_those_of_dense(name, call):
    encoding, options = encodings()[name], CALLS[call]
    tensors = qkv(70, 90, kv_heads=2, grad=True)
    cotangent = torch.randn(2, HEADS, 70, DIM)

    def gradients(impl, encoding, tensors):
        learned = encoding.parameters() if isinstance(encoding, torch.nn.Module) else ()
        out = attend(*tensors, encoding=encoding, impl=impl, **options)
        inputs = [*tensors, *learned]
        return torch.autograd.grad(out, inputs, cotangent.to(out.dtype), allow_unused=True)

    truth = gradients("dense", *in_float64(encoding, tensors))
    assert all(g is not None for g in truth[:3])
    for impl in ("dense", *forms(name)):
        for at, (ours, exact) in enumerate(
            zip(gradients(impl, encoding, tensors), truth, strict=True)
        ):
            if exact is not None:
                bound = gradient_bound(exact, pairs=1 if at < 3 else 2 * 70 * 90)
                assert (ours - exact).abs().max() < bound, (impl, at)


HAS_FLEX = pytest.mark.skipif(not flex.ON_CPU, reason="PyTorch has it for CPUs with AVX2")


def test_flex_is_refused_where_pytorch_has_none(monkeypatch):
    monkeypatch.setattr(flex, "ON_CPU", False)
    q, k, v = qkv(5, 5)
    options = {"encoding": pe.ALiBi(HEADS), "causal": True}
    assert "AVX2" in attend.explain(q, k, v, **options).unavailable["flex"]
    with pytest.raises(
        ValueError, match="impl='flex' is unavailable: on a CPU FlexAttention needs"
    ):
        attend(q, k, v, impl="flex", **options)


# each compiles for 15 s; the two tests of flex after this are in make test
@HAS_FLEX
@pytest.mark.parametrize("length", slow(1, 63, 1000, 4097))
def test_flex_equals_dense(length):
    """Two encodings share what is compiled; gradients reach the table through blocks."""
    torch.compiler.reset()
    q, k, v = (torch.randn(1, 2, length, DIM) for _ in range(3))
    positions = far_apart(length, 2)
    for encoding in (pe.ALiBi(2), BiasLogits(pe.T5Bias(2, std=1.0))):
        options = {"encoding": encoding, "causal": True, "q_pos": positions, "k_pos": positions}
        check(["flex"], q, k, v, **options)


@HAS_FLEX
def test_flex_sees_what_dense_sees_and_learns():
    torch.compiler.reset()
    encoding = BiasLogits(pe.T5Bias(HEADS, std=1.0))
    q, k, v = qkv(70, 90, kv_heads=2, grad=True)
    options = CALLS["documents of each row"] | {"window": 40}
    both = []
    for impl, (t5, tensors) in (
        ("flex", (encoding, (q, k, v))),
        ("dense", in_float64(encoding, (q, k, v))),
    ):
        out = attend(*tensors, encoding=t5, impl=impl, **options)
        both.append((out, *torch.autograd.grad(out.sum(), [*tensors, t5.params["table"]])))
    for ours, exact in zip(*both, strict=True):
        assert (ours - exact).abs().max() < gradient_bound(exact, pairs=2 * 70 * 40)


@HAS_FLEX
def test_flex_over_several_blocks():
    torch.compiler.reset()
    q, k, v = qkv(300, 300, kv_heads=2)
    documents = torch.tensor([2, 0, 1, 0]).repeat_interleave(75)
    table = torch.randn(32, HEADS, dtype=torch.float64)
    both = pe.T5Bias(HEADS, bidirectional=True)
    options = {"encoding": both, "params": {"table": table}, "documents": documents, "window": 140}
    check(["flex"], q, k, v, **options)


@pytest.mark.parametrize("name", encodings())
def test_decoding_from_a_cache_equals_prefill(name):
    encoding = encodings()[name]
    q, k, v = qkv(40, 40)
    whole = attention.wide_call(q, k, v, encoding=encoding, causal=True)
    assert attention.excess(attend(q, k, v, encoding=encoding, causal=True), call=whole) <= 1
    for t in (0, 1, 20, 39):
        one = attend(
            q[:, :, t : t + 1], k[:, :, : t + 1], v[:, :, : t + 1], encoding=encoding, causal=True
        )
        assert attention.excess(one, call=whole, start=t) <= 1


@pytest.mark.parametrize("name", encodings())
def test_packed_documents_equal_each_by_itself(name):
    encoding, lengths = encodings()[name], [30, 1, 25]
    q, k, v = qkv(56, 56)
    positions = pe.packed(lengths, like=q)
    documents = torch.repeat_interleave(torch.arange(3), torch.tensor(lengths))
    options = {"encoding": encoding, "causal": True}
    ours = attend(q, k, v, q_pos=positions, documents=documents, **options)
    for part, *alone in zip(*(x.split(lengths, 2) for x in (ours, q, k, v)), strict=True):
        assert attention.excess(part, call=attention.wide_call(*alone, **options)) <= 1


@pytest.mark.parametrize("name", encodings())
def test_left_padding_changes_nothing(name):
    encoding = encodings()[name]
    q, k, v = qkv(40, 40)
    mask = torch.ones(2, 40, dtype=torch.bool)
    mask[1, :15] = False
    positions = pe.left_padded(mask)
    ours = attend(q, k, v, encoding=encoding, causal=True, q_pos=positions, mask=mask)
    part, *alone = (x[1:, :, 15:] for x in (ours, q, k, v))
    truth = attention.wide_call(*alone, encoding=encoding, causal=True)
    assert attention.excess(part, call=truth) <= 1


@pytest.mark.parametrize("name", encodings())
def test_a_query_that_sees_nothing_gets_zero(name):
    q, k, v = qkv(40, 40, grad=True)
    documents = torch.zeros(40, dtype=torch.int64), torch.arange(40) // 20
    documents[0][7] = 9
    for impl in ("dense", *forms(name)):
        out = attend(
            q, k, v, encoding=encodings()[name], causal=True, documents=documents, impl=impl
        )
        assert out[:, :, 7].abs().max() == 0
        assert torch.isfinite(torch.autograd.grad(out.sum(), q)[0]).all()


def test_points_on_a_grid():
    encoding, points = BiasLogits(pe.SwinBias(HEADS, (5, 5), std=1.0)), pe.grid(5, 5)
    q, k, v = qkv(25, 25)
    points = torch.from_numpy(points)
    check(("auto", "dense"), q, k, v, encoding=encoding, q_pos=points)
    encoding, q, k, v = in_dtype(torch.float64, encoding, q, k, v)
    plain = torch.softmax(q @ k.mT / 4 + encoding.bias(points), -1) @ v
    truth = attention.wide_call(q, k, v, encoding=encoding, q_pos=points)
    assert attention.excess(plain, call=truth) <= 1


@pytest.mark.parametrize("impl", ["auto", "blocked", "folded"])
def test_rotations_by_points_on_a_grid(impl):
    """What is left of them is NoPE, whose positions are plain numbers."""
    points, (q, k, v) = torch.from_numpy(pe.grid(5, 5)), qkv(25, 25, kv_heads=2)
    rope = pe.AxialRoPE.split(DIM)
    for encoding in (rope, pe.Tempered(rope, pe.LogN(16))):
        for options in ({}, {"causal": True}, {"window": 3}):
            given = {"encoding": encoding, "q_pos": points, **options}
            check([impl], q, k, v, **given)


def test_values_may_have_another_width():
    q, k, _ = qkv(40, 40)
    v = torch.randn(2, HEADS, 40, 5)
    for name in ("alibi", "rope", "shaw"):
        encoding = pe.Shaw(DIM, 5, values=False) if name == "shaw" else encodings()[name]
        params = {
            n: torch.from_numpy(x) for n, x in of(encoding).init(np.random.default_rng(0)).items()
        }
        options = {"encoding": encoding, "causal": True, "params": params or None}
        assert attend(q, k, v, **options).shape == v.shape
        check(("auto", "dense"), q, k, v, **options)


@pytest.mark.parametrize("far", [0, 5])
def test_keys_that_cannot_matter_are_left_out_and_those_that_can_are_not(far):
    """Steep slopes with long vectors: a far key that outweighs its bias must still be found."""
    q, k, v = qkv(600, 600, batch=1)
    with torch.no_grad():
        q[:, :, 599], k[:, :, far] = 12.0, 12.0  # 12 * 12 * 16 / 4 = 576, at a distance of 599
    options = {"encoding": pe.ALiBi(HEADS), "causal": True}
    dense = attend(q, k, v, impl="dense", **options)
    assert (dense[0, 0, 599] - v[0, 0, far]).abs().max() < 1e-3  # that key has all the weight
    check(("blocked", "dense"), q, k, v, **options)


@pytest.mark.parametrize(("dtype", "large"), [(torch.float16, 260.0), (torch.bfloat16, 226.0)])
@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_products_that_a_half_cannot_hold_leave_no_key_out(name, dtype, large):
    """In float16 260^2 is infinite; in bfloat16 226^2 is off by as much as a far key's penalty."""
    q, k, v = torch.randn(3, 1, 8, 512, DIM).to(dtype)
    q[..., 0], k[..., 0] = large, large
    options = {"encoding": encodings(heads=8)[name], "causal": True}
    truth = attend(q.double(), k.double(), v.double(), impl="dense", **options)
    with torch.no_grad():
        ours, dense = (attend(q, k, v, impl=impl, **options) for impl in ("blocked", "dense"))
    # both round logits of 16,900 in float32, by 2^-24 of that for each of 16 products, and once to
    # a half; a dropped key is off by 0.3 and more
    logits = 17 * 2.0**-24 * large**2 / 4
    bound = float(v.abs().max()) * (2 * logits + torch.finfo(dtype).eps)
    assert (dense.double() - truth).abs().max() < bound
    assert (ours.double() - truth).abs().max() < bound


@pytest.mark.parametrize("ahead", [False, True])
def test_one_far_key_in_one_row_and_one_head_is_found(ahead):
    """The bound must look at every batch, every head of keys, and both sides."""
    n, c = 600, math.sqrt(0.75 * 0.5 * 599 / 0.25)
    q, (k, v) = torch.zeros(2, 4, n, 16), torch.randn(2, 2, 2, n, 16)
    k.zero_()
    i, j = (0, n - 1) if ahead else (n - 1, 0)
    q[1, 2, i, 0], k[1, 1, :, 0], k[1, 1, j, 0] = c, -c, c
    encoding = pe.TwoSidedALiBi(4)
    params = {"behind": torch.zeros(4), "ahead": torch.zeros(4)}
    options = {"encoding": encoding, "params": params, "causal": not ahead}
    dense = attend(q, k, v, impl="dense", **options)
    assert (dense[1, 2, i] - v[1, 1, j]).abs().max() < 1e-3
    check(("blocked", "dense"), q, k, v, **options)


@pytest.mark.parametrize(("dtype", "far"), [(torch.float64, -20.0), (torch.float32, -17.6)])
@pytest.mark.parametrize("ahead", [False, True])
def test_keys_that_matter_only_together_are_kept(dtype, far, ahead):
    """A thousand keys of e^far each with values of 500, beside three with values of about 1."""
    n = 1200
    q, v = torch.zeros(1, 1, n, 4, dtype=dtype), torch.randn(1, 1, n, 4, dtype=dtype)
    v[:, :, :1190] = 500.0
    table = torch.zeros(7, 1, dtype=dtype)
    table[0 if ahead else -1] = far
    v, rows = (v.flip(2), slice(0, 1)) if ahead else (v, slice(-1, None))

    def made(v, dtype, impl):
        options = {"params": {"table": table.to(dtype)}, "causal": not ahead, "impl": impl}
        out = attend(
            q.to(dtype), q.to(dtype), v.to(dtype), encoding=pe.ClippedBias(1, 3), **options
        )
        return out[:, :, rows]

    truth = made(v, torch.float64, "dense")
    # a sum of n products in any order is off by n u of the sum of their sizes; that and as much for
    # the exponentials and their sum
    bound = 2 * n * torch.finfo(dtype).eps / 2 * made(v.abs(), torch.float64, "dense").max()
    lost = 1190 * 500 * math.exp(far) / 3  # what those keys bring, beside three of weight 1
    assert bound < lost / 2
    for impl in ("blocked", "dense"):
        assert (made(v, dtype, impl).double() - truth).abs().max() < bound, impl


def test_a_window_is_what_it_says():
    """By hand: of three in a row a window of 2 sees itself and one neighbour."""
    q, v = torch.zeros(1, 1, 3, 2), torch.tensor([[1.0, 0], [0, 1], [0, 0]])[None, None]
    for impl in ("dense", "blocked", "folded"):
        one_way = attend(q, q, v, encoding=pe.NoPE(), causal=True, window=2, impl=impl)[0, 0]
        assert one_way.tolist() == [[1, 0], [0.5, 0.5], [0, 0.5]]
        both = attend(q, q, v, encoding=pe.NoPE(), window=2, impl=impl)[0, 0]
        assert torch.allclose(both, torch.tensor([[0.5, 0.5], [1 / 3, 1 / 3], [0, 0.5]]))


def test_rows_that_start_apart_are_not_taken_for_one():
    q, k, v = qkv(600, 600)
    k_pos = torch.arange(600).expand(2, -1)
    q_pos = k_pos + torch.tensor([[0], [30]])
    options = {"encoding": pe.ALiBi(HEADS), "causal": True, "q_pos": q_pos, "k_pos": k_pos}
    check(["blocked"], q, k, v, **options)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_small_whole_positions_do_not_wrap(dtype):
    q, k, v = qkv(50, 50)
    options = {"encoding": pe.ALiBi(HEADS), "causal": True}
    small = options | {"q_pos": torch.arange(50, dtype=dtype)}
    results = attention.forms_of(("auto", "dense", "folded"), q, k, v, **small)
    attention.assert_right(results, q, k, v, **options)


def test_backward_within_autocast_is_not_rounded():
    encoding = BiasLogits(pe.T5Bias(HEADS, std=1.0))
    q, k, v = qkv(600, 600, grad=True)
    out = attend(q, k, v, encoding=encoding, causal=True)
    expected = torch.autograd.grad(out, encoding.params["table"], torch.ones_like(out))[0]
    out = attend(q, k, v, encoding=encoding, causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        ours = torch.autograd.grad(out, encoding.params["table"], torch.ones_like(out))[0]
    assert torch.equal(ours, expected)


@pytest.mark.parametrize("impl", ["auto", "dense", "blocked"])
def test_a_temperature_of_one_changes_nothing(impl):
    """A wrapper passes on everything: Shaw's values, Transformer-XL's channels, a scale."""
    one = pe.LogN(2**20)  # 1 at every position here
    for name, encoding in encodings().items():
        inner, q_k_v = of(encoding), qkv(40, 40, kv_heads=2)
        params = encoding.tensors() if hasattr(encoding, "tensors") else None
        wrapped = pe.Tempered(inner, one)
        for depth in (wrapped, pe.Tempered(wrapped, one)):
            options = {"causal": True, "params": params}
            ours = attend(*q_k_v, encoding=depth, impl=impl, **options)
            truth = attention.wide_call(*q_k_v, encoding=inner, **options)
            assert attention.excess(ours, call=truth) <= 1, name
            assert (depth.about, depth.scaled) == (inner.about, inner.scaled)
            if not isinstance(inner, pe.Scores) or isinstance(inner, pe.Tempered):
                ours = attend(*q_k_v, encoding=depth, scale=0.7, impl=impl, **options)
                truth = attention.wide_call(*q_k_v, encoding=inner, scale=0.7, **options)
                assert attention.excess(ours, call=truth) <= 1, name


def test_a_tempered_encoding_learns_and_looks_back_like_its_own():
    encoding = pe.Tempered(pe.T5Bias(HEADS, std=1.0), pe.LogN(16))
    q, k, v = qkv(40, 40)
    module = ScoreQK(encoding)
    assert list(module.tensors()) == ["table"]
    check(("auto", "dense"), q, k, v, encoding=module, causal=True)
    with pytest.raises(ValueError, match="causal must be True"):
        attend(q, k, v, encoding=module)
    with pytest.raises(TypeError, match="Sinusoidal is added to the embeddings"):
        attend(q, k, v, encoding=pe.Tempered(pe.Sinusoidal(DIM), pe.LogN(16)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_temperatures_keep_to_the_bound_in_a_half(dtype):
    for encoding in (pe.Tempered(pe.NoPE(), pe.SSMax(1.0)), pe.Tempered(pe.RoPE(DIM), pe.LogN(16))):
        q, k, v = (x.to(dtype) for x in qkv(1000, 1000, batch=1))
        truth = attend(
            q.double(), k.double(), v.double(), encoding=encoding, causal=True, impl="dense"
        )
        bound = attend.explain(q, k, v, encoding=encoding, causal=True).bound
        ours = attend(q, k, v, encoding=encoding, causal=True)
        assert (ours.double() - truth).abs().max() < bound


@pytest.mark.parametrize("shape", [(2, 0, 5), (0, 5, 5), (2, 5, 0)])
def test_nothing_in_nothing_out(shape):
    batch, queries, keys = shape
    q, k = torch.randn(batch, HEADS, queries, DIM), torch.randn(batch, HEADS, keys, DIM)
    where = {"q_pos": torch.arange(queries), "k_pos": torch.arange(keys)}
    for name in ("alibi", "sandwich", "rope", "shaw"):
        out = attend(q, k, k, encoding=encodings()[name], causal=True, **where)
        assert out.shape == q.shape
        assert not out.any()


@pytest.mark.parametrize("shape", [(2, 0, 5), (0, 5, 5), (2, 5, 0)])
def test_nothing_goes_backward_too(shape):
    batch, queries, keys = shape
    q, k = (torch.randn(batch, HEADS, n, DIM, requires_grad=True) for n in (queries, keys))
    where = {"q_pos": torch.arange(queries), "k_pos": torch.arange(keys), "causal": True}
    for name in ("alibi", "t5", "fire", "rope", "shaw"):
        encoding = encodings()[name]
        out = attend(q, k, k, encoding=encoding, **where)
        learned = list(encoding.parameters()) if isinstance(encoding, torch.nn.Module) else []
        for x, grad in zip(
            [q, k, *learned], torch.autograd.grad(out.sum(), [q, k, *learned]), strict=True
        ):
            assert grad.shape == x.shape
            assert not grad.any()


BLIND = {
    "both ways": {},
    "one way": {"causal": True},
    "documents": {"documents": torch.arange(40) // 15},
    "positions in any order": {"q_pos": torch.arange(40) * 7 % 40, "k_pos": torch.arange(40)},
}


@pytest.mark.parametrize("impl", ["auto", "in pieces"])
@pytest.mark.parametrize("case", BLIND)
def test_a_query_whose_biases_are_all_minus_infinity_gets_zero(case, impl, monkeypatch):
    """Forward and backward, as if the mask hid all; a head that sees some loses none of it."""
    from posenc.torch.attention import blocked

    if impl == "in pieces":
        monkeypatch.setattr(blocked, "FEW_PAIRS", 0)
        impl = "blocked"
    tensors = [x.double() for x in qkv(40, 40, batch=1)]
    table = torch.zeros(7, HEADS, dtype=torch.float64)
    table[:, 2], table[:3, 1], table[5:, 3] = -math.inf, -math.inf, -math.inf
    cotangent = torch.randn(1, HEADS, 40, DIM, dtype=torch.float64)

    def made(impl, dtype):
        q, k, v, rows = (x.to(dtype).requires_grad_() for x in (*tensors, table))
        options = {"encoding": pe.ClippedBias(HEADS, 3), "params": {"table": rows}, **BLIND[case]}
        out = attend(q, k, v, impl=impl, **options)
        return out, *torch.autograd.grad(out, [q, k, v, rows], cotangent.to(dtype))

    truth = made("dense", torch.float64)
    assert not truth[0][:, 2].any()
    assert not any(x[:, 2].any() for x in truth[1:4])
    for dtype in ("float32", "float64"):
        for ours, expected in zip(made(impl, getattr(torch, dtype)), truth, strict=True):
            assert torch.isfinite(expected).all()
            bound = gradient_bound(expected, pairs=40 * 40, dtype=dtype)
            assert (ours - expected).abs().max() < bound


def test_a_bias_of_ones_own_needs_six_lines():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Root(pe.Bias):
        def bias(self, q_pos, k_pos, params=None):
            return -(pe.distances(q_pos, k_pos).abs().float() ** 0.5)[..., None, :, :]

    q, k, v = qkv(600, 600)
    for positions in (None, torch.randint(0, 500, (2, 600))):
        options = {"encoding": Root(), "causal": True, "q_pos": positions, "k_pos": positions}
        check(("auto", "dense"), q, k, v, **options)


def test_meta_tensors_have_shapes():
    q = torch.empty(2, HEADS, 50, DIM, device="meta")
    for encoding in (pe.ALiBi(HEADS), pe.RoPE(DIM)):
        assert attend(q, q, q, encoding=encoding, causal=True).shape == q.shape


def test_parameters_may_be_numpys():
    q, k, v = qkv(30, 30)
    for encoding in (pe.T5Bias(HEADS), pe.Shaw(DIM, 3), pe.TransformerXL(HEADS, DIM)):
        params = encoding.init(np.random.default_rng(0))
        tensors = {name: torch.from_numpy(x) for name, x in params.items()}
        ours, theirs = (
            attend(q, k, v, encoding=encoding, causal=True, params=p) for p in (params, tensors)
        )
        assert torch.equal(ours, theirs)


def test_what_is_not_a_number_is_not_hidden():
    q, k, v = qkv(600, 600, batch=1)
    k[0, 0, 0, 0] = math.nan
    ours = attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True)
    assert ours[0, 0].isnan().all()
    assert not ours[0, 1:].isnan().any()
    q, k, v = qkv(600, 600, batch=1)
    v[0, 0, 0, 0] = math.nan
    ours, dense = (
        attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True, impl=i) for i in ("auto", "dense")
    )
    assert torch.equal(ours.isnan(), dense.isnan())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("impl", ["dense", "blocked", "folded"])
def test_halves_keep_whole_distances(dtype, impl):
    """At a distance of 65,536 neighbours still differ by the slope: weights e^-m apart."""
    for heads in (8, 12):
        encoding = pe.ALiBi(heads)
        q, k = (torch.zeros(1, heads, n, 64, dtype=dtype) for n in (1, 2))
        v = torch.eye(2, dtype=dtype).expand(1, heads, 2, 2)
        out = attend(
            q,
            k,
            v,
            encoding=encoding,
            causal=True,
            impl=impl,
            q_pos=torch.tensor([65_536]),
            k_pos=torch.tensor([0, 1]),
        )
        slopes = torch.from_numpy(encoding.head_slopes())
        expected = torch.sigmoid(slopes)  # of the nearer key
        # two biases of four roundings each, by which a sigmoid changes a quarter as much; rounded
        # to a half at the end. A bias in a half would make both keys equal: off by 0.12
        bound = (
            2 * 4 * 2.0**-24 * 65_536 * slopes / 4
            + UNIT[str(dtype).removeprefix("torch.")] * expected
        )
        assert ((out[0, :, 0, 1].double() - expected).abs() <= bound).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["alibi", "t5", "fire", "shaw", "rope", "transformer-xl"])
def test_other_dtypes(name, dtype):
    encoding = encodings()[name]
    q, k, v = (x.to(dtype) for x in qkv(130, 130))
    truth = attend(q.double(), k.double(), v.double(), encoding=encoding, causal=True, impl="dense")
    bound = attend.explain(q, k, v, encoding=encoding, causal=True).bound
    for impl in ("dense", *forms(name)):
        if impl == "folded" and "xl" in name and dtype != torch.float64:
            continue  # a half cannot hold its sinusoids
        ours = attend(q, k, v, encoding=encoding, causal=True, impl=impl)
        assert ours.dtype == dtype
        assert (ours.double() - truth).abs().max() < bound, impl


def test_autocast_does_not_round_the_bias():
    q, k, v = qkv(300, 300, batch=1)
    expected = attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        ours = attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True)
    assert torch.equal(ours, expected)


# each compiles C++ for 10 s; all are traced by test_compiles_as_one_graph_of_any_length
@pytest.mark.parametrize("name", seldom(["alibi", "t5", "fire", "rope", "shaw"], but=("t5",)))
def test_compiled_equals_eager(name):
    torch.compiler.reset()
    encoding = encodings()[name]
    q, k, v = qkv(50, 50, grad=True)
    call = torch.compile(
        lambda q, k, v: attend(q, k, v, encoding=encoding, causal=True), fullgraph=True
    )
    attention.assert_right({"auto": call(q, k, v)}, q, k, v, encoding=encoding, causal=True)
    wide, exact = in_float64(encoding, (q, k, v))
    dense = attend(*exact, encoding=wide, causal=True, impl="dense")
    (ours,), (truth,) = (
        torch.autograd.grad(call(q, k, v).sum(), q),
        torch.autograd.grad(dense.sum(), exact[0]),
    )
    assert (ours - truth).abs().max() < gradient_bound(truth)


# one of each mechanism: a bias, nothing, a rotation, scores
@pytest.mark.parametrize("name", seldom(encodings(), but=("t5", "nope", "rope", "shaw")))
def test_compiles_as_one_graph_of_any_length(name):
    """The encoding as an argument: then its sizes are symbols too."""
    torch.compiler.reset()
    encoding = encodings()[name]
    graphs = []

    def counting(graph, _):
        graphs.append(graph)
        return graph.forward

    call = torch.compile(attend, fullgraph=True, dynamic=True, backend=counting)
    with torch.no_grad():
        for length in (20, 31):
            q, k, v = qkv(length, length, kv_heads=2, batch=1)
            ours = call(q, k, v, encoding=encoding, causal=True)
            attention.assert_right({"auto": ours}, q, k, v, encoding=encoding, causal=True)
    assert len(graphs) == 1  # not one for each length


@pytest.mark.parametrize("name", ["alibi", "t5", "rope", "shaw", "tempered rope"])
def test_forward_mode_derivatives_equal_those_of_reverse_mode(name):
    encoding = encodings()[name]
    q, k, v, tangent, cotangent = torch.randn(5, 1, HEADS, 12, DIM, dtype=torch.float64)

    def of_q(q):
        return attend(q, k, v, encoding=encoding, causal=True)

    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, tangent)
        assert attend.explain(dual, k, v, encoding=encoding, causal=True).impl == "dense"
        ours = torch.autograd.forward_ad.unpack_dual(of_q(dual)).tangent
    functional = torch.func.jvp(of_q, (q,), (tangent,))[1]
    q.requires_grad_()
    slope = torch.autograd.grad(of_q(q), q, cotangent)[0]
    expected = float((slope * tangent).sum())
    for found in (ours, functional):  # sums of 1,000 products of about 1, in float64
        assert abs(float((found.detach() * cotangent).sum()) - expected) < 1e-9


def test_long_compiled_attention_leaves_the_graph_rather_than_build_a_matrix():
    torch.compiler.reset()
    q, k, v = (torch.randn(1, 2, 1600, DIM) for _ in range(3))
    seen = []

    def layer(q, k, v):
        return attend(q, k, v, encoding=pe.ALiBi(2), causal=True) * 2  # exact

    def watching(graph, inputs):
        seen.append(
            max(
                n.meta["example_value"].numel()
                for n in graph.graph.nodes
                if hasattr(n.meta.get("example_value"), "numel")
            )
        )
        return graph.forward

    ours = torch.compile(layer, backend=watching)(q, k, v)
    attention.assert_right({"blocked": ours / 2}, q, k, v, encoding=pe.ALiBi(2), causal=True)
    assert max(seen) < 1600 * 1600


def test_explain_names_the_form_and_why():
    q, k, v = qkv(5, 5)
    choice = attend.explain(q, k, v, encoding=pe.RoPE(DIM), causal=True)
    assert choice.impl == "folded"
    assert choice.unavailable.keys() == (set() if flex.ON_CPU else {"flex"})
    choice = attend.explain(
        q, k, v, encoding=pe.FIRE(HEADS), causal=True, params=BiasLogits(pe.FIRE(HEADS)).tensors()
    )
    assert choice.impl == "blocked"
    assert "FIRE does not claim" in choice.unavailable["flex"]
    assert str(choice).startswith("blocked: its pairs are few enough to write down at once")
    assert attend.explain(q, k, v, encoding=pe.ALiBi(HEADS), impl="dense").impl == "dense"
    long = torch.randn(1, HEADS, 1500, DIM)
    for encoding, told in (
        (pe.ALiBi(HEADS), "the bias is a window of 2N - 1 values"),
        (BiasLogits(pe.FIRE(HEADS, length=1499)), "the bias is a window of 2N - 1 values"),
        (BiasLogits(pe.FIRE(HEADS, length=1498)), "the first 1,499 queries is a window of 2N - 1"),
        (BiasLogits(pe.FIRE(HEADS, length=9)), "the bias is made for a block of queries"),
    ):
        choice = attend.explain(long, long, long, encoding=encoding, causal=True)
        assert told in choice.why
    for name, encoding in encodings().items():
        choice = attend.explain(q, k, v, encoding=encoding, causal=True)
        for impl, why in choice.unavailable.items():
            with pytest.raises(ValueError, match=f"^impl='{impl}' is unavailable: {why}"):
                attend(q, k, v, encoding=encoding, causal=True, impl=impl)
        assert ("folded" in choice.unavailable) == ("folded" not in forms(name)), name


def test_the_docs_tell_up_to_where_a_bias_is_written_down():
    pages = [ROOT / "CHANGELOG.md", *ROOT.glob("README*.md")]
    assert len(pages) == 5
    for page in pages:
        for most in (FEW_PAIRS, FEW):
            assert f" 2^{most.bit_length() - 1}" in page.read_text(), page
    for queries, told in ((512, "at once"), (513, "2N - 1")):  # 2^20 pairs, and some more
        q, k = torch.empty(2, HEADS, queries, DIM), torch.empty(2, HEADS, 256, DIM)
        where = {"q_pos": torch.arange(queries), "k_pos": torch.arange(256)}
        choice = attend.explain(q, k, k, encoding=pe.ALiBi(HEADS), causal=True, **where)
        assert choice.impl == "blocked"
        assert told in choice.why
    long = torch.empty(1, HEADS, 1500, DIM)
    seen = []
    torch.func.vmap(
        lambda q: seen.append(attend.explain(q, q, q, encoding=pe.ALiBi(HEADS)).impl) or q
    )(long[None])
    assert seen == ["dense"]


PEAK = """
import sys, torch, posenc as pe
from conftest import used
from posenc.torch import BiasLogits, attend
heads, length = 8, int(sys.argv[2])
encoding = BiasLogits(getattr(pe, sys.argv[1])(heads))
few = torch.randn(1, heads, 64, 64)
attend(few, few, few, encoding=encoding, causal=True)
q, k, v = torch.randn(3, 1, heads, length, 64)
with torch.no_grad():
    before = used()[0]
    attend(q, k, v, encoding=encoding, causal=True)
    after = used()[0]
print((after - before) * 1e6 / (length * length * heads * 4))
"""


# FIRE goes by pairs, which takes longest; the others by distance
@pytest.mark.parametrize("length", [4_096, *slow(8_192, 16_384)])
@pytest.mark.parametrize("kind", ["ALiBi", *slow("T5Bias", "KERPLE", "FIRE")])
def test_memory_is_a_fraction_of_the_bias(kind, length):
    """8 heads: the bias would take 0.5, 2.1 or 8.6 GB. Peaks never fall: a process for each."""
    command = [sys.executable, "-c", PEAK, kind, str(length)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert 0 < float(done.stdout) < 0.1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "scaling",
    [pe.DynamicNTK(2.0, 64), pe.LongRoPE((1.0,) * 8, (4.0,) * 8, 200, factor=4.0)],
    ids=str,
)
def test_blocks_of_a_half_are_turned_for_the_length_of_the_whole_text(scaling, dtype):
    """As if it were settled before: the first block alone would be shorter, and turned less."""
    encoding = pe.Tempered(pe.RoPE(16, scaling=scaling), pe.Llama4Temperature())
    q, k, v = (torch.randn(1, 1, 300, 16, dtype=dtype) for _ in range(3))
    ours = attend(q, k, v, encoding=encoding, causal=True)
    assert torch.equal(ours, attend(q, k, v, encoding=encoding.at(300), causal=True))
    attention.assert_right({"auto": ours}, q, k, v, encoding=encoding.at(300), causal=True)


@pytest.mark.parametrize("owner", ["module", "params", "tempered"])
@pytest.mark.parametrize("impl", ["auto", "dense", "blocked", "folded"])
def test_learned_rotations_reach_every_form(impl, owner):
    q, k, v = qkv(20, 20, kv_heads=2)
    wanted = torch.randn_like(q)
    a = torch.from_numpy(A.copy()).requires_grad_()
    encoding = pe.Tempered(Turning(DIM), pe.LogN(4)) if owner == "tempered" else Turning(DIM)
    given = {"encoding": encoding, "params": {"a": a}}
    if owner == "module":
        given = {"encoding": RotateQK(encoding, params={"a": A})}
        a = given["encoding"].params["a"]
    ours = attend(q, k, v, causal=True, impl=impl, **given)
    (ours * wanted).sum().backward()
    wide, p = torch.from_numpy(A).double().requires_grad_(), torch.arange(20)
    products = turn(q, p, wide) @ turn(k, p, wide).repeat_interleave(2, 1).mT / math.sqrt(DIM)
    if owner == "tempered":
        products = products * pe.LogN(4).factors(p, dtype=torch.float64)[:, None]
    seen = torch.ones(20, 20, dtype=torch.bool).tril()
    weights = torch.softmax(products.masked_fill(~seen, -math.inf), -1)
    exact = weights @ v.double().repeat_interleave(2, 1)
    (exact * wanted).sum().backward()
    assert (ours - exact).abs().max() <= 1e-5
    pairs = q.shape[0] * HEADS * 20 * 20
    assert (a.grad - wide.grad).abs().max() <= gradient_bound(wide.grad, pairs=pairs)


@pytest.mark.parametrize("rows", [False, True], ids=["one text", "batch"])
@pytest.mark.parametrize("tempered", [False, True])
def test_scores_see_features_and_what_is_seen(rows, tempered):
    """Against attention written out in float64: a causal window within documents, with padding."""
    q, k, v = qkv(6, 9, kv_heads=2)
    features = torch.randn(2, 9, 3, requires_grad=True)
    given = features if rows else features[0]
    ids, padding = torch.arange(9) // 6, torch.ones(2, 9, dtype=torch.bool)
    padding[1, 4] = False
    encoding = pe.Tempered(Forgetting(3), pe.LogN(4)) if tempered else Forgetting(3)
    options = {"causal": True, "window": 4, "documents": ids, "mask": padding[:, None, None]}
    ours = attend(q, k, v, encoding=encoding, features=given, **options)
    wanted = torch.randn_like(ours)
    grad = torch.autograd.grad((ours * wanted).sum(), features)[0]
    wide = features.detach().double().requires_grad_()
    exact = torch.zeros(2, HEADS, 6, DIM, dtype=torch.float64)
    for b, h, i in product(range(2), range(HEADS), range(6)):
        at = i + 3  # queries are the last tokens
        seen = [j for j in range(max(0, at - 3), at + 1) if ids[j] == ids[at] and padding[b, j]]
        gates = torch.log(torch.sigmoid(wide[b if rows else 0, :, 0]))
        scores = []
        for j in seen:
            dot = q[b, h, i].double() @ k[b, h // 2, j].double() / math.sqrt(DIM)
            factor = max(1.0, math.log(at + 1) / math.log(4)) if tempered else 1.0
            scores.append((dot + gates[j + 1 : at + 1].sum()) * factor)
        weights = torch.softmax(torch.stack(scores), 0)
        exact[b, h, i] = weights @ v[b, h // 2, seen].double()
    assert (ours - exact).abs().max() <= 1e-5
    truth = torch.autograd.grad((exact * wanted).sum(), wide)[0]
    assert (grad - truth).abs().max() <= gradient_bound(truth, pairs=2 * HEADS * 54)


def test_what_depends_on_tokens_is_dense():
    q, k, v = qkv(5, 5)
    options = {"encoding": Forgetting(3), "features": torch.randn(5, 3)}
    choice = attend.explain(q, k, v, **options)
    assert choice.impl == "dense"
    assert set(choice.unavailable) == {"blocked", "folded", "flex"}
    pair = options | {"features": (options["features"],) * 2}
    assert torch.equal(attend(q, k, v, **options), attend(q, k, v, **pair))
    for impl, why in choice.unavailable.items():
        assert (
            why
            == "Forgetting depends on the tokens (features and mask), which only 'dense' passes on"
        )
        with pytest.raises(ValueError, match=f"^impl='{impl}' is unavailable: Forgetting depends"):
            attend(q, k, v, impl=impl, **options)


def test_biases_and_rotations_see_features_of_each_row():
    class Gated(pe.Bias):
        needs = frozenset({"features"})

        def bias(self, q_pos, k_pos, params=None, *, features):
            return (features[0] @ features[1].mT)[..., None, :, :] + 0.0 * q_pos[..., None, :, None]

    class Selective(pe.Rotary):
        needs = frozenset({"features"})

        def cos_sin(self, positions, params=None, *, dtype=None, features):
            angles = features.cumsum(-2).to(dtype)
            return angles.cos(), angles.sin()

    q, k, v = qkv(5, 5)
    features = torch.randn(2, 5, DIM // 2)
    for encoding in (Gated(), Selective()):
        ours = attend(q, k, v, encoding=encoding, features=features)
        for b in range(2):
            one = [x[b : b + 1] for x in (q, k, v)]
            alone = attend(*one, encoding=encoding, features=features[b])
            assert (ours[b] - alone[0]).abs().max() <= 1e-5
    gated = torch.softmax(q @ k.mT / 4 + (features @ features.mT)[:, None], -1) @ v
    assert (attend(q, k, v, encoding=Gated(), features=features) - gated).abs().max() <= 1e-5
