"""A model's config.json as the encodings that it describes. It is data and nothing else."""

import json
from json import JSONDecodeError
from typing import cast

from posenc.explorer import limits
from posenc.explorer.parameters import RequestError, check_most
from posenc.explorer.requests import LIBRARY_ERRORS, Request
from posenc.i18n import N_, phrase, translate
from posenc.names.expressions import to_source
from posenc.names.resolve import evaluate_encoding


def check_length(length: int) -> None:
    """Refuse a config of so many bytes if that is too many."""
    too_long = N_("a config must have at most {most:,} bytes")
    check_most(too_long, "config", length, limits.CONFIG)


def describe_config(request: Request) -> dict[str, object]:
    """The encodings of a model's config.json.

    They are expressions, with the part of the model that has each.
    """
    from posenc.interop.config import read_config
    from posenc.interop.model import label_groups

    check_length(len(request.body))
    try:
        given = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        why = describe_json_error(error)
        raise RequestError("a config must be JSON: {error}", "config", error=why) from error
    if not isinstance(given, dict):
        raise RequestError("a config must be a JSON object", "config")
    try:
        model = read_config(cast(dict[str, object], given))
        groups = label_groups(model)
        expressions = [to_source(encoding) for encoding, _ in groups]
        for expression in expressions:
            limits.check_parameters(evaluate_encoding(expression, check=limits.check_arguments))
    except (*LIBRARY_ERRORS, LookupError, AttributeError, RecursionError) as error:
        raise RequestError("the config cannot be read: {error}", "config", error=error) from error
    shown = expressions[: limits.ENCODINGS]
    notes = [translate(note, request.lang) for note in model.notes]
    if len(expressions) > len(shown):
        cut = request.t(
            "{count} encodings, of which the first {shown} are shown",
            count=len(expressions),
            shown=len(shown),
        )
        notes.insert(0, cut)
    return {
        "model_type": str(given.get("model_type", ""))[:80],
        "expressions": shown,
        "parts": [translate(part, request.lang) for _, part in groups[: len(shown)]],
        "notes": notes,
    }


def describe_json_error(error: Exception) -> object:
    """Why a text is not JSON and where, for a translated sentence. Python's words are quoted.

    >>> from posenc.i18n import translate
    >>> try:
    ...     json.loads("[1 2]")
    ... except ValueError as error:
    ...     translate(describe_json_error(error), "zh-Hans")
    "Expecting ',' delimiter：第 1 行第 4 列（字符 3）"
    """
    if isinstance(error, UnicodeDecodeError):
        return phrase("it is not text in UTF-8")
    if isinstance(error, RecursionError):
        return phrase("it is nested too deeply")
    if isinstance(error, ValueError) and "digits" in str(error):  # Python's limit for integers
        return phrase("it has a number of too many digits")
    if not isinstance(error, JSONDecodeError):
        return error
    return phrase(
        "{why}: line {line} column {column} (char {place})",
        why=error.msg,
        line=error.lineno,
        column=error.colno,
        place=error.pos,
    )
