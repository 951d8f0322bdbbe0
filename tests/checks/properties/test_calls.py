"""Properties of calls: the same twice, and finite unless a key is hidden."""

from dataclasses import dataclass

import numpy as np

from tests.checks.hiding import Window
from tests.patient import check


def test_what_is_hidden_must_stay_so():
    @dataclass(frozen=True)
    class Flickers(Window):
        def bias(self, q_pos, k_pos, params=None):
            made = super().bias(q_pos, k_pos)
            calls.append(1)
            made[..., :1, :] = -np.inf if len(calls) % 3 else 0.0
            return made

    calls = []
    assert "deterministic" in check(Flickers()).failed

    @dataclass(frozen=True)
    class Endless(Window):
        def bias(self, q_pos, k_pos, params=None):
            return -super().bias(q_pos, k_pos)

    assert "finite" in check(Endless()).failed
