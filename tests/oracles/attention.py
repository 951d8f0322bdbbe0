"""Slow, independent oracles for attention with what models add to it; nothing from posenc.

float64, one query at a time, and only the keys that it sees are ever looked at. Products are
(batch, heads, q, k), values (batch, heads, k, dim).
"""

import math

import numpy as np

WORD = 2**32


def attention(
    products: np.ndarray,
    v: np.ndarray,
    seen: np.ndarray,
    *,
    bias: np.ndarray | float = 0.0,
    mask: np.ndarray | float = 0.0,
    softcap: float | None = None,
    sinks: np.ndarray | None = None,
    kept: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The result (batch, heads, q, dim), and the log of the softmax's denominator.

    A logit is c tanh(x / c) of a product x (Gemma 2), plus bias and mask. A sink (gpt-oss) is one
    more logit in the denominator, with no value. Dropout multiplies weights, after the softmax.
    """
    batch, heads, queries, keys = products.shape
    out, total = np.zeros((batch, heads, queries, v.shape[3])), np.zeros((batch, heads, queries))
    bias, mask = (np.broadcast_to(np.asarray(x, float), products.shape) for x in (bias, mask))
    seen = np.broadcast_to(seen, products.shape)
    for at in np.ndindex(batch, heads, queries):
        b, h, _ = at
        logits = {}
        for j in range(keys):
            if seen[at][j] and mask[at][j] != -math.inf and bias[at][j] != -math.inf:
                x = products[at][j]
                capped = x if softcap is None else softcap * math.tanh(x / softcap)
                logits[j] = capped + bias[at][j] + mask[at][j]
        aside = [] if sinks is None else [float(sinks[h])]
        top = max([*logits.values(), *aside], default=None)
        if top is None:
            total[at] = -math.inf
            continue
        parts = {j: math.exp(x - top) for j, x in logits.items()}
        below = math.fsum([*parts.values(), *(math.exp(x - top) for x in aside)])
        total[at] = top + math.log(below)
        for j, part in parts.items():
            factor = 1.0 if kept is None else kept[at][j]
            out[at] += part / below * factor * v[b, h, j]
    return out, total


def mix(x: int) -> int:
    """The 32-bit hash "lowbias32" of Wellons (2018): nullprogram.com/blog/2018/07/31."""
    x ^= x >> 16
    x = x * 0x7FEB352D % WORD
    x ^= x >> 15
    x = x * 0x846CA68B % WORD
    return x ^ (x >> 16)


def kept(seed: int, rate: float, shape: tuple[int, int, int, int]) -> np.ndarray:
    """1 / (1 - rate) where the hash of seed, row, head, query and key is rate 2^32 or more."""
    out = np.zeros(shape)
    for b, h, i, j in np.ndindex(shape):
        state = mix(seed)
        for number in (b, h, i):
            state = mix((state + number) % WORD)
        out[b, h, i, j] = (mix((state + mix(j)) % WORD) >= rate * WORD) / (1 - rate)
    return out


def repeat_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """Grouped-query attention: head h of queries has that of keys h // (heads / kv_heads)."""
    return np.stack([x[:, h * x.shape[1] // heads] for h in range(heads)], axis=1)
