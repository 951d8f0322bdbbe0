"""Answers as bytes: data as JSON, and refusals, the same over HTTP and in a notebook."""

import json
import math
from typing import Any, cast

from posenc.explorer import limits
from posenc.explorer.parameters import Refused
from posenc.i18n import Translate, later

JSON = "application/json"
LONGEST = 1_000
"""Characters of a message: some quote what was given."""
FAILED = later("the explorer failed at this; its log has the reason")


def as_json(data: Any) -> bytes:
    """The data as JSON, with null for every number that JSON does not have.

    >>> as_json({"value": float("nan"), "text": "数"}).decode()
    '{"value":null,"text":"数"}'
    """
    try:
        text = _dumped(data)
    except ValueError:
        text = _dumped(_known(data))
    # a lone surrogate is not UTF-8; replaced so, it is how JSON spells it
    return text.encode(errors="backslashreplace")


def error(message: str, argument: str | None = None) -> bytes:
    """A sentence about what was asked, and the argument that it is about."""
    short = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
    return as_json({"error": {"message": short, "argument": argument}})


def not_there(t: Translate, status: int = 404) -> str:
    """What is said of an address that there is not, or of a method that it does not take."""
    if status == 405:
        return t("this address does not take this method")
    return t("there is nothing at this address")


def check_config(size: int) -> None:
    """Refuse a config of so many bytes, if they are too many."""
    if size > limits.CONFIG:
        raise Refused(
            "a config must have at most {most:,} bytes", "config", 413, most=limits.CONFIG
        )


def _dumped(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _known(data: Any) -> Any:
    """The data with null for every number that is not finite."""
    match data:
        case dict():
            return {key: _known(value) for key, value in cast(dict[str, Any], data).items()}
        case list() | tuple():
            return [_known(value) for value in cast(list[Any], data)]
        case float():
            return data if math.isfinite(data) else None
        case _:
            return data
