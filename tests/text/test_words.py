"""Words in many scripts, as ICU finds them."""

import sys

import pytest

from posenc.text import tokenise
from posenc.text.words import split_words


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
    assert list(split_words(sentence)) == [word for word in expected.split("/") if word]


def test_words_without_icu_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    with pytest.raises(ModuleNotFoundError, match="pip install icu4py"):
        tokenise("a", by="words")
    assert len(tokenise("a b", by="spaces")) == 2
