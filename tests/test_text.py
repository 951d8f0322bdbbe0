"""Sentences as tokens: golden splits in many scripts, and what holds for any text at all."""

import subprocess
import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icu4py.breakers import CharacterBreaker
from tokenizers import Tokenizer

from posenc.text import MODES, Token, bpe, from_file, tokenised, tokens
from posenc.text.graphemes import graphemes
from tests.slow import in_turn

ODD = (
    "ab 1\r\n\t\x00é\u0301\u200d\u200c\ufe0f👩👨🌾❤🏽🇯🇵🇫\u1100\u1161\u11a8가각"
    "कषि\u094dไ\u0e33ע\u05b0\u0600学习が\u3099ー，\u3000\ufffd\U000e0067"
)
ANY = st.text(st.characters(exclude_categories=["Cs"])) | st.text(ODD, max_size=30)
ALL = pytest.mark.parametrize("by", MODES)


def texts(sentence, by):
    return [token.text for token in tokenised(sentence, by=by)]


def labels(sentence, by):
    return [token.label for token in tokenised(sentence, by=by)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("我喜欢学习位置编码", "我/喜欢/学习/位置/编码"),
        ("我喜歡學習位置編碼", "我/喜歡/學習/位置/編碼"),
        ("犬が人を噛む", "犬/が/人/を/噛む"),
        ("The dog bit the man, didn't it? 3.14!", "The/dog/bit/the/man/,/didn't/it/?/3.14/!"),
        ("a👩\u200d👩\u200d👧b 🇯🇵🇫🇷👍🏽", "a/👩\u200d👩\u200d👧/b/🇯🇵/🇫🇷/👍🏽"),
        ("𠮷野家で", "𠮷/野家/で"),
        ("สวัสดีครับ", "สวัสดี/ครับ"),
        ("שלום עולם", "שלום/עולם"),
        ("  \t", ""),
    ],
)
def test_words(sentence, expected):
    assert texts(sentence, "words") == [word for word in expected.split("/") if word]


@pytest.mark.parametrize(
    "clusters",
    [
        ["👩\u200d👩\u200d👧", "👨🏽\u200d🌾", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3"],
        ["🇯🇵", "🇫🇷", "🇯", "a", "🏴\U000e0067\U000e0062\U000e007f"],
        ["e\u0301", "が\u3099", "学", "\r\n", "\n", "\x00", "\u200b"],
        ["\u1100\u1161\u11a8", "가\u11a8", "각", "각"],
        ["न", "म", "स्ते", " ", "क्ष", "त्रि", "य", "र्\u200dक", "क्\u200c", "ष"],
        ["กำ", "ที่"],
    ],
)
def test_characters(clusters):
    assert texts("".join(clusters), "characters") == clusters


def icu(text):
    return list(CharacterBreaker(text, "en"))


@given(st.text(ODD, max_size=12))
@settings(max_examples=500)
def test_characters_are_those_of_icu(text):
    assert graphemes(text) == icu(text)


def test_every_character_joins_its_neighbours_as_in_icu():
    """All that Python knows but Han, syllables of Hangul and private ones, which are alike."""
    alike = [range(0x3400, 0xA000), range(0xAC00, 0xF900), range(0x20000, 0xE0000)]
    codes = [c for c in range(0xE1000) if not any(c in among for among in alike)]
    known = [chr(c) for c in codes if unicodedata.category(chr(c)) != "Cn"]
    pairs = [pair for c in known for pair in ("a" + c, c + "a")]
    assert [ascii(pair) for pair in pairs if graphemes(pair) != icu(pair)] == []


def test_bytes():
    assert labels("a学é\n", "bytes") == [
        *["a", "学 1/3 E5", "学 2/3 AD", "学 3/3 A6", "é 1/2 C3", "é 2/2 A9", "␊"],
    ]
    assert tokenised("a学", by="bytes")[2] == Token("学", 1, 2, b"\xad", (2, 3))


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
    assert labels(sentence, "bpe") == expected.split("|")


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
    assert tokenised(text, by="bpe") == tokenised(text, by=FROM_FILE)


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


@ALL
@given(text=ANY)
def test_nothing_is_lost(by, text):
    found = tokenised(text, by=by)
    kept = b"".join(token.data for token in found).decode()
    if by in ("words", "spaces"):
        kept, text = "".join(kept.split()), "".join(text.split())
    assert kept == text


@ALL
@given(text=ANY)
def test_tokens_lie_in_order_in_the_sentence(by, text):
    found = tokenised(text, by=by)
    assert [token.text for token in found] == [text[token.start : token.end] for token in found]
    for one, next_one in pairwise(found):
        assert one.start <= next_one.start
        assert one.end <= next_one.end
        assert one.end <= next_one.start or next_one.part is not None
    assert all(0 <= token.start < token.end <= len(text) for token in found)


@ALL
@given(text=ANY)
def test_labels_can_be_read(by, text):
    for token in tokenised(text, by=by):
        assert token.label.strip()
        assert "\ufffd" not in token.label


UNITS = ["a", " ", "学", "👩\u200d", "\u0301", "🇯", "ส", "1.", "\r", "ア"]


@pytest.mark.parametrize(("unit", "by"), in_turn(UNITS, of=MODES))
def test_ten_thousand_of_anything(unit, by):
    text = (unit * 10_000)[:10_000]
    found = tokenised(text, by=by)
    assert not found or found[-1].end == len(text)


@given(ANY)
def test_spaces_are_what_tokens_does(text):
    assert texts(text, "spaces") == tokens(text)


@ALL
def test_half_a_surrogate_pair_is_a_sentence(by):
    with pytest.raises(ValueError, match=r"character 1 is half of a surrogate pair, U\+D83D"):
        tokenised("a\ud83d", by=by)


@pytest.mark.parametrize("by", ["word", None, 3, ["words"]])
def test_an_unknown_way_is_a_sentence(by):
    with pytest.raises(
        ValueError, match=r"by must be 'words' or 'spaces' or .* or a function; got"
    ):
        tokenised("a", by=by)


def test_bytes_are_no_sentence():
    with pytest.raises(TypeError, match="sentence must be text; got b'a'"):
        tokenised(b"a")


def test_a_function_of_your_own():
    assert tokenised("ab", by=lambda text: [Token(text, 0, 2, b"ab")]) == (
        Token("ab", 0, 2, b"ab"),
    )


def test_words_without_icu_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    with pytest.raises(ModuleNotFoundError, match="pip install icu4py"):
        tokenised("a", by="words")
    assert texts("a b", "spaces") == ["a", "b"]


def test_it_needs_no_numpy():
    code = "import sys, posenc.text; print({'numpy', 'icu4py', 'tokenizers'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
