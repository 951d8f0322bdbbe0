"""Split a sentence at its spaces."""

import re
import unicodedata

HAN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
"""Characters of scripts written without spaces: Han, kana, hangul, full-width forms."""

JOINER = "\u200d"


def split_at_spaces(sentence: str) -> list[str]:
    """Split a sentence at its spaces, or a single word in Han or kana into characters.

    Combining marks, the parts of an emoji and the letters of a Latin word stay together.

    >>> split_at_spaces("我 爱 学习 AI")
    ['我', '爱', '学习', 'AI']
    >>> split_at_spaces("犬が人を噛む")
    ['犬', 'が', '人', 'を', '噛', 'む']
    >>> split_at_spaces("我爱学习AI")
    ['我', '爱', '学', '习', 'AI']
    """
    words = sentence.split()
    if len(words) != 1 or not HAN.search(words[0]):
        return words
    characters: list[str] = []
    for character in words[0]:
        joins = unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf", "Sk")
        latin = character.isascii() and character.isalnum()
        joins = joins or (latin and characters[-1:] != [] and _is_latin(characters[-1]))
        if characters and (joins or characters[-1].endswith(JOINER)):
            characters[-1] += character
        else:
            characters.append(character)
    return characters


def _is_latin(text: str) -> bool:
    return text.isascii() and text.isalnum()
