"""Guess from weights which pairing they were trained with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.arrays import Array, host, is_array
from posenc.core.hints import hinted
from posenc.core.rotation import Pairing
from posenc.encodings.rope import check_rotary_dim

BOTH: tuple[Pairing, Pairing] = ("interleaved", "halves")
CERTAIN, APART = 3.0, 2.0
"""A guess needs a z-score of at least 3 that is at least 2 above the other's."""


@dataclass(frozen=True)
class PairingGuess:
    """Which pairing weights were trained with, and the evidence.

    pairing   None: cannot tell
    evidence  for each pairing its z-score, or its loss; a high score and a low loss speak for it
    """

    pairing: Pairing | None
    evidence: dict[Pairing, float]

    def __str__(self) -> str:
        told = ", ".join(f"{name} {value:.2f}" for name, value in self.evidence.items())
        return f"{self.pairing or 'cannot tell'} ({told})"


@hinted("pairing_of")
def pairing_of(
    q_weight: Array | Sequence[Array],
    k_weight: Array | Sequence[Array],
    *,
    heads: int,
    kv_heads: int | None = None,
    rotary_dim: int | None = None,
) -> PairingGuess:
    """Guess which pairing the weights of queries and keys were trained with.

    q_weight, k_weight  (heads * dim, hidden) and (kv_heads * dim, hidden), of one layer or a list
    rotary_dim          channels of a head that rotate, the leading ones; all by default

    RoPE mixes a query's channel a with a key's channel b only if they are a pair, so training
    aligns row a of the one with row b of the other. The z-score compares |cos(q_a, k_b)| of pairs
    with those of a and the partners of the pairs beside it, over heads and layers, for both
    pairings. Fresh weights have no such trace, and small models little: then it cannot tell.

    >>> rng = np.random.default_rng(0)
    >>> q, k = rng.normal(size=(2, 64, 32))
    >>> pairing_of(q, k, heads=2).pairing is None
    True
    """
    queries, keys = ([w] if is_array(w) else [*w] for w in (q_weight, k_weight))
    if len(queries) != len(keys) or not queries:
        raise ValueError(
            f"q_weight and k_weight must have a weight for each layer; got {len(queries)} and "
            f"{len(keys)}"
        )
    rules.whole("heads", heads, least=1)
    kv_heads = heads if kv_heads is None else rules.whole("kv_heads", kv_heads, least=1)
    if heads % kv_heads:
        raise ValueError(f"kv_heads must divide heads={heads}; got kv_heads={kv_heads}")
    layers = [
        _alignment(_split("q_weight", q, heads), _split("k_weight", k, kv_heads), rotary_dim)
        for q, k in zip(queries, keys, strict=True)
    ]
    found = np.concatenate(layers)
    scores: dict[Pairing, float] = {pairing: _score(found, pairing) for pairing in BOTH}
    best, other = sorted(BOTH, key=lambda pairing: -scores[pairing])
    certain = scores[best] >= CERTAIN and scores[best] - scores[other] >= APART
    return PairingGuess(best if certain else None, scores)


def _split(name: str, weight: Any, heads: int) -> np.ndarray:
    array = host(weight)
    if array is None or array.ndim != 2 or array.shape[0] % heads:
        shape = tuple(weight.shape)
        raise ValueError(f"{name} must be ({heads} heads * dim, hidden); got shape {shape}")
    rows = np.asarray(array, np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(norms == 0, 1, norms)
    return rows.reshape(heads, -1, array.shape[1])


def _alignment(q: np.ndarray, k: np.ndarray, rotary_dim: int | None) -> np.ndarray:
    """|cos| of the rows of each head's queries and its keys, (head, channel, channel)."""
    if q.shape[1:] != k.shape[1:]:
        raise ValueError(
            "q_weight and k_weight must have heads of the same size; got (dim, hidden) "
            f"{q.shape[1:]} and {k.shape[1:]}"
        )
    width = check_rotary_dim(rotary_dim or q.shape[1], q.shape[1], name="rotary_dim")
    k = np.repeat(k, len(q) // len(k), axis=0)
    return np.abs(q[:, :width] @ k[:, :width].swapaxes(1, 2))


def _score(found: np.ndarray, pairing: Pairing) -> float:
    """The z-score of pairs against neighbours."""
    pairs = np.arange(found.shape[1] // 2)
    a, b = (2 * pairs, 2 * pairs + 1) if pairing == "interleaved" else (pairs, pairs + len(pairs))
    if len(pairs) < 3:
        return 0.0

    def both(b: np.ndarray) -> np.ndarray:
        return (found[:, a, b] + found[:, b, a]) / 2

    excess = both(b) - (both(np.roll(b, 1)) + both(np.roll(b, -1))) / 2
    spread = float(excess.std())
    return float(excess.mean()) / spread * excess.size**0.5 if spread else 0.0


@hinted("pairing_by_loss")
def pairing_by_loss(loss: Callable[[Pairing], float], *, margin: float = 0.05) -> PairingGuess:
    """Guess the pairing from the loss of the model with each, on text like what it was trained on.

    loss    called with "interleaved" and "halves": the mean loss of the same tokens, in nats
    margin  by how much the better must be lower

    >>> str(pairing_by_loss({"interleaved": 5.25, "halves": 1.75}.__getitem__))
    'halves (interleaved 5.25, halves 1.75)'
    """
    rules.real("margin", margin, least=0)
    found: dict[Pairing, float] = {
        pairing: rules.real(f"loss({pairing!r})", loss(pairing)) for pairing in BOTH
    }
    best, other = sorted(BOTH, key=lambda pairing: found[pairing])
    return PairingGuess(best if found[other] - found[best] > margin else None, found)
