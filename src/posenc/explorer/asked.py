"""What a page asks for: a sentence, encodings, a language; made into what the library takes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from posenc.core.mechanisms import Encoding
from posenc.explorer import limits
from posenc.explorer.parameters import Refused
from posenc.i18n import phrase
from posenc.names.resolve import spelled

Tokenizer = Callable[[str], Iterable[Any]]
"""What `posenc.text.from_file` makes of a tokenizer.json."""


@dataclass(frozen=True)
class Asked:
    """The common parameters, checked against the limits."""

    encodings: tuple[Encoding, ...]
    names: tuple[str, ...]
    tokens: tuple[Any, ...]
    length: int
    seed: int
    lang: str
    head: int | None = None
    """The head to look at, from 0."""
    causal: bool | None = None
    """Whether attention sees no keys ahead; None is what the encodings are meant for."""

    @property
    def labels(self) -> list[str] | None:
        """What stands before each row; None if there are no tokens for all of them."""
        labels = [token.label for token in self.tokens]
        if not labels:
            return None
        return labels + [str(place) for place in range(len(labels), self.length)]


def asked(values: dict[str, Any], loaded: dict[str, Encoding]) -> Asked:
    """The common parameters as the library takes them; what is too large is refused."""
    tokens = tokens_of(values)
    names = tuple(values["e"])
    if len(names) > limits.ENCODINGS:
        raise Refused(
            "e must be given at most {most} times; got {count}",
            "e",
            most=limits.ENCODINGS,
            count=len(names),
        )
    encodings = tuple(encoding_of(name, loaded) for name in names)
    length = max(len(tokens), values["n"]) or 64
    if length > limits.POSITIONS:
        raise Refused(
            "n must be at most {most:,}; got {count:,}",
            "n",
            413,
            most=limits.POSITIONS,
            count=length,
        )
    check_size("heatmap", encodings, length)
    head, causal = values.get("h"), values.get("causal")
    return Asked(
        encodings,
        names,
        tokens,
        length,
        values["seed"],
        values["lang"],
        head=None if head is None else head - 1,
        causal=None if causal is None else causal == "yes",
    )


def check_size(kind: str, encodings: tuple[Encoding, ...], length: int) -> None:
    """Refuse a view of these encodings, of so many positions, that takes too much.

    What they take is counted together: memory and time are those of the request.
    """
    each = [limits.taken(kind, encoding, length) for encoding in encodings]
    most = limits.MOST.get(kind, limits.CELLS)
    if sum(prod(sizes.values()) for sizes in each) <= most:
        return
    product = limits.times(map(phrase, each[0]))
    sizes = limits.plus(limits.times(map(str, sizes.values())) for sizes in each)
    told = {"product": product, "most": most, "sizes": sizes}
    if len(each) == 1:
        raise Refused("{product} must be at most {most:,}; got {sizes}", "n", 413, **told)
    raise Refused(
        "{product}, of all encodings together, must be at most {most:,}; got {sizes}",
        "n",
        413,
        **told,
    )


def encoding_of(expression: str, loaded: dict[str, Encoding]) -> Encoding:
    """The encoding that is spelled, or the one of this name that the command line loaded."""
    if expression in loaded:
        return loaded[expression]
    try:
        return spelled(expression, check=limits.check_arguments)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Refused(error, "e") from error


def tokens_of(values: dict[str, Any]) -> tuple[Any, ...]:
    """The tokens of the sentence."""
    from posenc.text import tokenise

    if not values["text"].strip():
        return ()
    by = values["tokenizer"] if values["by"] == "tokenizer" else values["by"]
    if by is None:
        raise Refused("there is no tokenizer: posenc explore --tokenizer FILE has one", "by")
    try:
        return tokenise(values["text"], by=by)
    except (ValueError, TypeError) as error:
        raise Refused(error, "by") from error
    except ModuleNotFoundError as error:
        raise Refused(error, "by", 503) from error
