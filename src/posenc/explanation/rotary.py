"""Encodings that turn queries and keys, worked: pairs, angles, rotation, lengths, products."""

from collections.abc import Iterator

import numpy as np

from posenc.core.mechanisms import Rotary
from posenc.core.positions import mrope_positions
from posenc.encodings import AxialRoPE, RoPE
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, index, matrix, row
from posenc.explanation.question import Question, example_vectors, matrix_table, table, together
from posenc.explanation.scaled import frequency, scaled

RELATIVE = ((0, 0), (4, 4), (10, 0), (15, 5), (18, 8), (6, 16), (16, 26), (3, 13))
"""Positions of query and key whose distances are 0, 10 and -10: those of the tutorials."""

WORKED_PAIRS = 4


def rope(encoding: RoPE, asked: Question) -> Iterator[Step]:
    """Frequencies, then what every rotation does."""
    t = asked.t
    encoding = encoding.at(asked.position + 1)
    cos, sin = (row(wave, " ", "θ") for wave in ("cos", "sin"))
    _, own = frequency(encoding)
    angle = row("p", " · ", own if encoding.scaling is None else index("w′", "i"))
    yield Step(
        "formula",
        t("Pair i of a query or a key at position p turns by an angle; nothing is added."),
        (
            equation(index("θ", "p", "i"), angle),
            equation(
                matrix(("x′",), ("y′",)),
                row(
                    matrix((cos, row("−", sin)), (sin, cos)),
                    matrix(("x",), ("y",)),
                ),
            ),
        ),
    )
    if encoding.scaling is None:
        w = encoding.frequencies()
        yield Step(
            "frequencies",
            t("Each pair has a frequency, and a wavelength: the positions that a turn takes."),
            table=table(
                ("i", t("frequency"), t("wavelength")),
                *zip(range(len(w)), w, encoding.wavelengths(), strict=True),
            ),
        )
    else:
        yield from scaled(encoding, t)
    yield from rotary(encoding, asked)


def axial(encoding: AxialRoPE, asked: Question) -> Iterator[Step]:
    """Which pair follows which axis, then what every rotation does."""
    t = asked.t
    names = [t("time"), t("height"), t("width")] if encoding.axes == 3 else [t("row"), t("column")]
    names = [
        names[a] if a < len(names) and encoding.axes < 4 else str(a) for a in range(encoding.axes)
    ]
    yield Step(
        "formula",
        t("A position is a point, and pair i follows one of its axes a(i)."),
        (
            equation(
                index("θ", "i"), row(index("p", row("a", "(", "i", ")")), " · ", index("w", "i"))
            ),
        ),
    )
    yield Step(
        "sections",
        t("Which axis each pair follows, and with which frequency."),
        table=table(
            ("i", t("axis"), t("frequency")),
            *[
                (i, names[axis], w)
                for i, (axis, w) in enumerate(
                    zip(encoding.axis_of_pair, encoding.frequencies, strict=True)
                )
            ],
        ),
    )
    if encoding.axes == 3:
        points = mrope_positions([2, (1, 2, 2), 1])
        kinds = [t("text")] * 2 + [t("image")] * 4 + [t("text")]
        yield Step(
            "positions",
            t("Text moves along all axes at once; in an image only height and width change."),
            table=table(("", *names), *[(kind, *p) for kind, p in zip(kinds, points, strict=True)]),
        )
    yield from rotary(encoding, asked)


def rotary(encoding: Rotary, asked: Question) -> Iterator[Step]:
    """For any rotation: pairs, angles, turned pairs, the vector again, lengths, products."""
    t = asked.t
    cos, sin = (part[0] for part in encoding.cos_sin(_at(encoding, asked.position)))
    dim = int(getattr(encoding, "dim", 2 * len(cos)))
    q, k = example_vectors(dim)
    turned = encoding.rotate(q, _at(encoding, asked.position))
    before, after = (_pairs(encoding, x, len(cos)) for x in (q, turned))
    channels = _pairs(encoding, np.arange(dim)[None], len(cos))
    factors = _factors(encoding, cos, sin)
    point = _at(encoding, asked.position)[0]
    where = str(point if encoding.axes is None else tuple(point.tolist()))
    yield Step(
        "pairs",
        t("The query is grouped into pairs of channels."),
        table=table(
            ("i", t("channels"), "x", "y"),
            *[
                (i, f"{a}, {b}", x, y)
                for i, ((a, b), (x, y)) in enumerate(zip(channels, before, strict=True))
            ],
        ),
    )
    yield Step(
        "angles",
        t("The angle of each pair at position {position}.", position=where),
        table=table(
            ("i", t("angle"), "cos", "sin", *([] if factors is None else [t("factor")])),
            *zip(
                range(len(cos)),
                _angles(encoding, asked, cos, sin),
                *((cos, sin) if factors is None else (cos / factors, sin / factors, factors)),
                strict=True,
            ),
        ),
    )
    formulas: list[Maths] = [
        equation(
            row(
                matrix((float(c), -float(s)), (float(s), float(c))),
                matrix((float(x),), (float(y),)),
            ),
            matrix((float(x2),), (float(y2),)),
        )
        for c, s, (x, y), (x2, y2) in zip(
            cos[:WORKED_PAIRS], sin[:WORKED_PAIRS], before, after, strict=False
        )
    ]
    yield Step(
        "rotation",
        t("Each pair is turned by its angle.")
        if encoding.traits.norm_preserving
        else t("Each pair is turned by its angle and multiplied by a factor."),
        tuple(formulas),
        table(
            ("i", "x", "y", "x′", "y′"),
            *[(i, *old, *new) for i, (old, new) in enumerate(zip(before, after, strict=True))],
        ),
    )
    yield Step(
        "flattened",
        t("The pairs make a vector again."),
        table=matrix_table("", [t("before"), t("after")], np.concatenate([q, turned])),
    )
    yield Step(
        "norms",
        t("A rotation keeps the length of the vector.")
        if encoding.traits.norm_preserving
        else t("It also multiplies by a factor, so the length of the vector changes."),
        table=table(
            (t("length before"), t("length after")),
            (np.linalg.norm(q), np.linalg.norm(turned)),
        ),
        digits=8,
    )
    yield relative(encoding, asked, q, k)


def relative(encoding: Rotary, asked: Question, q: np.ndarray, k: np.ndarray) -> Step:
    """Products of a query at m and a key at n: equal where m - n is."""
    rows = [
        (m, n, m - n, _product(encoding, q, k, m, n), _product(encoding, k, q, m, n))
        for m, n in RELATIVE
    ]
    t = asked.t
    return Step(
        "relative",
        together(
            t("The product of a query at m and a key at n depends on m − n only.")
            if encoding.traits.relative
            else t("The products of a query at m and a key at n."),
            t("In the last column the key's vector stands at m and the query's at n."),
            *(
                [t("On several axes m stands for the point (m, m + 1, …).")]
                if encoding.axes
                else []
            ),
        ),
        table=table(("m", "n", "m − n", "q_m · k_n", "k_m · q_n"), *rows),
    )


def _product(encoding: Rotary, q: np.ndarray, k: np.ndarray, m: int, n: int) -> float:
    turned = encoding.rotate(q, _at(encoding, m)) @ encoding.rotate_keys(k, _at(encoding, n)).T
    return float(turned.item())


def _at(encoding: Rotary, position: int) -> np.ndarray:
    """The position as an array of one; on several axes a point: 3, 4, 5 for position 3."""
    if encoding.axes is None:
        return np.array([position])
    return position + np.arange(encoding.axes)[None]


def _pairs(encoding: Rotary, x: np.ndarray, pairs: int) -> np.ndarray:
    """The channels (1, dim) that turn, as (pair, 2)."""
    width = 2 * pairs
    turning = x[..., :width] if encoding.rotated == "leading" else x[..., x.shape[-1] - width :]
    neighbours = encoding.pairing == "interleaved"
    return turning.reshape(pairs, 2) if neighbours else turning.reshape(2, pairs).T


def _factors(encoding: Rotary, cos: np.ndarray, sin: np.ndarray) -> np.ndarray | None:
    """What each pair is multiplied by while it turns, if it is; cosines and sines have it."""
    return None if encoding.traits.norm_preserving else np.maximum(np.hypot(cos, sin), 1e-300)


def _angles(encoding: Rotary, asked: Question, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """p w where the frequencies are known, else what the cosines and sines tell."""
    match encoding:
        case AxialRoPE():
            point = _at(encoding, asked.position)[0]
            return point[list(encoding.axis_of_pair)] * np.asarray(encoding.frequencies)
        case RoPE():
            return asked.position * encoding.frequencies()
        case _:
            return np.arctan2(sin, cos)
