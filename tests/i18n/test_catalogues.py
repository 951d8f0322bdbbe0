"""The catalogues: nothing missing or left over, the same placeholders, read as gettext does."""

import ast
import json
import re
import string
from functools import cache
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from posenc.checks.properties import ALL
from posenc.i18n import CATALOGUES, LANGUAGES, catalogue, translator
from posenc.interop.conventions import REFUSED

SOURCE = Path(__file__).parent.parent.parent / "src" / "posenc"
WEB = SOURCE.parent.parent / "web" / "src"
TRANSLATED = LANGUAGES[1:]


TAKING = {
    "t": 0,
    "N_": 0,
    "phrase": 0,
    "add_note": 0,
    "of": 0,
    "RequestError": 0,
    "translatable": 1,
}
"""Functions that take a message, and which of their arguments it is."""


def taken(path):
    """What these functions are called with, as it stands in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        function = getattr(node, "func", None)
        name = getattr(function, "id", None) or getattr(function, "attr", None)
        if name in TAKING and len(node.args) > TAKING[name]:
            yield node.args[TAKING[name]]


def messages_in(path):
    """The messages in a file."""
    given = (node.value for node in taken(path) if isinstance(node, ast.Constant))
    return (value for value in given if isinstance(value, str))


def messages_of_the_page(path):
    """The messages in a file of the explorer's page, where `t` is called with a literal too."""
    calls = re.findall(r'\bt\(\s*("(?:[^"\\]|\\.)*")', path.read_text(encoding="utf-8"))
    return map(json.loads, calls)


def messages_of_checks():
    """What the checks are called and what they say of themselves: the explorer translates it."""
    for each in ALL:
        yield from (each.name.replace("_", " "), each.what, each.why)


@cache  # not while tests are collected: every worker would wait for it
def messages():
    return {
        *(message for path in SOURCE.rglob("*.py") for message in messages_in(path)),
        *(message for path in WEB.rglob("*.ts") for message in messages_of_the_page(path)),
        *(message for path in WEB.rglob("*.svelte") for message in messages_of_the_page(path)),
        *messages_of_checks(),
        *REFUSED.values(),
    }


def placeholders(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("lang", TRANSLATED)
def test_every_message_is_there_and_no_other(lang):
    assert messages()
    assert set(catalogue(lang)) == messages()


def test_no_message_is_put_together_before_it_is_translated():
    for path in SOURCE.rglob("*.py"):
        made = [ast.unparse(node) for node in taken(path) if isinstance(node, ast.JoinedStr)]
        assert made == [], path.name


@pytest.mark.parametrize("lang", TRANSLATED)
def test_placeholders_are_those_of_the_english(lang):
    differing = {m: s for m, s in catalogue(lang).items() if placeholders(m) != placeholders(s)}
    assert differing == {}


@pytest.mark.parametrize("lang", TRANSLATED)
def test_gettext_reads_the_same(lang):
    with (CATALOGUES / f"{lang}.po").open("rb") as file:
        theirs = read_po(file, abort_invalid=True)
    assert {entry.id: entry.string for entry in theirs if entry.id} == catalogue(lang)


REJECTED = {
    "ja": r"復号|パックした|距離の小さな|対数の小さな|(?:コーダ|トークナイザ|エクスプローラ)(?!ー)",
    "zh-Hans": r"快 ?[\d.]+ ?倍|浏览页面|打包|往前走",  # 快 1.5 倍 is 2.5 times as fast
    "zh-Hant": r"快 ?[\d.]+ ?倍|瀏覽頁面|打包|三角函數|學習式",
}
"""Words that are wrong, or that docs/glossary.md has another word for."""


@pytest.mark.parametrize("lang", TRANSLATED)
def test_no_rejected_word_is_used(lang):
    readme = SOURCE.parent.parent / f"README.{lang}.md"
    for text in (*catalogue(lang).values(), readme.read_text(encoding="utf-8")):
        assert re.findall(REJECTED[lang], text) == []


def test_a_language_that_is_not_there_is_a_sentence():
    with pytest.raises(
        ValueError, match="lang must be 'en' or 'ja' or 'zh-Hans' or 'zh-Hant'; got lang='fr'"
    ):
        translator("fr")
