"""Derivatives against finite differences, in float64 and PyTorch."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from posenc.checks.engine import Measured, NotApplicableError
from posenc.checks.subject import Subject
from posenc.core.mechanisms import Additive, Rotary, logits

BOUND = 1e-3
"""The relative difference that a derivative may have."""


def gradient_error(subject: Subject, rng: np.random.Generator) -> Measured:
    """Along one random direction for each of x, q, k and the learned parameters."""
    if importlib.util.find_spec("torch") is None:
        raise NotApplicableError("PyTorch is not installed")
    if not subject.takes_tensors:
        raise NotApplicableError("PyTorch's tensors do not go in")
    import torch

    n = min(5, subject.reach + 1)
    p = torch.from_numpy(subject.points(np.arange(n)))
    encoding = subject.encoding
    inputs: dict[str, Any] = {
        # a little away from 0, where a ReLU and a lower bound have no slope; what is far from it
        # stays, for it may be near an upper bound
        name: torch.from_numpy(
            np.asarray(
                x
                + np.where(x < 0, -1, 1)
                * np.where(np.abs(x) > 0.1, 0.0, rng.uniform(0.01, 0.1, size=x.shape))
            )
        )
        for name, x in subject.params.items()
        if encoding.parameters()[name].trained
    }
    learned = set(inputs)
    if isinstance(encoding, Additive) and not learned:
        raise NotApplicableError("nothing in it is learned")
    if not isinstance(encoding, Additive):
        names = ("x",) if isinstance(encoding, Rotary) else ("q", "k")
        shape = subject.queries(rng, n).shape
        inputs |= {name: torch.from_numpy(rng.normal(size=shape)) for name in names}
    kept = {n_: torch.from_numpy(x) for n_, x in subject.params.items() if n_ not in learned}

    def made(values: dict[str, Any]) -> Any:
        params = {name: values[name] for name in learned} | kept or None
        if isinstance(encoding, Additive):
            return encoding.encode(p, params, dtype=torch.float64)
        if isinstance(encoding, Rotary):
            return encoding.rotate(values["x"], p)
        return logits(encoding, values["q"], values["k"], p, p, params)

    # a foreign rotation may go by float32 inside, where a small step is lost; it is linear
    step = 0.1 if isinstance(encoding, Rotary) and encoding.library is not None else 1e-6
    return _compared(made, inputs, rng, step)


def _compared(
    made: Callable[[dict[str, Any]], Any],
    inputs: dict[str, Any],
    rng: np.random.Generator,
    step: float,
) -> Measured:
    import torch

    tracked = {name: x.clone().requires_grad_() for name, x in inputs.items()}
    out = made(tracked)
    cotangent = torch.from_numpy(rng.normal(size=tuple(out.shape))).to(out.dtype)
    hidden = out.detach() == -torch.inf  # keys that are masked have no slope

    def summed(values: Any) -> Any:
        return (values.masked_fill(hidden, 0.0) * cotangent).sum()

    slopes: Any = torch.autograd.grad(summed(out), list(tracked.values()), allow_unused=True)
    worst, where = 0.0, ""
    for (name, x), slope in zip(inputs.items(), slopes, strict=True):
        # of three directions one that is right: a kink lies on one by chance, a fault on all
        errors: list[float] = []
        for _ in range(3):
            direction = torch.from_numpy(rng.normal(size=tuple(x.shape)))
            ends = [
                float(summed(made(inputs | {name: x + sign * step * direction})))
                for sign in (1, -1)
            ]
            expected = (ends[0] - ends[1]) / (2 * step)
            found = 0.0 if slope is None else float((slope * direction).sum())
            errors.append(abs(found - expected) / max(1.0, abs(expected)))
            if errors[-1] <= BOUND:
                break
        if not min(errors) <= worst:
            worst, where = min(errors), f"by {name}"
    return Measured(worst, BOUND, where)
