"""Answers as bytes: JSON and errors, the same over HTTP and in a notebook."""

import json
import math
from typing import Any, cast

from posenc.explorer import limits
from posenc.explorer.parameters import RequestError
from posenc.i18n import N_, Translate

JSON = "application/json"
LONGEST = 1_000
"""Characters of a message at most: some quote the input."""
FAILED = N_("the explorer failed at this; its log has the reason")


def as_json(data: object) -> bytes:
    """The data as JSON, with null for every number that is not finite.

    >>> as_json({"value": float("nan"), "text": "数"}).decode()
    '{"value":null,"text":"数"}'
    """
    try:
        text = _dump(data)
    except ValueError:
        text = _dump(_replace_nonfinite(data))
    # UTF-8 has no lone surrogates; as backslash escapes they are valid JSON
    return text.encode(errors="backslashreplace")


def error(message: str, argument: str | None = None) -> bytes:
    """An error as JSON: the message, and the argument that it is about."""
    short = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
    return as_json({"error": {"message": short, "argument": argument}})


def describe_status(t: Translate, status: int = 404) -> str:
    """The message for an unknown address (404), or a method that it does not take (405)."""
    if status == 405:
        return t("this address does not take this method")
    return t("there is nothing at this address")


def check_config(size: int) -> None:
    """Refuse a config of `size` bytes if that is too many."""
    if size > limits.CONFIG:
        raise RequestError(
            "a config must have at most {most:,} bytes", "config", 413, most=limits.CONFIG
        )


def _dump(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _replace_nonfinite(data: object) -> Any:
    """The data with null for every number that is not finite."""
    match data:
        case dict():
            return {
                key: _replace_nonfinite(value) for key, value in cast(dict[str, Any], data).items()
            }
        case list() | tuple():
            return [_replace_nonfinite(value) for value in cast(list[Any], data)]
        case float():
            return data if math.isfinite(data) else None
        case _:
            return data
