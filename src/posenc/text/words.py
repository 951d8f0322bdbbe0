"""Split a sentence into words in any language, with the dictionaries of ICU."""

from collections.abc import Iterator
from functools import partial

from posenc.i18n import translatable


def split_words(sentence: str) -> Iterator[str]:
    """The words, numbers and punctuation marks of a sentence, without the blanks between them.

    The rules are those of Unicode (UAX 29), as in a browser's `Intl.Segmenter`.

    >>> list(split_words("我喜歡學習位置編碼, it's fun!"))
    ['我', '喜歡', '學習', '位置', '編碼', ',', "it's", 'fun', '!']
    """
    try:
        from icu4py.breakers import WordBreaker
    except ModuleNotFoundError as error:
        raise translatable(
            partial(ModuleNotFoundError, name="icu4py"),
            "icu4py is not installed; splitting into words needs it: pip install icu4py (spaces, "
            "characters, bytes and bpe do not)",
        ) from error
    # Iterating yields text; the offsets of `segments()` count UTF-16 units, two for an emoji.
    # The language does not matter: the dictionaries for Han, kana and Thai are always used.
    return (word for word in WordBreaker(sentence, "en") if not word.isspace())
