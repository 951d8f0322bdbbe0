"""Validation of plain arguments: each error names the argument, the rule and the value."""

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from posenc.i18n import N_, choice_error, phrase, translatable


def plain_fields(value: Any) -> None:
    """Convert the fields of a frozen dataclass to plain Python values, before they are validated.

    NumPy scalars become int, float, bool and str, so that equal numbers give equal values with the
    same repr, and no arithmetic wraps at 32 bits. An int too large for any NumPy dtype becomes a
    float if the field accepts one, and stays an int otherwise.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Stretch:
    ...     factor: float
    ...     lengths: tuple[int, ...]
    ...     __post_init__ = plain_fields
    >>> Stretch(np.int32(4), (np.int64(2), 3)), Stretch(10**30, (10**20,))
    (Stretch(factor=4, lengths=(2, 3)), Stretch(factor=1e+30, lengths=(100000000000000000000,)))
    """
    for field in dataclasses.fields(value):
        if field.init:
            plain = plain_value(getattr(value, field.name), field)
            object.__setattr__(value, field.name, plain)


def plain_value(value: object, field: dataclasses.Field[object] | None = None) -> object:
    """A number, string or tuple of them as plain Python; anything else unchanged.

    An int beyond int64, for which NumPy has no dtype, becomes a float unless `field` accepts only
    whole numbers.
    """
    if isinstance(value, tuple):
        return tuple(plain_value(each, field) for each in value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and (
        abs(int(value)) < 2**63 or (field is not None and "float" not in str(field.type))
    ):
        return int(value)
    try:
        # -0.0 becomes 0.0
        return float(value) + 0.0 if isinstance(value, numbers.Real) else value
    except OverflowError:  # an int beyond any float, which the rules reject
        return value


WHOLE = (
    N_("{name} must be a whole number; got {name}={value!r}"),
    N_("{name} must be a whole number of at least {least}; got {name}={value!r}"),
    N_(
        "{name} must be a whole number of at least {least} and at most {most:,}; "
        "got {name}={value!r}"
    ),
)
REAL = (
    N_("{name} must be a finite number; got {name}={value!r}"),
    N_("{name} must be a finite number of at least {least:g}; got {name}={value!r}"),
    N_(
        "{name} must be a finite number of at least {least:g} and at most {most:g}; "
        "got {name}={value!r}"
    ),
)
"""What is said of a number without bounds, with a lower one, and with both."""


def whole(name: str, value: object, *, least: int | None = None, most: int | None = None) -> int:
    """Return `value` as an int; raise an error unless it is a whole number within the bounds.

    >>> whole("dim", 7.5, least=1)
    Traceback (most recent call last):
    TypeError: dim must be a whole number of at least 1; got dim=7.5
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise _outside(TypeError, WHOLE, name, value, least, most)
    number = int(value)
    if (least is not None and number < least) or (most is not None and number > most):
        raise _outside(ValueError, WHOLE, name, value, least, most)
    return number


def _outside(
    kind: type[Exception],
    templates: tuple[str, str, str],
    name: str,
    value: object,
    least: float | None,
    most: float | None,
) -> Exception:
    """The error for a value that is no such number or not within the bounds."""
    template = templates[0 if least is None else 1 if most is None else 2]
    return translatable(
        kind, template, name=_name_in_words(name), value=value, least=least, most=most
    )


def _name_in_words(name: str) -> object:
    """The name of an argument, or a translatable phrase for "each of" its entries."""
    of = name.removeprefix("each of ")
    return name if of == name else phrase("each of {name}", name=of)


MOST_CHANNELS = 2**20
"""The largest dim: no model has a million channels, so more is a mistake, and a costly one."""


def dim(name: str, value: object) -> int:
    """Return `value` as a number of channels.

    >>> dim("dim", 0)
    Traceback (most recent call last):
    ValueError: dim must be a whole number of at least 1 and at most 1,048,576; got dim=0
    """
    return whole(name, value, least=1, most=MOST_CHANNELS)


def odd_error(name: str, value: int) -> Exception:
    """The error for a number that is not even."""
    template = N_("{name} must be an even number; got {name}={value}")
    return translatable(ValueError, template, name=name, value=value)


def real(
    name: str, value: object, *, least: float | None = None, most: float | None = None
) -> float:
    """Return `value` as a float; raise an error unless it is finite and within the bounds.

    >>> real("std", -1.0, least=0, most=1e6)
    Traceback (most recent call last):
    ValueError: std must be a finite number of at least 0 and at most 1e+06; got std=-1.0
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _outside(TypeError, REAL, name, value, least, most)
    try:
        number = float(value) + 0.0  # -0.0 becomes 0.0
    except OverflowError:
        number = math.inf
    outside = (least is not None and number < least) or (most is not None and number > most)
    if not math.isfinite(number) or outside:
        raise _outside(ValueError, REAL, name, value, least, most)
    return number


def check_order(low: float, high: float, *, names: tuple[str, str]) -> None:
    """Raise an error unless both are above 0 and low <= high.

    >>> check_order(4.0, 1.0, names=("low", "high"))
    Traceback (most recent call last):
    ValueError: low must not be above high; got 4.0 and 1.0
    """
    for name, value in zip(names, (low, high), strict=True):
        real(name, value, least=1e-6)
    if low > high:
        raise translatable(
            ValueError,
            "{low_name} must not be above {high_name}; got {low} and {high}",
            low_name=names[0],
            high_name=names[1],
            low=low,
            high=high,
        )


def factors(name: str, values: object) -> None:
    """Raise an error unless `values` is a tuple of numbers above 0, one for each pair.

    >>> factors("short_factor", ())
    Traceback (most recent call last):
    TypeError: short_factor must be a tuple with a factor for each pair; got short_factor=()
    """
    if not isinstance(values, tuple) or not values:
        raise translatable(
            TypeError,
            "{name} must be a tuple with a factor for each pair; got {name}={factors!r}",
            name=name,
            factors=values,
        )
    for value in values:
        real(f"each of {name}", value, least=1e-6)


def one_each(name: str, factors: tuple[float, ...], dim: int) -> None:
    """Raise an error unless there is a factor for each of the dim / 2 pairs."""
    if len(factors) != dim // 2:
        raise translatable(
            ValueError,
            "{name} must have one factor for each of the {pairs} pairs; got {count}",
            name=name,
            pairs=dim // 2,
            count=len(factors),
        )


def unsettled_error(scaling: object) -> Exception:
    """The error for a scaling whose frequencies depend on a length that was not given."""
    return translatable(
        ValueError,
        "scaling {name} depends on how long the text is, so rotated keys must not be cached: "
        "keep keys unrotated and rotate with encoding.at(length)",
        name=type(scaling).__name__,
    )


def has_names(params: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether `params` holds values by name: a Mapping, or PyTorch's ParameterDict, which is none.

    >>> has_names({"table": 1.0}), has_names([1.0]), has_names(None)
    (True, False, False)
    """
    return isinstance(params, Mapping) or hasattr(params, "keys")


def known_params(params: object, *names: str) -> None:
    """Raise an error if `params` holds other names than these; None is accepted.

    >>> known_params({"slope": 1.0})
    Traceback (most recent call last):
    ValueError: params must be None, since nothing is learned; got the names ['slope']
    >>> known_params({"table": 1.0, "slope": 1.0}, "table")
    Traceback (most recent call last):
    ValueError: params must hold only the names ['table']; got ['slope'] too
    """
    if params is None:
        return
    if not has_names(params):
        if names:
            return  # reading the first of them raises the error
        raise TypeError(f"params must be None, since nothing is learned; got {params!r}")
    unknown = sorted(str(name) for name in params.keys() if name not in names)  # noqa: SIM118
    if unknown and not names:
        raise ValueError(f"params must be None, since nothing is learned; got the names {unknown}")
    if unknown and all(name in params for name in names):  # otherwise the missing ones are reported
        raise ValueError(f"params must hold only the names {sorted(names)}; got {unknown} too")


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise an error unless `value` is one of `choices`.

    >>> one_of("layout", "zigzag", ("interleaved", "concat"))
    Traceback (most recent call last):
    ValueError: layout must be 'interleaved' or 'concat'; got layout='zigzag'
    """
    if not isinstance(value, str) or value not in choices:
        raise choice_error(name, value, choices)


def generator(name: str, value: object) -> None:
    """Raise an error unless `value` is a NumPy random generator."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(f"{name} must be a np.random.Generator; got {name}={value!r}")


def flag(name: str, value: object) -> None:
    """Raise an error unless `value` is True or False."""
    if not isinstance(value, bool):
        raise translatable(
            TypeError, "{name} must be True or False; got {name}={value!r}", name=name, value=value
        )
