"""How a property is written down: a measure, when it is claimed, why it matters."""

from collections.abc import Callable

import numpy as np

from posenc.checks.engine import Check, Measurement, NotApplicableError
from posenc.checks.subject import Subject
from posenc.core.encoding import Encoding
from posenc.core.mechanisms import Rotary

Measure = Callable[[Subject, np.random.Generator], Measurement]


def always(encoding: Encoding) -> bool:
    """Claimed by being an encoding at all."""
    return True


def trait(name: str) -> Callable[[Encoding], bool]:
    """Claimed by a trait."""
    return lambda encoding: bool(getattr(encoding.traits, name))


def check(*, claimed: Callable[[Encoding], bool], why: str) -> Callable[[Measure], Check]:
    """Make a measure a check: its docstring says what is measured."""

    def decorate(measure: Measure) -> Check:
        what = " ".join((measure.__doc__ or "").split())
        return Check(measure.__name__, what, why, claimed, measure)

    return decorate


def require_rotary(subject: Subject) -> Rotary:
    """The rotary encoding that this is, or not applicable."""
    if not isinstance(subject.encoding, Rotary):
        raise NotApplicableError("only rotations have it")
    return subject.encoding
