"""What people read, in four languages: gettext catalogues in `locale/`, written by hand.

A message is its English text; the catalogues are read as they are, so there is nothing to compile.
docs/glossary.md has the words that they use.
"""

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "ja", "zh-Hans", "zh-Hant")
CATALOGUES = Path(__file__).parent / "locale"

Translate = Callable[..., str]
"""t(message, **values): the message in a language, its {placeholders} filled in."""


def translator(lang: str) -> Translate:
    """The function that says an English message in this language.

    >>> translator("ja")("position")
    '位置'
    >>> translator("en")("{count} tokens", count=3)
    '3 tokens'
    """
    from posenc import rules  # it loads NumPy, which `posenc --help` has no time for

    rules.one_of("lang", lang, LANGUAGES)
    said = catalogue(lang)

    def t(message: str, **values: Any) -> str:
        text = said.get(message, message)
        return text.format(**values) if values else text

    return t


def later(message: str) -> str:
    """Marks a message that is said later, so that the catalogues must have it."""
    return message


@cache
def catalogue(lang: str) -> dict[str, str]:
    """Each English message with its translation: the entries of `locale/LANG.po`."""
    if lang == "en":
        return {}
    entries: dict[str, str] = {}
    parts: dict[str, str] = {}
    field = ""
    for line in (CATALOGUES / f"{lang}.po").read_text(encoding="utf-8").splitlines():
        keyword, _, text = line.partition(" ")
        if keyword in ("msgid", "msgstr"):
            field = keyword
            parts[field] = ast.literal_eval(text)
        elif line.startswith('"'):
            parts[field] += ast.literal_eval(line)
        if field == "msgstr" and parts["msgstr"]:
            entries[parts["msgid"]] = parts["msgstr"]
    entries.pop("", None)  # the header
    return entries
