"""Estimates of how many numbers a view takes, as named sizes to be multiplied."""

from typing import Protocol, runtime_checkable

from posenc.core.encoding import Encoding
from posenc.core.mechanisms import Bias, Scores
from posenc.i18n import N_
from posenc.views.subject import WIDTH

POSITIONS, POSITIONS_AGAIN = N_("positions"), N_("positions again")
DIMENSIONS, HEADS, IMAGES = N_("dimensions"), N_("heads"), N_("images")
POSITIONS_OR_DIMENSIONS, THE_SAME_AGAIN = N_("positions or dimensions"), N_("the same again")


@runtime_checkable
class Network(Protocol):
    """An encoding computed by a network with a hidden layer."""

    hidden: int


def width(encoding: Encoding) -> int:
    """Return the channels of a query, a key or an embedding."""
    return encoding.dim or WIDTH


def rows(encoding: Encoding, length: int) -> dict[str, int]:
    """Return the sizes of a value for each position and dimension."""
    return {POSITIONS: length, DIMENSIONS: width(encoding)}


def pairs(_: Encoding, length: int) -> dict[str, int]:
    """Return the sizes of a value for each query and key."""
    return {POSITIONS: length, POSITIONS_AGAIN: length}


def logits(encoding: Encoding, length: int) -> dict[str, int]:
    """Return the sizes of a matrix for each head: of queries and keys, or of a projection."""
    dim = max(width(encoding), encoding.feature_dim or 0)
    return {
        HEADS: heads(encoding),
        POSITIONS_OR_DIMENSIONS: max(length, dim),
        THE_SAME_AGAIN: max(length, 2 * dim + _wave_features(encoding)),
    }


def heads(encoding: Encoding) -> int:
    """Count the matrices that are computed at once: heads, or hidden units of a bias."""
    hidden = encoding.hidden if isinstance(encoding, Network) else 1
    return max(1, encoding.heads or 1, hidden)


def _wave_features(encoding: Encoding) -> int:
    """Count the sines and cosines of a distance that keys or biases are made of."""
    waves = encoding.frequencies() if isinstance(encoding, Bias | Scores) else None
    return 0 if waves is None else 2 * len(waves)
