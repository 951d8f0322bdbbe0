"""Attention in float64, and how far a right result in a narrower dtype may be from it.

With w = softmax(l), o = sum_j w_j v_j, and u the unit roundoff:

1. A logit is a sum of n products. Sums of n terms are off by r(n) u of the sum of their sizes,
   r(n) = min(n, 6 sqrt(n)): n for certain and in any order (tests/bounds.py); 6 sqrt(n) where the
   roundings are independent of each other, but for one case in 10^7 (Higham and Mary, "A new
   approach to probabilistic rounding error analysis", with lambda = 6), and kernels sum n terms
   in blocks, whose roundings are far fewer than n. Sizes of products are |q| |k| at most, which a
   rotation does not change. It adds at most 3 sqrt(2) u of each vector: tables, products and a sum.
2. A bias is right to what bias_roundings tells, to which tests/encodings/test_formulas.py holds
   each of them, or to 2 u |b| where it is EXACT.
3. exp(l - max) adds u |l - max| for the difference, as much for a change of base, and 20 units in
   the last place, 40 u, for the least exact exponential that PyTorch has.

So weights are proportional to w_j e^x_j, |x_j| <= d_j, d_j being the sum of 1 to 3. As the sum of
w_j (v_j - o) is 0, the output is off by

    |sum_j w_j (e^x_j - 1) (v_j - o)| / sum_j w_j e^x_j
        <= sum_j w_j (e^d_j - 1) (|v_j| + |o|) / sum_j w_j e^-d_j.

The sums of e_j v_j and of e_j over the n keys that are seen, with a product and a division, add
(r(n) + 4) u (sum_j w_j |v_j| + |o|). Keys that `blocked` leaves out weigh u beside one that it
keeps: u (max |v| + |o|). Nothing of this depends on the processor, its vectors or its threads.
"""

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

import posenc as pe
from posenc.core.inputs import repeat_heads
from posenc.core.logits import compute_bias, logits
from posenc.core.mechanisms import Bias, Scores
from posenc.torch import attend
from posenc.torch.attention.call import Call, prepare
from posenc.torch.attention.dense import EVERY, along
from tests.bounds import UNIT, bias_roundings

EXACT = pe.ALiBi, pe.Sandwich, pe.T5Bias, pe.ClippedBias, pe.SwinBias
"""These are rounded twice at most: looked up, or made in float64 and rounded to float32."""

ROWS = 128
"""Queries at a time: float64 has no N x N matrix either."""


def roundings(n: Any) -> Any:
    """r(n) above."""
    n = torch.as_tensor(n, dtype=torch.float64)
    return torch.minimum(n, 6 * n.sqrt())


def wide_call(q: Tensor, k: Tensor, v: Tensor, *, encoding: Any, **options: Any) -> Call:
    """The call in float64, with what is learned in float64 too."""
    if isinstance(encoding, torch.nn.Module):
        encoding = copy.deepcopy(encoding).double()
    if options.get("params"):
        options["params"] = {n: torch.as_tensor(x).double() for n, x in options["params"].items()}
    return prepare(*(x.detach().double() for x in (q, k, v)), encoding=encoding, **options)


def assert_right(
    results: Mapping[str, Tensor], q: Tensor, k: Tensor, v: Tensor, **options: Any
) -> None:
    """Each result, named by the form that made it, is within its bound of the truth."""
    call = wide_call(q, k, v, **options)
    chosen = attend.explain(q, k, v, **options).impl
    for folded in (False, True):
        named = [n for n in results if ((chosen if n == "auto" else n) == "folded") == folded]
        if named:
            ratio = excess(*(results[name] for name in named), call=call, folded=folded)
            assert ratio <= 1, f"{named}: {ratio} times the bound off"


def excess(*results: Tensor, call: Call, start: int = 0, folded: bool = False) -> float:
    """The largest error of results for the queries from `start` on, in units of the bound.

    The truth is `dense` in float64, a block of queries at a time: dense is the specification, which
    test_dense_equals_the_oracles holds.
    """
    dtype = str(results[0].dtype).removeprefix("torch.")
    u = UNIT[dtype] + UNIT["float64"]  # and that of the truth
    ratios = []
    for part in torch.stack(results).detach().double().split(ROWS, dim=3):
        rows = slice(start, start := start + part.shape[3])
        truth, bound = truth_and_bound(call, rows, u, folded=folded)
        ratios.append(((part - truth).abs() / bound).amax())
    return float(torch.stack(ratios).amax())


def truth_and_bound(call: Call, rows: slice, u: float, *, folded: bool) -> tuple[Tensor, Tensor]:
    """The output of these queries, and the bound derived above: (batch, heads, q, dim) each."""
    with torch.no_grad():
        _, weights, error = softmax_of(call, rows, u, folded=folded)
        v = repeat_heads("v", call.v, call.q)
        truth = mix_values(call, weights, v, rows)
        sizes = v.abs() + value_sizes(call)
        seen = call.visibility.visible(rows, EVERY).sum(-1, keepdim=True)
        mean, off = weights @ sizes, weights * torch.expm1(error)
        of_weights = off @ sizes + truth.abs() * off.sum(-1, keepdim=True)
        kept = 1 - (weights * -torch.expm1(-error)).sum(-1, keepdim=True)
        of_sums = (roundings(seen) + 4) * u * (mean + truth.abs())
        left_out = u * (sizes.amax(-2, keepdim=True) + truth.abs())
        return truth, of_weights / kept + of_sums + left_out


def mix_values(call: Call, weights: Tensor, v: Tensor, rows: slice) -> Tensor:
    """The values by their weights, as the encoding does it."""
    if not isinstance(call.encoding, Scores):
        return weights @ v
    where = along(call.q_pos, rows, call.encoding), call.k_pos
    return call.encoding.mix(weights, v, *where, call.params)


def softmax_of(call: Call, rows: slice, u: float, *, folded: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, weights, and d above: (batch, heads, q, k) each."""
    part = replace(call, q=call.q[:, :, rows], q_pos=along(call.q_pos, rows, call.encoding))
    made = logits(
        part.encoding, part.scale_queries(part.q), part.k, part.q_pos, part.k_pos, part.params
    )
    seen = call.visibility.visible(rows, EVERY).expand_as(made)
    hidden = made.masked_fill(~seen, -math.inf)
    weights = torch.softmax(hidden, dim=-1).nan_to_num()  # a query that sees nothing
    top = hidden.amax(-1, keepdim=True).clamp(min=-1e300)
    exponents = u * (40 + (made - top).abs() + made.abs() + top.abs())
    error = logit_error(call, part, u, folded=folded) + exponents
    return made, weights, torch.where(seen & made.isfinite(), error, 0.0)


def logit_error(call: Call, part: Call, u: float, *, folded: bool) -> Tensor:
    """How far logits may be off."""
    encoding, factor = call.encoding, 1.0
    while isinstance(encoding, pe.Tempered):
        factor = factor * encoding.row_factors(part.q, part.q_pos).abs()
        encoding = encoding.encoding
    lengths = part.q.norm(dim=-1, keepdim=True)
    keys = repeat_heads("k", call.k, call.q).norm(dim=-1)[..., None, :]
    dim, params = call.q.shape[-1], call.params or {}
    if isinstance(encoding, pe.Shaw):
        longest = params["key_table"].norm(dim=-1).max()
        error = roundings(dim + 8) * u * lengths * (keys + longest) / math.sqrt(dim)
    elif isinstance(encoding, pe.TransformerXL):
        queries = (part.q + params["u"][:, None]).norm(dim=-1, keepdim=True)
        projected = (part.q + params["v"][:, None]).abs() @ params["projection"].abs()
        # sines and cosines of a position are a vector of this length, whatever it is turned by
        turned = projected.norm(dim=-1, keepdim=True) * math.sqrt(encoding.features / 2)
        count = 2 * dim + encoding.features + 16
        error = roundings(count) * u * (queries * keys + turned) / math.sqrt(dim)
    else:
        error = roundings(dim + 16) * u * abs(call.scale) * lengths * keys
    if isinstance(encoding, Bias) and not isinstance(encoding, pe.NoPE):
        bias = compute_bias(encoding, part.q_pos, part.k_pos, call.params, heads=call.q.shape[1])
        bias = bias if bias.ndim == 4 else bias[None]
        rounded = max(u, UNIT[str(bias.dtype).removeprefix("torch.")])
        if isinstance(encoding, EXACT):
            size = 2 * bias.abs()
        else:
            size = torch.from_numpy(bias_roundings(encoding, params, bias.numpy()))
        error = error + rounded * size.nan_to_num(posinf=0.0)
        if folded:  # channels for the bias, whose products cancel
            ends = torch.cat([call.q_pos.flatten(), call.k_pos.flatten()])
            middle = (ends.min() + ends.max()) // 2
            where = part.q_pos - middle, part.k_pos - middle
            left, right = encoding.terms(*where, call.params, causal=True)
            sizes = left.abs().double() @ right.abs().double().mT
            sizes = sizes if sizes.ndim == 4 else sizes[None]
            error = error + roundings(dim + left.shape[-1] + 8) * u * sizes
    return error * factor + 8 * u * abs(factor - 1) * lengths * keys * abs(call.scale)


def value_sizes(call: Call) -> Tensor | float:
    """What is added to the values, at most."""
    table = (call.params or {}).get("value_table")
    return 0.0 if table is None else table.abs().amax(0)


def forms_of(
    impls: Iterable[str], q: Tensor, k: Tensor, v: Tensor, **options: Any
) -> dict[str, Tensor]:
    """What each form makes of the call."""
    return {impl: attend(q, k, v, impl=impl, **options) for impl in impls}
