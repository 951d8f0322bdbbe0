"""RoPE on several axes explained."""

from collections.abc import Iterator

from posenc.core.grids import mrope_positions
from posenc.encodings.axial import AxialRoPE
from posenc.explanation.explanation import Step
from posenc.explanation.maths import equation, index, row
from posenc.explanation.place import Place, substitute
from posenc.explanation.question import Question, matrix_table, number_rows, table
from posenc.explanation.registry import explain_with
from posenc.explanation.rotary import point_at, rotary_steps, rotation_numbers
from posenc.explanation.values import pair_of_channel


def axial_steps(encoding: AxialRoPE, question: Question) -> Iterator[Step]:
    """Which pair follows which axis, then the steps of every rotation."""
    t = question.t
    numbered = [str(axis) for axis in range(encoding.axes)]
    named = {1: [t("row")], 2: [t("row"), t("column")], 3: [t("time"), t("height"), t("width")]}
    names = named.get(encoding.axes, numbered)
    axis = index("p", row("a", "(", "i", ")"))
    yield Step(
        "formula",
        t("A position is a point, and pair i follows one of its axes a(i)."),
        (equation(index("θ", "i"), row(axis, " · ", index("w", "i"))),),
    )
    yield Step(
        "sections",
        t("The axis that each pair follows, and its frequency."),
        table=table(
            ("i", t("axis"), t("frequency")),
            *number_rows([names[axis] for axis in encoding.axis_of_pair], encoding.frequencies()),
        ),
    )
    if encoding.axes == 3:
        points = mrope_positions([2, (1, 2, 2), 1])
        kinds = [t("text")] * 2 + [t("image")] * 4 + [t("text")]
        yield Step(
            "positions",
            t("Text moves along all axes at once; in an image only height and width change."),
            table=matrix_table("", kinds, points, names),
        )
    point = point_at(encoding, question.position)[0]
    angles = point[list(encoding.axis_of_pair)] * encoding.frequencies()
    yield from rotary_steps(encoding, question, angles)


def axial_number(encoding: AxialRoPE, at: Place) -> list[Step]:
    """The cosine, sine or angle of a pair, by the axis that it follows."""
    pair, wave = pair_of_channel(encoding, at.column)
    axis = encoding.axis_of_pair[pair]
    words = at.t(
        "The angle of pair i = {pair}, which follows axis {axis}, where the position is "
        "{position}.",
        pair=pair,
        axis=axis,
        position=at.row[axis],
    )
    p, w = at.row[axis], float(encoding.frequencies()[pair])
    angle = index("θ", "p", "i"), row(index("p", axis), " · ", index("w", "i"))
    numbers = rotation_numbers(pair, wave, p, w, at, factor=encoding.attention_factor)
    return [
        Step("formula", words, (equation(*angle),)),
        substitute(at.t, (index("w", pair), w), *numbers),
    ]


explain_with(AxialRoPE, number=axial_number, steps=axial_steps)
