"""A sentence as tokens, for pictures."""

import unicodedata


def tokens(sentence: str) -> list[str]:
    """Words where there are spaces between them, else characters with their combining marks.

    >>> tokens("我 爱 学习 AI")
    ['我', '爱', '学习', 'AI']
    >>> tokens("犬が人を噛む")
    ['犬', 'が', '人', 'を', '噛', 'む']
    """
    words = sentence.split()
    if len(words) != 1 or sentence.isascii():
        return words
    characters: list[str] = []
    for character in words[0]:
        if characters and unicodedata.combining(character):
            characters[-1] += character
        else:
            characters.append(character)
    return characters
