"""Encodings that make the logits themselves, worked; and any other, by its logits."""

from collections.abc import Iterator

import numpy as np

from posenc.core.mechanisms import Encoding, logits
from posenc.core.positions import grid
from posenc.explanation.explanation import Step
from posenc.explanation.question import Question, matrix_table

DIM = 8


def scores(encoding: Encoding, asked: Question) -> Iterator[Step]:
    """Logits of tokens without positions, with them, and what the positions did."""
    t = asked.t
    dim, heads = int(getattr(encoding, "dim", DIM)), int(getattr(encoding, "heads", 1))
    if encoding.axes is None:
        positions, names = np.arange(asked.length), asked.names
    else:
        positions = grid(*([2] * encoding.axes))
        names = tuple(str(tuple(point.tolist())) for point in positions)
    q, k = np.random.default_rng(0).normal(size=(2, heads, len(positions), dim))
    plain = q @ k.mT / (np.sqrt(dim) if encoding.scaled else 1.0)
    made = logits(encoding, q, k, positions, positions, asked.params)
    for name, words, values in (
        (
            "products",
            t("The logits of queries (rows) and keys (columns) without positions."),
            plain,
        ),
        ("logits", t("The logits that the encoding makes of them."), made),
        ("difference", t("What the positions changed."), made - plain),
    ):
        yield Step(name, words, table=matrix_table("", names, np.asarray(values)[0], names))
