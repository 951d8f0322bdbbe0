"""The worked numbers of pictures of pairs are those of the pictures, and of their own formulas."""

import numpy as np
import pytest

from posenc.i18n import LANGUAGES, translator
from posenc.names.resolve import evaluate_encoding
from posenc.views import KINDS, Image, view
from posenc.views.scene import Scene
from posenc.views.subject import Subject
from tests.explanation.evaluating import computed, sides

TOKENS = ("the", "dog", "bit", "the", "man")
ROWS = ["Sinusoidal(8)", "Learned(16, 8)", "LearnedFourier(8, 1)"]
TURNED = ["RoPE(8)", "RoPE(8, pairing='halves', rotary_dim=4)", "XPos(8)"]
PAIRED = ["ALiBi(4)", "T5Bias(4)", "T5Bias(4, bidirectional=False)", "Shaw(8, 4)", "NoPE()"]
EVERY = [
    *[(kind, e) for kind in ("similarity", "products", "attention") for e in (*ROWS, *TURNED)],
    *[("attention", e) for e in (*PAIRED, "FIRE(4)", "TransformerXL(2, 8)")],
    *[("sum", e) for e in ROWS],
]


def worked(kind: str, expression: str, row: int, column: int, *, lang: str = "en"):
    encoding = evaluate_encoding(expression)
    subject = Subject(encoding, encoding.init(np.random.default_rng(2)))
    scene = Scene((subject,), translator(lang), TOKENS, None, None, 2)
    return KINDS[kind].working(scene, row, column)


def pictures(kind: str, expression: str) -> list[Image]:
    return [p for p in view(expression, kind, tokens=TOKENS, seed=2).panels if isinstance(p, Image)]


@pytest.mark.parametrize(("kind", "expression"), EVERY)
def test_the_number_is_that_of_the_picture(kind, expression):
    images = pictures(kind, expression)
    image = images[2] if kind in ("attention", "sum") else images[0]  # with positions; the sum
    for row, column in ((0, 0), (3, 1), (4, 4), (1, 3)):
        told = worked(kind, expression, row, column)
        near = 1e-6 if "FIRE" in expression else 1e-9  # its network computes in float32
        assert told.truth == pytest.approx(image.values[row, column], rel=near, abs=1e-12)


@pytest.mark.parametrize(("kind", "expression"), EVERY)
def test_the_formula_gives_the_number(kind, expression):
    for row, column in ((0, 0), (3, 1), (4, 2)):
        told = worked(kind, expression, row, column)
        *_, last = told.to_json()["steps"]
        shown = [v for v in map(computed, sides(last["formulas"][-1])) if v is not None]
        assert len(shown) >= (1 if kind == "products" else 2)
        for value in shown:
            assert value == pytest.approx(told.truth, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("expression", [*ROWS, *TURNED])
@pytest.mark.parametrize("kind", ["similarity", "products"])
def test_products_of_dimensions_add_up(kind, expression):
    told = worked(kind, expression, 3, 1)
    (table,) = [step.table for step in told.steps if step.table]
    assert all(a * b == pytest.approx(c, abs=1e-12) for _, a, b, c in table.rows)
    total = sum(row[-1] for row in table.rows)
    lengths = [np.linalg.norm([row[at] for row in table.rows]) for at in (1, 2)]
    if kind == "similarity":
        total /= len(table.rows) if expression in TURNED else lengths[0] * lengths[1]
    assert total == pytest.approx(told.truth, rel=1e-9)


@pytest.mark.parametrize("expression", [*ROWS, *TURNED, *PAIRED])
def test_weights_of_all_keys_are_those_of_the_row(expression):
    told = worked("attention", expression, 3, 1)
    (table,) = [step.table for step in told.steps if step.table]
    without, _, whole, _ = pictures("attention", expression)
    assert [row[0] for row in table.rows] == list(TOKENS)
    np.testing.assert_allclose([row[2] for row in table.rows], without.values[3], rtol=1e-9)
    np.testing.assert_allclose([row[4] for row in table.rows], whole.values[3], rtol=1e-9)


@pytest.mark.parametrize("lang", LANGUAGES[1:])
@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.working])
def test_words_are_in_every_language(kind, lang):
    for expression in ("Sinusoidal(8)", *(["RoPE(8)"] if kind != "sum" else [])):
        english, said = (worked(kind, expression, 3, 1, lang=one).steps for one in ("en", lang))
        for here, there in zip(english, said, strict=True):
            assert here.words != there.words
            assert here.formulas == there.formulas


def test_a_place_that_there_is_not_is_said():
    with pytest.raises(
        ValueError, match="place must be a whole number of at least 0 and at most 4"
    ):
        worked("similarity", "RoPE(8)", 5, 0)
    with pytest.raises(
        ValueError, match="other must be a whole number of at least 0 and at most 7"
    ):
        worked("sum", "Sinusoidal(8)", 0, 8)
