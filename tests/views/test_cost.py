"""Estimates of what a view takes, by named sizes."""

import math

import pytest

import posenc as pe
from posenc.views import cost


@pytest.mark.parametrize(
    ("sizes", "encoding", "numbers"),
    [
        (cost.rows, pe.Sinusoidal(64), 100 * 64),
        (cost.rows, pe.ALiBi(8), 100 * cost.WIDTH),
        (cost.pairs, pe.ALiBi(8), 100 * 100),
        (cost.logits, pe.ALiBi(8), 8 * 100 * max(100, 2 * cost.WIDTH)),
        (cost.logits, pe.FIRE(8, hidden=32), 32 * 100 * max(100, 2 * cost.WIDTH)),
        (cost.logits, pe.TransformerXL(2, 64, features=30), 2 * 100 * (2 * 64 + 30)),
        (cost.logits, pe.RoPE(256), 256 * 512),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_sizes_are_multiplied(sizes, encoding, numbers):
    assert math.prod(sizes(encoding, 100).values()) == numbers


def test_a_network_counts_its_hidden_units_where_they_are_more_than_its_heads():
    assert cost.heads(pe.FIRE(8, hidden=32)) == 32
    assert cost.heads(pe.FIRE(64, hidden=32)) == 64
    assert cost.heads(pe.RoPE(8)) == 1
