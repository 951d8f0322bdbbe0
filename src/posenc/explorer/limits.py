"""What the explorer accepts at most. Each is checked before memory or time is spent on it."""

from collections.abc import Iterable
from functools import reduce
from math import prod
from typing import Any

from posenc.core.mechanisms import Additive, Encoding, Rotary, Scores
from posenc.i18n import later, phrase, said
from posenc.temperatures import Tempered

TEXT = 2_000
POSITIONS = 8_192
CELLS = 2**22
"""Of the images of a view, and of an encoding's parameters."""
TABLE = 2**20
"""Cells of a table of text, each of which is a line: a spreadsheet has so many."""
LARGE = 2**17
"""Numbers from which on a view takes so long that others must not wait for it."""
EXPLAINED = 512
"""Positions and dimensions of a worked calculation, every number of which is written out."""
MOST = {"attention": 2**24, "bias": 2**24}
"""Numbers made on the way to a view, where those are more than its cells: a matrix of each head."""
ENCODINGS = 4
EXPRESSION = 2_000
CONFIG = 256 * 1024
SIZES = {
    "dim": 4_096,
    "rotary_dim": 4_096,
    "heads": 64,
    "length": 8_192,
    "axes": 4,
    "reach": 4_096,
    "buckets": 4_096,
    "features": 4_096,
    "hidden": 1_024,
    "window": 32,
    "sections": 2_048,
    "shares": 2_048,
    "axis_of_pair": 2_048,
    "frequencies": 2_048,
}
"""Largest values of sizes by the name of their field; of tuples, largest entries and lengths."""


def check_arguments(kind: str, arguments: dict[str, Any]) -> None:
    """Say which argument of an encoding is too large, before one is made of it."""
    for name, value in arguments.items():
        most = SIZES.get(name)
        many = value if isinstance(value, tuple) else (value,)
        if len(many) > 4_096:
            raise said(
                ValueError,
                "{name} of {kind} must have at most 4,096 entries; got {count}",
                name=name,
                kind=kind,
                count=len(many),
            )
        for entry in many:
            if most is not None and type(entry) in (int, float) and abs(entry) > most:
                raise said(
                    ValueError,
                    "{name} must be at most {most:,} in the explorer; got {entry}",
                    name=name,
                    most=most,
                    entry=entry,
                )
    sizes = parameters(kind, arguments)
    if prod(sizes) > CELLS:
        raise said(
            ValueError,
            "the parameters of {kind} must be at most {most:,} numbers in the explorer; "
            "got {sizes}",
            kind=kind,
            most=CELLS,
            sizes=times(f"{size:,}" for size in sizes),
        )


def parameters(kind: str, arguments: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the largest parameter of those encodings that can have a large one.

    >>> parameters("Learned", {"length": 512, "dim": 64})
    (512, 64)
    """

    def size(name: str, otherwise: int = 1) -> int:
        value = arguments.get(name)
        return value if type(value) is int else otherwise

    match kind:
        case "Learned":
            return size("length"), size("dim")
        case "Shaw":
            return 2 * size("reach") + 1, size("dim")
        case "TransformerXL":
            wide = size("heads") * size("dim")
            return wide, size("features", wide)
        case _:
            return ()


def acting(encoding: Encoding) -> Encoding:
    """The encoding itself, where a temperature is put upon it."""
    while isinstance(encoding, Tempered):
        encoding = encoding.encoding
    return encoding


def width(encoding: Encoding) -> int:
    """Channels of a query or an embedding."""
    dim = getattr(acting(encoding), "dim", None)
    return dim if isinstance(dim, int) else 64


CHECKED = 2**21
"""Numbers of 4,096 positions up to which a page has an encoding checked unasked: 512 channels."""


def is_costly(encoding: Encoding) -> bool:
    """Whether checks of an encoding take so long that they should be asked for.

    >>> from posenc import ALiBi, Sinusoidal
    >>> is_costly(Sinusoidal(512)), is_costly(Sinusoidal(1024)), is_costly(ALiBi(64))
    (False, True, False)
    """
    given = acting(encoding)
    wide = int(getattr(given, "dim", None) or 1) * int(getattr(given, "heads", None) or 1)
    reach = 2 * int(getattr(given, "reach", None) or 0) + 1
    projected = wide if isinstance(given, Scores) and wide > 64 else 1
    return 4_096 * max(wide * projected, reach) > CHECKED


def taken(kind: str, encoding: Encoding, length: int) -> dict[str, int]:
    """The sizes whose product a view of so many positions takes, by name."""
    given = acting(encoding)
    sizes = {name: int(getattr(given, name, None) or 0) for name in ("heads", "features", "hidden")}
    dim, heads = width(encoding), max(1, sizes["heads"], sizes["hidden"])
    positions, again = {"positions": length}, {"positions again": length}
    flat = positions | {"dimensions": dim}
    if (given.axes or 1) > 1:  # on a grid of its own size
        return {}
    logits = {
        "heads": heads,
        "positions or dimensions": max(length, dim),
        "the same again": max(length, 2 * dim + sizes["features"]),
    }
    rows = isinstance(encoding, Additive | Rotary)  # a temperature's are logits
    return {
        "similarity": positions | again,
        "products": positions | again,
        "learned": {"images": 2} | positions | {"positions or dimensions": max(length, dim)},
        "sum": {"images": 3} | flat,
        "attention": logits,
        "explain": flat if rows else logits,
        # the images of one head are as large as those of four
        "bias": {"heads": max(heads, 4)} | positions | again,
    }.get(kind, flat)


def numbers(kind: str, encodings: Iterable[Encoding], length: int) -> int:
    """About how many numbers a view of these takes, those on grids of their own size too.

    >>> from posenc import ALiBi, Sinusoidal
    >>> numbers("heatmap", [Sinusoidal(64)], 8), numbers("bias", [ALiBi(8)], 64)
    (512, 32768)
    """

    def of(encoding: Encoding) -> int:
        sizes = taken(kind, encoding, length)
        return prod(sizes.values()) if sizes else width(encoding) * GRID

    return sum(map(of, encodings))


GRID = 2**8
"""Positions of a picture of what has several axes."""
NAMES = (
    later("positions"),
    later("positions again"),
    later("positions or dimensions"),
    later("the same again"),
    later("dimensions"),
    later("heads"),
    later("images"),
)
"""What `taken` calls sizes."""


def times(parts: Iterable[Any]) -> Any:
    """These with times between them."""
    return reduce(lambda one, other: phrase("{one} x {other}", one=one, other=other), parts)


def plus(parts: Iterable[Any]) -> Any:
    """These with plus between them."""
    return reduce(lambda one, other: phrase("{one} + {other}", one=one, other=other), parts)
