"""Transformer-XL: a product of the content and one of the distance, recomputed."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import cell
from posenc.explanation.values import example_query
from tests.explanation.reading import values_in


@pytest.mark.parametrize("head", [0, 1])
def test_content_and_distance(head):
    encoding = pe.TransformerXL(2, 4, features=6)
    params = {n: x.astype(float) for n, x in encoding.init(np.random.default_rng(3)).items()}
    told = cell(encoding, 9, 2, params, head=head)
    x = example_query(encoding)[head, 0]
    w = 10_000.0 ** (-np.arange(3) / 3)
    waves = np.concatenate([np.sin(7 * w), np.cos(7 * w)])
    content = (x + params["u"][head]) @ x
    distance = (x + params["v"][head]) @ params["projection"][head] @ waves
    numbers = values_in(told.steps[-1].formulas[-1])
    assert numbers[-1] == pytest.approx((content + distance) / math.sqrt(4), rel=1e-9)
    for part in (content, distance):
        assert any(each == pytest.approx(part, rel=1e-9) for each in numbers)
