"""Short names of encodings for titles: the expression that makes one, long tuples elided."""

from typing import cast

from posenc.names.expressions import to_source

LONGEST = 72


def short_name(encoding: object) -> str:
    """Return the encoding as an expression without default arguments, at most 72 characters long.

    >>> from posenc import RoPE, YaRN
    >>> short_name(RoPE(64, scaling=YaRN(4.0, 8192)))
    'RoPE(64, scaling=YaRN(4, 8192))'
    """
    text = to_source(encoding, plain=_format)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}…)"


def _format(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return "…" if len(items) > 4 else f"({', '.join(map(_format, items))})"
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    return type(value).__name__
