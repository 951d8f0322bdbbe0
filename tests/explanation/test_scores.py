"""Encodings that make the logits themselves are explained by their logits."""

import math

import numpy as np
import pytest

import posenc as pe
from tests.explanation.reading import matrix


def test_scores_by_their_logits():
    explained = pe.explain("shaw", length=4)
    q, k = np.random.default_rng(0).normal(size=(2, 1, 4, 8))
    assert matrix(explained["products"]) == pytest.approx(q[0] @ k[0].T / math.sqrt(8))
    table = pe.Shaw(8, 2).init(np.random.default_rng(0))["key_table"]
    p = np.arange(4)
    ahead = np.clip(p[None, :] - p[:, None], -2, 2) + 2  # Shaw's distance is j - i
    added = np.einsum("qd,qkd->qk", q[0], table[ahead]) / math.sqrt(8)
    assert matrix(explained["difference"]) == pytest.approx(added, abs=1e-6)
    assert matrix(explained["logits"]) == pytest.approx(
        matrix(explained["products"]) + matrix(explained["difference"])
    )


def test_products_are_divided_only_where_the_encoding_divides():
    unscaled = pe.Tempered(pe.T5Bias(1, scaled=False), pe.Llama4Temperature())
    q, k = np.random.default_rng(0).normal(size=(2, 1, 3, 8))
    told = pe.explain(unscaled, length=3)
    assert matrix(told["products"]) == pytest.approx(q[0] @ k[0].T)
