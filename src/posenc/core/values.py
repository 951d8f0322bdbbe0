"""Values: frozen dataclasses with plain fields, helpful constructors and a short repr."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, dataclass_transform

from posenc.core import rules
from posenc.core.hints import hint_arguments

T = TypeVar("T")


class _Unstated:
    """Reads as None on an instance without such a field, and is absent from the class.

    A plain class attribute would become the default of a dataclass field of the same name.
    """

    def __get__(self, instance: object, owner: type) -> None:
        if instance is None:
            raise AttributeError(f"{owner.__name__} states this for each value")


UNSTATED: Any = _Unstated()
"""A class attribute for an optional field: None unless a subclass declares the field."""


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def value(kind: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose fields are plain numbers, strings and tuples.

    NumPy scalars become int and float before `__post_init__` validates them, an unknown argument
    raises an error that suggests the right one, and the repr leaves out defaults.

    >>> @value
    ... class Stretch:
    ...     factor: float
    ...     length: int = dataclasses.field(default=512, kw_only=True)
    >>> import numpy as np
    >>> Stretch(np.int32(4)), Stretch(2.5, length=64)
    (Stretch(4), Stretch(2.5, length=64))
    >>> Stretch(2, size=64)
    Traceback (most recent call last):
    TypeError: Stretch has no argument 'size'; it takes factor, length
    """
    check = vars(kind).get("__post_init__")

    def prepare(self: object) -> None:
        rules.plain_fields(self)
        if check is not None:
            check(self)

    setattr(kind, "__post_init__", prepare)  # noqa: B010
    if "__repr__" not in vars(kind):
        setattr(kind, "__repr__", short_repr)  # noqa: B010
    made = dataclasses.dataclass(frozen=True, repr=False)(kind)
    hint_arguments(made)
    return made


def short_repr(self: Any) -> str:
    """The constructor call for this value, without arguments at their defaults.

    Defaults that depend on other fields come from the value's `computed_defaults`.
    """
    computed: Mapping[str, object] = getattr(self, "computed_defaults", dict)()
    parts: list[str] = []
    for field in dataclasses.fields(self):
        if not field.init:
            continue
        given = getattr(self, field.name)
        required = field.default is dataclasses.MISSING
        if not required and given == computed.get(field.name, field.default):
            continue
        by_name = field.kw_only or not required
        parts.append(f"{field.name}={given!r}" if by_name else repr(given))
    return f"{type(self).__name__}({', '.join(parts)})"
