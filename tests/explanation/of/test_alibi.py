"""ALiBi: slopes, offsets, and where a slope comes from."""

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import maths
from tests.explanation.reading import cell_lines, columns, matrix


def test_alibi():
    explained = pe.explain("alibi", heads=8, length=4)
    slopes = 2.0 ** -np.arange(1, 9)
    assert columns(explained["slopes"])["slope"] == pytest.approx(slopes)
    away = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert matrix(explained["bias-1"]) == pytest.approx(-slopes[0] * away)
    assert matrix(explained["bias-2"]) == pytest.approx(-slopes[1] * away)
    assert "-0.0 " not in str(explained)
    offset = pe.explain(pe.ALiBi(2, future="offset"), length=3)
    assert matrix(offset["bias-1"])[1] == pytest.approx(np.array([-0.5, 0, -1]) / 16)


def test_the_formula_of_slopes_makes_the_slopes_or_is_left_out():
    for encoding in (pe.ALiBi(8), pe.ALiBi(2), pe.ALiBi(12, slopes="paper")):
        step = pe.explain(encoding)["slopes"]
        (formula,) = step.formulas
        assert maths.text(formula) == f"m_h = 2^(−8h/{encoding.heads})"
        for h, slope in step.table.rows:
            assert slope == pytest.approx(2.0 ** (-8 * h / encoding.heads))
    assert pe.explain(pe.ALiBi(6))["slopes"].formulas == ()
    step = pe.explain(pe.ALiBi(8, divisor=2.0))["slopes"]
    assert [maths.text(formula) for formula in step.formulas] == ["m_h = 2^(−8h/8)/2"]
    for h, slope in step.table.rows:
        assert slope == pytest.approx(2.0**-h / 2)


def test_alibi_says_where_its_slope_is_from():
    told = cell_lines("ALiBi(8)", 9, 2, head=2)
    assert told["formula"] == ["b_(h, i, j) = −m_h · |i − j|", "m_h = 2^(−8h/8)"]
    assert told["numbers"] == ["m_3 = 2^(−24/8) = 0.125", "b_(3, 9, 2) = −0.125 · |9 − 2| = -0.875"]
    told = cell_lines("ALiBi(6, slopes='paper')", 9, 2, head=2)
    assert told["numbers"][0] == "m_3 = 2^(−24/6) = 0.0625"
    told = cell_lines("ALiBi(6)", 9, 2, head=4)  # the fifth of the code's slopes is no 2^(-8h/H)
    assert told["formula"] == ["b_(h, i, j) = −m_h · |i − j|"]
    assert told["numbers"][0] == "m_5 = 0.5"
    told = cell_lines("ALiBi.falcon(4, 64)", 9, 2)
    assert told["formula"][1] == "m_h = 2^(−8h/4)/8"
    assert cell_lines("ALiBi(8, future='offset')", 9, 2)["formula"][0].endswith("(|i − j| − 0.5)")
    assert cell_lines("ALiBi(8, future='offset')", 2, 9)["formula"][0].endswith("|i − j|")
