"""Hypothesis strategies."""

import numpy as np
from hypothesis import given, settings

import posenc as pe
from posenc.checks import strategies


@settings(max_examples=50, deadline=None)
@given(positions=strategies.positions(), sequence=strategies.sequences(), shape=strategies.shapes())
def test_strategies_make_what_encodings_take(positions, sequence, shape):
    assert np.isfinite(pe.Sinusoidal(4).encode(positions)).all()
    x = np.ones((*shape[:2], len(sequence), shape[2]))
    assert pe.RoPE(shape[2]).rotate(x, sequence).shape == x.shape
