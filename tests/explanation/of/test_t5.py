"""T5's buckets, recomputed by the published formula."""

import math
import re

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import maths
from tests.explanation.reading import columns, matrix


def test_t5_buckets():
    explained = pe.explain("t5", heads=2, length=3)
    told = columns(explained["buckets"])
    for n, bucket in zip(told["distance"], told["bucket"], strict=True):
        far = 16 + int(math.log(max(n, 16) / 16) / math.log(128 / 16) * 16)
        assert bucket == (n if n < 16 else min(far, 31))
    drawn = np.random.default_rng(0).normal(scale=0.02, size=(32, 2)).astype(np.float32)
    told = columns(explained["table"])
    assert told["bias"] == pytest.approx(drawn[told["bucket"], 0])
    behind = np.maximum(np.subtract.outer(np.arange(3), np.arange(3)), 0)
    assert matrix(explained["bias-2"]) == pytest.approx(drawn[behind, 1])
    assert "from 113 on all share one" in explained["buckets"].words
    both = pe.explain(pe.T5Bias(2, bidirectional=True))["buckets"]
    assert "from 91 on all share one" in both.words
    both = columns(both)
    assert both["bucket"][both["distance"].index(-8)] == 16 + 8
    (formula,) = explained["buckets"].formulas
    assert maths.text(formula) == "k = min(16 + ⌊(ln(n/16))/(ln(128/16)) · 16⌋, 31)"


@pytest.mark.parametrize("farthest", [17, 128, 10**6, 2**24])
def test_where_the_last_bucket_begins(farthest):
    bias = pe.T5Bias(2, max_distance=farthest)
    words = pe.explain(bias)["buckets"].words
    last = int(re.search(r"from (\d+) on all share one", words)[1])
    assert bias.buckets_of(np.array([last - 1, last, farthest])).tolist()[1:] == [31, 31]
    assert bias.buckets_of(np.array([last - 1]))[0] < 31
