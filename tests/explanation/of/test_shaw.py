"""Shaw: the product with the vector of a distance, recomputed."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import cell
from posenc.explanation.values import example_query
from tests.explanation.reading import values_in


@pytest.mark.parametrize(("i", "j", "line"), [(9, 2, 0), (2, 9, 8), (5, 5, 4), (5, 6, 5)])
def test_the_row_of_a_distance_is_added_to_the_key(i, j, line):
    encoding = pe.Shaw(8, 4)
    params = encoding.init(np.random.default_rng(3))
    told = cell(encoding, i, j, params)
    assert f"row {line} of the table, for j − i = {j - i}" in told.steps[0].words
    x = example_query(encoding)[0, 0]
    logit = (x @ x + x @ params["key_table"][line].astype(float)) / math.sqrt(8)
    assert values_in(told.steps[-1].formulas[-1])[-1] == pytest.approx(logit, rel=1e-12)
