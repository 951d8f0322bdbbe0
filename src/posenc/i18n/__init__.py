"""What people read, in four languages: gettext catalogues in `locale/`, written by hand.

A message is its English text; the catalogues are read as they are, so there is nothing to compile.
docs/glossary.md has the words that they use.
"""

import json
import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any, Literal, get_args

Language = Literal["en", "ja", "zh-Hans", "zh-Hant"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
CATALOGUES = Path(__file__).parent / "locale"

Translate = Callable[..., str]
"""t(message, **values): the message in a language, its {placeholders} filled in."""


def language(tag: str) -> Language:
    """The one of LANGUAGES that a tag means, as browsers, shells and people write it.

    >>> language("zh_TW.UTF-8"), language("zh-CN"), language("jp"), language("en-US")
    ('zh-Hant', 'zh-Hans', 'ja', 'en')
    """
    first, *rest = re.split(r"[-_.@]", tag.lower()) if isinstance(tag, str) else ("",)
    traditional = "hans" not in rest and not {"hant", "tw", "hk", "mo"}.isdisjoint(rest)
    named: dict[str, Language] = {"en": "en", "ja": "ja", "jp": "ja", "cn": "zh-Hans"}
    named |= {"tw": "zh-Hant", "hk": "zh-Hant", "zh": "zh-Hant" if traditional else "zh-Hans"}
    if first not in named:
        raise choice_error("lang", tag, LANGUAGES)
    return named[first]


def translator(lang: str) -> Translate:
    """The function that says an English message in this language.

    >>> translator("ja")("position")
    '位置'
    >>> translator("en")("{count} tokens", count=3)
    '3 tokens'
    """
    known = language(lang)

    def t(message: str, **values: object) -> str:
        return Phrase(message, values).translate(known)

    return t


def N_(message: str) -> str:  # noqa: N802 (gettext's name)
    """Marks a message that is said later, so that the catalogues must have it."""
    return message


MOST_QUOTED = 300
"""Characters of a value in a message, which may be quoted from a large file."""


class _Quoting(string.Formatter):
    """Formats as `str.format`, and cuts long values that are quoted by !r."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        text = super().convert_field(value, conversion)
        long = conversion == "r" and len(text) > MOST_QUOTED
        return f"{text[: MOST_QUOTED - 1]}…" if long else text


@dataclass(frozen=True)
class Phrase:
    """Words that are said in whichever language is asked for; in English unless one is."""

    template: str
    values: dict[str, object]

    def translate(self, lang: str) -> str:
        """The words in this language; what they quote is in it too, where that can be."""
        text = catalogue(lang).get(self.template, self.template)
        values = {name: translate(value, lang) for name, value in self.values.items()}
        return _Quoting().format(text, **values) if values else text

    def __str__(self) -> str:
        return self.translate("en")


def phrase(template: str, /, **values: object) -> Phrase:
    """Part of a sentence, for the values of another phrase."""
    return Phrase(template, values)


def translatable(kind: Callable[[str], Exception], template: str, /, **values: object) -> Exception:
    """An error of this kind, in English, that `translate` can say in another language.

    >>> template = "{name} must be an even number; got {name}={value}"
    >>> translatable(ValueError, template, name="dim", value=7)
    ValueError('dim must be an even number; got dim=7')
    """
    words = Phrase(template, values)
    error = kind(str(words))
    vars(error)["words"] = words
    return error


class Note(str):
    """A sentence in English that `translate` can say in another language."""

    words: Phrase

    @classmethod
    def of(cls, template: str, /, **values: object) -> "Note":
        """The sentence with its values filled in.

        >>> Note.of("{count} tokens", count=3)
        '3 tokens'
        """
        words = Phrase(template, values)
        note = cls(words)
        note.words = words
        return note


def translate(what: object, lang: str) -> Any:
    """What an error, a note or a phrase says, in a language as far as it can; else as it is.

    >>> template = "{name} must be an even number; got {name}={value}"
    >>> translate(phrase(template, name="dim", value=7), "ja")
    'dim は偶数にしてください（指定された値：7）'
    """
    if isinstance(what, BaseException | Note):
        return translate(vars(what).get("words", str(what)), lang)
    return what.translate(lang) if isinstance(what, Phrase) else what


def join_phrases(template: str, parts: Iterable[Any]) -> Any:
    """Parts one after the other, by a template of {one} and {other}; a part alone is itself."""
    return reduce(lambda one, other: Phrase(template, {"one": one, "other": other}), parts)


def either(choices: Iterable[str]) -> str | Phrase:
    """Words to choose from: one or other.

    >>> both = either(["halves", "interleaved"])
    >>> str(both), translate(both, "zh-Hans")
    ('halves or interleaved', 'halves 或 interleaved')
    """
    return join_phrases(N_("{one} or {other}"), choices)


def choice_error(name: str, value: object, choices: tuple[str, ...]) -> Exception:
    """The error of a value that is none of these words."""
    kind = ValueError if isinstance(value, str) else TypeError
    template = N_("{name} must be {choices}; got {name}={value!r}")
    return translatable(kind, template, name=name, choices=either(map(repr, choices)), value=value)


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
            parts[field] = json.loads(text)
        elif line.startswith('"'):
            parts[field] += json.loads(line)
        if field == "msgstr" and parts["msgstr"]:
            entries[parts["msgid"]] = parts["msgstr"]
    entries.pop("", None)  # the header
    return entries
