"""RoPE and xPos explained."""

from collections.abc import Iterator

from posenc.encodings.rope import RoPE, XPos
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, matrix, power, row
from posenc.explanation.of.scalings import (
    frequency,
    frequency_of_pair,
    scaling_of_pair,
    scaling_steps,
)
from posenc.explanation.place import Place, bracket, substitute, substitution
from posenc.explanation.question import Question, number_rows, table
from posenc.explanation.registry import explain_with
from posenc.explanation.rotary import angle_numbers, rotary_steps, rotation_numbers
from posenc.explanation.values import pair_of_channel


def rope_steps(encoding: RoPE, question: Question) -> Iterator[Step]:
    """The formula, the frequencies and their scaling, then the steps of every rotation."""
    t = question.t
    encoding = encoding.at(question.position + 1)
    cos, sin = (row(wave, " ", "θ") for wave in ("cos", "sin"))
    _, own = frequency(encoding)
    angle = row("p", " · ", own if encoding.scaling is None else index("w′", "i"))
    yield Step(
        "formula",
        t("Pair i of a query or a key at position p is rotated by an angle; nothing is added."),
        (
            equation(index("θ", "p", "i"), angle),
            equation(
                matrix(("x′",), ("y′",)),
                row(matrix((cos, row("−", sin)), (sin, cos)), matrix(("x",), ("y",))),
            ),
        ),
    )
    if encoding.scaling is None:
        yield Step(
            "frequencies",
            t(
                "Each pair has a frequency, and a wavelength: the number of positions in a full "
                "turn."
            ),
            table=table(
                ("i", t("frequency"), t("wavelength")),
                *number_rows(encoding.frequencies(), encoding.wavelengths()),
            ),
        )
    else:
        yield from scaling_steps(encoding, t)
    yield from rotary_steps(encoding, question, question.position * encoding.frequencies())


def rope_number(encoding: RoPE, at: Place) -> list[Step]:
    """The cosine, sine or angle of a pair, from its frequency."""
    t, p = at.t, at.row
    pair, wave = pair_of_channel(encoding, at.column)
    words = t("The angle of pair i = {pair} at position {position}.", pair=pair, position=p)
    plain = encoding.scaling is None
    angle = index("θ", "p", "i"), row("p", " · ", index("w" if plain else "w′", "i"))
    letters = equation(*angle), equation(*frequency(encoding))
    w = float(encoding.frequencies()[pair])
    numbers = rotation_numbers(pair, wave, p, w, at, factor=encoding.attention_factor)
    return [
        Step("formula", words, letters),
        *([] if plain else [scaling_of_pair(encoding, pair, t)]),
        substitute(at.t, *([frequency_of_pair(encoding, pair)] if plain else []), *numbers),
    ]


def xpos_number(encoding: XPos, at: Place) -> list[Step]:
    """The cosine or sine of a pair with its decay, or its angle."""
    t, p = at.t, at.row
    pair, wave = pair_of_channel(encoding, at.column)
    w, zeta = float(encoding.frequencies()[pair]), float(encoding.zeta()[pair])
    if at.angle:
        words = t("The angle of pair i = {pair} at position {position}.", pair=pair, position=p)
        general = index("θ", "p", "i"), row("p", " · ", index("w", "i"))
        return substitution(words, general, *angle_numbers(pair, p, w, at), at=at)
    words = t(
        "The angle of pair i = {pair} at position {position}, and this position's share of the "
        "decay with distance.",
        pair=pair,
        position=p,
    )
    away: Maths = row("p", " − ", bracket(encoding.centre)) if encoding.centre else "p"
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
    return substitution(words, general, sides, at=at)


explain_with(RoPE, number=rope_number, steps=rope_steps)
explain_with(XPos, number=xpos_number)
