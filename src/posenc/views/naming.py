"""A short name for an encoding: what one would type to make it, long lists left out."""

from typing import Any, cast

from posenc.names.expressions import spelling

LONGEST = 72


def short(encoding: Any) -> str:
    """The encoding as an expression, without what it would have anyway.

    >>> from posenc import RoPE, YaRN
    >>> short(RoPE(64, scaling=YaRN(4.0, 8192)))
    'RoPE(64, scaling=YaRN(4, 8192))'
    """
    text = spelling(encoding, plain=_brief)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}…)"


def _brief(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return "…" if len(items) > 4 else f"({', '.join(map(_brief, items))})"
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    return type(value).__name__
