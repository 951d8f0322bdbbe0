"""Answers as bytes: JSON, files and errors, the same over HTTP and in a notebook."""

import io
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from posenc.explorer.parameters import RequestError
from posenc.i18n import N_, translate

STATIC = Path(__file__).parent / "static"
"""The built page."""
MISSING = N_(
    "The explorer's page was not built. In a clone, run make page. In an installed package, please "
    "report this: it should contain the page."
)
JSON, ARRAY = "application/json", "application/octet-stream"
LONGEST = 1_000
"""Characters of a message at most: some quote the input."""
FAILED = N_("the explorer failed at this; its log has the reason")
NOT_FOUND = N_("there is nothing at this address")
NOT_ALLOWED = N_("this address does not take this method")


@dataclass(frozen=True)
class Reply:
    """The bytes of an answer; with a name, they are a file to save."""

    data: bytes | memoryview | Iterator[bytes]
    """All of it, or an iterator over the pieces of one that is too large to hold."""
    media: str = JSON
    name: str = ""

    def whole(self) -> bytes:
        """All of its bytes."""
        data = self.data
        return bytes(data) if isinstance(data, bytes | memoryview) else b"".join(data)


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


def to_npy(array: np.ndarray) -> memoryview:
    """The array as the bytes of a .npy file, without a copy of them."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getbuffer()


def describe_error(error: Exception, lang: str) -> tuple[int, bytes]:
    """The HTTP status of an error, and as JSON its message and the argument that it is about.

    What is no refusal is an error of ours, whose traceback is logged but not shown.
    """
    refusal = error if isinstance(error, RequestError) else RequestError(FAILED, status=500)
    message = translate(refusal, lang)
    short = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
    return refusal.status, as_json({"error": {"message": short, "argument": refusal.argument}})


def _dump(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _replace_nonfinite(data: object) -> object:
    """The data with null for every number that is not finite."""
    if isinstance(data, dict):
        items = cast(dict[str, object], data).items()
        return {key: _replace_nonfinite(value) for key, value in items}
    if isinstance(data, list | tuple):
        return [_replace_nonfinite(value) for value in cast(list[object], data)]
    return None if isinstance(data, float) and not math.isfinite(data) else data
