"""The view `decay`: its numbers, recomputed in float64 with plain NumPy."""

import numpy as np
import pytest

from posenc.views import view
from posenc.views.colours import style_line
from tests.views.formulas import frequencies


@pytest.mark.parametrize("many", [1, 2, 8])
def test_of_random_products_the_deviation_has_its_encodings_shade(many):
    equal, _, random = view(["rope"] * many, "decay", length=9).panels
    assert [line.colour for line in equal.lines] == list(range(many))
    looks = [style_line(line.colour) for line in random.lines]
    assert len(set(looks)) == 2 * many
    assert [shade for shade, _ in looks[::2]] == [shade for shade, _ in looks[1::2]]


def test_decay_has_the_golden_numbers():
    """RoFormer's figure 2 for d = 128 (mean |S_j|, computed from eq. 36-37), and mean cosines."""
    equal, bound, random = view("RoPE(128)", "decay", length=250).panels
    at = [0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 250]
    golden = [32.5, 31.5382, 28.956, 20.8454, 17.9541, 15.2424, 12.6295, 10.2273]
    golden += [7.5885, 7.2448, 6.5482]
    assert np.allclose(bound.lines[0].y[at], golden, atol=1e-4)
    kernel = np.cos(np.arange(251)[:, None] * frequencies(128)).mean(axis=1)
    assert np.allclose(equal.lines[0].y, kernel, atol=1e-13)
    assert np.allclose(
        equal.lines[0].y[[0, 1, 2, 5, 10, 100]],
        [1, 0.9702, 0.8966, 0.7373, 0.6691, 0.4772],
        atol=1e-4,
    )
    mean, spread = (line.y for line in random.lines)
    assert np.abs(mean).max() < 0.25
    assert 0.85 < spread.min() < spread.max() < 1.15


def test_random_products_are_those_of_rotated_vectors():
    (*_, random) = view("RoPE(4)", "decay", length=3, seed=5).panels
    rng = np.random.default_rng(5)
    w = frequencies(4)
    made = []
    for _ in range(512):
        q, k = rng.normal(size=(2, 4)).view(complex)
        made.append([(q * np.exp(1j * r * w) * k.conj()).real.sum() / 2 for r in range(4)])
    assert np.allclose(random.lines[0].y, np.mean(made, axis=0), atol=1e-13)
    assert np.allclose(random.lines[1].y, np.std(made, axis=0), atol=1e-13)


@pytest.mark.parametrize(("dim", "some"), [(64, 512), (512, 128), (4_096, 16)])
def test_decay_draws_random_vectors_at_some_of_many_distances(dim, some):
    made = view(f"RoPE({dim})", "decay", length=1_000)
    equal, bound, random = made.panels
    assert len(equal.x) == len(bound.x) == 1_001
    assert (len(random.x), random.x[0], random.x[-1]) == (some, 0, 1_000)
    assert len(np.unique(np.diff(random.x))) <= 2
    assert made.notes[1] == f"random q and k at {some} of 1,001 distances"


def test_decay_reaches_as_far_as_the_sentence():
    made = view("rope", "decay", tokens=["a"] * 300)
    assert made.panels[0].x[-1] == made.panels[0].marks[0].x == 300


def test_decay_marks_the_sentence_and_has_a_length_of_its_own():
    made = view("rope", "decay", tokens="我 爱 学习 AI", length=10)
    assert [(mark.name, mark.x) for mark in made.panels[0].marks] == [("length: 4", 4.0)]
    assert len(made.panels[0].x) == 11
