"""Numbers of pictures worked out: of similarity, products, attention and sums."""

from collections.abc import Callable

import numpy as np

from posenc.core import rules
from posenc.core.mechanisms import Additive
from posenc.explanation.cell import Cell
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.place import Place, bracket, summands_step
from posenc.explanation.question import table
from posenc.explanation.registry import explain_number
from posenc.views.kinds import attention, products, similarity
from posenc.views.kinds.sum import summands
from posenc.views.scene import Scene

Working = Callable[[Scene, int, int], Cell]
WORKINGS: dict[str, Working] = {}
"""The function that works out a number of a picture, by the kind of view."""


def works_out(kind: str) -> Callable[[Working], Working]:
    """Register the decorated function for the pictures of a kind of view.

    It takes the scene, a row and a column.
    """

    def register(function: Working) -> Working:
        WORKINGS[kind] = function
        return function

    return register


def working(kind: str, scene: Scene, place: int, other: int) -> Cell:
    """Work out the number at row `place` and column `other` of a picture.

    kind   the kind of view, one of WORKINGS
    scene  what is drawn: one subject, whose angles do not depend on the length
    """
    count = len(scene.sentence()) if kind in ("attention", "sum") else scene.count(64)
    columns = scene.subjects[0].dim if kind == "sum" else count
    rules.whole("place", place, least=0, most=count - 1)
    rules.whole("other", other, least=0, most=columns - 1)
    return WORKINGS[kind](scene, place, other)


@works_out("similarity")
def _similarity(scene: Scene, m: int, n: int) -> Cell:
    t, subject = scene.t, scene.subjects[0]
    value = float(similarity.matrix(subject, np.array([m]), np.array([n]))[0, 0])
    name, letters = index("s", m, n), index("s", "m", "n")
    left, right, total = _factors(scene, m, n, ones=True)
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
    return _product_cell(scene, words, general, special, (left, right), value)


@works_out("products")
def _products(scene: Scene, m: int, n: int) -> Cell:
    t, subject = scene.t, scene.subjects[0]
    left, right, total = _factors(scene, m, n, ones=False)
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
    return _product_cell(scene, words, general, (index("s", m, n), total), (left, right), total)


def _factors(scene: Scene, m: int, n: int, *, ones: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """The two vectors of a product, and the product."""
    subject = scene.subjects[0]
    acting = subject.acting
    if isinstance(acting, Additive):
        left, right = (subject.encoded(np.array([p]))[0] for p in (m, n))
    else:
        q, k = np.ones((2, subject.dim)) if ones else products.drawn(scene, subject)
        left = subject.rotated(q, m)
        right = subject.rotated(k, n, keys=True)
    return left, right, float(left @ right)


def _product_cell(
    scene: Scene,
    words: str,
    general: tuple[Maths, ...],
    special: tuple[Maths, ...],
    factors: tuple[np.ndarray, np.ndarray],
    value: float,
) -> Cell:
    """The formula, a table of the products of all dimensions, and the sum with numbers."""
    t = scene.t
    left, right = factors
    columns = "i", t("first vector"), t("second vector"), t("product")
    listed = summands_step(
        "products", t("Dimension by dimension:"), columns, left, right, left * right
    )
    return _finish(scene, (Step("formula", words, (equation(*general),)), listed), special, value)


def _finish(
    scene: Scene, steps: tuple[Step, ...], special: tuple[Maths, ...], value: float
) -> Cell:
    """The cell of these steps, ended by the numbers; views compute in float64, the truth."""
    t = scene.t
    numbers = Step("numbers", t("Substituting the numbers:"), (equation(*special),))
    return Cell((*steps, numbers), float(np.float32(value)), value)


@works_out("attention")
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
    return _finish(scene, (formula, listed), special, value)


@works_out("sum")
def _sum(scene: Scene, p: int, d: int) -> Cell:
    t, subject = scene.t, scene.subjects[0]
    x, encoding, made = (float(values[p, d]) for values in summands(scene, subject))
    place = (p,) if subject.acting.axes == 1 else p
    steps = explain_number(subject.acting, Place(place, d, encoding, subject.params or {}, t))
    words = t("The embedding and the encoding are added.")
    sides = index("z", p, d), row(bracket(x), " + ", bracket(encoding)), made
    added = Step("sum", words, (equation(*sides),))
    return Cell((*steps, added), float(np.float32(made)), made)
