"""Split a sentence into tokens: words, characters, bytes, a small BPE, or your own tokenizer.

Nothing here needs NumPy. Splitting into words needs icu4py, and `from_file` needs tokenizers; both
are imported when they are used.
"""

from collections.abc import Callable, Iterable

from posenc.i18n import translatable
from posenc.text import bpe
from posenc.text.file import from_file, from_json
from posenc.text.graphemes import split_graphemes
from posenc.text.spaces import HAN, JOINER, split_at_spaces
from posenc.text.token import Token, locate_bytes, locate_text
from posenc.text.words import split_words

__all__ = [
    "HAN",
    "JOINER",
    "MODES",
    "Token",
    "from_file",
    "from_json",
    "split_at_spaces",
    "tokenise",
]

Tokeniser = Callable[[str], Iterable[Token]]

MODES: dict[str, Tokeniser] = {
    "words": lambda sentence: locate_text(split_words(sentence), sentence),
    "spaces": lambda sentence: locate_text(split_at_spaces(sentence), sentence),
    "characters": lambda sentence: locate_text(split_graphemes(sentence), sentence),
    "bytes": lambda sentence: locate_bytes([bytes([b]) for b in sentence.encode()], sentence),
    "bpe": lambda sentence: locate_bytes(bpe.split_bytes(sentence), sentence),
}
"""The built-in tokenisers by name."""


def tokenise(sentence: str, by: str | Tokeniser = "spaces") -> tuple[Token, ...]:
    """Split a sentence into tokens, each with the characters that it covers and its bytes.

    by  a name in `MODES`, the result of `from_file`, or a function from a sentence to its tokens

    'words' and 'spaces' drop the blanks between tokens; the other modes keep everything.

    >>> [token.text for token in tokenise("犬が人を噛む。", by="words")]
    ['犬', 'が', '人', 'を', '噛む', '。']
    >>> [token.label for token in tokenise("é!", by="bytes")]
    ['é 1/2 C3', 'é 2/2 A9', '!']
    """
    if not isinstance(sentence, str):
        raise TypeError(f"sentence must be a string; got {sentence!r}")
    if not callable(by) and not (isinstance(by, str) and by in MODES):
        raise ValueError(f"by must be {' or '.join(map(repr, MODES))} or a function; got by={by!r}")
    try:
        sentence.encode()
    except UnicodeEncodeError as error:
        code = ord(sentence[error.start])
        raise translatable(
            ValueError,
            "sentence must be valid Unicode; character {start} is an unpaired surrogate, "
            "U+{code:04X}",
            start=error.start,
            code=code,
        ) from None
    return tuple((by if callable(by) else MODES[by])(sentence))
