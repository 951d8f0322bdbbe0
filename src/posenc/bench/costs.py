"""What an encoding costs, beside the products q k^T that attention computes anyway. NumPy only."""

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.bench.timing import compared
from posenc.checks.properties.differences import apart, size
from posenc.checks.subject import Subject
from posenc.core import rules
from posenc.core.mechanisms import (
    Additive,
    Bias,
    Encoding,
    Rotary,
    Scores,
    logits,
    rotate_both,
)

TOKENS, HEADS, DIM = 256, 8, 64
"""What is encoded, where the encoding does not say otherwise."""


@dataclass(frozen=True)
class Cost:
    """Time and memory of applying an encoding to `tokens` tokens, `heads` heads of `dim` channels.

    `seconds` and `bytes` are for each token, `ratio` is to the products of q and k in the same run,
    and `power` tells how the memory grows: 1 with the tokens, 2 with the pairs of them. `steady` is
    that of `posenc.bench.timing.compared`: whether the rounds agree, so that the time is a time.
    """

    tokens: int
    heads: int
    dim: int
    seconds: float
    ratio: float
    error: float
    bytes: float
    power: float
    steady: bool


def measure(encoding: Encoding, *, tokens: int = TOKENS, rounds: int = 9) -> Cost:
    """The cost of x + e(p), of R(p) q and R(p) k, of logits + b, or of the scores beyond q k^T.

    What is timed must make the logits of float64 to within 1e-5, or the run fails instead. Fewer
    tokens are taken where positions end before.

    >>> from posenc import RoPE
    >>> cost = measure(RoPE(64), rounds=1)
    >>> cost.tokens, cost.bytes > 2 * 8 * 64 * 4        # q and k of eight heads in float32
    (256, True)
    """
    rules.whole("tokens", tokens, least=1)
    rules.whole("rounds", rounds, least=1)
    subject = Subject(encoding)
    if subject.library != "numpy":
        raise TypeError(f"encoding must take NumPy arrays to be timed; got {encoding!r}")
    trial = Trial(subject, tokens)
    work = {"q k^T": trial.plain, "applied": trial.apply}
    error = trial.error()
    errors = {"q k^T": 0.0, "applied": error}
    # the best of the rounds: on a busy machine the threads of a product wait for each other
    rows = compared("", work, errors, bound=1e-5, rounds=rounds, pick=min)["rows"]
    products, seconds = rows["q k^T"]["seconds"], rows["applied"]["seconds"]
    seconds = max(0.0, seconds - products) if isinstance(encoding, Scores) else seconds
    half = Trial(subject, max(1, trial.count // 2))
    more, fewer = trial.peak() / half.peak(), trial.count / half.count
    return Cost(
        tokens=trial.count,
        heads=trial.heads,
        dim=trial.q.shape[-1],
        seconds=seconds / trial.count,
        ratio=seconds / products,
        error=error,
        bytes=trial.peak() / trial.count,
        power=math.log(more) / math.log(fewer) if fewer > 1 else 1.0,
        steady=rows["applied"]["steady"],
    )


class Trial:
    """An encoding, and random queries and keys at as many positions as it takes of `tokens`."""

    def __init__(self, subject: Subject, tokens: int):
        self.encoding = subject.encoding
        self.params = subject.params or None
        self.p = _positions(subject, tokens)
        self.needed = subject.needed(self.p, self.p, dtype="float32")
        self.count = len(self.p)
        self.heads = self.encoding.heads or HEADS
        dim = subject.dim if isinstance(self.encoding, Rotary | Scores) else DIM
        rng = np.random.default_rng(0)
        self.q, self.k = rng.normal(size=(2, self.heads, self.count, dim)).astype(np.float32)
        if isinstance(self.encoding, Additive):  # it acts once, on what all heads share
            self.x = rng.normal(size=(self.count, subject.dim)).astype(np.float32)
        self.products = self.plain()

    def plain(self) -> np.ndarray:
        """The logits without an encoding."""
        return _products(self.q, self.k, scaled=self.encoding.scaled)

    def apply(self) -> Any:
        """What the encoding makes: of embeddings, of queries and keys, or of logits."""
        match self.encoding:
            case Additive() as encoding:
                return encoding.add(self.x, self.p, self.params)
            case Rotary() as encoding:
                return rotate_both(
                    encoding, self.q, self.k, self.p, self.p, self.params, **self.needed
                )
            case Bias() as encoding:
                return self.products + encoding.bias(self.p, self.p, self.params, **self.needed)
            case Scores() as encoding:
                return encoding.scores(self.q, self.k, self.p, self.p, self.params, **self.needed)
            case encoding:
                raise TypeError(f"encoding must have a mechanism to be timed; got {encoding!r}")

    def error(self) -> float:
        """The largest difference of the logits from those of float64, against the largest one."""
        made = self.apply()
        if isinstance(self.encoding, Additive):
            q, k, made = self.x, self.x, _products(made, made, scaled=self.encoding.scaled)
        else:
            q, k = self.q, self.k
        if isinstance(self.encoding, Rotary):
            made = _products(*made, scaled=self.encoding.scaled)
        q, k = q.astype(np.float64), k.astype(np.float64)
        truth = logits(self.encoding, q, k, self.p, self.p, self.params, **self.needed)
        return apart(made, truth) / size(truth)

    def peak(self) -> int:
        """The most bytes that are taken while it is applied; for scores, beyond the products."""
        least = self.products.nbytes if isinstance(self.encoding, Scores) else 0
        return max(1, _peak(self.apply) - least)


def _positions(subject: Subject, count: int) -> np.ndarray:
    """So many positions, consecutive or on a grid, or as many as are taken."""
    if subject.encoding.axes is None:
        return np.arange(min(count, subject.reach + 1))
    side = max(1, min(int(count ** (1 / subject.axes) + 1e-9), subject.reach + 1))
    axes = np.meshgrid(*[np.arange(side)] * subject.axes, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=-1)


def _products(q: np.ndarray, k: np.ndarray, *, scaled: bool) -> np.ndarray:
    products = q @ np.swapaxes(k, -1, -2)
    return products / math.sqrt(q.shape[-1]) if scaled else products


def _peak(work: Callable[[], Any]) -> int:
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()
