"""Slow, independent oracles for logits, attention and gradients; nothing from posenc.

float64, sums as loops. q is (heads, q, dim), k and v are (heads, k, dim); i is the position of the
query, j that of the key.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Positions = Sequence[Any]


def _dot(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> float:
    return math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def _add(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> list[float]:
    return [float(x) + float(y) for x, y in zip(a, b, strict=True)]


def _shaw_row(table: np.ndarray, i: float, j: float) -> np.ndarray:
    """Row clip(j - i, -r, r) + r of (2r + 1, dim): the key's position less the query's."""
    reach = len(table) // 2
    return table[int(min(max(j - i, -reach), reach)) + reach]


def shaw_logits(
    q: np.ndarray, k: np.ndarray, keys: np.ndarray, q_pos: Positions, k_pos: Positions
) -> np.ndarray:
    """Shaw et al. (2018, 1803.02155, eq. 4): q_i . (k_j + keys[j - i]) / sqrt(dim)."""
    out = np.zeros((len(q), len(q_pos), len(k_pos)))
    for h in range(len(q)):
        for a, i in enumerate(q_pos):
            for b, j in enumerate(k_pos):
                key = _add(k[h, b], _shaw_row(keys, i, j))
                out[h, a, b] = _dot(q[h, a], key) / math.sqrt(q.shape[2])
    return out


def shaw_output(
    weights: np.ndarray, v: np.ndarray, values: np.ndarray, q_pos: Positions, k_pos: Positions
) -> np.ndarray:
    """Shaw et al. (2018, eq. 3): the sum over j of weights_ij (v_j + values[j - i])."""
    out = np.zeros((len(v), len(q_pos), v.shape[2]))
    for h in range(len(v)):
        for a, i in enumerate(q_pos):
            for b, j in enumerate(k_pos):
                value = _add(v[h, b], _shaw_row(values, i, j))
                for c in range(v.shape[2]):
                    out[h, a, c] += float(weights[h, a, b]) * value[c]
    return out


def transformer_xl_logits(
    q: np.ndarray,
    k: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    projection: np.ndarray,
    q_pos: Positions,
    k_pos: Positions,
    base: float = 1e4,
) -> np.ndarray:
    """Transformer-XL (Dai et al. 2019, 1901.02860, section 3.3), the same for every sign of i - j.

    ((q_i + u).k_j + (q_i + v).(W_R R_{i-j})) / sqrt(d) with u, v (heads, d), W_R (heads, d, D)
    and R_p = [sin p w_n .., cos p w_n ..], w_n = base^(-2n / D), n = 0 .. D / 2 - 1.
    """
    heads, _, dim = q.shape
    width = projection.shape[2]
    out = np.zeros((heads, len(q_pos), len(k_pos)))
    for h in range(heads):
        for a, i in enumerate(q_pos):
            for b, j in enumerate(k_pos):
                angles = [(i - j) * base ** (-2 * n / width) for n in range(width // 2)]
                wave = [math.sin(x) for x in angles] + [math.cos(x) for x in angles]
                place = [_dot(projection[h, c], wave) for c in range(dim)]
                content = _dot(_add(q[h, a], u[h]), k[h, b])
                out[h, a, b] = (content + _dot(_add(q[h, a], v[h]), place)) / math.sqrt(dim)
    return out


def attention(logits: np.ndarray, v: np.ndarray, visible: np.ndarray | None = None) -> np.ndarray:
    """softmax(logits) v over the keys that visible (q, k) allows; 0 for a query that sees none."""
    heads, queries, keys = logits.shape
    out = np.zeros((heads, queries, v.shape[2]))
    for h in range(heads):
        for a in range(queries):
            seen = [b for b in range(keys) if visible is None or visible[a, b]]
            if not seen:
                continue
            top = max(float(logits[h, a, b]) for b in seen)
            weights = [math.exp(float(logits[h, a, b]) - top) for b in seen]
            for c in range(v.shape[2]):
                out[h, a, c] = _dot(weights, v[h, seen, c]) / math.fsum(weights)
    return out


def gradient(
    function: Callable[[np.ndarray], np.ndarray],
    array: np.ndarray,
    cotangent: np.ndarray,
    step: float = 1e-6,
) -> np.ndarray:
    """Central differences of sum(function(array) * cotangent) by every entry of array (float64).

    Good to about 1e-9 of the values where function is smooth; array itself is left as it was.
    """
    if np.asarray(array).dtype != np.float64:
        raise TypeError(f"array must be float64, not {np.asarray(array).dtype}")

    def total(at: np.ndarray) -> float:
        products = np.asarray(function(at)) * cotangent
        if products.shape != np.shape(cotangent):
            raise ValueError(f"cotangent must be {products.shape}, not {np.shape(cotangent)}")
        return math.fsum(products.ravel().tolist())

    out = np.zeros(np.shape(array))
    for index in np.ndindex(np.shape(array)):
        above, below = np.array(array), np.array(array)
        above[index] += step
        below[index] -= step
        out[index] = (total(above) - total(below)) / (above[index] - below[index])
    return out
