"""Sentences split at their spaces."""

import pytest

from posenc.text import split_at_spaces


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("the dog", ["the", "dog"]),
        ("word", ["word"]),
        ("我喜歡學習", list("我喜歡學習")),
        ("が\u3099", ["が\u3099"]),
        ("café", ["café"]),
        ("Привет", ["Привет"]),
        ("犬👨\u200d👩\u200d👧猫", ["犬", "👨\u200d👩\u200d👧", "猫"]),
        ("学\u200b习", ["学\u200b", "习"]),
        ("", []),
    ],
)
def test_a_sentence_is_split_at_spaces_or_by_characters(sentence, expected):
    assert split_at_spaces(sentence) == expected
