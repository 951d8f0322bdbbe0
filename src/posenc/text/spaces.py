"""A sentence as tokens, for pictures."""

import re
import unicodedata

HAN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
"""Characters of scripts that put no spaces between words: Han, kana, hangul, full width."""

JOINER = "\u200d"


def tokens(sentence: str) -> list[str]:
    """Words where there are spaces between them; a lone word of Han or kana by its characters.

    A character keeps its combining marks, an emoji its parts, and a Latin word its letters.

    >>> tokens("我 爱 学习 AI")
    ['我', '爱', '学习', 'AI']
    >>> tokens("犬が人を噛む")
    ['犬', 'が', '人', 'を', '噛', 'む']
    >>> tokens("我爱学习AI")
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
