"""Derivatives against finite differences, in float64 and PyTorch."""

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from posenc.checks.engine import Measurement, NotApplicableError
from posenc.checks.properties.claims import always, check
from posenc.checks.subject import Subject
from posenc.core.arrays import Array
from posenc.core.logits import logits
from posenc.core.mechanisms import Additive, Rotary

if TYPE_CHECKING:
    from torch import Tensor

BOUND = 1e-3
"""The relative difference that a derivative may have."""


@check(claimed=always, why="Training needs the right slope.")
def gradient(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest relative difference of a derivative from finite differences."""
    # by x or q and k, by learned parameters and by features of tokens
    if importlib.util.find_spec("torch") is None:
        raise NotApplicableError("PyTorch is not installed")
    if not subject.takes_tensors:
        raise NotApplicableError("it does not take PyTorch tensors")
    import torch

    n = min(5, subject.reach + 1)
    places = subject.points(np.arange(n))
    p, encoding = torch.from_numpy(places), subject.encoding
    params = {name: torch.from_numpy(x) for name, x in _away_from_zero(subject, rng).items()}
    inputs = {name: x for name, x in params.items() if encoding.parameters()[name].trained}
    if isinstance(encoding, Additive) and not inputs:
        raise NotApplicableError("nothing in it is learned")
    fixed = {name: x for name, x in params.items() if name not in inputs}
    learned = list(inputs)
    if not isinstance(encoding, Additive):
        names = ("x",) if isinstance(encoding, Rotary) else ("q", "k")
        shape = subject.queries(rng, n).shape
        inputs |= {name: torch.from_numpy(rng.normal(size=shape)) for name in names}
    needed = subject.build_needs(places, places, library="torch", dtype="float64")
    if "features" in needed:
        inputs |= {"features": needed["features"][0]}

    def compute(values: "dict[str, Tensor]") -> "Tensor":
        given = {name: values[name] for name in learned} | fixed or None
        tokens: dict[str, Array] = {key: values.get(key, array) for key, array in needed.items()}
        if isinstance(encoding, Additive):
            return encoding.encode(p, given, dtype=torch.float64)
        if isinstance(encoding, Rotary):
            return encoding.rotate(values["x"], p, *(() if given is None else (given,)), **tokens)
        return logits(encoding, values["q"], values["k"], p, p, given, **tokens)

    # a foreign rotation may compute in float32, where a small step is lost; it is linear
    step = 0.1 if isinstance(encoding, Rotary) and encoding.library is not None else 1e-6
    return _compare(compute, inputs, rng, step)


def _away_from_zero(subject: Subject, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Its parameters, those that are trained a little away from 0.

    A ReLU and a lower bound have no slope there. Values far from 0 stay as they are, for they may
    be near an upper bound.
    """
    moved = dict(subject.params)
    for name, parameter in subject.encoding.parameters().items():
        if parameter.trained:
            x = moved[name]
            step = np.where(np.abs(x) > 0.1, 0.0, rng.uniform(0.01, 0.1, size=x.shape))
            moved[name] = np.asarray(x + np.where(x < 0, -1, 1) * step)
    return moved


def _compare(
    compute: "Callable[[dict[str, Tensor]], Tensor]",
    inputs: "dict[str, Tensor]",
    rng: np.random.Generator,
    step: float,
) -> Measurement:
    """The largest relative error of a derivative, along a random direction of each input."""
    import torch

    tracked = {name: x.clone().requires_grad_() for name, x in inputs.items()}
    out = compute(tracked)
    cotangent = torch.from_numpy(rng.normal(size=tuple(out.shape))).to(out.dtype)
    hidden = out.detach() == -torch.inf  # hidden keys have no slope

    def total(values: "Tensor") -> "Tensor":
        return (values.masked_fill(hidden, 0.0) * cotangent).sum()

    made = torch.autograd.grad(total(out), list(tracked.values()), allow_unused=True)
    slopes = cast("tuple[Tensor | None, ...]", made)  # None of an input that is not used
    worst, where = 0.0, ""
    for (name, x), slope in zip(inputs.items(), slopes, strict=True):
        # one right direction of three will do: a kink lies on one by chance, a fault on all
        errors: list[float] = []
        for _ in range(3):
            direction = torch.from_numpy(rng.normal(size=tuple(x.shape)))
            ends = [
                float(total(compute(inputs | {name: x + sign * step * direction})))
                for sign in (1, -1)
            ]
            expected = (ends[0] - ends[1]) / (2 * step)
            found = 0.0 if slope is None else float((slope * direction).sum())
            errors.append(abs(found - expected) / max(1.0, abs(expected)))
            if errors[-1] <= BOUND:
                break
        if not min(errors) <= worst:
            worst, where = min(errors), f"by {name}"
    return Measurement(worst, BOUND, where)
