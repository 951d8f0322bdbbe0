"""One number of any encoding, computed by its mechanism.

An encoding that depends on the tokens is given a random text, which reaches as far as the number.
"""

from typing import Any

import numpy as np

from posenc.core.encoding import Encoding, Params
from posenc.core.logits import logits
from posenc.core.mechanisms import Additive, Bias, Rotary
from posenc.core.needs import draw_needs
from posenc.i18n import translatable

LONGEST = 2_048
"""Tokens of a text that is drawn for one number: some encodings compare all of them."""


def value_at(
    encoding: Encoding,
    place: Any,
    other: Any,
    params: Params,
    dtype: Any,
    head: int = 0,
    *,
    angle: bool = False,
) -> float:
    """The number at a place: an entry of e(p), a cosine or sine, or the bias or logit of a head.

    angle  for rotations: the angle of the pair within half a turn, not its cosine or sine
    """
    if angle and not isinstance(encoding, Rotary):
        raise TypeError(
            f"angle must be left out for an encoding that does not rotate; got {encoding!r}"
        )
    match encoding:
        case Additive():
            if other >= (encoding.dim or other + 1):
                raise translatable(
                    ValueError,
                    "dimension must be 0 .. {last}; got {dimension}",
                    last=encoding.dim - 1,
                    dimension=other,
                )
            return float(encoding.encode(np.array([place]), params, dtype=dtype)[0, other])
        case Rotary():
            pair, wave = pair_of_channel(encoding, other, params)
            waves = cos_sin_at(encoding, np.array([place]), params, dtype=dtype)
            cos, sin = (part[0, pair] for part in waves)
            return float(np.arctan2(sin, cos) if angle else cos if wave == "cos" else sin)
        case Bias():
            q_pos, k_pos, needs = _query_and_keys(encoding, place, other)
            values = np.asarray(encoding.bias(q_pos, k_pos, params, **needs)).astype(dtype)
        case _:
            q_pos, k_pos, needs = _query_and_keys(encoding, place, other)
            q = example_query(encoding, dtype)
            k = np.repeat(q, len(k_pos), axis=-2)
            values = np.asarray(logits(encoding, q, k, q_pos, k_pos, params, **needs))
    return float(values[head, 0, other if needs else 0])


def _query_and_keys(
    encoding: Encoding, place: Any, other: Any
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Positions of one query and one key; of all keys of a text for what depends on the tokens."""
    if not encoding.needs:
        return np.array([place]), np.array([other]), {}
    k_pos = _text(max(place, other))
    needs = draw_needs(encoding, np.random.default_rng(0), len(k_pos))
    if "features" in needs:
        needs["features"] = needs["features"][[place]], needs["features"]
    if "mask" in needs:
        needs["mask"] = needs["mask"][[place]]
    return np.array([place]), k_pos, needs


def _text(last: int) -> np.ndarray:
    """The positions of a text that reaches as far as a token."""
    if last >= LONGEST:
        raise translatable(
            ValueError,
            "position must be below {most} for an encoding that depends on the tokens; got {last}",
            most=LONGEST,
            last=last,
        )
    return np.arange(last + 1)


def cos_sin_at(
    encoding: Rotary, positions: np.ndarray, params: Params, *, dtype: object = None
) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines at whole positions: (seq, pair) each."""
    given = (params,) if params else ()
    if not encoding.needs:
        return encoding.cos_sin(positions, *given, dtype=dtype)
    text = _text(int(positions.max()))
    needs = draw_needs(encoding, np.random.default_rng(0), len(text))
    cos, sin = encoding.cos_sin(text, *given, dtype=dtype, **needs)
    return cos[positions], sin[positions]


def rotate_at(
    encoding: Rotary,
    x: np.ndarray,
    position: np.ndarray,
    params: Params,
    *,
    keys: bool = False,
) -> np.ndarray:
    """A query, or a key, x (1, dim) rotated to a position (1,), or (1, axes): (1, dim)."""
    rotate = encoding.rotate_keys if keys else encoding.rotate
    given = (params,) if params else ()
    if not encoding.needs:
        return rotate(x, position, *given)
    text = _text(int(position.max()))
    needs = draw_needs(encoding, np.random.default_rng(0), len(text))
    return rotate(np.repeat(x, len(text), axis=0), text, *given, **needs)[position]


def pair_of_channel(encoding: Rotary, channel: int, params: Params = None) -> tuple[int, str]:
    """The pair that a channel belongs to, and "cos" for the first of the two, "sin" for the second.

    >>> from posenc import RoPE
    >>> pair_of_channel(RoPE(8), 5), pair_of_channel(RoPE(8, pairing="halves"), 5)
    ((2, 'sin'), (1, 'sin'))
    """
    origin = np.zeros((1,) if encoding.axes is None else (1, encoding.axes), dtype=int)
    pairs = cos_sin_at(encoding.at(1), origin, params)[0].shape[-1]
    dim = encoding.dim or 2 * pairs
    first = dim - 2 * pairs if encoding.rotated == "trailing" else 0
    if not first <= channel < first + 2 * pairs:
        raise translatable(
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
