"""No encoding: nothing is added, at any distance."""

import posenc as pe
from posenc.explanation import maths
from posenc.explanation.cell import cell
from tests.explanation.reading import matrix


def test_a_bias_of_zeros():
    explained = pe.explain("nope", length=3)
    assert maths.text(explained["formula"].formulas[0]).endswith("= 0")
    assert not matrix(explained["bias-1"]).any()
    assert matrix(explained["bias-1"]).shape == (3, 3)
    assert cell(pe.NoPE(), 900, 1).truth == 0
