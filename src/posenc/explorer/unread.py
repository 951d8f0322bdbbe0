"""Why a text is no JSON, in words that can be translated."""

from json import JSONDecodeError
from typing import Any

from posenc.i18n import later, phrase

EXPECTED = (
    later("Expecting value"),
    later("Expecting property name enclosed in double quotes"),
    later("Expecting ',' delimiter"),
    later("Expecting ':' delimiter"),
    later("Extra data"),
    later("Invalid control character at"),
    later("Unterminated string starting at"),
    later("Illegal trailing comma before end of object"),
    later("Illegal trailing comma before end of array"),
)
"""What Python's reader says; what else it may say is quoted as it is."""


def unread(error: Exception) -> Any:
    """What is wrong and where, as `json` says it.

    >>> import json
    >>> from posenc.i18n import told
    >>> try:
    ...     json.loads("[1 2]")
    ... except ValueError as error:
    ...     str(unread(error)), told(unread(error), "zh-Hans")
    ("Expecting ',' delimiter: line 1 column 4 (char 3)", "缺少 ','：第 1 行第 4 列（字符 3）")
    """
    if isinstance(error, UnicodeDecodeError):
        return phrase("it is not text in UTF-8")
    if isinstance(error, RecursionError):
        return phrase("it is nested too deeply")
    if isinstance(error, ValueError) and "digits" in str(error):  # Python's limit for whole numbers
        return phrase("it has a number of too many digits")
    if not isinstance(error, JSONDecodeError):
        return error
    return phrase(
        "{why}: line {line} column {column} (char {place})",
        why=phrase(error.msg) if error.msg in EXPECTED else error.msg,
        line=error.lineno,
        column=error.colno,
        place=error.pos,
    )
