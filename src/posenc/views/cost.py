"""How many numbers a view takes, told by the sizes that they are a product of."""

from posenc.core.mechanisms import Encoding
from posenc.i18n import later

POSITIONS, POSITIONS_AGAIN = later("positions"), later("positions again")
DIMENSIONS, HEADS, IMAGES = later("dimensions"), later("heads"), later("images")
POSITIONS_OR_DIMENSIONS, THE_SAME_AGAIN = later("positions or dimensions"), later("the same again")

WIDTH = 64
"""Channels of queries and keys where the encoding takes any number of them."""


def width(encoding: Encoding) -> int:
    """Channels of a query, a key or an embedding."""
    dim = getattr(encoding, "dim", None)
    return dim if isinstance(dim, int) else WIDTH


def rows(encoding: Encoding, length: int) -> dict[str, int]:
    """A value for each position and dimension."""
    return {POSITIONS: length, DIMENSIONS: width(encoding)}


def pairs(_: Encoding, length: int) -> dict[str, int]:
    """A value for each query and key."""
    return {POSITIONS: length, POSITIONS_AGAIN: length}


def logits(encoding: Encoding, length: int) -> dict[str, int]:
    """A matrix for each head, of queries and keys or of a projection."""
    sizes = {name: int(getattr(encoding, name, None) or 0) for name in ("features", "hidden")}
    dim = width(encoding)
    return {
        HEADS: max(heads(encoding), sizes["hidden"]),
        POSITIONS_OR_DIMENSIONS: max(length, dim),
        THE_SAME_AGAIN: max(length, 2 * dim + sizes["features"]),
    }


def heads(encoding: Encoding) -> int:
    """Heads that differ from each other."""
    return max(1, *(int(getattr(encoding, name, None) or 0) for name in ("heads", "hidden")))
