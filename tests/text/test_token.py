"""Tokens: labels, and where pieces of text and of bytes lie in a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc.text.token import Token, group_overlapping, locate_bytes, locate_text


@pytest.mark.parametrize(
    ("token", "label"),
    [
        (Token("dog", 0, 3, b"dog"), "dog"),
        (Token("  ", 0, 2, b"  "), "␣␣"),
        (Token("\t\x7f", 0, 2, b"\t\x7f"), "␉U+007F"),
        (Token("\u3000", 0, 1, "\u3000".encode()), "U+3000"),
        (Token("a\ufffd", 0, 2, b"a\xff"), "aU+FFFD"),
        (Token("é", 0, 1, b"\xa9", (2, 2)), "é 2/2 A9"),
    ],
)
def test_a_label_can_be_seen(token, label):
    assert token.label == label


def test_text_is_found_after_what_came_before():
    found = [(t.start, t.end) for t in locate_text(["a", "a", "b"], "a ab")]
    assert found == [(0, 1), (2, 3), (3, 4)]
    with pytest.raises(ValueError, match="substring not found"):
        [*locate_text(["b", "a"], "ab")]


@given(st.text(max_size=12), st.lists(st.integers(1, 5), max_size=30))
def test_bytes_cut_anywhere_cover_the_sentence(sentence, sizes):
    data = sentence.encode("utf-8", "surrogatepass")
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    pieces = [piece for piece in [*pieces, data[at:]] if piece]
    tokens = [*locate_bytes(pieces, sentence)]
    assert b"".join(token.data for token in tokens) == data
    assert all(token.text == sentence[token.start : token.end] for token in tokens)
    assert {i for token in tokens for i in range(token.start, token.end)} == {*range(len(sentence))}
    for token in tokens:
        whole = token.text.encode("utf-8", "surrogatepass")
        assert (token.part is None) == (token.data == whole) or token.data in whole


def test_neighbours_that_share_a_character_are_one_group():
    assert [*group_overlapping([])] == []
    assert [*group_overlapping([(0, 2), (1, 2), (1, 3), (3, 4)])] == [range(3), range(3, 4)]
