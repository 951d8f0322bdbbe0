"""Rules for plain arguments: each raises a sentence with the argument, the rule and the value."""

import math
import numbers
from typing import Any


def whole(name: str, value: Any, *, least: int | None = None) -> int:
    """Return `value` as an int, or say that `name` must be a whole number (of at least `least`).

    >>> whole("dim", 7.5, least=1)
    Traceback (most recent call last):
    TypeError: dim must be a whole number of at least 1; got dim=7.5
    """
    rule = "a whole number" + ("" if least is None else f" of at least {least}")
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be {rule}; got {name}={value!r}")
    if least is not None and value < least:
        raise ValueError(f"{name} must be {rule}; got {name}={value!r}")
    return int(value)


def real(name: str, value: Any, *, above: float | None = None, least: float | None = None) -> float:
    """Return `value` as a finite float, or say what `name` must be.

    >>> real("base", -1.0, above=0)
    Traceback (most recent call last):
    ValueError: base must be a finite number above 0; got base=-1.0
    """
    rule = "a finite number"
    rule += "" if above is None else f" above {above:g}"
    rule += "" if least is None else f" of at least {least:g}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {rule}; got {name}={value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    too_small = (above is not None and number <= above) or (least is not None and number < least)
    if not math.isfinite(number) or too_small:
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


def flag(name: str, value: Any) -> None:
    """Say that `name` must be True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False; got {name}={value!r}")
