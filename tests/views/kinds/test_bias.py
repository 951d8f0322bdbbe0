"""The view `bias`: its numbers, recomputed in float64 with plain NumPy."""

import numpy as np
import pytest

import posenc as pe
from posenc.views import Image, view

TOKENS = ("我", "爱", "学习", "AI")


@pytest.mark.parametrize(
    ("what", "options"),
    [
        (["ALiBi(8)"], {"head": 6}),
        (["KERPLE(8)"], {}),
        (["T5Bias(8)", "ALiBi(8)"], {}),
        (["ALiBi(8)", "SwinBias(8, (7, 7))"], {}),
    ],
)
def test_heads_of_one_encoding_have_one_scale(what, options):
    """Head 7 of ALiBi(8), whose slope is a sixteenth of head 3's, looked like head 3."""
    seen = view(what, "bias", length=7, **options)
    images = [panel for panel in seen.panels if isinstance(panel, Image)]
    for number in range(len(what)):
        own = [image for image in images if image.of == number]
        assert {image.limit for image in own} == {
            max(np.nanmax(np.abs(image.values)) for image in own)
        }
    assert sum(note.startswith("each encoding has its own") for note in seen.notes) == len(what) - 1


def test_bias():
    curves, first, second = view("alibi", "bias", tokens="我 爱 学习 AI").panels
    assert curves.x.tolist() == list(range(-3, 4))
    assert curves.title == "query at 3"  # the last
    assert view("alibi", "bias", length=1).panels[0].title == "query at 0"
    assert [line.name for line in curves.lines] == [f"head {h}" for h in range(1, 9)]
    for head, line in enumerate(curves.lines):
        assert np.allclose(line.y, -(2.0 ** -(head + 1)) * np.abs(curves.x))
    distance = np.abs(np.arange(4)[:, None] - np.arange(4))
    assert np.allclose(first.values, -0.5 * distance)
    assert np.allclose(second.values, -0.125 * distance)
    assert first.limit == second.limit == 1.5
    assert (first.rows.name, first.rows.labels, first.columns.labels) == ("query", TOKENS, TOKENS)


def test_a_bias_that_looks_back_has_nothing_ahead():
    curves, matrix, _ = view("fire", "bias", length=3).panels
    assert np.isnan(matrix.values[np.triu_indices(3, 1)]).all()
    assert np.isfinite(matrix.values[np.tril_indices(3)]).all()
    assert np.isnan(curves.lines[0].y[curves.x < 0]).all()
    made = view("fire", "bias", length=3).to_json()["panels"][1]["values"]
    assert made[0][1:] == [None, None]


def test_a_bias_that_looks_back_says_so():
    said = "keys ahead of their query are masked, as in a decoder: nothing is drawn there"
    assert view("fire", "bias", length=3).notes[0] == said
    assert view("T5Bias(8)", "bias", length=3).notes[0] == said
    assert said not in view("T5Bias(8, bidirectional=True)", "bias", length=3).notes
    both = view(["alibi", "fire"], "bias", length=3).notes
    assert both[0] == f"FIRE(8): {said}"


def test_bias_on_a_grid_is_a_map_of_displacements():
    made = view("SwinBias(2, (3, 3))", "bias")
    table = pe.SwinBias(2, (3, 3)).init(np.random.default_rng(0))["table"]
    assert [panel.title for panel in made.panels] == ["head 1", "head 2"]
    assert made.panels[0].rows.labels == ("-2", "-1", "0", "1", "2")
    # the table is of query - key, so the first entry is that of the key farthest ahead
    assert np.allclose(made.panels[1].values.ravel()[::-1], table[:, 1])


def test_a_window_that_is_not_square_says_what_its_maps_show():
    long = view("SwinBias(4, (4, 16))", "bias")
    assert long.panels[0].values.shape == (7, 7)
    assert "a window of 4 × 16: keys up to 3 away are shown" in long.notes
    assert not any("window" in note for note in view("SwinBias(4, (7, 7))", "bias").notes)
