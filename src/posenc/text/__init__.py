"""A sentence as tokens: by words, spaces, characters, bytes, a small BPE, or a tokenizer of yours.

Nothing here needs NumPy. `words` needs icu4py, `from_file` needs tokenizers, when they are called.
"""

from collections.abc import Callable, Iterable

from posenc.i18n import said
from posenc.text import bpe
from posenc.text.file import from_file, from_json
from posenc.text.graphemes import graphemes
from posenc.text.spaces import HAN, JOINER, tokens
from posenc.text.token import Token, cut, whole
from posenc.text.words import words

__all__ = ["HAN", "JOINER", "MODES", "Token", "from_file", "from_json", "tokenised", "tokens"]

Tokeniser = Callable[[str], Iterable[Token]]

MODES: dict[str, Tokeniser] = {
    "words": lambda sentence: whole(words(sentence), sentence),
    "spaces": lambda sentence: whole(tokens(sentence), sentence),
    "characters": lambda sentence: whole(graphemes(sentence), sentence),
    "bytes": lambda sentence: cut([bytes([byte]) for byte in sentence.encode()], sentence),
    "bpe": lambda sentence: cut(bpe.split_bytes(sentence), sentence),
}
"""The ways to make tokens, by name."""


def tokenised(sentence: str, by: str | Tokeniser = "spaces") -> tuple[Token, ...]:
    """The tokens of a sentence, in order, each with the characters that it covers and its bytes.

    `by` is one of `MODES`, or what `from_file` returned, or any function that does the same. Words
    and spaces leave out the blanks between tokens; the others leave out nothing.

    >>> [token.text for token in tokenised("犬が人を噛む。", by="words")]
    ['犬', 'が', '人', 'を', '噛む', '。']
    >>> [token.label for token in tokenised("é!", by="bytes")]
    ['é 1/2 C3', 'é 2/2 A9', '!']
    """
    if not isinstance(sentence, str):
        raise TypeError(f"sentence must be text; got {sentence!r}")
    if not callable(by) and not (isinstance(by, str) and by in MODES):
        raise ValueError(f"by must be {' or '.join(map(repr, MODES))} or a function; got by={by!r}")
    try:
        sentence.encode()
    except UnicodeEncodeError as error:
        code = ord(sentence[error.start])
        raise said(
            ValueError,
            "sentence must be text that UTF-8 can hold; character {start} is half of a surrogate "
            "pair, U+{code:04X}",
            start=error.start,
            code=code,
        ) from None
    return tuple((by if callable(by) else MODES[by])(sentence))
