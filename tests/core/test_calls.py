"""What one token costs: Python calls, counted, for no clock tells the same twice."""

import sys

import numpy as np

import posenc as pe


def count_calls(function, *arguments):
    """How many Python functions run in one call of `function`."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    function(*arguments)  # imports and caches are not part of it
    sys.setprofile(count)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return calls


def test_one_rotated_token_takes_few_calls():
    """The first edition took 269 of them, and checked the positions three times."""
    x = np.zeros((1, 32, 1, 128), dtype=np.float32)
    assert count_calls(pe.RoPE(128).rotate, x, [5]) <= 269 / 3


def test_a_class_that_overrides_cos_sin_is_asked_for_it():
    """Whatever shortcut its parent takes past the check of positions."""

    class Doubled(pe.RoPE):
        def cos_sin(self, positions, params=None, *, dtype=None):
            return super().cos_sin(2 * np.asarray(positions), params, dtype=dtype)

    x = np.random.default_rng(0).normal(size=(3, 8))
    np.testing.assert_array_equal(Doubled(8).rotate(x, [1, 2, 3]), pe.RoPE(8).rotate(x, [2, 4, 6]))
