"""Slow, independent oracles for biases, from the papers; nothing from posenc.

Results are float64 and (heads, q, k), made entry by entry. i is the position of the query, j that
of the key, so that i - j is positive for a key behind the query.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Positions = Sequence[Any]
Point = tuple[int, int]


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


def _fill(
    heads: int, queries: Sequence[Any], keys: Sequence[Any], entry: Callable[[int, Any, Any], float]
) -> np.ndarray:
    """The array (heads, q, k) of entry(h, query, key)."""
    out = np.zeros((heads, len(queries), len(keys)))
    for h in range(heads):
        for a, query in enumerate(queries):
            for b, key in enumerate(keys):
                out[h, a, b] = entry(h, query, key)
    return out


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _mlp(
    x: Sequence[float], w1: np.ndarray, b1: np.ndarray, w2: np.ndarray, head: int, b2: float = 0.0
) -> float:
    """Output number head of w2 relu(w1 x + b1) + b2, the matrices (out, in) as in torch."""
    total = float(b2)
    for n in range(len(b1)):
        before = float(b1[n])
        for c, value in enumerate(x):
            before += float(w1[n, c]) * value
        if before > 0:
            total += float(w2[head, n]) * before
    return total


def alibi(
    heads: int,
    q_pos: Positions,
    k_pos: Positions,
    *,
    rule: str = "official",
    future: str = "mirrored",
    divisor: float = 1.0,
) -> np.ndarray:
    """ALiBi (Press et al. 2021, 2108.12409): -m_h |i - j| / divisor.

    With future "offset" a key strictly behind the query gets + 0.5 m_h, so that it differs from
    one as far ahead (Ruoss et al. 2023, google-deepmind/randomized_positional_encodings).
    Falcon's divisor is sqrt(d): it adds the bias before it scales the logits.
    """
    if future not in ("mirrored", "offset"):
        raise ValueError(f"unknown future: {future!r}")
    slopes = alibi_slopes(heads, rule=rule)

    def entry(h: int, i: float, j: float) -> float:
        distance = abs(i - j)
        if future == "offset" and i > j:
            distance -= 0.5
        return -slopes[h] * distance / divisor

    return _fill(heads, q_pos, k_pos, entry)


def sandwich(
    heads: int, q_pos: Positions, k_pos: Positions, *, dim: int = 128, base: float = 1e4
) -> np.ndarray:
    """Sandwich (Chi et al. 2022, 2212.10356): the inner product of two sinusoids over 8h / heads.

    sum of cos((i - j) base^(-2k / dim)), k = 1 .. dim / 2, for head h = 1 .. heads. NVIDIA NeMo
    has the same less dim / 2 (so 0 at distance 0), which a softmax over the keys cannot see.
    """

    def entry(h: int, i: float, j: float) -> float:
        waves = [math.cos((i - j) * base ** (-2 * k / dim)) for k in range(1, dim // 2 + 1)]
        return math.fsum(waves) / (8 * (h + 1) / heads)

    return _fill(heads, q_pos, k_pos, entry)


def two_sided_alibi(
    behind: Sequence[float], ahead: Sequence[float], q_pos: Positions, k_pos: Positions
) -> np.ndarray:
    """Learned ALiBi for encoders (Press, attention_with_linear_biases issue 5).

    -sigmoid(behind[h]) (i - j) for a key at or behind the query, -sigmoid(ahead[h]) (j - i) for
    one ahead of it.
    """

    def entry(h: int, i: float, j: float) -> float:
        if i >= j:
            return -_sigmoid(float(behind[h])) * (i - j)
        return -_sigmoid(float(ahead[h])) * (j - i)

    return _fill(len(behind), q_pos, k_pos, entry)


def kerple(
    kernel: str, r1: Sequence[float], r2: Sequence[float], q_pos: Positions, k_pos: Positions
) -> np.ndarray:
    """KERPLE (Chi et al. 2022, 2205.09921).

    log: -r1 log(1 + r2 |i - j|); power: -r1 |i - j|^r2. As chijames/KERPLE has it, r1 and r2 are
    raised to 0.01 and the exponent of power lowered to 2. That code clamps the stored value, so
    its gradient is that at the bound; the derivative of this function is 0 outside the bounds.
    """
    if kernel not in ("log", "power"):
        raise ValueError(f"unknown kernel: {kernel!r}")

    def entry(h: int, i: float, j: float) -> float:
        scale, shape = max(float(r1[h]), 0.01), max(float(r2[h]), 0.01)
        distance = float(abs(i - j))
        if kernel == "log":
            return -scale * math.log1p(shape * distance)
        return -scale * distance ** min(shape, 2.0)

    return _fill(len(r1), q_pos, k_pos, entry)


def fire_ratio(
    c: float, multiplier: float, i: float, j: float, *, length: float = 512, eps: float = 1e-6
) -> float:
    """What FIRE's network sees: log(1 + |c (i - j)|) / (log(1 + |c max(i, L)|) + eps).

    L is |multiplier * length|; i is the query's position, counted from 0 as in the code.
    """
    longest = max(i, abs(multiplier * length))
    return math.log1p(abs(c * (i - j))) / (math.log1p(abs(c * longest)) + eps)


def fire(
    params: Mapping[str, Any],
    q_pos: Positions,
    k_pos: Positions,
    *,
    length: float = 512,
    eps: float = 1e-6,
) -> np.ndarray:
    """FIRE (Li et al. 2023, 2310.04418): w2 relu(w1 x + b1) + b2 of x = fire_ratio.

    params holds the scalars c and multiplier, w1 (hidden, 1), b1, w2 (heads, hidden) and b2.
    """
    c, multiplier = float(params["c"]), float(params["multiplier"])
    w1, b1, w2, b2 = (params[name] for name in ("w1", "b1", "w2", "b2"))

    def entry(h: int, i: float, j: float) -> float:
        x = fire_ratio(c, multiplier, i, j, length=length, eps=eps)
        return _mlp([x], w1, b1, w2, h, b2[h])

    return _fill(len(w2), q_pos, k_pos, entry)


def clipped(table: np.ndarray, q_pos: Positions, k_pos: Positions) -> np.ndarray:
    """A learned value for each distance up to r: row clip(i - j, -r, r) + r of (2r + 1, heads)."""
    reach = len(table) // 2

    def entry(h: int, i: float, j: float) -> float:
        return float(table[int(min(max(i - j, -reach), reach)) + reach, h])

    return _fill(table.shape[1], q_pos, k_pos, entry)


def swin(
    table: np.ndarray, window: tuple[int, int], q_pts: Sequence[Point], k_pts: Sequence[Point]
) -> np.ndarray:
    """Swin's table (Liu et al. 2021, 2103.14030) of a window of (rows, columns).

    Row (dh + Wh - 1)(2 Ww - 1) + dw + Ww - 1 of ((2 Wh - 1)(2 Ww - 1), heads), d = query - key.
    """
    rows, columns = window

    def entry(h: int, query: Point, key: Point) -> float:
        down, right = query[0] - key[0] + rows - 1, query[1] - key[1] + columns - 1
        return float(table[down * (2 * columns - 1) + right, h])

    return _fill(table.shape[1], q_pts, k_pts, entry)


def swin_v2_coordinate(d: float, side: int) -> float:
    """sign(d) log2(8 |d| / (side - 1) + 1) / log2(8), and no division for a side of 1."""
    share = 8 * abs(d) / (side - 1 if side > 1 else 1)
    return math.copysign(math.log2(share + 1) / math.log2(8), d)


def swin_v2(
    w1: np.ndarray,
    b1: np.ndarray,
    w2: np.ndarray,
    window: tuple[int, int],
    pretrained_window: tuple[int, int] | None,
    q_pts: Sequence[Point],
    k_pts: Sequence[Point],
) -> np.ndarray:
    """Swin v2's continuous bias (Liu et al. 2021, 2111.09883): 16 sigmoid(w2 relu(w1 t + b1)).

    t is swin_v2_coordinate of either axis, by the side of the pretrained window if there is one.
    """
    sides = window if pretrained_window is None else pretrained_window

    def entry(h: int, query: Point, key: Point) -> float:
        t = [swin_v2_coordinate(query[a] - key[a], sides[a]) for a in range(2)]
        return 16 * _sigmoid(_mlp(t, w1, b1, w2, h))

    return _fill(len(w2), q_pts, k_pts, entry)
