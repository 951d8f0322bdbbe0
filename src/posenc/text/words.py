"""Words in any language, as ICU finds them: by dictionary where no spaces are."""

from collections.abc import Iterator
from functools import partial

from posenc.i18n import said


def words(sentence: str) -> Iterator[str]:
    """The words, numbers and marks of a sentence; the blanks between them are left out.

    The rules are Unicode's (UAX 29), the dictionaries ICU's, as in a browser's `Intl.Segmenter`.

    >>> list(words("我喜歡學習位置編碼, it's fun!"))
    ['我', '喜歡', '學習', '位置', '編碼', ',', "it's", 'fun', '!']
    """
    try:
        from icu4py.breakers import WordBreaker
    except ModuleNotFoundError as error:
        raise said(
            partial(ModuleNotFoundError, name="icu4py"),
            "icu4py is not installed; words need: pip install icu4py (spaces, "
            "characters, bytes and bpe need nothing)",
        ) from error
    # Iterating gives text. `segments()` gives offsets, but in UTF-16, which emoji put out of step.
    # The language makes no difference to Han, kana or Thai: their dictionaries are always on.
    return (word for word in WordBreaker(sentence, "en") if not word.isspace())
