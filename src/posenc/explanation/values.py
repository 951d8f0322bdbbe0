"""One number of any encoding, computed by its mechanism."""

from typing import Any

import numpy as np

from posenc.core.mechanisms import Additive, Bias, Encoding, Params, Rotary, logits
from posenc.i18n import said


def value_at(
    encoding: Encoding, place: Any, other: Any, params: Params | None, dtype: Any, head: int = 0
) -> float:
    """The number at a place: an entry of e(p), a cosine or sine, or the bias or logit of a head."""
    here = np.array([place])
    match encoding:
        case Additive():
            _check_dimension(encoding, other)
            return float(encoding.encode(here, params, dtype=dtype)[0, other])
        case Rotary():
            pair, wave = pair_of_channel(encoding, other)
            cos, sin = encoding.cos_sin(here, dtype=dtype)
            return float((cos if wave == "cos" else sin)[0, pair])
        case Bias():
            biases = np.asarray(encoding.bias(here, np.array([other]), params))
            return float(biases.astype(dtype)[head, 0, 0])
        case _:
            x = example_query(encoding, dtype)
            scores = logits(encoding, x, x, here, np.array([other]), params)
            return float(np.asarray(scores)[head, 0, 0])


def angle_at(encoding: Encoding, place: Any, channel: Any, dtype: Any) -> float:
    """The angle by which the pair of a channel is rotated, within half a turn."""
    if not isinstance(encoding, Rotary):
        raise TypeError(f"angle must be left out for what does not rotate; got {encoding!r}")
    pair, _ = pair_of_channel(encoding, channel)
    cos, sin = encoding.cos_sin(np.array([place]), dtype=dtype)
    return float(np.arctan2(sin[0, pair], cos[0, pair]))


def pair_of_channel(encoding: Rotary, channel: int) -> tuple[int, str]:
    """The pair that a channel belongs to, and "cos" for the first of the two, "sin" for the second.

    >>> from posenc import RoPE
    >>> pair_of_channel(RoPE(8), 5), pair_of_channel(RoPE(8, pairing="halves"), 5)
    ((2, 'sin'), (1, 'sin'))
    """
    origin = np.zeros(1) if encoding.axes is None else np.zeros((1, encoding.axes))
    pairs = encoding.at(1).cos_sin(origin)[0].shape[-1]
    dim = encoding.dim or 2 * pairs
    first = dim - 2 * pairs if encoding.rotated == "trailing" else 0
    if not first <= channel < first + 2 * pairs:
        raise said(
            ValueError,
            "dimension must be {first} .. {last}, those that are rotated; got {channel}",
            first=first,
            last=first + 2 * pairs - 1,
            channel=channel,
        )
    channel -= first
    if encoding.pairing == "halves":
        return channel % pairs, ("cos", "sin")[channel // pairs]
    return channel // 2, ("cos", "sin")[channel % 2]


def example_query(encoding: Encoding, dtype: Any = np.float64) -> np.ndarray:
    """The random vector that is both query and key of a logit: (head, 1, dim)."""
    dim, heads = (encoding.dim or 8), (encoding.heads or 1)
    return np.random.default_rng(0).normal(size=(heads, 1, dim)).astype(dtype)


def _check_dimension(encoding: Encoding, dimension: int) -> None:
    dim = encoding.dim or dimension + 1
    if dimension >= dim:
        raise said(
            ValueError,
            "dimension must be 0 .. {last}; got {dimension}",
            last=dim - 1,
            dimension=dimension,
        )
