"""Slow, independent oracles for biases, from the papers; nothing from posenc."""

import math

import numpy as np


def alibi_slopes(heads: int, *, rule: str) -> list[float]:
    """Press et al. (2021): 2^(-8h/n); for n no power of 2 the official code's two series."""
    if rule == "paper" or math.log2(heads).is_integer():
        return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
    below = 1 << (heads.bit_length() - 1)
    above = alibi_slopes(2 * below, rule=rule)
    return alibi_slopes(below, rule=rule) + [above[2 * i] for i in range(heads - below)]


def t5_bucket(behind: int, *, buckets: int, max_distance: int, bidirectional: bool) -> int:
    """Raffel et al. (2019): exact buckets near, logarithmic ones far, the future in its half."""
    start = 0
    if bidirectional:
        buckets //= 2
        start = buckets if behind < 0 else 0
        behind = abs(behind)
    behind = max(behind, 0)
    exact = buckets // 2
    if behind < exact:
        return start + behind
    share = math.log(behind / exact) / math.log(max_distance / exact)
    return start + min(exact + int(share * (buckets - exact)), buckets - 1)


def bias(table: np.ndarray, q_pos: list[int], k_pos: list[int], **rule: object) -> np.ndarray:
    """T5's bias (heads, q, k), entry by entry."""
    out = np.zeros((table.shape[1], len(q_pos), len(k_pos)))
    for a, i in enumerate(q_pos):
        for b, j in enumerate(k_pos):
            out[:, a, b] = table[t5_bucket(i - j, **rule)]  # type: ignore[arg-type]
    return out
