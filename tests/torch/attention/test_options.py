"""What models add to attention, in every form, against float64 attention written out."""

import inspect
import math
from itertools import product

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import KVCache, attend
from posenc.torch.attention import blocked, flex
from posenc.torch.attention.blocked import attend_in_blocks
from posenc.torch.attention.call import prepare
from posenc.torch.attention.options import (
    NAMES,
    check_names,
    read_dropout,
    spell_out,
)
from posenc.torch.given import swap_heads
from tests.bounds import UNIT
from tests.oracles import attention as oracle
from tests.oracles import bias, rotary, scores
from tests.slow import in_turn, slow

BATCH, HEADS, KV_HEADS, QUERIES, KEYS, DIM = 2, 4, 2, 9, 11, 8
Q_POS, K_POS = range(KEYS - QUERIES, KEYS), range(KEYS)
SEEN = np.array(Q_POS)[:, None] >= np.array(K_POS)
FORMS = "auto", "dense", "blocked", "in blocks", "folded", "cached", "bshd"
BEYOND_FUSED = {"softcap", "sinks", "dropout", "return_lse"}
RNG = np.random.default_rng(0)
PADDED = np.ones((BATCH, 1, 1, KEYS), dtype=bool)
PADDED[1, ..., :4] = False  # its first two queries see nothing
ADDED = RNG.normal(size=(BATCH, HEADS, QUERIES, KEYS))
ADDED[:, 1, 3], ADDED[..., 5] = -math.inf, -math.inf  # a query that sees nothing, a key unseen
SINKS = np.array([0.5, -30.0, 30.0, 0.0])
OPTIONS = {
    "none": {},
    "softcap": {"softcap": 1.5},
    "sinks": {"sinks": SINKS},
    "dropout": {"dropout": 0.4},
    "padding": {"mask": PADDED},
    "mask": {"mask": ADDED},
    "return_lse": {"return_lse": True},
    "all": {"softcap": 1.5, "sinks": SINKS, "dropout": 0.4, "mask": ADDED, "return_lse": True},
    "sinks, nothing seen": {"sinks": SINKS, "mask": PADDED, "return_lse": True},
}
T5 = RNG.normal(size=(32, HEADS))
XL = {
    "u": RNG.normal(size=(HEADS, DIM)),
    "v": RNG.normal(size=(HEADS, DIM)),
    "projection": RNG.normal(size=(HEADS, DIM, 6)),
}


def random(dtype=torch.float64):
    """q, k, v as the dtype holds them."""
    rng = np.random.default_rng(1)
    shapes = (BATCH, HEADS, QUERIES, DIM), *[(BATCH, KV_HEADS, KEYS, DIM)] * 2
    return [torch.from_numpy(rng.normal(size=shape) * 2).to(dtype) for shape in shapes]


def encodings():
    return {
        "nope": (pe.NoPE(), None),
        "rope": (pe.RoPE(DIM), None),
        "alibi": (pe.ALiBi(HEADS), None),
        "t5": (pe.T5Bias(HEADS), {"table": T5}),
        "transformer-xl": (pe.TransformerXL(HEADS, DIM, features=6), XL),
    }


def rotate(x, positions):
    w = rotary.plain(DIM, 10_000)
    return [
        [float(c) for c in rotary.rotate(row, p, w)] for row, p in zip(x, positions, strict=True)
    ]


MADE = {}


def products_and_bias(name, q, k):
    """The same as `make_products`, made once."""
    key = name, q.tobytes()
    if key not in MADE:
        MADE[key] = make_products(name, q, k)
    return MADE[key]


def make_products(name, q, k):
    """The scaled products of each mechanism, and what is added to them, by oracles of their own."""
    k = oracle.repeat_heads(k, HEADS)
    if name == "transformer-xl":
        made = [
            scores.transformer_xl_logits(*qk, **XL, q_pos=Q_POS, k_pos=K_POS)
            for qk in zip(q, k, strict=True)
        ]
        return np.stack(made), 0.0
    if name == "rope":
        q, k = (
            np.array([[rotate(x, where) for x in row] for row in both])
            for both, where in ((q, Q_POS), (k, K_POS))
        )
    products = np.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(DIM)
    if name == "alibi":
        return products, bias.alibi(HEADS, Q_POS, K_POS)
    if name == "t5":
        rule = {"buckets": 32, "max_distance": 128, "bidirectional": False}
        return products, bias.bias(T5, [*Q_POS], [*K_POS], **rule)
    return products, 0.0


def truth_and_bounds(name, q, k, v, options, dtype):
    """The result and its logarithm in float64, and how far each may be off, for each query.

    A logit is off by d: (dim + 24) roundings of |q| |k| twice, once in the rotation; a bias by two
    of its own; exponents by 40 units and 4 of the logit (truth.py derives them). Weights are then
    off by e^d - 1 in proportion, twice with their sum, and sums of n keys by n + 8 roundings. All
    of that is in float32 at least; 16 bits have rotated queries and keys, weights and the result.
    """
    half, u = UNIT[dtype], min(UNIT[dtype], UNIT["float32"])
    rounded = 0.0 if half == u else half
    products, added = products_and_bias(name, q, k)
    values = oracle.repeat_heads(v, HEADS)
    mask = options.get("mask", 0.0)
    seen = SEEN & mask if mask is PADDED else SEEN
    mask = mask if seen is SEEN else 0.0
    rate = options.get("dropout", 0.0)
    out, total = oracle.attention(
        products,
        values,
        seen,
        bias=added,
        mask=mask,
        softcap=options.get("softcap"),
        sinks=options.get("sinks"),
        kept=oracle.kept(SEED, rate, products.shape) if rate else None,
    )
    lengths = [np.linalg.norm(x, axis=-1) for x in (q, oracle.repeat_heads(k, HEADS))]
    if name == "transformer-xl":  # what is added to queries and to keys
        lengths[0] += (
            np.linalg.norm(XL["u"], axis=-1).max() + np.linalg.norm(XL["v"], axis=-1).max()
        )
        lengths[1] += np.linalg.norm(XL["projection"].reshape(HEADS, -1), axis=-1).max() * 3**0.5
    sizes = lengths[0] * lengths[1].max(-1, keepdims=True) / math.sqrt(DIM)
    finite = np.abs(np.nan_to_num(np.asarray(mask, float), neginf=0.0)).max()
    largest = sizes + np.abs(added).max() + finite
    biases = np.abs(added).max() + finite
    d = u * (2 * (DIM + 24) * sizes + 4 * largest + 40) + 2 * max(u, 2.0**-24) * biases
    d = d + (2 * rounded * sizes if name == "rope" else 0.0)
    of_out = 2 * np.expm1(d) + (KEYS + 8) * u + 2 * rounded
    of_out = of_out * np.abs(v).max() / (1 - rate)
    return out, total, of_out[..., None], d + (KEYS + 50) * u * (1 + np.abs(total))


SEED = int(torch.randint(2**32, (), generator=torch.Generator().manual_seed(5)))


def tensors_of(options):
    """The options as `attend` takes them."""
    given = {n: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for n, x in options.items()}
    if "dropout" in options:
        given["generator"] = torch.Generator().manual_seed(5)
    return given


def run(form, name, q, k, v, options):
    """The result of a form, always as a pair with its logarithm or None."""
    encoding, params = encodings()[name]
    params = None if params is None else {n: torch.from_numpy(x) for n, x in params.items()}
    given = tensors_of(options) | {"causal": True}
    if form == "cached":
        cache = KVCache(encoding, params=params).append(k[:, :, :5], v[:, :, :5])
        made = attend(q, cache=cache.append(k[:, :, 5:], v[:, :, 5:]), **given)
    elif form == "bshd":
        swapped = [swap_heads(x) for x in (q, k, v)]
        made = attend(*swapped, encoding=encoding, params=params, layout="bshd", **given)
        made = (swap_heads(made[0]), made[1]) if isinstance(made, tuple) else swap_heads(made)
    else:
        impl = "blocked" if form == "in blocks" else form
        made = attend(q, k, v, encoding=encoding, params=params, impl=impl, **given)
    return made if isinstance(made, tuple) else (made, None)


@pytest.mark.parametrize(
    ("name", "option", "dtype"),
    [
        # 16 bits repeat what the others hold
        *in_turn(encodings(), OPTIONS, of=["float64", "float32"]),
        *slow(*product(encodings(), OPTIONS, ["bfloat16", "float16"])),
    ],
)
def test_every_option_in_every_form_equals_attention_written_out(name, option, dtype, monkeypatch):
    q, k, v = random(getattr(torch, dtype))
    options = OPTIONS[option]
    wide = [x.double().numpy() for x in (q, k, v)]
    out, total, of_out, of_total = truth_and_bounds(name, *wide, options, dtype)
    for form in FORMS:
        if form == "folded" and (name == "t5" or BEYOND_FUSED & options.keys()):
            continue
        if form == "folded" and name == "transformer-xl" and dtype in ("bfloat16", "float16"):
            continue
        if form == "in blocks":
            monkeypatch.setattr(blocked, "FEW_PAIRS", 0)
            monkeypatch.setattr(blocked, "affordable", lambda call, most: min(5, most))
        ours, lse = run(form, name, q, k, v, options)
        monkeypatch.undo()
        assert ours.dtype == q.dtype
        off = np.abs(ours.double().numpy() - out) / of_out
        assert off.max() <= 1, (form, off.max())
        if lse is not None:
            assert lse.dtype == (torch.float64 if dtype == "float64" else torch.float32)
            infinite = np.isinf(total)
            assert np.array_equal(lse.numpy() == -math.inf, infinite)
            off = np.abs(lse.double().numpy() - total)[~infinite] / of_total[~infinite]
            assert off.max() <= 1, (form, off.max())


def test_the_oracle_rejects_a_cap_after_the_bias_and_sinks_with_a_value():
    """Each is far beyond the bound: an oracle that cannot say no proves nothing."""
    q, k, v = random()
    wide = [x.numpy() for x in (q, k, v)]
    options = {"softcap": 1.5, "sinks": SINKS}
    out, _, of_out, _ = truth_and_bounds("alibi", *wide, options, "float64")
    products, added = products_and_bias("alibi", *wide[:2])
    values = oracle.repeat_heads(wide[2], HEADS)
    late, _ = oracle.attention(products + added, values, SEEN, **options)
    without, _ = oracle.attention(products, values, SEEN, bias=added, softcap=1.5)
    for wrong in (late, without):
        assert (np.abs(wrong - out) / of_out).max() > 1000


@pytest.mark.slow
@pytest.mark.skipif(not flex.ON_CPU, reason="FlexAttention needs AVX2")
def test_flex_caps_adds_and_hides():
    """Of those that it has: sinks and the logarithm need what it returns on GPUs only."""
    q, k, v = random(torch.float32)
    wide = [x.double().numpy() for x in (q, k, v)]
    options = {"softcap": 1.5, "mask": ADDED}
    out, _, of_out, _ = truth_and_bounds("alibi", *wide, options, "float32")
    ours, _ = run("flex", "alibi", q, k, v, options)
    assert (np.abs(ours.double().numpy() - out) / of_out).max() <= 1


@pytest.mark.parametrize("form", ["dense", "blocked", "folded"])
@pytest.mark.parametrize("size", [1e4, 1e30])
def test_a_large_bias_takes_all_and_one_of_minus_infinity_none(form, size):
    q, k, v = random(torch.float32)
    mask = torch.zeros(1, 1, QUERIES, KEYS)
    mask[..., 2], mask[..., 3] = size, -math.inf
    made = attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True, mask=mask, impl=form)
    assert torch.equal(made, v[:, [0, 0, 1, 1], 2:3].expand_as(made))
    mask[..., 2] = -size  # as good as hidden
    made = attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True, mask=mask, impl=form)
    mask[..., 2] = -math.inf
    hidden = attend(q, k, v, encoding=pe.ALiBi(HEADS), causal=True, mask=mask, impl=form)
    assert (made - hidden).abs().max() < 1e-6


@pytest.mark.parametrize("impl", ["dense", "blocked"])
@pytest.mark.parametrize("name", ["rope", "alibi", "transformer-xl"])
def test_gradients_are_those_of_differences(name, impl):
    """To q, k, v, sinks, mask and what is learned, of the result and its logarithm."""
    rng = torch.Generator().manual_seed(0)
    encoding, params = encodings()[name]
    draw = lambda *shape: torch.randn(shape, generator=rng, dtype=torch.float64)  # noqa: E731
    q, k, v = draw(1, HEADS, 3, DIM), draw(1, 2, 4, DIM), draw(1, 2, 4, DIM)
    sinks, mask = draw(HEADS), draw(1, 1, 3, 4)
    mask[..., 1] = -math.inf
    learned = [torch.from_numpy(x) for x in (params or {}).values()]

    def run(q, k, v, sinks, added, *learned):
        given = dict(zip(params or (), learned, strict=True)) or None
        return attend(
            q,
            k,
            v,
            encoding=encoding,
            params=given,
            causal=True,
            impl=impl,
            mask=mask + added,
            softcap=2.0,
            sinks=sinks,
            dropout=0.3,
            generator=torch.Generator().manual_seed(1),
            return_lse=True,
        )

    inputs = [q, k, v, sinks, torch.zeros_like(mask), *learned]
    assert torch.autograd.gradcheck(run, [x.requires_grad_() for x in inputs], fast_mode=True)


@pytest.mark.parametrize("impl", ["folded", "flex"])
@pytest.mark.parametrize("option", ["softcap", "sinks", "dropout", "return_lse"])
def test_what_a_form_does_not_have_is_refused_by_name(impl, option):
    if (impl, option) == ("flex", "softcap"):
        return
    q, k, v = random(torch.float32)
    given = tensors_of(OPTIONS[option]) | {"encoding": pe.NoPE(), "causal": True}
    with pytest.raises(ValueError, match=rf"impl='{impl}' is unavailable: .*{option}"):
        attend(q, k, v, impl=impl, **given)
    choice = attend.explain(q, k, v, **given)
    assert option in choice.unavailable[impl]
    assert choice.impl == "blocked"


def test_dropout_is_a_function_of_the_generator_and_the_same_in_every_form():
    q, k, v = random()
    made = lambda impl, seed: attend(  # noqa: E731
        q,
        k,
        v,
        encoding=pe.ALiBi(HEADS),
        causal=True,
        dropout=0.5,
        generator=torch.Generator().manual_seed(seed),
        impl=impl,
    )
    assert torch.equal(made("dense", 1), made("dense", 1))
    assert not torch.equal(made("dense", 1), made("dense", 2))
    assert (made("dense", 1) - made("blocked", 1)).abs().max() < 1e-12
    torch.manual_seed(3)
    first = attend(q, k, v, encoding=pe.NoPE(), dropout=0.5)
    torch.manual_seed(3)
    assert torch.equal(attend(q, k, v, encoding=pe.NoPE(), dropout=0.5), first)
    assert not torch.equal(attend(q, k, v, encoding=pe.NoPE(), dropout=0.5), first)


def test_parts_over_different_keys_are_put_together_by_their_logarithms():
    q, k, v = random()
    whole = attend(q, k, v, encoding=pe.NoPE())
    parts = [
        attend(
            q,
            k[:, :, part],
            v[:, :, part],
            encoding=pe.NoPE(),
            return_lse=True,
            q_pos=Q_POS,
            k_pos=K_POS[part],
        )
        for part in (slice(0, 6), slice(6, KEYS))
    ]
    total = torch.logaddexp(*(lse for _, lse in parts))
    joined = sum(out * (lse - total).exp()[..., None] for out, lse in parts)
    assert (joined - whole).abs().max() < 1e-13


def test_no_key_leaves_0_and_the_logarithm_of_the_sinks():
    q, k, v = random(torch.float32)
    where = {"q_pos": Q_POS, "k_pos": [], "return_lse": True}
    none = k[:, :, :0], v[:, :, :0]
    out, lse = attend(q, *none, encoding=pe.NoPE(), **where)
    assert not out.any()
    assert (lse == -math.inf).all()
    sinks = torch.tensor([0.0, 1.0, 2.0, 3.0])
    out, lse = attend(q, *none, encoding=pe.NoPE(), sinks=sinks, **where)
    assert not out.any()
    assert torch.equal(lse, sinks[:, None].expand_as(lse))


def test_compiled_equals_eager():
    q, k, v = random(torch.float32)
    options = {"softcap": 1.5, "sinks": torch.from_numpy(SINKS), "return_lse": True}
    options |= {"encoding": pe.RoPE(DIM), "mask": torch.from_numpy(ADDED), "causal": True}
    call = lambda q, k, v: attend(q, k, v, **options)  # noqa: E731
    torch._dynamo.reset()
    for ours, eager in zip(
        torch.compile(call, fullgraph=True, backend="aot_eager")(q, k, v),
        call(q, k, v),
        strict=True,
    ):
        assert torch.allclose(ours, eager, atol=1e-5)


def test_long_texts_with_options_are_made_in_blocks_that_stay_small(monkeypatch):
    """No array of all pairs, forward or backward."""
    monkeypatch.setattr(blocked, "FEW_PAIRS", 0)
    largest = []
    plain = blocked.attend_part
    monkeypatch.setattr(
        blocked,
        "attend_part",
        lambda call, *part: largest.append(call.q.shape[2]) or plain(call, *part),
    )
    q, k, v = (torch.randn(1, 1, 300, DIM, requires_grad=True) for _ in range(3))
    attend_in_blocks(
        prepare(q, k, v, encoding=pe.NoPE(), causal=True, softcap=5.0)
    ).sum().backward()
    assert max(largest) == 128
    assert len(largest) == 6  # three blocks, each once more in the backward pass


def test_arguments_are_read():
    q = torch.zeros(1, 2, 3, 4)
    with pytest.raises(TypeError, match=r"generator must be a torch\.Generator; got int"):
        read_dropout(0.1, 3, q)
    with pytest.raises(TypeError, match=r"attend has no argument 's_aux'; did you mean sinks=\?"):
        check_names({"s_aux": q})
    assert read_dropout(0.0, None, q) is None
    assert swap_heads(None) is None


def test_the_signature_has_every_option_and_its_default():
    parameters = inspect.signature(attend).parameters
    assert {*parameters} == {"q", "k", "v", *NAMES}
    assert parameters.keys() == spell_out(type(attend).explain).parameters.keys() - {"self"}
    q = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
    given = {name: parameters[name].default for name in NAMES} | {"encoding": pe.ALiBi(2)}
    assert torch.equal(attend(q, q, q, **given), attend(q, q, q, encoding=pe.ALiBi(2)))
