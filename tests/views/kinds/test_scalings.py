"""The view `scalings`: its numbers, recomputed in float64 with plain NumPy."""

import numpy as np

from posenc.views import view
from tests.views.formulas import frequencies


def test_an_encoding_without_a_scaling_is_drawn_once():
    _, waves = view(["rope", "yarn"], "scalings").panels
    assert [line.name for line in waves.lines] == ["RoPE(64)", "YaRN(4, 4096)"]


def test_scalings():
    moved, waves = view("RoPE(128)", "scalings", trained=4096).panels
    w = frequencies(128)
    ratios = {line.name: line.y for line in moved.lines}
    assert list(ratios) == ["Interpolation(4)", "NTK(4)", "YaRN(4, 4096)", "Llama3(4, 4096)"]
    assert np.allclose(ratios["Interpolation(4)"], 0.25)
    ntk = frequencies(128, 10_000 * 4 ** (128 / 126)) / w
    assert np.allclose(ratios["NTK(4)"], ntk, rtol=1e-12)
    turns = 4096 * w / (2 * np.pi)
    blend = np.clip((turns - 1) / (4 - 1), 0, 1)
    assert np.allclose(ratios["Llama3(4, 4096)"], blend + (1 - blend) / 4, rtol=1e-12)
    periods = {line.name: line.y for line in waves.lines}
    assert np.allclose(periods["RoPE(128)"], 2 * np.pi / w, rtol=1e-12)
    assert np.allclose(periods["NTK(4)"], 2 * np.pi / w / ntk, rtol=1e-12)


def test_scalings_that_were_given_are_compared_with_none():
    moved, waves = view(["llama3", "RoPE(64, scaling=Proportional(0.25))"], "scalings").panels
    assert [line.name for line in waves.lines] == [
        "RoPE(64, base=500000)",
        "RoPE(64)",
        "Llama3(8, 8192)",
        "Proportional(0.25)",
    ]
    assert moved.lines[1].y.tolist() == [1.0] * 8 + [0.0] * 24
