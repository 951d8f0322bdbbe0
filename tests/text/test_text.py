"""Sentences as tokens: golden splits in many scripts, and what holds for any text at all."""

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given

from posenc.text import MODES, Token, split_at_spaces, tokenise
from tests.slow import in_turn
from tests.text.strings import ANY

ALL = pytest.mark.parametrize("by", MODES)


def texts(sentence, by):
    return [token.text for token in tokenise(sentence, by=by)]


def labels(sentence, by):
    return [token.label for token in tokenise(sentence, by=by)]


def test_bytes():
    assert labels("a学é\n", "bytes") == [
        *["a", "学 1/3 E5", "学 2/3 AD", "学 3/3 A6", "é 1/2 C3", "é 2/2 A9", "␊"],
    ]
    assert tokenise("a学", by="bytes")[2] == Token("学", 1, 2, b"\xad", (2, 3))


@ALL
@given(text=ANY)
def test_nothing_is_lost(by, text):
    found = tokenise(text, by=by)
    kept = b"".join(token.data for token in found).decode()
    if by in ("words", "spaces"):
        kept, text = "".join(kept.split()), "".join(text.split())
    assert kept == text


@ALL
@given(text=ANY)
def test_tokens_lie_in_order_in_the_sentence(by, text):
    found = tokenise(text, by=by)
    assert [token.text for token in found] == [text[token.start : token.end] for token in found]
    for one, next_one in pairwise(found):
        assert one.start <= next_one.start
        assert one.end <= next_one.end
        assert one.end <= next_one.start or next_one.part is not None
    assert all(0 <= token.start < token.end <= len(text) for token in found)


@ALL
@given(text=ANY)
def test_labels_can_be_read(by, text):
    for token in tokenise(text, by=by):
        assert token.label.strip()
        assert "\ufffd" not in token.label


UNITS = ["a", " ", "学", "👩\u200d", "\u0301", "🇯", "ส", "1.", "\r", "ア"]


@pytest.mark.parametrize(("unit", "by"), in_turn(UNITS, of=MODES))
def test_ten_thousand_of_anything(unit, by):
    text = (unit * 10_000)[:10_000]
    found = tokenise(text, by=by)
    assert not found or found[-1].end == len(text)


@given(ANY)
def test_spaces_are_what_tokens_does(text):
    assert texts(text, "spaces") == split_at_spaces(text)


@ALL
def test_half_a_surrogate_pair_is_a_sentence(by):
    with pytest.raises(ValueError, match=r"character 1 is an unpaired surrogate, U\+D83D"):
        tokenise("a\ud83d", by=by)


@pytest.mark.parametrize("by", ["word", None, 3, ["words"]])
def test_an_unknown_way_is_a_sentence(by):
    with pytest.raises(
        ValueError, match=r"by must be 'words' or 'spaces' or .* or a function; got"
    ):
        tokenise("a", by=by)


def test_bytes_are_no_sentence():
    with pytest.raises(TypeError, match="sentence must be a string; got b'a'"):
        tokenise(b"a")


def test_a_function_of_your_own():
    assert tokenise("ab", by=lambda text: [Token(text, 0, 2, b"ab")]) == (Token("ab", 0, 2, b"ab"),)


def test_it_needs_no_numpy():
    code = "import sys, posenc.text; print({'numpy', 'icu4py', 'tokenizers'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
