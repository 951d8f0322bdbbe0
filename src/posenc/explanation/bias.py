"""Encodings that add a bias to the logits, worked: slopes, buckets, clipped distances, others."""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from posenc.core.mechanisms import Bias
from posenc.core.positions import grid
from posenc.encodings import ALiBi, ClippedBias, NoPE, T5Bias
from posenc.explanation.explanation import Step
from posenc.explanation.formulas.biases import GENERAL, B, from_row, slope
from posenc.explanation.maths import Maths, equation, frac, index, row
from posenc.explanation.question import Question, matrix_table, note, table, together

FAR = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 1000)
"""Distances at which buckets are shown: around their edges."""


def alibi(encoding: ALiBi, asked: Question) -> Iterator[Step]:
    """The slope of each head, then the bias."""
    t, slopes = asked.t, encoding.head_slopes()
    yield Step(
        "formula",
        t("The logit of a key is lowered by its distance, with a slope of its own in each head."),
        (equation(B, row("−", index("m", "h"), " · ", GENERAL)),),
    )
    own = slope(encoding, "h")
    yield Step(
        "slopes",
        t("The slopes of the heads."),
        () if own is None else (equation(index("m", "h"), own),),
        table(("h", t("slope")), *[(h + 1, slope) for h, slope in enumerate(slopes)]),
    )
    if encoding.future == "offset":
        yield note(
            "offset",
            t("Keys behind their query get half a slope on top, so that the two sides differ."),
        )
    yield from bias(encoding, asked)


def t5(encoding: T5Bias, asked: Question) -> Iterator[Step]:
    """The bucket of each distance, then the bias."""
    t, both = asked.t, encoding.bidirectional
    side = encoding.buckets // (2 if both else 1)
    near = side // 2
    away = np.array([d for d in FAR if d < 2 * encoding.max_distance])
    distances = np.concatenate([-away[:0:-1], away]) if both else away
    buckets = encoding.buckets_of(distances)
    # buckets never fall with the distance, and max_distance is in the last one
    last = bisect_left(
        range(encoding.max_distance), side - 1, key=lambda n: int(encoding.buckets_of(np.array(n)))
    )
    steps = frac(_log("n", near), _log(encoding.max_distance, near))
    yield _looked_up(asked, "k")
    yield Step(
        "buckets",
        t(
            "Half of the {buckets} buckets are for keys behind their query and half for keys ahead "
            "of it (negative distances). On each side the first {near} distances have a bucket "
            "each, farther ones share buckets that widen with the distance, and from {last} on "
            "all share one. The formula is for keys behind, n ≥ {near}.",
            buckets=encoding.buckets,
            near=near,
            last=last,
        )
        if both
        else t(
            "Distances share {buckets} buckets: the first {near} distances have one each, farther "
            "ones share buckets that widen with the distance, and from {last} on all share one. "
            "The formula is for n ≥ {near}.",
            buckets=encoding.buckets,
            near=near,
            last=last,
        ),
        (
            equation(
                "k",
                row(
                    "min",
                    "(",
                    near,
                    " + ",
                    "⌊",
                    steps,
                    " · ",
                    side - near,
                    "⌋",
                    ", ",
                    side - 1,
                    ")",
                ),
            ),
        ),
        table((t("distance"), t("bucket")), *zip(distances, buckets, strict=True)),
    )
    rows = asked.params["table"][np.unique(buckets), 0]
    yield Step(
        "table",
        together(
            t(
                "Each bucket has a learned number in each head; head 1 here, random as before "
                "training."
            ),
            *([] if both else [t("Keys ahead of their query fall into bucket 0.")]),
        ),
        table=table((t("bucket"), t("bias")), *zip(np.unique(buckets), rows, strict=True)),
    )
    yield from bias(encoding, asked)


def _looked_up(asked: Question, letter: str) -> Step:
    t = asked.t
    words = t(
        "The bias of a head is a learned number in row {row} of a table; the distance i − j says "
        "which row.",
        row=letter,
    )
    return Step("formula", words, (equation(*from_row(letter)),))


def _log(above: Maths, below: Maths) -> Maths:
    return row("ln", "(", frac(above, below), ")")


def clipped(encoding: ClippedBias, asked: Question) -> Iterator[Step]:
    """Distances cut off at the reach and shifted to rows of a table, then the bias."""
    t, reach = asked.t, encoding.reach
    yield _looked_up(asked, "r")
    positions = np.arange(asked.length)
    behind = positions[:, None] - positions[None, :]
    yield Step(
        "distances",
        t("The distance i − j of each query i (rows) and key j (columns)."),
        table=matrix_table("i", asked.names, behind, asked.names),
    )
    yield Step(
        "rows",
        t(
            "Distances are cut off at ±{reach} and moved to the rows 0 … {last} of a table.",
            reach=reach,
            last=2 * reach,
        ),
        (
            equation(
                "r",
                row(
                    "min",
                    "(",
                    "max",
                    "(",
                    "i",
                    " − ",
                    "j",
                    ", ",
                    -reach,
                    "), ",
                    reach,
                    ") + ",
                    reach,
                ),
            ),
        ),
        matrix_table("i", asked.names, encoding.rows_of(behind), asked.names),
    )
    yield from bias(encoding, asked)


def nope(encoding: NoPE, asked: Question) -> Iterator[Step]:
    """Nothing is added."""
    yield Step(
        "formula",
        asked.t("Nothing is added: only a causal mask, which hides later keys, tells the order."),
        (equation(B, 0),),
    )
    yield from bias(encoding, asked)


def bias(encoding: Bias, asked: Question) -> Iterator[Step]:
    """The bias of each query and key in the first head: for any bias."""
    t = asked.t
    if encoding.axes is None:
        positions, names = np.arange(asked.length), asked.names
    else:
        positions = grid(*([2] * encoding.axes))
        names = tuple(str(tuple(point.tolist())) for point in positions)
    values = np.asarray(encoding.bias(positions, positions, asked.params))
    for head in range(min(2, values.shape[-3])):
        yield Step(
            f"bias-{head + 1}",
            t(
                "The bias of each query (rows) and key (columns) in head {head} of {heads}.",
                head=head + 1,
                heads=values.shape[-3],
            ),
            table=matrix_table("", names, values[head], names),
        )
