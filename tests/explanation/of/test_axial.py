"""RoPE on several axes: which pair follows which axis."""

import numpy as np
import pytest

import posenc as pe
from tests.explanation.reading import columns


def test_mrope_sections():
    explained = pe.explain("mrope", dim=16, position=3)
    told = columns(explained["sections"])
    assert told["axis"] == ["time"] * 2 + ["height"] * 3 + ["width"] * 3
    w = 10_000.0 ** (-np.arange(8) / 8)
    assert told["frequency"] == pytest.approx(w)
    assert columns(explained["angles"])["angle"] == pytest.approx(w * [3, 3, 4, 4, 4, 5, 5, 5])
    assert explained["positions"].table.rows[3] == ("image", 2, 2, 3)
