"""A model's config.json as the encodings that it describes. It is data and nothing else."""

import json
from json import JSONDecodeError
from typing import Any, cast

from posenc.explorer import limits
from posenc.explorer.answers import LIBRARY_ERRORS
from posenc.explorer.parameters import RequestError
from posenc.i18n import Language, phrase, translate, translator
from posenc.names.expressions import to_source
from posenc.names.resolve import evaluate_encoding


def describe_config(body: bytes | str, lang: Language) -> dict[str, Any]:
    """The encodings of a config as expressions, with the part of the model that has each."""
    from posenc.interop.config import read_config
    from posenc.interop.model import label_groups

    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        why = describe_json_error(error)
        raise RequestError("a config must be JSON: {error}", "config", error=why) from error
    if not isinstance(given, dict):
        raise RequestError("a config must be a JSON object", "config")
    try:
        model = read_config(cast(dict[str, Any], given))
        groups = label_groups(model)
        expressions = [to_source(encoding) for encoding, _ in groups]
        for expression in expressions:
            limits.check_parameters(evaluate_encoding(expression, check=limits.check_arguments))
    except (*LIBRARY_ERRORS, LookupError, AttributeError, RecursionError) as error:
        raise RequestError("the config cannot be read: {error}", "config", error=error) from error
    shown, notes = expressions[: limits.ENCODINGS], [translate(note, lang) for note in model.notes]
    if len(expressions) > len(shown):
        t = translator(lang)
        cut = t(
            "{count} encodings, of which the first {shown} are shown",
            count=len(expressions),
            shown=len(shown),
        )
        notes.insert(0, cut)
    return {
        "model_type": str(given.get("model_type", ""))[:80],
        "expressions": shown,
        "parts": [translate(part, lang) for _, part in groups[: len(shown)]],
        "notes": notes,
    }


def describe_json_error(error: Exception) -> Any:
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
