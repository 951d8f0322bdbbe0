"""The small BPE: golden splits, and the same ids as tokenizers finds in the same file."""

import pytest
from hypothesis import given
from tokenizers import Tokenizer

from posenc.text import bpe, from_file, tokenise
from tests.text.strings import ANY


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("我喜欢学习位置编码", "我|喜|欢|学习|位置|编码"),
        ("我喜歡學習位置編碼", "我|喜|歡|學習|位置|編碼"),
        ("犬が人を噛む", "犬|が|人|を|噛|む"),
        ("位置エンコーディングです。", "位置|エンコーディング|です|。"),
        ("the positions of the words", "the| positions| of| the| words"),
        ("鬱", "鬱 1/3 E9|鬱 2/3 AC|鬱 3/3 B1"),
    ],
)
def test_bpe(sentence, expected):
    assert [token.label for token in tokenise(sentence, by="bpe")] == expected.split("|")


@given(ANY)
def test_bpe_merges_in_the_order_in_which_it_was_learned(text):
    """The heap finds what the plain way finds: each merge in its turn, over the whole piece."""
    found = []
    for piece in bpe.pattern().findall(text):
        plain = [*piece.encode()]
        for pair, merged in bpe.merges().items():
            if pair[0] in plain:
                plain = merge_all(plain, pair, merged)
        found += plain
    assert bpe.encode(text) == found


def merge_all(tokens, pair, merged):
    result = []
    for token in tokens:
        if result and (result[-1], token) == pair:
            result[-1] = merged
        else:
            result.append(token)
    return result


THEIRS = Tokenizer.from_file(str(bpe.FILE))
FROM_FILE = from_file(bpe.FILE)


@given(ANY)
def test_bpe_is_what_tokenizers_makes_of_the_same_file(text):
    assert bpe.encode(text) == THEIRS.encode(text).ids
    assert tokenise(text, by="bpe") == tokenise(text, by=FROM_FILE)


def is_whole_characters(token):
    return token.decode(errors="ignore").encode() == token


def is_within_a_character(token):
    return token[0] >= 0x80 and all(byte & 0xC0 == 0x80 for byte in token[1:])


def test_a_token_of_the_bpe_is_whole_characters_or_a_piece_of_one():
    for token in bpe.vocabulary()[256:]:
        assert is_whole_characters(token) or is_within_a_character(token)


def test_ids_of_the_bpe_are_bytes_and_then_merges():
    vocabulary, merges = bpe.vocabulary(), bpe.merges()
    assert vocabulary[:256] == tuple(bytes([byte]) for byte in range(256))
    assert [*merges.values()] == [*range(256, len(vocabulary))]
    assert all(vocabulary[c] == vocabulary[a] + vocabulary[b] for (a, b), c in merges.items())
    assert len(set(vocabulary)) == len(vocabulary) == 2256
    assert bpe.FILE.stat().st_size < 60_000
