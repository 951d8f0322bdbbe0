"""The view `products`: its numbers, recomputed in float64 with plain NumPy."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.views import view
from tests.views.formulas import frequencies, sinusoids


def turned(x, position, dim):
    return x.view(complex) * np.exp(1j * position * frequencies(dim))


def apart(values):
    found = {}
    for (m, n), value in np.ndenumerate(values):
        found.setdefault(m - n, []).append(value)
    return max(max(some) - min(some) for some in found.values())


def test_products_of_a_rotation_are_those_of_one_query_and_one_key():
    made = view("rope", "products", length=12, dim=8, seed=7)
    matrix, lines = made.panels
    q, k = np.random.default_rng(7).normal(size=(2, 8))
    expected = [
        [(turned(q, m, 8) * turned(k, n, 8).conj()).real.sum() for n in range(12)]
        for m in range(12)
    ]
    assert np.allclose(matrix.values, expected, atol=1e-13)
    assert (matrix.rows.name, matrix.columns.name, matrix.square) == ("query", "key", True)
    assert lines.x.tolist() == list(range(-11, 12))
    assert [line.name for line in lines.lines] == ["query at 3", "query at 6", "query at 8"]
    for m, line in zip((3, 6, 8), lines.lines, strict=True):
        for distance, product in zip(lines.x, line.y, strict=True):
            key = m - distance
            if 0 <= key < 12:
                assert product == pytest.approx(expected[m][int(key)], abs=1e-12)
            else:
                assert math.isnan(product)
    assert made.notes[1] == "one q and one k at every position, drawn with seed 7"


@pytest.mark.parametrize(
    ("name", "relative"),
    [("sinusoidal", True), ("rope", True), ("yarn", True), ("xpos", True), ("learned", False)],
)
def test_products_say_how_far_they_differ_at_one_distance(name, relative):
    made = view(name, "products", length=20)
    values = made.panels[0].values
    largest = np.abs(values).max()
    said = float(
        made.notes[0].removeprefix("at one distance the products differ by at most ").split(";")[0]
    )
    assert said == pytest.approx(apart(values), rel=0.05)
    assert made.notes[0].endswith(f"; the largest is {largest:.3g}")
    assert (said < 1e-12 * largest) == relative
    assert relative or said > 0.1 * largest


def test_products_of_what_is_added_are_those_of_the_encodings():
    waves, table, *lines = view(["sinusoidal", "Learned(9, 64)"], "products", length=9).panels
    drawn = pe.Learned(9, 64).init(np.random.default_rng(0))["table"].astype(float)
    assert np.allclose(waves.values, sinusoids(9, 64) @ sinusoids(9, 64).T, atol=1e-13)
    assert np.allclose(table.values, drawn @ drawn.T, atol=1e-13)
    assert [panel.title.split(":")[0] for panel in lines] == ["Sinusoidal(64)", "Learned(9, 64)"]


def test_products_know_no_temperature():
    plain = view("rope", "products", length=9).panels[0]
    warm = view("Tempered(RoPE(64), LogN(2))", "products", length=9).panels[0]
    assert np.array_equal(plain.values, warm.values)


@pytest.mark.parametrize(("length", "queries"), [(1, [0]), (2, [0, 1]), (5, [1, 2, 3])])
def test_products_of_few_positions(length, queries):
    *_, lines = view("rope", "products", length=length).panels
    assert [line.name for line in lines.lines] == [f"query at {m}" for m in queries]


def test_one_sentence_says_that_sines_are_relative_and_their_logits_are_not():
    said = "e(m) · e(n) depends on the distance alone, the logits of x + e do not"
    for what, there in (("Sinusoidal(64)", True), ("Learned(64, 64)", False), ("RoPE(64)", False)):
        assert any(note.startswith(said) for note in view(what, "products").notes) == there
    beside = view(["Sinusoidal(64)", "RoPE(64)"], "products").notes
    assert [note for note in beside if said in note] == [
        f"Sinusoidal(64): {note}"
        for note in view("Sinusoidal(64)", "products").notes
        if note.startswith(said)
    ]
    x, e = np.random.default_rng(0).normal(size=(2, 8)), pe.Sinusoidal(8).encode(np.arange(32))
    near, far = ((x[0] + e[at + 2]) @ (x[1] + e[at]) for at in (0, 20))
    assert abs(near - far) > 0.1
