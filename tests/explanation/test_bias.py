"""Any bias: the logit in letters, and the numbers of the first two heads."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import maths
from posenc.explanation.cell import cell
from tests.explanation.reading import matrix


@dataclass(frozen=True)
class Recency(pe.Bias):
    """Falls by the head's number for each position; T5 does not divide, and neither may this."""

    heads: int = 3
    scaled: bool = True

    def bias(self, q_pos, k_pos, params=None):
        slopes = np.arange(1.0, self.heads + 1)[:, None, None]
        return -slopes * np.abs(np.subtract.outer(np.asarray(q_pos), np.asarray(k_pos)))


def test_two_heads_are_shown_of_any_number():
    explained = pe.explain(Recency(), length=4)
    away = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    for head in (1, 2):
        assert matrix(explained[f"bias-{head}"]) == pytest.approx(-head * away)
        assert f"head {head} of 3" in explained[f"bias-{head}"].words
    assert "bias-3" not in [step.name for step in explained.steps]
    assert "bias-2" not in [step.name for step in pe.explain(Recency(1), length=4).steps]


def test_the_formula_divides_where_the_encoding_does():
    divided, plain = (
        maths.text(pe.explain(Recency(scaled=scaled), length=2)["formula"].formulas[0])
        for scaled in (True, False)
    )
    assert "√d" in divided
    assert "√d" not in plain


def test_a_number_of_a_table_names_its_row():
    params = {"table": np.arange(5.0)[:, None] * [1, 10]}
    told = cell(pe.ClippedBias(2, 2), 9, 8, params, head=1)
    assert told.truth == 30
    assert "the distance 1 is row 3 of the table" in told.steps[0].words
