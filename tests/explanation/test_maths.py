"""Formulas as trees: what each form writes, and where brackets are needed."""

import json
import xml.etree.ElementTree as ET

import pytest

from posenc.explanation import maths
from posenc.explanation.maths import equation, frac, index, matrix, power, root, row


@pytest.mark.parametrize(
    ("tree", "text", "latex"),
    [
        (frac("i", row("j", " + ", 1)), "i/(j + 1)", r"\frac{i}{j + 1}"),
        (power(10, frac(2, 8)), "10^(2/8)", "10^{2/8}"),
        (power(10, frac(row("i", " − ", 1), 8)), "10^((i − 1)/8)", r"10^{\frac{i - 1}{8}}"),
        (power("e", -2.0), "e^(-2)", "e^{-2}"),
        (root(row("d", "/", 2)), "√(d/2)", r"\sqrt{d/2}"),
        (index("b", "h", 3), "b_(h, 3)", "b_{h, 3}"),
        (
            matrix((1, -0.5), (0.5, 1)),
            "[1 -0.5; 0.5 1]",
            r"\begin{bmatrix} 1 & -0.5 \\ 0.5 & 1 \end{bmatrix}",
        ),
        (equation("x", row(2, " · ", "π")), "x = 2 · π", r"x = 2 \cdot \pi "),
        (1e-5, "1e-05", r"1 \cdot 10^{-5}"),
    ],
)
def test_text_and_latex(tree, text, latex):
    assert maths.text(tree) == text
    assert maths.latex(tree) == latex


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.1 + 0.2, 4, "0.3"),
        (-0.00001, 4, "-1e-05"),
        (123_456_789.0, 2, "123456789"),
        (2e9, 4, "2e+09"),
        (-0.0, 4, "0"),
        (0.99996, 4, "1"),
        (7, 0, "7"),
    ],
)
def test_numbers(value, digits, text):
    assert maths.number(value, digits) == text


def test_mathml_is_well_formed_and_escapes():
    tree = equation(index("x", "<"), row(frac(1, root("d")), " · ", matrix((1,), (2,))))
    made = ET.fromstring(maths.mathml(tree))
    assert made.tag == "mrow"
    assert [each.text for each in made.iter("mn")] == ["1", "1", "2"]
    assert "<" in [each.text for each in made.iter("mo")]


def test_numbers_stay_numbers_in_json():
    tree = equation(index("w", 1), 0.1)
    assert json.loads(json.dumps(maths.to_json(tree))) == ["row", ["index", "w", 1], " = ", 0.1]
