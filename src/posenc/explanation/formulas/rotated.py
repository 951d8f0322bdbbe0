"""Formulas of what turns queries and keys: the cosine or sine that a channel is multiplied by."""

import numpy as np

from posenc.core.mechanisms import Rotary
from posenc.encodings import AxialRoPE, RoPE, XPos
from posenc.explanation.explanation import Step
from posenc.explanation.formulas.place import Place, bracketed, formulas, put_in, worked
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.scaled import frequency, frequency_of, scaled_pair
from posenc.i18n import said


def turned_by(encoding: Rotary, channel: int) -> tuple[int, str]:
    """The pair that a channel belongs to, and whether it is the first of it (cos) or not (sin)."""
    origin = np.zeros(1) if encoding.axes is None else np.zeros((1, encoding.axes))
    pairs = encoding.at(1).cos_sin(origin)[0].shape[-1]
    dim = int(getattr(encoding, "dim", 2 * pairs))
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


@formulas.register
def _(encoding: RoPE, at: Place) -> list[Step]:
    t, p = at.t, at.row
    pair, _ = turned_by(encoding, at.column)
    words = t("The angle of pair i = {pair} at position {position}.", pair=pair, position=p)
    plain = encoding.scaling is None
    angle = index("θ", "p", "i"), row("p", " · ", index("w" if plain else "w′", "i"))
    letters = equation(*angle), equation(*frequency(encoding))
    w = float(encoding.frequencies()[pair])
    numbers = [frequency_of(encoding, pair)] if plain else []
    return [
        Step("formula", words, letters),
        *([] if plain else [scaled_pair(encoding, pair, t)]),
        put_in(*numbers, *_turned(encoding, p, w, at), at=at),
    ]


@formulas.register
def _(encoding: AxialRoPE, at: Place) -> list[Step]:
    t = at.t
    pair, _ = turned_by(encoding, at.column)
    axis = encoding.axis_of_pair[pair]
    words = t(
        "The angle of pair i = {pair}, which follows axis {axis}, at {position} there.",
        pair=pair,
        axis=axis,
        position=at.row[axis],
    )
    p, w = at.row[axis], encoding.frequencies[pair]
    angle = index("θ", "p", "i"), row(index("p", axis), " · ", index("w", "i"))
    numbers = (index("w", pair), w), *_turned(encoding, p, w, at)
    return [Step("formula", words, (equation(*angle),)), put_in(*numbers, at=at)]


def _turned(encoding: RoPE | AxialRoPE, p: float, w: float, at: Place) -> list[tuple[Maths, ...]]:
    """The angle, and its cosine or sine unless the angle is asked for, with numbers."""
    factor = encoding.attention_factor
    pair, wave = turned_by(encoding, at.column)
    if at.angle:
        return _angle(pair, p, w, at)
    scaled: tuple[Maths, ...] = (factor, " · ") if factor != 1 else ()
    angle = index("θ", p, pair)
    return [
        (angle, row(p, " · ", bracketed(w)), p * w),
        (row(*scaled, wave, " ", angle), row(*scaled, wave, "(", p * w, ")"), at.truth),
    ]


def _angle(pair: int, p: float, w: float, at: Place) -> list[tuple[Maths, ...]]:
    """The angle with numbers; without its full turns, which change nothing."""
    name, whole = index("θ", p, pair), p * w
    turns = round((whole - at.truth) / (2 * np.pi))
    if not turns:
        return [(name, row(p, " · ", bracketed(w)), at.truth)]
    rest = row(name, " − " if turns > 0 else " + ", abs(turns), " · 2π")
    return [(name, row(p, " · ", bracketed(w)), whole), (rest, at.truth)]


@formulas.register
def _(encoding: XPos, at: Place) -> list[Step]:
    t, p = at.t, at.row
    pair, wave = turned_by(encoding, at.column)
    w, zeta = float(encoding.frequencies()[pair]), float(encoding.zeta()[pair])
    if at.angle:
        words = t("The angle of pair i = {pair} at position {position}.", pair=pair, position=p)
        general = index("θ", "p", "i"), row("p", " · ", index("w", "i"))
        return worked(words, general, *_angle(pair, p, w, at), at=at)
    words = t(
        "The angle of pair i = {pair} at position {position}, and a decay that a query and a key "
        "share by their distance.",
        pair=pair,
        position=p,
    )
    away: Maths = row("p", " − ", bracketed(encoding.centre)) if encoding.centre else "p"
    general = (
        index("c", "p", "i"),
        row(power(index("ζ", "i"), frac(away, encoding.scale_base)), " · ", wave, "(", "p", " ",
            index("w", "i"), ")"),
    )  # fmt: skip
    exponent = (p - encoding.centre) / encoding.scale_base
    sides = (
        index("c", p, pair),
        row(power(zeta, exponent), " · ", wave, "(", p, " · ", w, ")"),
        row(zeta**exponent, " · ", wave, "(", p * w, ")"),
        at.truth,
    )
    return worked(words, general, sides, at=at)
