"""What a layer should compute, in float64 from the encoding's own formulas, and how near it is."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posenc.core.encoding import Encoding, unwrap
from posenc.core.inputs import repeat_heads
from posenc.core.logits import logits
from posenc.core.mechanisms import Rotary, Scores
from posenc.core.rotation import Pairing, rotate
from posenc.models.recording import Attended

Difference = tuple[float, float]
"""The difference that is nearest to its bound, or the farthest beyond it, and that bound."""


def compare_rotation(
    turned: list[tuple[Tensor, Tensor]],
    rotary: Rotary | None,
    positions: np.ndarray,
    params: dict[str, np.ndarray] | None,
    pairing: Pairing,
) -> Difference:
    """Products of the first and the last tensor that a layer turned, against R(p) q · R(p) k.

    turned      tensors (1, head, seq, dim) or (1, seq, head, dim) before and after
    rotary      what should turn them; None: nothing does
    positions   (seq,), or (seq, axis)
    params      what it learns
    pairing     the model's

    Products, since some models reorder the channels of queries and keys as they turn them. A table
    is rounded once, and a turned channel 4 times in all: with u half a unit in the last place of
    the dtype, each is within 4 u (|a| + |b|) of the channels a and b of its pair, times the
    encoding's factor. A product sums both channels of a pair, of a query and of a key.
    """
    (q, q_out), (k, k_out) = (
        tuple(_one_head(x, len(positions)) for x in each) for each in (turned[0], turned[-1])
    )
    unit = torch.finfo(turned[0][0].dtype).eps / 2
    if rotary is None:
        want, reach = q @ k.T, np.abs(q) @ np.abs(k).T
        return _nearest(q_out @ k_out.T, want, 16 * unit * reach)
    cos, sin = rotary.cos_sin(positions, *([] if params is None else [params]), dtype=np.float64)
    part = None if q.shape[-1] == 2 * cos.shape[-1] else rotary.rotated
    want = _turn(q, cos, sin, pairing, part) @ _turn(k, cos, sin, pairing, part).T
    factor = float(np.sqrt(cos**2 + sin**2).max())
    sums = [_sum_pairs(x, cos.shape[-1], pairing, part) for x in (q, k)]
    return _nearest(q_out @ k_out.T, want, 16 * unit * factor**2 * (sums[0] @ sums[1].T))


def _turn(x: np.ndarray, cos: Any, sin: Any, pairing: Pairing, part: Any) -> np.ndarray:
    return rotate(x, cos, sin, pairing=pairing, rotated=part)


def _sum_pairs(x: np.ndarray, pairs: int, pairing: Pairing, part: Any) -> np.ndarray:
    """|a| + |b| of each pair, and |x| of each channel that is not turned."""
    start = x.shape[-1] - 2 * pairs if part == "trailing" else 0
    inside, rest = x[:, start : start + 2 * pairs], np.delete(x, slice(start, start + 2 * pairs), 1)
    shape = (len(x), pairs, 2) if pairing == "interleaved" else (len(x), 2, pairs)
    axis = -1 if pairing == "interleaved" else -2
    return np.concatenate([np.abs(inside.reshape(shape)).sum(axis), np.abs(rest)], axis=1)


def _one_head(x: Tensor, length: int) -> np.ndarray:
    """The first head of the first text: (seq, dim)."""
    head = x[0, 0] if x.shape[2] == length else x[0, :, 0]
    return head.detach().double().cpu().numpy()


def compare_attention(
    call: Attended, encoding: Encoding, params: dict[str, np.ndarray] | None, positions: np.ndarray
) -> Difference:
    """The output of attention against softmax(logits) v in float64, written out.

    call        what our attention was given and what it returned
    encoding    what acts on the logits
    params      what it learns
    positions   (seq,)

    A logit is off by at most its d + 4 roundings of what it sums, in float32 for 16 bits; twice
    that is the relative error of a weight, and the sum of k weights times values adds k + 4
    roundings of the dtype.
    """
    unit = torch.finfo(call.query.dtype).eps / 2
    fine = min(unit, torch.finfo(torch.float32).eps / 2)
    q, k, v = (x.detach().double().cpu().numpy() for x in (call.query, call.key, call.value))
    k, v = repeat_heads("k", k, q), repeat_heads("v", v, q)
    scale = call.options.get("scaling") or q.shape[-1] ** -0.5
    if not isinstance(unwrap(encoding), Scores):
        q = q * (scale * (math.sqrt(q.shape[-1]) if encoding.scaled else 1.0))
    cap = call.options.get("softcap")
    made: np.ndarray = logits(encoding, q, k, positions, positions, params, softcap=cap)
    reach = scale * math.sqrt(q.shape[-1]) * np.abs(q) @ np.abs(k).swapaxes(-1, -2)
    error = (q.shape[-1] + 4) * fine * float(np.abs(made).max() + reach.max())
    made = np.where(_visible(call, len(positions)), made, -np.inf)
    sinks = call.options.get("s_aux")
    sunk = -np.inf if sinks is None else sinks.double().cpu().numpy()[None, :, None, None]
    top = np.maximum(made.max(-1, keepdims=True), sunk)
    weights = np.exp(made - top)
    weights /= weights.sum(-1, keepdims=True) + np.exp(sunk - top)
    if isinstance(encoding, Scores):
        want = encoding.mix(weights, v, positions, positions, params)
    else:
        want = weights @ v
    bound = (2 * error + (len(positions) + 4) * unit) * float(np.abs(v).max())
    out = call.out.detach().double().cpu().numpy().swapaxes(1, 2)
    return _nearest(out, want, np.full(want.shape, bound))


def _visible(call: Attended, length: int) -> np.ndarray:
    """What each query sees: by the mask, or all up to itself, or everything."""
    if call.mask is None:
        seen = np.ones((length, length), dtype=bool)
        return np.tril(seen) if call.causal else seen
    mask = call.mask.cpu()
    return (mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min).numpy()


def _nearest(got: np.ndarray, want: np.ndarray, bound: np.ndarray) -> Difference:
    difference = np.abs(got - want)
    ratio = np.where(np.isfinite(difference), difference, np.inf) / np.maximum(bound, 1e-300)
    at = np.unravel_index(ratio.argmax(), ratio.shape)
    return float(difference[at]), float(bound[at])
