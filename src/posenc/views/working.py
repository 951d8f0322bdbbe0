"""How a number of a picture of pairs is made: of similarity, products, attention, and of a sum."""

from collections.abc import Callable

import numpy as np

from posenc.core import rules
from posenc.core.mechanisms import Additive
from posenc.explanation.cell import Cell
from posenc.explanation.explanation import Step
from posenc.explanation.formulas import Place, formulas
from posenc.explanation.formulas.place import bracketed, summed
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.question import table
from posenc.views.kinds import attention, products, similarity
from posenc.views.kinds.sum import summands
from posenc.views.scene import Scene


def working(kind: str, scene: Scene, place: int, other: int) -> Cell:
    """The cell of a picture of this kind, one of WORKINGS, at row `place` and column `other`.

    The scene has one subject, whose angles do not depend on the length.
    """
    count = len(scene.sentence()) if kind in ("attention", "sum") else scene.count(64)
    columns = scene.subjects[0].dim if kind == "sum" else count
    rules.whole("place", place, least=0, most=count - 1)
    rules.whole("other", other, least=0, most=columns - 1)
    return WORKINGS[kind](scene, place, other)


def _similarity(scene: Scene, m: int, n: int) -> Cell:
    t, subject = scene.t, scene.subjects[0]
    value = float(similarity.matrix(subject, np.array([m]), np.array([n]))[0, 0])
    name, letters = index("s", m, n), index("s", "m", "n")
    left, right, total = _multiplied(scene, m, n, ones=True)
    if isinstance(subject.acting, Additive):
        a, b = (float(np.linalg.norm(x)) for x in (left, right))
        words = t("The cosine between the encodings of positions {m} and {n}.", m=m, n=n)
        lengths = row("|", index("e", "m"), "|", " · ", "|", index("e", "n"), "|")
        general = letters, frac(row(index("e", "m"), " · ", index("e", "n")), lengths)
        special = name, frac(total, row(a, " · ", b)), value
    else:
        words = t(
            "A query and an equal key, all ones, rotated by their positions {m} and {n}: their "
            "product, divided by what it is without rotation.",
            m=m,
            n=n,
        )
        turned = row(index("R", "m"), " x", " · ", index("R", "n"), " x")
        general = letters, frac(turned, "d")
        special = name, frac(total, subject.dim), value
    return _made(scene, words, general, special, (left, right), value)


def _products(scene: Scene, m: int, n: int) -> Cell:
    t, subject = scene.t, scene.subjects[0]
    left, right, total = _multiplied(scene, m, n, ones=False)
    if isinstance(subject.acting, Additive):
        words = t("The product of the encodings of positions {m} and {n}.", m=m, n=n)
        factors = index("e", "m"), index("e", "n")
    else:
        words = t(
            "One query and one key, drawn at random, rotated by their positions {m} and {n}: their "
            "product.",
            m=m,
            n=n,
        )
        factors = row(index("R", "m"), " q"), row(index("R", "n"), " k")
    general = index("s", "m", "n"), row(factors[0], " · ", factors[1])
    return _made(scene, words, general, (index("s", m, n), total), (left, right), total)


def _multiplied(
    scene: Scene, m: int, n: int, *, ones: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """The two vectors whose product it is, and their product."""
    subject = scene.subjects[0]
    acting = subject.acting
    if isinstance(acting, Additive):
        left, right = (subject.encoded(np.array([p]))[0] for p in (m, n))
    else:
        q, k = np.ones((2, subject.dim)) if ones else products.drawn(scene, subject)
        left = subject.rotated(q, m)
        right = subject.rotated(k, n, keys=True)
    return left, right, float(left @ right)


def _made(
    scene: Scene,
    words: str,
    general: tuple[Maths, ...],
    special: tuple[Maths, ...],
    factors: tuple[np.ndarray, np.ndarray],
    value: float,
) -> Cell:
    """The formula, a table of the products that are added up, and the numbers."""
    t = scene.t
    left, right = factors
    columns = "i", t("first vector"), t("second vector"), t("product")
    listed = summed("products", t("Dimension by dimension:"), columns, left, right, left * right)
    return _cell(scene, (Step("formula", words, (equation(*general),)), listed), special, value)


def _cell(scene: Scene, steps: tuple[Step, ...], special: tuple[Maths, ...], value: float) -> Cell:
    """The steps, then the numbers put in; views are made in float64, which is the truth too."""
    t = scene.t
    numbers = Step("numbers", t("Substituting the numbers:"), (equation(*special),))
    return Cell((*steps, numbers), float(np.float32(value)), value)


def _attention(scene: Scene, i: int, j: int) -> Cell:
    t, subject = scene.t, scene.subjects[0]
    tokens = scene.sentence()
    q, k = attention.projected(tokens, dim=subject.dim, seed=scene.seed)
    here = slice(i, i + 1)
    plain, made = (
        attention.logits_of(one, q, k, attention.head_of(scene, one), here, causal=scene.masked)[0]
        for one in (None, subject)
    )
    without, weights = attention.softmax(plain), attention.softmax(made)
    value = float(weights[j])
    words = t(
        "The weight of key {key} for query {query}: e to the power of its logit, of the sum over "
        "all keys.",
        key=j,
        query=i,
    )
    above, below = power("e", index("s", "i", "j")), row("Σ ", power("e", index("s", "i", "k")))
    before, after = (
        [float(logit) if np.isfinite(logit) else "−∞" for logit in logits]
        for logits in (plain, made)
    )
    rows = zip(tokens, before, without, after, weights, strict=True)
    columns = (
        t("key"),
        t("logit without positions"),
        t("weight"),
        t("logit with positions"),
        t("weight"),
    )
    seen = made[np.isfinite(made)]
    special: tuple[Maths, ...] = (index("w", i, j), value)
    if np.isfinite(made[j]):
        total = float(np.exp(seen).sum())
        special = index("w", i, j), frac(power("e", float(made[j])), total), value
    formula = Step("formula", words, (equation(index("w", "i", "j"), frac(above, below)),))
    said = t("The logits of all keys, and their weights:")
    listed = Step("logits", said, table=table(columns, *rows))
    return _cell(scene, (formula, listed), special, value)


def _sum(scene: Scene, p: int, d: int) -> Cell:
    t, subject = scene.t, scene.subjects[0]
    x, encoding, made = (float(values[p, d]) for values in summands(scene, subject))
    place = (p,) if subject.acting.axes == 1 else p
    steps = formulas(subject.acting, Place(place, d, encoding, subject.params or {}, t))
    words = t("The embedding and the encoding are added.")
    sides = index("z", p, d), row(bracketed(x), " + ", bracketed(encoding)), made
    added = Step("sum", words, (equation(*sides),))
    return Cell((*steps, added), float(np.float32(made)), made)


WORKINGS: dict[str, Callable[[Scene, int, int], Cell]] = {
    "similarity": _similarity,
    "products": _products,
    "attention": _attention,
    "sum": _sum,
}
