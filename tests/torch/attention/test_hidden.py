"""What is hidden and not finite comes through in no form, forward or backward."""

import math

import pytest
import torch

import posenc as pe
from posenc.torch import KVCache, attend
from posenc.torch.attention import blocked, flex
from tests.slow import in_turn, seldom
from tests.torch.attention.test_attend import DIM, HEADS, encodings

PLACE = torch.arange(40)
BEHIND = PLACE[:, None] - PLACE
CASES = {
    "causal": ({}, BEHIND >= 0, 20),
    "window": ({"window": 6}, (BEHIND >= 0) & (BEHIND < 6), 20),
    "documents": (
        {"documents": PLACE // 9},
        (BEHIND >= 0) & (PLACE[:, None] // 9 == PLACE // 9),
        20,
    ),
    "padding": ({"mask": (PLACE >= 5).expand(2, 40)}, (BEHIND >= 0) & (PLACE >= 5), 3),
    "added": (
        {"mask": torch.where(PLACE >= 37, -math.inf, 0.5).expand(1, 1, 40, 40)},
        (BEHIND >= 0) & (PLACE < 37),
        38,
    ),
    "softcap": ({"softcap": 5.0}, BEHIND >= 0, 20),
    "sinks": ({"sinks": torch.zeros(HEADS)}, BEHIND >= 0, 20),
}
NAMES = ["nope", "rope", "alibi", "t5", "fire", "shaw", "transformer-xl", "tempered alibi"]
FORMS = ["auto", "dense", "blocked", "in pieces", "folded"]


def qkv(length=40):
    rng = torch.Generator().manual_seed(0)
    return [torch.randn(2, h, length, DIM, generator=rng) for h in (HEADS, 2, 2)]


def spoil(x, at, bad):
    """One channel of one token of the first head of keys, which two heads of queries share."""
    spoilt = x.clone()
    spoilt[:, 0, at, 1] = bad
    return spoilt.requires_grad_()


def check(call, sees, at, *, bad, atol=2e-5):
    """Who does not see the token has what it had, and finite gradients; who does, has NaN."""
    q, k, v = qkv(len(sees))
    clean = call(q, k, v).detach()
    for spoilt in ("k", "v"):
        tensors = (
            q.clone().requires_grad_(),
            *(
                spoil(x, at, bad) if name == spoilt else x.clone().requires_grad_()
                for name, x in (("k", k), ("v", v))
            ),
        )
        out = call(*tensors)
        assert not out[:, :2, sees].isfinite().all(-1).any()
        near = torch.cat([out[:, :2, ~sees].flatten(), out[:, 2:].flatten()])
        truth = torch.cat([clean[:, :2, ~sees].flatten(), clean[:, 2:].flatten()])
        assert (near - truth).abs().max() < atol
        for grad in torch.autograd.grad(near.sum(), tensors):
            assert grad.isfinite().all()


@pytest.mark.parametrize(("name", "case", "form"), in_turn(NAMES, CASES, of=FORMS))
def test_nothing_hidden_comes_through(name, case, form, monkeypatch):
    options, seen, at = CASES[case]
    impl = "blocked" if form == "in pieces" else form
    if form == "in pieces":
        monkeypatch.setattr(blocked, "FEW_PAIRS", 0)
    encoding = encodings()[name]
    given = {"encoding": encoding, "causal": True, **options}
    if impl == "folded" and attend.explain(*qkv(), **given).unavailable.get("folded"):
        impl = "auto"
    check(lambda *qkv: attend(*qkv, impl=impl, **given), seen[:, at], at, bad=math.nan)


@pytest.mark.parametrize("name", ["rope", "alibi", "transformer-xl"])
@pytest.mark.parametrize("bad", [math.inf, -math.inf])
def test_nor_does_infinity(name, bad):
    encoding = encodings()[name]
    seen = CASES["causal"][1][:, 20]
    check(lambda *qkv: attend(*qkv, encoding=encoding, causal=True), seen, 20, bad=bad)


@pytest.mark.parametrize("length", [63, 500, 1000])
@pytest.mark.parametrize("name", ["rope", "alibi"])
def test_nor_in_longer_texts(name, length):
    """In each of the ways that causal attention takes by its length."""
    encoding, at = encodings()[name], length // 2
    seen = torch.arange(length) >= at
    check(lambda *qkv: attend(*qkv, encoding=encoding, causal=True), seen, at, bad=math.nan)


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "transformer-xl"])
@pytest.mark.parametrize("options", [{}, {"softcap": 5.0}], ids=str)
def test_nor_from_the_padding_of_a_cache(name, options):
    q, k, v = qkv()
    mask = (PLACE >= 5).expand(2, 40)
    for x in (k, v):
        x[:, :, :5] = math.nan
    cache = KVCache(encodings()[name]).append(k, v, pe.left_padded(mask), mask)
    for queries in (1, 7):
        out = attend(q[:, :, -queries:], cache=cache, causal=True, **options)
        assert out.isfinite().all()


@pytest.mark.parametrize("name", seldom(["rope", "alibi", "t5"], but=["rope"]))
def test_nor_in_a_compiled_graph(name):
    encoding = encodings()[name]
    torch._dynamo.reset()
    run = torch.compile(
        lambda *qkv: attend(*qkv, encoding=encoding, causal=True),
        backend="aot_eager",
        fullgraph=True,
    )
    check(run, CASES["causal"][1][:, 20], 20, bad=math.nan)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_nor_under_vmap():
    q, k, v = qkv()
    k[:, :, 20, 1] = math.nan
    run = lambda *one: attend(*(x[None] for x in one), encoding=pe.NoPE(), causal=True)[0]  # noqa: E731
    out = torch.func.vmap(run)(q, k, v)
    assert out[:, :, :20].isfinite().all()
    assert out[:, :, 20:].isnan().all()


@pytest.mark.slow
@pytest.mark.skipif(not flex.ON_CPU, reason="FlexAttention needs AVX2")
@pytest.mark.parametrize("looks", [True, False])
def test_nor_in_flex(looks, monkeypatch):
    """Where a result can be looked at, and where it cannot."""
    monkeypatch.setattr(blocked, "can_look", lambda call: looks)
    run = lambda *qkv: attend(*qkv, encoding=pe.ALiBi(HEADS), causal=True, impl="flex")  # noqa: E731
    check(run, CASES["causal"][1][:, 20], 20, bad=math.nan)


def test_without_the_operators_of_its_own_a_backward_pass_is_written_out(monkeypatch):
    """PyTorch may drop what it calls private: results stay what they were."""
    from posenc.torch.attention import pieces

    results = []
    for there in (True, False):
        monkeypatch.setattr(pieces, "HAS_FLASH", there)
        q, k, v = (x.requires_grad_() for x in qkv(450))
        out = attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True)
        results.append((out, *torch.autograd.grad(out.sum(), [q, k, v])))
    for one, other in zip(*results, strict=True):
        assert (one - other).abs().max() < 1e-4
