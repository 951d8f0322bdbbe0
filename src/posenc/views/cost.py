"""Estimates of how many numbers a view takes, as named sizes to be multiplied."""

from posenc.core.mechanisms import Encoding
from posenc.i18n import later
from posenc.views.subject import WIDTH

POSITIONS, POSITIONS_AGAIN = later("positions"), later("positions again")
DIMENSIONS, HEADS, IMAGES = later("dimensions"), later("heads"), later("images")
POSITIONS_OR_DIMENSIONS, THE_SAME_AGAIN = later("positions or dimensions"), later("the same again")


def width(encoding: Encoding) -> int:
    """Return the channels of a query, a key or an embedding."""
    dim = encoding.dim
    return dim if isinstance(dim, int) else WIDTH


def rows(encoding: Encoding, length: int) -> dict[str, int]:
    """Return the sizes of a value for each position and dimension."""
    return {POSITIONS: length, DIMENSIONS: width(encoding)}


def pairs(_: Encoding, length: int) -> dict[str, int]:
    """Return the sizes of a value for each query and key."""
    return {POSITIONS: length, POSITIONS_AGAIN: length}


def logits(encoding: Encoding, length: int) -> dict[str, int]:
    """Return the sizes of a matrix for each head: of queries and keys, or of a projection."""
    sizes = {name: int(getattr(encoding, name, None) or 0) for name in ("features", "hidden")}
    dim = width(encoding)
    return {
        HEADS: max(heads(encoding), sizes["hidden"]),
        POSITIONS_OR_DIMENSIONS: max(length, dim),
        THE_SAME_AGAIN: max(length, 2 * dim + sizes["features"]),
    }


def heads(encoding: Encoding) -> int:
    """Count the matrices that are computed at once: heads, or hidden units of a bias."""
    return max(1, *(int(getattr(encoding, name, None) or 0) for name in ("heads", "hidden")))
