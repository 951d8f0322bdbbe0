"""T5's buckets of distances explained."""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from posenc.encodings.t5 import T5Bias
from posenc.explanation.bias import bias_steps, table_formula, table_number
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, row
from posenc.explanation.place import Place
from posenc.explanation.question import Question, join_sentences, table
from posenc.explanation.registry import explain_with

FAR = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 1000)
"""Distances at which buckets are shown: around their edges."""


def t5_steps(encoding: T5Bias, question: Question) -> Iterator[Step]:
    """The bucket of each distance, then the bias."""
    t, both = question.t, encoding.bidirectional
    side = encoding.buckets // (2 if both else 1)
    near = side // 2
    away = np.array([d for d in FAR if d < 2 * encoding.max_distance])
    distances = np.concatenate([-away[:0:-1], away]) if both else away
    buckets = encoding.buckets_of(distances)
    # buckets never fall with the distance, and max_distance is in the last one
    last = bisect_left(
        range(encoding.max_distance), side - 1, key=lambda n: int(encoding.buckets_of(np.array(n)))
    )
    ratio = frac(_log("n", near), _log(encoding.max_distance, near))
    widened = row("⌊", ratio, " · ", side - near, "⌋")
    counts = {"buckets": encoding.buckets, "near": near, "last": last}
    yield table_formula(question, "k")
    yield Step(
        "buckets",
        t(
            "Half of the {buckets} buckets are for keys behind their query and half for keys ahead "
            "of it (negative distances). On each side the first {near} distances have a bucket "
            "each, farther ones share buckets that widen with the distance, and from {last} on "
            "all share one. The formula is for keys behind, n ≥ {near}.",
            **counts,
        )
        if both
        else t(
            "Distances share {buckets} buckets: the first {near} distances have one each, farther "
            "ones share buckets that widen with the distance, and from {last} on all share one. "
            "The formula is for n ≥ {near}.",
            **counts,
        ),
        (equation("k", row("min", "(", near, " + ", widened, ", ", side - 1, ")")),),
        table((t("distance"), t("bucket")), *zip(distances, buckets, strict=True)),
    )
    rows = question.params["table"][np.unique(buckets), 0]
    yield Step(
        "table",
        join_sentences(
            t(
                "Each bucket has a learned number in each head; head 1 here, random as before "
                "training."
            ),
            *([] if both else [t("Keys ahead of their query fall into bucket 0.")]),
        ),
        table=table((t("bucket"), t("bias")), *zip(np.unique(buckets), rows, strict=True)),
    )
    yield from bias_steps(encoding, question)


def _log(above: Maths, below: Maths) -> Maths:
    return row("ln", "(", frac(above, below), ")")


def t5_number(encoding: T5Bias, at: Place) -> list[Step]:
    """The entry of the distance's bucket."""
    return table_number(at, int(encoding.buckets_of(np.array(at.row - at.column))))


explain_with(T5Bias, number=t5_number, steps=t5_steps)
