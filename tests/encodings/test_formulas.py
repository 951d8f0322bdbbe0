"""Every bias and score against its oracle: forward on every library, gradient in PyTorch."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import BiasLogits, ScoreQK
from tests import bounds
from tests.libraries import numpy_of
from tests.oracles import bias as oracle
from tests.oracles import scores
from tests.patient import check

Q = np.array([0, 5, 40, 700, 5, 1300], dtype=np.int32)
K = np.array([0, 1, 7, 39, 41, 1300, 6], dtype=np.int32)
POINTS = np.array([[0, 0], [2, 3], [1, 1], [2, 0]], dtype=np.int32)

RNG = np.random.default_rng(0)
FIRE = ("c", "multiplier", "w1", "b1", "w2", "b2")

CASES = {
    "alibi": (pe.ALiBi(3), lambda q, k: oracle.alibi(3, q, k)),
    "alibi of the paper": (
        pe.ALiBi(3, slopes="paper"),
        lambda q, k: oracle.alibi(3, q, k, rule="paper"),
    ),
    "alibi, offset": (
        pe.ALiBi(3, future="offset"),
        lambda q, k: oracle.alibi(3, q, k, future="offset"),
    ),
    "alibi of falcon": (
        pe.ALiBi.falcon(3, 64),
        lambda q, k: oracle.alibi(3, q, k, divisor=8.0),
    ),
    "two-sided alibi": (pe.TwoSidedALiBi(3), oracle.two_sided_alibi),
    "clipped": (pe.ClippedBias(3, 4), oracle.clipped),
    "t5": (
        pe.T5Bias(3, bidirectional=True),
        lambda table, q, k: oracle.bias(
            table, q, k, buckets=32, max_distance=128, bidirectional=True
        ),
    ),
    "kerple, log": (pe.KERPLE(3), lambda r1, r2, q, k: oracle.kerple("log", r1, r2, q, k)),
    "kerple, power": (
        pe.KERPLE(3, kernel="power"),
        lambda r1, r2, q, k: oracle.kerple("power", r1, r2, q, k),
    ),
    "fire": (
        pe.FIRE(3, hidden=4),
        lambda *a: oracle.fire(dict(zip(FIRE, a[:6], strict=True)), *a[6:]),
    ),
    "sandwich": (pe.Sandwich(3, features=16), lambda q, k: oracle.sandwich(3, q, k, dim=16)),
    "swin": (
        pe.SwinBias(3, (3, 4)),
        lambda table, q, k: oracle.swin(table, (3, 4), q, k),
    ),
    "swin v2": (
        pe.SwinV2Bias(3, (3, 4), hidden=5),
        lambda w1, b1, w2, q, k: oracle.swin_v2(w1, b1, w2, (3, 4), None, q, k),
    ),
    "swin v2, a larger window": (
        pe.SwinV2Bias(3, (6, 6), pretrained_window=(3, 4), hidden=5),
        lambda w1, b1, w2, q, k: oracle.swin_v2(w1, b1, w2, (6, 6), (3, 4), q, k),
    ),
}


def positions(encoding):
    return (Q, K) if encoding.axes is None else (POINTS, POINTS[1:])


def drawn(encoding, rng):
    """Parameters away from their starting values, where every part of a formula counts."""
    values = {n: v.astype(np.float64) for n, v in encoding.init(rng).items()}
    return {n: np.asarray(v + rng.uniform(0.1, 0.4, v.shape)) for n, v in values.items()}


def listed(points):
    return points.tolist()


@pytest.mark.parametrize("name", CASES)
def test_equals_the_oracle_on_every_library(xp, rng, name):
    encoding, expected = CASES[name]
    params = {n: v.astype("f") for n, v in drawn(encoding, rng).items()}
    names = list(params)
    ours = xp.call(
        lambda q, k, *values: encoding.bias(q, k, dict(zip(names, values, strict=True))),
        *positions(encoding),
        *params.values(),
    )
    truth = expected(*params.values(), *(listed(p) for p in positions(encoding)))
    assert ours.shape == truth.shape
    bound = bounds.UNIT["float32"] * bounds.bias_roundings(encoding, params, truth)
    assert (np.abs(numpy_of(ours) - truth) <= bound).all()


@pytest.mark.parametrize("name", [n for n, (e, _) in CASES.items() if e.init(RNG)])
def test_gradients_equal_those_of_the_oracle(rng, name):
    encoding, expected = CASES[name]
    params = drawn(encoding, rng)
    points = [listed(p) for p in positions(encoding)]
    tensors = {n: torch.from_numpy(v.copy()).requires_grad_() for n, v in params.items()}
    made = encoding.bias(*(torch.from_numpy(p) for p in positions(encoding)), tensors)
    cotangent = rng.normal(size=made.shape)
    made.backward(torch.from_numpy(cotangent))
    for varied in params:

        def of_one(value, varied=varied):
            return expected(*[value if n == varied else v for n, v in params.items()], *points)

        truth = scores.gradient(of_one, params[varied], cotangent)
        assert np.allclose(tensors[varied].grad.numpy(), truth, rtol=1e-5, atol=1e-6), varied


@pytest.mark.parametrize("name", [n for n, (e, _) in CASES.items() if e.axes is None])
def test_a_batch_of_positions_is_each_row_by_itself(rng, name):
    encoding, _ = CASES[name]
    params = encoding.init(rng)
    q, k = np.stack([Q, Q + 3]), np.stack([K, K[::-1]])
    both = encoding.bias(q, k, params)
    for row in range(2):
        assert np.array_equal(both[row], encoding.bias(q[row], k[row], params))


@pytest.mark.parametrize("name", CASES)
def test_terms_are_the_bias(rng, name):
    """Where a bias says that it is a sum of products, it is; for ALiBi behind the query only."""
    encoding, expected = CASES[name]
    q, k = positions(encoding)
    terms = encoding.terms(torch.from_numpy(q), torch.from_numpy(k), causal=True)
    assert (terms is not None) == (
        name in ("alibi", "alibi of the paper", "alibi of falcon", "sandwich")
    )
    if terms is not None:
        products = (terms[0] @ terms[1].mT).numpy()
        products += 16 / 2 * 3 / (8 * np.arange(1, 4)[:, None, None]) if name == "sandwich" else 0
        behind = q[:, None] >= k[None, :]
        truth = expected(listed(q), listed(k))
        assert np.abs(np.where(behind, products - truth, 0)).max() < 1e-9
        assert (
            name == "sandwich" or encoding.terms(torch.from_numpy(q), torch.from_numpy(k)) is None
        )


def test_bounds_of_kerple_and_fire():
    """Outside its bounds r counts as the nearest within, and still learns."""
    r1, r2 = np.array([0.001, 0.5]), np.array([0.003, 2.7])
    for kernel in ("log", "power"):
        ours = pe.KERPLE(2, kernel=kernel).bias(Q, K, {"r1": r1, "r2": r2})
        assert np.allclose(ours, oracle.kerple(kernel, r1, r2, Q, K))
        tensors = {n: torch.from_numpy(r).requires_grad_() for n, r in (("r1", r1), ("r2", r2))}
        p = torch.from_numpy(Q), torch.from_numpy(K)
        pe.KERPLE(2, kernel=kernel).bias(*p, tensors).sum().backward()
        assert all((t.grad != 0).all() for t in tensors.values())
    # c and the multiplier count by their size
    assert np.allclose(*(pe.FIRE(1).ratios(Q, K, c, -0.1) for c in (-0.3, 0.3)))
    encoding = pe.FIRE(3, hidden=4, eps=0.5, length=300)
    params = drawn(encoding, RNG) | {"multiplier": np.array(-1.3)}
    expected = oracle.fire(params, Q, K, length=300, eps=0.5)
    assert np.allclose(encoding.bias(Q, K, params), expected)


def test_extreme_slopes_have_gradients():
    s = torch.tensor([-100.0, 100.0], requires_grad=True)
    p = torch.arange(5)
    pe.TwoSidedALiBi(2).bias(p, p, {"behind": s, "ahead": s}).sum().backward()
    assert torch.isfinite(s.grad).all()


def test_kernels_meet_where_they_should():
    slopes = pe.ALiBi(8).head_slopes()[:5]
    params = {"r1": slopes, "r2": np.ones(5)}
    assert np.allclose(pe.KERPLE(5, kernel="power").bias(Q, K, params), pe.ALiBi(8).bias(Q, K)[:5])
    zero = {"table": np.zeros((9, 2))}
    assert np.array_equal(pe.ClippedBias(2, 4).bias(Q, K, zero)[:1], pe.NoPE().bias(Q, K))


def test_alibi_neighbours_differ_by_the_slope_at_any_distance():
    """BLOOM's, in bfloat16, differ by 0 or 16 slopes; ours are float32 whatever the model is."""
    p = torch.arange(65_537)
    for heads in (8, 12):
        bias = pe.ALiBi(heads).bias(p[-1:], p).double()[:, 0]
        steps, slopes = bias.diff(), torch.from_numpy(pe.ALiBi(heads).head_slopes())[:, None]
        assert (steps / slopes - 1).abs().max() < 6e-3  # an ulp of float32 there
        powers = slopes.log2() == slopes.log2().round()
        assert torch.equal(steps[powers[:, 0]], slopes[powers[:, 0]].expand(-1, 65_536))
    bloom = (torch.arange(4096) * torch.tensor(0.0625)).to(torch.bfloat16).float().diff() / 0.0625
    assert set(bloom[-256:].tolist()) == {0.0, 16.0}


def qkv(rng, heads=2, dim=4):
    return rng.normal(size=(heads, len(Q), dim)), rng.normal(size=(heads, len(K), dim))


def test_shaw_equals_the_oracle_on_every_library(xp, rng):
    encoding, (q, k) = pe.Shaw(4, 3), (x.astype("f") for x in qkv(rng))
    keys, values = encoding.init(rng).values()
    ours = xp.call(
        lambda q, k, qp, kp, a: pe.logits(encoding, q, k, qp, kp, {"key_table": a}),
        q,
        k,
        Q,
        K,
        keys,
    )
    # two sums of dim products, their sum and a division, each of sizes that add up to this
    longest = np.abs(keys).max(0, keepdims=True)
    bound = bounds.products(q, np.abs(k) + longest, more=3) / 2
    assert (np.abs(numpy_of(ours) - scores.shaw_logits(q, k, keys, Q, K)) <= bound).all()
    weights = rng.uniform(size=(2, len(Q), len(K))).astype("f")
    out = xp.call(
        lambda w, v, qp, kp, b: encoding.mix(w, v, qp, kp, {"value_table": b}),
        weights,
        k,
        Q,
        K,
        values,
    )
    # a sum over the keys; one for each row of the table, and one over its 7 rows; the sum of both
    most = np.abs(np.swapaxes(k, 1, 2)) + np.abs(values).max(0)[:, None]
    bound = bounds.products(weights, most, more=8)
    assert (np.abs(numpy_of(out) - scores.shaw_output(weights, k, values, Q, K)) <= bound).all()
    plain = pe.Shaw(4, 3, values=False).mix(weights, k, Q, K)
    assert (np.abs(plain - weights.astype(float) @ k) <= bound).all()


def test_transformer_xl_equals_the_oracle_on_every_library(xp, rng):
    """Ahead and behind: no triangle of garbage."""
    encoding = pe.TransformerXL(2, 4, features=6)
    q, k = (x.astype("f") for x in qkv(rng))
    params = {n: 20 * v for n, v in encoding.init(rng).items()}
    ours = xp.call(
        lambda q, k, qp, kp, *p: pe.logits(
            encoding, q, k, qp, kp, dict(zip(params, p, strict=True))
        ),
        q,
        k,
        Q,
        K,
        *params.values(),
    )
    truth = scores.transformer_xl_logits(q, k, *params.values(), Q, K)
    # q + u and q + v are rounded; (q + v) W is a sum of 4, turned by sines and cosines of 1 at most
    # (4 roundings, and 4 of tables that JAX adds angles with); a sum of 4 + 6 products; a division
    u, v, w = (np.abs(x)[:, None] for x in params.values())
    turned = 2 * ((np.abs(q) + v) @ w[:, 0]).sum(-1, keepdims=True)
    sizes = (np.abs(q) + u) @ np.abs(np.swapaxes(k, 1, 2)) + turned
    assert (np.abs(numpy_of(ours) - truth) <= bounds.gamma(1 + 4 + 8 + 10 + 1) * sizes / 2).all()


@pytest.mark.parametrize("kind", ["shaw", "transformer-xl"])
def test_gradients_of_scores_equal_those_of_the_oracle(rng, kind):
    encoding = pe.Shaw(4, 3) if kind == "shaw" else pe.TransformerXL(2, 4, features=6)
    q, k = qkv(rng)
    params = {
        n: v.astype(np.float64) * 5 for n, v in encoding.init(rng).items() if n != "value_table"
    }
    values = {"q": q, "k": k} | params

    def truth_of(a):
        if kind == "shaw":
            return scores.shaw_logits(a["q"], a["k"], a["key_table"], Q, K)
        return scores.transformer_xl_logits(*a.values(), Q, K)

    tensors = {n: torch.from_numpy(v.copy()).requires_grad_() for n, v in values.items()}
    learned = {n: t for n, t in tensors.items() if n in params}
    p = torch.from_numpy(Q), torch.from_numpy(K)
    made = pe.logits(encoding, tensors["q"], tensors["k"], *p, learned)
    cotangent = rng.normal(size=made.shape)
    made.backward(torch.from_numpy(cotangent))
    for varied in values:
        truth = scores.gradient(
            lambda value, varied=varied: truth_of(values | {varied: value}),
            values[varied],
            cotangent,
        )
        assert np.allclose(tensors[varied].grad.numpy(), truth, rtol=1e-5, atol=1e-6), varied


def test_shared_heads_of_keys_serve_their_group(rng):
    q, k = rng.normal(size=(1, 6, 5, 8)), rng.normal(size=(1, 2, 5, 8))
    for encoding in (pe.ALiBi(6), pe.RoPE(8), pe.Shaw(8, 2)):
        params = encoding.init(rng)
        ours = pe.logits(encoding, q, k, range(5), range(5), params)
        repeated = pe.logits(encoding, q, np.repeat(k, 3, axis=1), range(5), range(5), params)
        assert np.array_equal(ours, repeated)


def test_unscaled_products_are_named(rng):
    q, k = rng.normal(size=(2, 1, 2, 5, 16))
    table = {"table": np.zeros((32, 2))}
    plain, unscaled = (
        pe.logits(pe.T5Bias(2, scaled=scaled), q, k, range(5), range(5), table)
        for scaled in (True, False)
    )
    assert np.allclose(unscaled, 4 * plain)


def test_modules_own_what_is_learned():
    torch.manual_seed(0)
    bias = BiasLogits(pe.T5Bias(2, bidirectional=True))
    assert [n for n, _ in bias.named_parameters()] == ["params.table"]
    logits, p = torch.randn(1, 2, 5, 5), torch.arange(5)
    truth = logits.double() + bias.bias(p).double()  # one sum, rounded once
    assert ((bias(logits, p) - truth).abs() <= bounds.gamma(1) * truth.abs()).all()
    bias(logits, p).sum().backward()
    assert bias.params["table"].grad.abs().sum() > 0
    copied = BiasLogits(bias.encoding, params={"table": bias.params["table"]})
    assert torch.equal(copied.params["table"], bias.params["table"])
    assert copied.params["table"].data_ptr() != bias.params["table"].data_ptr()
    score, q = ScoreQK(pe.Shaw(4, 2)), torch.randn(1, 2, 5, 4)
    assert torch.equal(score(q, q, p), pe.logits(score.encoding, q, q, p, p, score.tensors()))


def test_initial_values_are_those_of_the_papers(rng):
    many = 4000
    kerple, power = pe.KERPLE(many).init(rng), pe.KERPLE(many, kernel="power").init(rng)
    for drawn, mean, most in (
        (kerple["r1"], 1.0, 2),
        (kerple["r2"], 0.5, 1),
        (power["r1"], 0.5, 1),
        (power["r2"], 1.0, 2),
    ):
        assert abs(drawn.mean() - mean) < 0.05
        assert 0.01 <= drawn.min() < 0.02
        assert drawn.max() < most
    sides = pe.TwoSidedALiBi(many).init(rng)
    assert abs(sides["behind"].mean() + 2) < 0.1
    assert abs(sides["ahead"].std() - 1) < 0.1
    fire = pe.FIRE(8).init(rng)
    assert fire["c"] == np.float32(0.1)
    assert fire["multiplier"] == 1
    assert abs(fire["w2"]).max() < 1 / np.sqrt(32) < 1.1 * abs(fire["w2"]).max()
    assert abs(pe.SwinBias(8, (7, 7)).init(rng)["table"].std() - 0.02) < 1e-3
    shaw = pe.Shaw(64, 16).init(rng)["key_table"]
    assert abs(shaw).max() <= np.sqrt(6 / 97) < 1.01 * abs(shaw).max()


SHARDED = """
import torch, torch.distributed as dist, posenc as pe
from torch.distributed.fsdp import fully_shard
from posenc.torch import BiasLogits
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
module, p = BiasLogits(pe.FIRE(4)), torch.arange(5)
expected = module(torch.zeros(1, 4, 5, 5), p).detach()
made = fully_shard(module, mesh=mesh)(torch.zeros(1, 4, 5, 5), p)
made.sum().backward()
assert torch.equal(made, expected)
assert all(x.grad is not None for x in module.parameters())
dist.destroy_process_group()
"""


@pytest.mark.slow  # five seconds; the next test holds what FSDP asks for
def test_parameters_can_be_sharded():
    """FSDP refuses parameters without an axis, as FIRE's c was."""
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_single_numbers_have_an_axis_in_the_module_and_none_in_the_encoding():
    module = BiasLogits(pe.FIRE(4))
    assert all(parameter.ndim for parameter in module.parameters())
    assert module.tensors()["c"].shape == ()
    old = {name: x.reshape(()) if x.numel() == 1 else x for name, x in module.state_dict().items()}
    other = BiasLogits(pe.FIRE(4))
    other.load_state_dict(old)
    assert all(torch.equal(x, module.state_dict()[n]) for n, x in other.state_dict().items())
    holder = torch.nn.ModuleDict({"bias": BiasLogits(pe.FIRE(4))})
    holder.load_state_dict({f"bias.{name}": x for name, x in old.items()})


@pytest.mark.parametrize("encoding", [pe.Shaw(4, 3), pe.TransformerXL(2, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_of_halves_are_the_rounded_ones(encoding, dtype):
    torch.manual_seed(0)
    q, k = torch.randn(2, 2, 5, 4).to(dtype)
    p, module = torch.arange(5), ScoreQK(encoding)
    for made in (encoding, pe.Tempered(encoding, pe.SSMax())):
        half, wide = (pe.logits(made, *qk, p, p, module.tensors()) for qk in ((q, k), _wide(q, k)))
        assert half.dtype == dtype
        assert torch.equal(half, wide.to(dtype))


def _wide(q, k):
    return q.float(), k.float()


@pytest.mark.parametrize("reach", [0, 1])
def test_one_row_for_all_distances_tells_no_order(reach):
    for encoding in (pe.Shaw(8, reach), pe.ClippedBias(2, reach)):
        assert encoding.traits.ordered == (reach > 0)
        assert check(encoding).ok
