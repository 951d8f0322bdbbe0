"""Requests: checked values of parameters, and the sentence and encodings that they mean."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Self

from posenc.core.encoding import Encoding, unwrap
from posenc.explorer import limits
from posenc.explorer.parameters import RequestError, check_most
from posenc.i18n import N_, Language, Phrase, Translate, phrase, translator
from posenc.names.resolve import evaluate_encoding
from posenc.views.kind import is_plain
from posenc.views.kinds import default_kind

if TYPE_CHECKING:
    from posenc.text import Token

Tokenizer = Callable[[str], Iterable["Token"]]
"""What `posenc.text.from_file` makes of a tokenizer.json."""

LIBRARY_ERRORS = (ValueError, TypeError, IndexError, ArithmeticError)
"""What the library raises, with a sentence, for a request that it cannot fulfil."""


@contextmanager
def refuse_errors(argument: str) -> Generator[None]:
    """Refuse the request with what the library says of this argument, or of one that it names."""
    try:
        yield
    except LIBRARY_ERRORS as error:
        words: Phrase | None = getattr(error, "words", None)
        named = words.values.get("argument") if words else None
        raise RequestError(error, str(named or argument)) from error


@dataclass(frozen=True, kw_only=True)
class Request:
    """The values of an endpoint's parameters by name, and what the command line has loaded."""

    values: dict[str, Any]
    loaded: dict[str, Encoding] = field(default_factory=dict[str, Encoding])
    """Encodings of the user's own, by name."""
    tokenizer: Tokenizer | None = None
    body: bytes = b""

    @property
    def lang(self) -> Language:
        """The language of the answer."""
        return self.values["lang"]

    @property
    def t(self) -> Translate:
        """The function that translates into the language of the answer."""
        return translator(self.lang)


@dataclass(frozen=True, kw_only=True)
class ViewRequest(Request):
    """A request about a sentence and encodings, which are within the limits."""

    encodings: tuple[Encoding, ...]
    names: tuple[str, ...]
    """The expression of each encoding, or the name under which it was loaded."""
    tokens: "tuple[Token, ...]"
    length: int
    head: int | None = None
    """The head to look at, from 0."""
    causal: bool | None = None
    """Whether attention masks the keys ahead; None: as the encodings are meant."""

    @classmethod
    def parse(cls, request: Request) -> Self:
        """Split the sentence and make the encodings; what exceeds the limits is refused."""
        values = request.values
        tokens, names = _tokenize(request), values["e"]
        too_many = N_("e must be given at most {most} times; got {count}")
        check_most(too_many, "e", len(names), limits.ENCODINGS, 400)
        encodings = tuple(_make_encoding(name, request.loaded) for name in names)
        length = max(len(tokens), values["n"]) or 64
        check_most(N_("n must be at most {most:,}; got {count:,}"), "n", length, limits.POSITIONS)
        check_size("heatmap", encodings, length)
        head, causal = values.get("h"), values.get("causal")
        return cls(
            **vars(request),
            encodings=encodings,
            names=names,
            tokens=tokens,
            length=length,
            head=None if head is None else head - 1,
            causal=None if causal is None else causal == "yes",
        )

    @property
    def seed(self) -> int:
        """The seed of randomly drawn parameters."""
        return self.values["seed"]

    @property
    def kind(self) -> str:
        """The kind of view that is requested, or else the one that suits the encodings best."""
        requested = self.values.get("kind") or self.values.get("view")
        return requested or default_kind(*map(unwrap, self.encodings))

    @property
    def gridded(self) -> bool:
        """Whether positions of some encoding are places in a picture, not in a text."""
        return not all(map(is_plain, self.encodings))

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The label of each row: tokens, then positions; None where there are no tokens."""
        more = map(str, range(len(self.tokens), self.length))
        return (*(token.label for token in self.tokens), *more) if self.tokens else None


def check_size(kind: str, encodings: tuple[Encoding, ...], length: int) -> None:
    """Refuse a view of these encodings at `length` positions that would be too large.

    The sizes of all encodings are added: memory and time are those of the request.
    """
    each = [limits.view_sizes(kind, encoding, length) for encoding in encodings]
    most = limits.most_numbers(kind)
    if sum(prod(sizes.values()) for sizes in each) <= most:
        return
    template = N_("{product} must be at most {most:,}; got {sizes}")
    if len(each) > 1:
        template = N_("{product}, of all encodings together, must be at most {most:,}; got {sizes}")
    product = limits.join_times(map(phrase, each[0]))
    sizes = limits.join_plus(limits.join_times(map(str, sizes.values())) for sizes in each)
    raise RequestError(template, "n", 413, product=product, most=most, sizes=sizes)


def _make_encoding(expression: str, loaded: dict[str, Encoding]) -> Encoding:
    """The encoding of an expression, or the one that was loaded under this name."""
    if expression in loaded:
        return loaded[expression]
    with refuse_errors("e"):
        encoding = evaluate_encoding(expression, check=limits.check_arguments)
        limits.check_parameters(encoding)
        return encoding


def _tokenize(request: Request) -> "tuple[Token, ...]":
    """The tokens of the sentence, by the tokenizer that was chosen."""
    from posenc.text import tokenise

    text, by = request.values["text"], request.values["by"]
    if not text.strip():
        return ()
    by = request.tokenizer if by == "tokenizer" else by
    if by is None:
        raise RequestError("there is no tokenizer: posenc explore --tokenizer FILE has one", "by")
    try:
        with refuse_errors("by"):
            return tokenise(text, by=by)
    except ModuleNotFoundError as error:
        raise RequestError(error, "by", 503) from error
