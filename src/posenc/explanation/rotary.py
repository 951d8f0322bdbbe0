"""The steps of any encoding that rotates queries and keys."""

from collections.abc import Iterator

import numpy as np

from posenc.core.mechanisms import Rotary
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, index, matrix, row
from posenc.explanation.place import Place, bracket
from posenc.explanation.question import (
    Question,
    example_vectors,
    join_sentences,
    matrix_table,
    number_rows,
    table,
)
from posenc.explanation.values import cos_sin_at, rotate_at

RELATIVE = ((0, 0), (4, 4), (10, 0), (15, 5), (18, 8), (6, 16), (16, 26), (3, 13))
"""Positions of query and key whose distances are 0, 10 and -10: those of the tutorials."""

WORKED_PAIRS = 4
"""How many pairs have their formulas written out; the tables have all of them."""


def rotary_formula(_encoding: Rotary, question: Question) -> Step:
    """R(p) x in letters."""
    words = question.t(
        "A query or a key x at position p is multiplied by a matrix R that rotates its pairs of "
        "channels."
    )
    product = row(index("R", "p"), " ", index("x", "p"))
    return Step("formula", words, (equation(index("x′", "p"), product),))


def rotary_steps(
    encoding: Rotary, question: Question, angles: np.ndarray | None = None
) -> Iterator[Step]:
    """Pairs, angles, rotated pairs, the vector again, its length, products.

    `angles` (pair,) are those of the position in question with all their turns; if they are left
    out, they are computed from the cosines and sines.
    """
    t, here = question.t, point_at(encoding, question.position)
    cos, sin = (part[0] for part in cos_sin_at(encoding, here, question.params))
    dim = encoding.dim or 2 * len(cos)
    q, k = example_vectors(dim)
    rotated = rotate_at(encoding, q, here, question.params)
    before, after = (_pairs(encoding, x, len(cos)) for x in (q, rotated))
    channels = [f"{a}, {b}" for a, b in _pairs(encoding, np.arange(dim)[None], len(cos))]
    yield Step(
        "pairs",
        t("The query is grouped into pairs of channels."),
        table=table(("i", t("channels"), "x", "y"), *number_rows(channels, *before.T)),
    )
    yield _angles_step(encoding, question, cos, sin, angles)
    yield Step(
        "rotation",
        t("Each pair is rotated by its angle.")
        if encoding.traits.norm_preserving
        else t("Each pair is rotated by its angle and multiplied by a factor."),
        tuple(map(_rotation, cos[:WORKED_PAIRS], sin[:WORKED_PAIRS], before, after)),
        table(("i", "x", "y", "x′", "y′"), *number_rows(*before.T, *after.T)),
    )
    yield Step(
        "flattened",
        t("The pairs are flattened into a vector again."),
        table=matrix_table("", [t("before"), t("after")], np.concatenate([q, rotated])),
    )
    yield Step(
        "norms",
        t("A rotation keeps the length of the vector.")
        if encoding.traits.norm_preserving
        else t("It also multiplies by a factor, so the length of the vector changes."),
        table=table(
            (t("length before"), t("length after")), list(map(np.linalg.norm, (q, rotated)))
        ),
        digits=8,
    )
    yield _relative_step(encoding, question, q, k)


def point_at(encoding: Rotary, position: int) -> np.ndarray:
    """The position as an array of one; on several axes a point: 3, 4, 5 for position 3."""
    if encoding.axes is None:
        return np.array([position])
    return position + np.arange(encoding.axes)[None]


def _angles_step(
    encoding: Rotary,
    question: Question,
    cos: np.ndarray,
    sin: np.ndarray,
    angles: np.ndarray | None,
) -> Step:
    """The angle, cosine and sine of each pair, and its factor where vectors change their length."""
    t = question.t
    point = point_at(encoding, question.position)[0]
    where = str(point if encoding.axes is None else tuple(point.tolist()))
    columns = ["i", t("angle"), "cos", "sin"]
    values = [np.arctan2(sin, cos) if angles is None else angles, cos, sin]
    if not encoding.traits.norm_preserving:
        factors = np.maximum(np.hypot(cos, sin), 1e-300)
        columns.append(t("factor"))
        values = [values[0], cos / factors, sin / factors, factors]
    return Step(
        "angles",
        t("The angle of each pair at position {position}.", position=where),
        table=table(columns, *number_rows(*values)),
    )


def _rotation(cos: float, sin: float, before: np.ndarray, after: np.ndarray) -> Maths:
    """The matrix of a pair times the pair, with numbers."""
    (x, y), (x2, y2) = before.tolist(), after.tolist()
    c, s = float(cos), float(sin)
    return equation(row(matrix((c, -s), (s, c)), matrix((x,), (y,))), matrix((x2,), (y2,)))


def _relative_step(encoding: Rotary, question: Question, q: np.ndarray, k: np.ndarray) -> Step:
    """Products of a query at m and a key at n: equal wherever m - n is."""
    t = question.t

    def product(q: np.ndarray, m: int, k: np.ndarray, n: int) -> float:
        left = rotate_at(encoding, q, point_at(encoding, m), question.params)
        right = rotate_at(encoding, k, point_at(encoding, n), question.params, keys=True)
        return float((left @ right.T).item())

    rows = [(m, n, m - n, product(q, m, k, n), product(k, m, q, n)) for m, n in RELATIVE]
    return Step(
        "relative",
        join_sentences(
            t("The product of a query at m and a key at n depends on m − n only.")
            if encoding.traits.relative
            else t("The products of a query at m and a key at n."),
            t("In the last column the vectors are swapped: the key's is at m, the query's at n."),
            *(
                [t("On several axes m stands for the point (m, m + 1, …).")]
                if encoding.axes
                else []
            ),
        ),
        table=table(("m", "n", "m − n", "q_m · k_n", "k_m · q_n"), *rows),
    )


def _pairs(encoding: Rotary, x: np.ndarray, pairs: int) -> np.ndarray:
    """The rotated channels of x (1, dim), as (pair, 2)."""
    width = 2 * pairs
    rotated = x[..., :width] if encoding.rotated == "leading" else x[..., x.shape[-1] - width :]
    neighbours = encoding.pairing == "interleaved"
    return rotated.reshape(pairs, 2) if neighbours else rotated.reshape(2, pairs).T


def rotation_numbers(
    pair: int, wave: str, p: float, w: float, at: Place, *, factor: float = 1.0
) -> list[tuple[Maths, ...]]:
    """The angle p w with numbers, then `factor` times its cosine or sine if that is asked for."""
    if at.angle:
        return angle_numbers(pair, p, w, at)
    scale: tuple[Maths, ...] = (factor, " · ") if factor != 1 else ()
    angle = index("θ", p, pair)
    return [
        (angle, row(p, " · ", bracket(w)), p * w),
        (row(*scale, wave, " ", angle), row(*scale, wave, "(", p * w, ")"), at.truth),
    ]


def angle_numbers(pair: int, p: float, w: float, at: Place) -> list[tuple[Maths, ...]]:
    """The angle p w with numbers, less its full turns, which change nothing."""
    name, angle = index("θ", p, pair), p * w
    turns = round((angle - at.truth) / (2 * np.pi))
    if not turns:
        return [(name, row(p, " · ", bracket(w)), at.truth)]
    rest = row(name, " − " if turns > 0 else " + ", abs(turns), " · 2π")
    return [(name, row(p, " · ", bracket(w)), angle), (rest, at.truth)]
