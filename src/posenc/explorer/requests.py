"""A request for a view: a sentence, encodings and a language, as the library takes them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, Self

from posenc.core.encoding import Encoding
from posenc.explorer import limits
from posenc.explorer.parameters import RequestError
from posenc.i18n import Language, phrase
from posenc.names.resolve import evaluate_encoding

Tokenizer = Callable[[str], Iterable[Any]]
"""What `posenc.text.from_file` makes of a tokenizer.json."""


@dataclass(frozen=True)
class ViewRequest:
    """The parameters that all requests about a sentence and its encodings share."""

    encodings: tuple[Encoding, ...]
    names: tuple[str, ...]
    """The expression of each encoding, or the name under which it was loaded."""
    tokens: tuple[Any, ...]
    length: int
    seed: int
    lang: Language
    head: int | None = None
    """The head to look at, from 0."""
    causal: bool | None = None
    """Whether attention masks the keys ahead; None: as the encodings are meant."""

    @classmethod
    def parse(cls, values: dict[str, Any], loaded: dict[str, Encoding]) -> Self:
        """The request that these values of query parameters make.

        loaded  encodings of the user's own, by name

        What exceeds the limits is refused.
        """
        tokens = tokenize(values)
        names = tuple(values["e"])
        if len(names) > limits.ENCODINGS:
            raise RequestError(
                "e must be given at most {most} times; got {count}",
                "e",
                most=limits.ENCODINGS,
                count=len(names),
            )
        encodings = tuple(resolve_encoding(name, loaded) for name in names)
        length = max(len(tokens), values["n"]) or 64
        if length > limits.POSITIONS:
            raise RequestError(
                "n must be at most {most:,}; got {count:,}",
                "n",
                413,
                most=limits.POSITIONS,
                count=length,
            )
        check_size("heatmap", encodings, length)
        head, causal = values.get("h"), values.get("causal")
        return cls(
            encodings,
            names,
            tokens,
            length,
            values["seed"],
            values["lang"],
            head=None if head is None else head - 1,
            causal=None if causal is None else causal == "yes",
        )

    @property
    def labels(self) -> list[str] | None:
        """The label of each row: tokens, then positions; None where there are no tokens."""
        labels = [token.label for token in self.tokens]
        if not labels:
            return None
        return labels + [str(place) for place in range(len(labels), self.length)]


def check_size(kind: str, encodings: tuple[Encoding, ...], length: int) -> None:
    """Refuse a view of these encodings at `length` positions that would be too large.

    The sizes of all encodings are added: memory and time are those of the request.
    """
    each = [limits.view_sizes(kind, encoding, length) for encoding in encodings]
    most = limits.most_numbers(kind)
    if sum(prod(sizes.values()) for sizes in each) <= most:
        return
    product = limits.join_times(map(phrase, each[0]))
    sizes = limits.join_plus(limits.join_times(map(str, sizes.values())) for sizes in each)
    values = {"product": product, "most": most, "sizes": sizes}
    if len(each) == 1:
        raise RequestError("{product} must be at most {most:,}; got {sizes}", "n", 413, **values)
    raise RequestError(
        "{product}, of all encodings together, must be at most {most:,}; got {sizes}",
        "n",
        413,
        **values,
    )


def resolve_encoding(expression: str, loaded: dict[str, Encoding]) -> Encoding:
    """The encoding of an expression, or the one that was loaded under this name."""
    if expression in loaded:
        return loaded[expression]
    try:
        encoding = evaluate_encoding(expression, check=limits.check_arguments)
        limits.check_parameters(encoding)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise RequestError(error, "e") from error
    return encoding


def tokenize(values: dict[str, Any]) -> tuple[Any, ...]:
    """The tokens of the sentence, by the tokenizer that was chosen."""
    from posenc.text import tokenise

    if not values["text"].strip():
        return ()
    by = values["tokenizer"] if values["by"] == "tokenizer" else values["by"]
    if by is None:
        raise RequestError("there is no tokenizer: posenc explore --tokenizer FILE has one", "by")
    try:
        return tokenise(values["text"], by=by)
    except (ValueError, TypeError) as error:
        raise RequestError(error, "by") from error
    except ModuleNotFoundError as error:
        raise RequestError(error, "by", 503) from error
