"""The cost of an encoding, against the products q k^T that attention computes anyway; in NumPy."""

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.bench.timing import compare_times
from posenc.checks.properties.differences import max_difference, scale_of
from posenc.checks.subject import Subject
from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.logits import logits, rotate_both
from posenc.core.mechanisms import Additive, Bias, Rotary, Scores

TOKENS, HEADS, DIM = 256, 8, 64
"""Sizes of queries and keys, where the encoding does not state its own."""


@dataclass(frozen=True)
class Cost:
    """Time and memory of applying an encoding to `tokens` tokens, `heads` heads of `dim` channels.

    seconds  for each token
    ratio    time relative to the products of q and k in the same run
    error    the largest relative difference from the logits in float64
    bytes    peak memory for each token
    power    how the memory grows: 1 with the tokens, 2 with the pairs of tokens
    steady   whether the rounds agree (see `posenc.bench.timing.summarize`)
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
    """Measure x + e(p), R(p) q and R(p) k, logits + b, or scores beyond q k^T.

    tokens  how many tokens; fewer if the positions of the encoding end before
    rounds  how often each is timed

    Logits more than 1e-5 away from those in float64 raise ArithmeticError instead.

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
    work = {"q k^T": trial.compute_products, "applied": trial.apply}
    error = trial.error()
    errors = {"q k^T": 0.0, "applied": error}
    # the fastest round: on a busy machine the threads of a matrix product wait for each other
    rows = compare_times(work, errors, bound=1e-5, rounds=rounds, pick=min)
    products, seconds = rows["q k^T"]["seconds"], rows["applied"]["seconds"]
    seconds = max(0.0, seconds - products) if isinstance(encoding, Scores) else seconds
    half = Trial(subject, max(1, trial.count // 2))
    more, fewer = trial.peak_bytes() / half.peak_bytes(), trial.count / half.count
    return Cost(
        tokens=trial.count,
        heads=trial.heads,
        dim=trial.q.shape[-1],
        seconds=seconds / trial.count,
        ratio=seconds / products,
        error=error,
        bytes=trial.peak_bytes() / trial.count,
        power=math.log(more) / math.log(fewer) if fewer > 1 else 1.0,
        steady=rows["applied"]["steady"],
    )


class Trial:
    """An encoding with random queries and keys at up to `tokens` positions."""

    def __init__(self, subject: Subject, tokens: int):
        self.encoding = subject.encoding
        self.params = subject.params or None
        self.p = _choose_positions(subject, tokens)
        self.needed = subject.build_needs(self.p, self.p, dtype="float32")
        self.count = len(self.p)
        self.heads = self.encoding.heads or HEADS
        dim = subject.dim if isinstance(self.encoding, Rotary | Scores) else DIM
        rng = np.random.default_rng(0)
        self.q, self.k = rng.normal(size=(2, self.heads, self.count, dim)).astype(np.float32)
        if isinstance(self.encoding, Additive):  # applied once, before the heads
            self.x = rng.normal(size=(self.count, subject.dim)).astype(np.float32)
        self.products = self.compute_products()

    def compute_products(self) -> np.ndarray:
        """The logits without an encoding."""
        return _products(self.q, self.k, scaled=self.encoding.scaled)

    def apply(self) -> Any:
        """Apply the encoding to embeddings, to queries and keys, or to logits."""
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
        """The largest difference of the logits from float64, relative to the largest logit."""
        made = self.apply()
        if isinstance(self.encoding, Additive):
            q, k, made = self.x, self.x, _products(made, made, scaled=self.encoding.scaled)
        else:
            q, k = self.q, self.k
        if isinstance(self.encoding, Rotary):
            made = _products(*made, scaled=self.encoding.scaled)
        q, k = q.astype(np.float64), k.astype(np.float64)
        truth = logits(self.encoding, q, k, self.p, self.p, self.params, **self.needed)
        return max_difference(made, truth) / scale_of(truth)

    def peak_bytes(self) -> int:
        """Peak memory while it is applied; for scores, beyond that of the products."""
        least = self.products.nbytes if isinstance(self.encoding, Scores) else 0
        return max(1, _trace_peak(self.apply) - least)


def _choose_positions(subject: Subject, count: int) -> np.ndarray:
    """Up to `count` positions, consecutive or on a grid."""
    if subject.encoding.axes is None:
        return np.arange(min(count, subject.reach + 1))
    side = max(1, min(int(count ** (1 / subject.axes) + 1e-9), subject.reach + 1))
    axes = np.meshgrid(*[np.arange(side)] * subject.axes, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=-1)


def _products(q: np.ndarray, k: np.ndarray, *, scaled: bool) -> np.ndarray:
    products = q @ np.swapaxes(k, -1, -2)
    return products / math.sqrt(q.shape[-1]) if scaled else products


def _trace_peak(work: Callable[[], Any]) -> int:
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
