"""A short name for an encoding: what one would type to make it."""

import dataclasses
from typing import Any, cast

LONGEST = 72


def short(encoding: Any) -> str:
    """The encoding as an expression, without what it would have anyway.

    >>> from posenc import RoPE, YaRN
    >>> short(RoPE(64, scaling=YaRN(4.0, 8192)))
    'RoPE(64, scaling=YaRN(4, 8192))'
    """
    text = _said(encoding)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}…)"


def _said(value: Any) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({', '.join(_arguments(value))})"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return "…" if len(items) > 4 else f"({', '.join(map(_said, items))})"
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    return type(value).__name__


def _arguments(value: Any) -> list[str]:
    said: list[str] = []
    named = False
    for field in dataclasses.fields(value):
        if not field.init:
            continue
        if _needless(value, field):
            named = True  # what comes after something left out must say its name
            continue
        text = _said(getattr(value, field.name))
        said.append(f"{field.name}={text}" if named or field.kw_only else text)
    return said


def _needless(value: Any, field: "dataclasses.Field[Any]") -> bool:
    """Whether leaving the field out makes the same value."""
    if field.default is dataclasses.MISSING:
        return False
    try:
        return bool(dataclasses.replace(value, **{field.name: field.default}) == value)
    except Exception:  # a class of someone's own may refuse, or not compare
        return False
