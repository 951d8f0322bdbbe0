"""Rules for plain arguments: each raises a sentence with the argument, the rule and the value."""

import math
import numbers
from typing import Any

import numpy as np


def whole(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Return `value` as an int, or say that `name` must be a whole number (within these bounds).

    >>> whole("dim", 7.5, least=1)
    Traceback (most recent call last):
    TypeError: dim must be a whole number of at least 1; got dim=7.5
    """
    rule = "a whole number" + ("" if least is None else f" of at least {least}")
    rule += "" if most is None else f" and at most {most:,}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be {rule}; got {name}={value!r}")
    number = int(value)
    if (least is not None and number < least) or (most is not None and number > most):
        raise ValueError(f"{name} must be {rule}; got {name}={value!r}")
    return number


MOST_CHANNELS = 2**20
"""No model is wider than a million channels: a larger dim is a mistake, and a costly one."""


def dim(name: str, value: Any) -> int:
    """Return `value` as a number of channels.

    >>> dim("dim", 0)
    Traceback (most recent call last):
    ValueError: dim must be a whole number of at least 1 and at most 1,048,576; got dim=0
    """
    return whole(name, value, least=1, most=MOST_CHANNELS)


def real(name: str, value: Any, *, least: float | None = None, most: float | None = None) -> float:
    """Return `value` as a finite float, or say what `name` must be.

    >>> real("std", -1.0, least=0, most=1e6)
    Traceback (most recent call last):
    ValueError: std must be a finite number of at least 0 and at most 1e+06; got std=-1.0
    """
    rule = "a finite number" + ("" if least is None else f" of at least {least:g}")
    rule += "" if most is None else f" and at most {most:g}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {rule}; got {name}={value!r}")
    try:
        number = float(value) + 0.0  # -0.0 becomes 0.0
    except OverflowError:
        number = math.inf
    outside = (least is not None and number < least) or (most is not None and number > most)
    if not math.isfinite(number) or outside:
        raise ValueError(f"{name} must be {rule}; got {name}={value!r}")
    return number


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Say that `name` must be one of `choices`.

    >>> one_of("layout", "zigzag", ("interleaved", "concat"))
    Traceback (most recent call last):
    ValueError: layout must be 'interleaved' or 'concat'; got layout='zigzag'
    """
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{name} must be {listed}; got {name}={value!r}")


def generator(name: str, value: Any) -> None:
    """Say that `name` must be a NumPy random generator."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(f"{name} must be a np.random.Generator; got {name}={value!r}")


def flag(name: str, value: Any) -> None:
    """Say that `name` must be True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False; got {name}={value!r}")
