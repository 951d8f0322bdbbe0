"""Every kind of view: its numbers, recomputed here in float64 with plain NumPy."""

import itertools
import json
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.views import KINDS, Image, default_kind, kinds_for, view
from posenc.views.colours import look
from tests.test_project import ROOT

TOKENS = ("我", "爱", "学习", "AI")


def frequencies(dim, base=10_000.0):
    return base ** (-np.arange(0, dim, 2) / dim)


def sinusoids(length, dim):
    angles = np.arange(length)[:, None] * frequencies(dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, dim)


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_heatmap():
    (panel,) = view("sinusoidal", "heatmap", tokens="我 爱 学习 AI", dim=8).panels
    assert np.allclose(panel.values, sinusoids(4, 8), atol=1e-15)
    assert panel.rows.labels == TOKENS
    assert (panel.limit, panel.colours, panel.columns.name) == (1.0, "diverging", "dimension")


def test_heatmap_of_a_rotation_is_its_angles():
    (panel,) = view("rope", "heatmap", length=9, dim=8).panels
    turns = np.arange(9)[:, None] * frequencies(8)
    assert np.allclose(np.exp(1j * panel.values), np.exp(1j * turns), atol=1e-14)
    assert np.abs(panel.values).max() <= math.pi
    assert (panel.limit, panel.colours) == (math.pi, "cyclic")


@pytest.mark.parametrize(
    ("what", "kind", "numbers"),
    [
        (["sinusoidal", "rope"], "heatmap", [0, 1]),
        (["sinusoidal", "rope"], "waves", [0, 1]),
        (["sinusoidal", "rope"], "wavelengths", [None, None]),
        (["sinusoidal", "rope"], "similarity", [0, 1, None]),
        (["AxialSinusoidal(16)", "AxialRoPE.split(16)"], "similarity", [0, 1]),
        (["sinusoidal", "rope"], "products", [0, 1, 0, 1]),
        (["rope", "RoPE(64, base=2.0)"], "rotation", [0, 1]),
        (["rope", "RoPE(64, base=2.0)"], "decay", [None, None, None]),
        (["rope", "RoPE(64, base=2.0)"], "scalings", [None, None]),
        (["TwoSidedALiBi(8)", "T5Bias(8)"], "bias", [0, 1, 0, 1]),
        (["SwinBias(2, (8, 8))", "SwinBias(1, (8, 8))"], "bias", [0, 0, 1]),
        (["AxialSinusoidal(16)", "AxialRoPE.split(16)"], "maps", [0] * 8 + [1] * 4),
        (["Learned(64, 64)", "Learned(64, 64, std=3.0)"], "learned", [0, 0, 1, 1, None, None]),
        (["sinusoidal", "Learned(64, 64)"], "sum", [0, 1, 0, 1, 0, 1]),
        (["sinusoidal", "rope"], "attention", [None, None, 0, 0, 1, 1]),
    ],
)
def test_a_panel_says_which_encoding_it_is_of(what, kind, numbers):
    made = view(what, kind, length=8)
    assert [panel.of for panel in made.panels] == numbers
    assert [panel["of"] for panel in made.to_json()["panels"]] == numbers


def test_several_are_on_one_scale():
    views = view(["sinusoidal", "Learned(64, 64, std=1.0)"], "heatmap", length=64)
    first, second = views.panels
    assert first.limit == second.limit == np.abs(second.values).max() > 1


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (["sinusoidal", "Learned(64, 64, std=3.0)"], "sum"),
        (["axial-sinusoidal", "LearnedFourier(64, 2)", "fourier-features"], "maps"),
        (["SwinBias(8, (7, 7), std=3.0)", "SwinV2Bias(8, (7, 7))"], "bias"),
        (["alibi", "T5Bias(8, std=3.0)"], "bias"),
        (["alibi", "SwinBias(8, (7, 7), std=3.0)"], "bias"),
        (["sinusoidal", "Learned(64, 64)"], "similarity"),
        (["sinusoidal", "rope", "Learned(64, 64, std=0.5)"], "products"),
        (["sinusoidal", "alibi"], "attention"),
    ],
)
def test_several_are_on_one_scale_and_told_apart(what, kind):
    images = [panel for panel in view(what, kind).panels if isinstance(panel, Image)]
    assert len({image.limit for image in images}) == 1
    assert images[0].limit >= max(np.nanmax(np.abs(image.values)) for image in images)
    titles = [image.title for image in images if "shuffled" not in image.title]
    assert len(set(titles)) == len(titles)


def test_what_one_scale_hides_is_said():
    made = view(["sinusoidal", "Learned(512, 64, std=0.05)"], "heatmap", length=9)
    largest = np.abs(made.panels[1].values).max()
    assert 1 / 8 < largest < 1 / 5  # a scale of its own, or seen without a word
    said = f"one colour scale for all: Learned(512, 64, std=0.05) is at most {largest:.3g}"
    assert made.notes[0] == said
    flat = view("ALiBi(8)", "bias", length=16, head=6)
    assert flat.notes == ("one colour scale for all: head 7 is at most 0.117",)


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


@pytest.mark.parametrize("name", ["sinusoidal", "rope"])
def test_a_heatmap_of_channels_asked_for(name):
    (whole,) = view(name, "heatmap", length=5, dim=16).panels
    (some,) = view(name, "heatmap", length=5, dim=16, channels=[6, 1]).panels
    assert np.array_equal(some.values, whole.values[:, [6, 1]])
    assert some.columns.labels == ("6", "1")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("heatmap", "RoPE(64): angles by position and pair"), ("waves", "RoPE(64): waves")],
)
def test_the_title_says_what_is_drawn_of_one_encoding(kind, expected):
    assert view("rope", kind).title == expected
    assert view(["rope", "rope"], kind).title == expected.removeprefix("RoPE(64): ")


def test_the_title_in_the_readers_language():
    assert view("sinusoidal", lang="ja").title == "Sinusoidal(64)：位置と次元ごとの値"


def colours_of(made):
    """The colours that each name has, over all panels."""
    found = {}
    for line in (line for panel in made.panels for line in panel.lines):
        found.setdefault(line.name, set()).add(line.colour)
    return found


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("rope", "scalings"),
        (["rope", "yarn"], "scalings"),
        (["rope", "yarn", "xpos"], "decay"),
        (["sinusoidal", "rope"], "wavelengths"),
        (["sinusoidal", "rope"], "waves"),
    ],
)
def test_a_colour_means_the_same_in_every_panel(what, kind):
    made = view(what, kind, length=20)
    assert all(len(colours) == 1 for colours in colours_of(made).values())
    for panel in made.panels:
        colours = [line.colour for line in panel.lines]
        assert len(set(colours)) == len(colours)
    if kind != "decay":
        assert len({min(c) for c in colours_of(made).values()}) == len(colours_of(made))


@pytest.mark.parametrize("many", [1, 2, 8])
def test_of_random_products_the_deviation_has_its_encodings_shade(many):
    equal, _, random = view(["rope"] * many, "decay", length=9).panels
    assert [line.colour for line in equal.lines] == list(range(many))
    looks = [look(line.colour) for line in random.lines]
    assert len(set(looks)) == 2 * many
    assert [shade for shade, _ in looks[::2]] == [shade for shade, _ in looks[1::2]]


def test_an_encoding_without_a_scaling_is_drawn_once():
    _, waves = view(["rope", "yarn"], "scalings").panels
    assert [line.name for line in waves.lines] == ["RoPE(64)", "YaRN(4, 4096)"]


def test_waves_are_smooth_and_pass_through_the_positions():
    (panel,) = view("sinusoidal", "waves", length=5, dim=8, channels=[0, 3]).panels
    assert [line.name for line in panel.lines] == ["dimension 0", "dimension 3"]
    assert np.allclose(panel.lines[0].y, np.sin(panel.x), atol=1e-14)
    assert np.allclose(panel.lines[1].y, np.cos(panel.x * 0.1), atol=1e-14)
    assert set(range(5)) <= set(panel.x.tolist())


@pytest.mark.parametrize(("length", "points"), [(5, 16), (64, 16), (1_024, 4), (4_096, 1)])
def test_smooth_waves_have_fewer_points_between_many_positions(length, points):
    (panel,) = view("sinusoidal", "waves", length=length, dim=4, channels=[0]).panels
    assert len(panel.x) == points * (length - 1) + 1
    assert np.array_equal(panel.x[::points], np.arange(length))
    assert np.allclose(panel.lines[0].y, np.sin(panel.x), atol=1e-12)


def test_waves_of_a_table_are_at_whole_positions():
    (panel,) = view(pe.Learned(9, 4), "waves", length=9).panels
    table = pe.Learned(9, 4).init(np.random.default_rng(0))["table"]
    assert panel.x.tolist() == list(range(9))
    assert np.array_equal(panel.lines[0].y, table[:, 0])


@pytest.mark.parametrize("name", ["sinusoidal", "rope"])
@pytest.mark.parametrize("length", [4, 5, 12, 64, 500])
def test_waves_move_within_the_length_and_none_hides_another(name, length):
    (panel,) = view(name, "waves", length=length).panels
    lines = np.stack([line.y for line in panel.lines])
    assert 4 <= len(lines) <= 5
    assert np.ptp(lines, axis=1).min() >= 0.5
    for i in range(len(lines)):
        for j in range(i):
            assert np.abs(lines[i] - lines[j]).max() > 0.1


def test_waves_of_what_does_not_move_are_drawn_all_the_same():
    assert len(view("sinusoidal", "waves", length=1).panels[0].lines) == 5


def test_waves_of_a_rotation_are_its_cosines():
    (panel,) = view("rope", "waves", length=5, dim=8, channels=[1]).panels
    assert np.allclose(panel.lines[0].y, np.cos(panel.x * 0.1), atol=1e-14)


def test_wavelengths_with_lengths_marked():
    made = view(["sinusoidal", "rope"], "wavelengths", tokens="我 爱 学习 AI", dim=8, trained=512)
    by_dimension, by_pair = made.panels
    periods = 2 * np.pi / frequencies(8)
    assert np.allclose(by_dimension.lines[0].y, np.repeat(periods, 2), rtol=1e-14)
    assert np.allclose(by_pair.lines[0].y, periods, rtol=1e-14)
    assert by_pair.y_axis.log
    marks = [(mark.name, mark.y) for mark in by_pair.marks]
    assert marks == [("length: 4", 4.0), ("trained length: 512", 512.0)]
    assert (by_dimension.steps, by_pair.steps) == (True, False)


def test_wavelengths_of_one_encoding_do_not_name_it_twice():
    made = view("sinusoidal", "wavelengths", length=9)
    assert made.title == "Sinusoidal(64): wavelengths"
    assert [line.name for line in made.panels[0].lines] == ["wavelength"]


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        (pe.XPos(8), [2 * np.pi / frequencies(8)]),
        (
            pe.AxialRoPE.split(8),
            2 * np.pi / np.array([[1, 0.01, np.nan, np.nan], [np.nan, np.nan, 1, 0.01]]),
        ),
        (pe.RoPE(8, scaling=pe.Proportional(0.5)), [[2 * np.pi, 20 * np.pi, np.inf, np.inf]]),
        (pe.AxialRoPE.dinov3(8), [[1, 10, np.nan, np.nan], [np.nan, np.nan, 1, 10]]),
    ],
)
def test_wavelengths_of_any_rotation_are_measured(encoding, expected):
    (panel,) = view(encoding, "wavelengths").panels
    lines = np.array([line.y for line in panel.lines])
    assert np.allclose(lines, expected, rtol=1e-12, equal_nan=True)


def test_a_line_of_fewer_pairs_ends_where_they_end():
    short, long = view(["RoPE(4)", "RoPE(8)"], "wavelengths").panels[0].lines
    assert np.isnan(short.y).tolist() == [False, False, True, True]
    assert np.isfinite(long.y).all()


def test_wavelengths_that_depend_on_the_length():
    encoding = pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 100))
    (panel,) = view(encoding, "wavelengths", length=200).panels
    assert np.allclose(panel.lines[0].y, 2 * np.pi / frequencies(8, 10_000 * 3 ** (8 / 6)))


def test_similarity():
    matrix, kernel = view("sinusoidal", "similarity", length=12, dim=16).panels
    expected = cosines(sinusoids(12, 16))
    assert np.allclose(matrix.values, expected, atol=1e-14)
    assert matrix.limit == pytest.approx(1.0)
    by_distance = [np.mean([expected[i + d, i] for i in range(12 - d)]) for d in range(12)]
    assert np.allclose(kernel.lines[0].y, by_distance, atol=1e-14)
    assert (matrix.unit, kernel.y_axis.name) == ("similarity", "")  # they stand side by side


def test_similarity_of_a_rotation_is_the_mean_cosine():
    matrix, kernel = view("rope", "similarity", length=12, dim=16).panels
    distance = np.arange(12)[:, None] - np.arange(12)
    expected = np.cos(distance[..., None] * frequencies(16)).mean(axis=-1)
    assert np.allclose(matrix.values, expected, atol=1e-13)
    assert np.allclose(kernel.lines[0].y, expected[:, 0], atol=1e-13)


def test_similarity_on_a_grid_is_with_the_point_in_the_middle():
    added, turned = view(["AxialSinusoidal(8)", "axial-rope"], "similarity", length=4).panels
    rows = sinusoids(4, 4)
    parts = cosines(rows)[:, 2]
    expected = (parts[:, None] + parts[None, :]) / 2
    assert np.allclose(added.values, expected, atol=1e-14)
    assert turned.values[2, 2] == pytest.approx(1.0)
    assert added.limit == turned.limit


def turned(x, position, dim):
    return x.view(complex) * np.exp(1j * position * frequencies(dim))


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


def apart(values):
    found = {}
    for (m, n), value in np.ndenumerate(values):
        found.setdefault(m - n, []).append(value)
    return max(max(some) - min(some) for some in found.values())


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


def test_rotation():
    made = view("rope", "rotation", tokens="犬が人を噛む", dim=8, channels=[0, 3])
    (dials,) = made.panels
    turns = np.arange(6) * frequencies(8)[[0, 3], None]
    assert np.allclose(np.exp(1j * dials.hands[..., 0]), np.exp(1j * turns), atol=1e-14)
    assert np.allclose(dials.hands[..., 1], 1.0)
    assert dials.labels == ("0 犬", "1 が", "2 人", "3 を", "4 噛", "5 む")
    assert dials.names[1] == "pair 3: 6,283 positions per turn"


def test_rotation_of_many_positions_shows_some_and_says_so():
    made = view("yarn", "rotation", length=100)
    assert made.panels[0].labels == ("0", "14", "28", "42", "57", "71", "85", "99")
    assert made.notes == ("8 of 100 positions",)
    assert np.allclose(made.panels[0].hands[..., 1], 0.1 * math.log(4) + 1)


def test_a_position_without_a_token_is_named_once():
    (dials,) = view("rope", "rotation", tokens=["a", "b", "2"]).panels
    assert dials.labels == ("0 a", "1 b", "2")


def test_rotation_shows_up_to_twelve_tokens_and_pairs_that_turn():
    (dials,) = view("rope", "rotation", tokens=list("abcdefghijkl")).panels
    assert len(dials.labels) == 12
    assert len(view("rope", "rotation", tokens=["a"] * 13).panels[0].labels) == 8
    turned = 11 * frequencies(64)[[int(name.split()[1].rstrip(":")) for name in dials.names]]
    assert len(turned) == 8
    assert (turned > 1).sum() >= 4
    assert (turned < 0.25).sum() == 2


@pytest.mark.parametrize(("dim", "length"), [(2, 1), (2, 9), (8, 1), (8, 2), (16, 3), (512, 2)])
def test_rotation_finds_pairs_of_any_width_and_length(dim, length):
    (dials,) = view("rope", "rotation", dim=dim, length=length).panels
    assert min(4, dim // 2) <= len(set(dials.names)) == len(dials.names) <= 8


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
    said = "keys ahead of their query are not seen, as in a decoder: nothing is drawn there"
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


def test_maps():
    made = view("AxialSinusoidal(8)", "maps", length=5, channels=[0, 5])
    first, second = made.panels
    assert np.allclose(first.values, np.sin(np.arange(5))[:, None] * np.ones(5), atol=1e-15)
    assert np.allclose(second.values, np.cos(np.arange(5)) * np.ones((5, 1)), atol=1e-15)
    turned = view(pe.AxialRoPE.split(8), "maps", length=5, channels=[3]).panels[0]
    assert np.allclose(turned.values, np.arange(5) * 0.01 * np.ones((5, 1)), atol=1e-15)
    assert (turned.colours, turned.limit) == ("cyclic", math.pi)


def test_maps_choose_channels_of_either_axis():
    titles = [panel.title for panel in view("mrope", "maps").panels]
    assert all(title.startswith("pair ") for title in titles)
    pairs = [int(title.split()[1]) for title in titles]
    assert any(8 <= pair < 20 for pair in pairs)
    assert any(20 <= pair < 32 for pair in pairs)
    assert not any(pair < 8 for pair in pairs)  # they follow time, which stays at 0


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("mrope", "pairs 0–7 follow axis 0"),
        ("AxialSinusoidal(12, axes=3)", "dimensions 0–3 follow axis 0"),
    ],
)
def test_maps_say_what_one_picture_does_not_show(encoding, note):
    said = f"{note}, which is the same everywhere in one picture"
    assert view(encoding, "maps", length=4).notes == (said,)
    assert view("axial-rope", "maps", length=4).notes == ()


def test_maps_of_fourier_features_have_coordinates_from_0_to_1():
    made = view("fourier-features", "maps", length=4, channels=[0])
    matrix = pe.FourierFeatures(64).init(np.random.default_rng(0))["matrix"].astype(float)
    points = (np.stack(np.mgrid[:4, :4], axis=-1) + 0.5) / 4
    assert np.allclose(made.panels[0].values, np.cos(2 * np.pi * points @ matrix[:, 0]), atol=1e-6)
    assert made.notes == ("coordinates from 0 to 1", "parameters drawn at random, seed 0")


def test_learned_beside_sinusoidal():
    table, alike, waves, waves_alike = view("learned", "learned", length=6, dim=8).panels
    drawn = pe.Learned(512, 8).init(np.random.default_rng(0))["table"][:6].astype(float)
    assert np.allclose(table.values, drawn, atol=1e-9)
    assert np.allclose(alike.values, cosines(drawn), atol=1e-7)
    assert np.allclose(waves.values, sinusoids(6, 8), atol=1e-15)
    assert np.allclose(waves_alike.values, cosines(sinusoids(6, 8)), atol=1e-14)
    assert alike.title == "Learned(512, 8): similarity of positions"
    assert waves_alike.title == "Sinusoidal(8): similarity of positions"


def test_trained_parameters_are_shown_and_not_drawn():
    params = {"table": np.arange(12.0, dtype=np.float32).reshape(3, 4)}
    made = view(pe.Learned(3, 4), "heatmap", length=3, params=params)
    assert np.array_equal(made.panels[0].values, params["table"])
    assert made.notes == ()


def test_sum():
    x, encoding, made = view("sinusoidal", "sum", tokens="the dog bit the man", dim=8).panels
    assert np.allclose(encoding.values, sinusoids(5, 8), atol=1e-15)
    assert np.array_equal(x.values + encoding.values, made.values)
    assert np.array_equal(x.values[0], x.values[3])
    from posenc.views.embedding import embeddings

    drawn = embeddings(("the", "dog", "bit", "the", "man"), 8)
    assert np.allclose(x.values, drawn * math.sqrt(0.5))  # sin^2 + cos^2 = 1 in each pair
    assert not np.isclose(x.values[0], x.values[1]).any()
    assert not np.isclose(made.values[0], made.values[3]).all()
    assert (
        x.limit == encoding.limit == made.limit == np.abs(np.stack([x.values, made.values])).max()
    )


def test_attention_does_not_see_order_without_positions():
    """The permutation demonstration: the same numbers, recomputed from the embeddings."""
    from posenc.views.embedding import embeddings
    from posenc.views.kinds.attention import shuffled

    made = view("sinusoidal", "attention", tokens="我 爱 学习 AI", dim=8, seed=3)
    without, without_again, positions, positions_again = (panel.values for panel in made.panels)
    wq, wk = np.random.default_rng(3).normal(size=(2, 8, 8)) / math.sqrt(8)
    x = embeddings(TOKENS, 8)
    q, k, e = x @ wq, x @ wk, sinusoids(4, 8)
    assert np.allclose(without, softmax(q @ k.T / math.sqrt(8)), atol=1e-14)
    assert np.allclose(positions, softmax((q + e) @ (k + e).T / math.sqrt(8)), atol=1e-13)
    order = shuffled(4, 3)
    other = softmax((q[order] + e) @ (k[order] + e).T / math.sqrt(8))
    back = np.empty_like(other)
    back[np.ix_(order, order)] = other
    assert np.allclose(positions_again, back, atol=1e-13)
    assert np.allclose(without, without_again, atol=1e-15)
    largest = np.abs(positions_again - positions).max()
    assert largest > 0.01
    assert made.panels[1].title == "shuffled and put back: differs by 0"
    assert made.panels[3].title == f"shuffled and put back: differs by {largest:.3g}"


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_shuffled_words_have_another_order(count):
    from posenc.views.kinds.attention import shuffled

    for seed in range(20):
        order = shuffled(count, seed)
        assert sorted(order) == list(range(count))
        assert count == 1 or (order != np.arange(count)).any()


@pytest.mark.parametrize(
    "name",
    [name for name, kind in pe.catalogue().items() if kind.axes is None and "ax" not in name],
)
def test_attention_of_every_encoding_of_text(name):
    if name in ("fourier-features", "learned-fourier", "swin", "swin-v2"):
        return
    made = view(name, "attention", tokens="犬が人を噛む")
    for panel in made.panels:
        assert np.allclose(panel.values.sum(axis=-1), 1.0)


def test_t5_leaves_dividing_to_its_weights_and_looks_back():
    made = view("t5", "attention", tokens="我 爱 学习 AI")
    assert made.panels[2].title == "T5Bias(8), head 1"
    assert not made.panels[2].values[np.triu_indices(4, 1)].any()
    both = view("T5Bias(8, bidirectional=True)", "attention", tokens="我 爱 学习 AI").panels
    assert np.abs(both[2].values - both[0].values).max() < 0.05  # its table is small at first


@dataclass(frozen=True)
class Mine(pe.Rotary):
    """Six lines of a reader's own."""

    dim: int = 4

    def cos_sin(self, positions, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.array([1.0, 0.25])
        return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


@pytest.mark.parametrize(
    "kind",
    ["heatmap", "waves", "wavelengths", "similarity", "products", "rotation", "decay", "attention"],
)
def test_a_class_of_ones_own_gets_every_view_of_its_mechanism(kind):
    assert kind in kinds_for(Mine())
    made = view(Mine(), kind, tokens="我 爱")
    assert json.dumps(made.to_json(), allow_nan=False)
    if kind == "wavelengths":
        assert np.allclose(made.panels[0].lines[0].y, [2 * np.pi, 8 * np.pi])


def test_a_config_is_shown_with_its_trained_length(tmp_path):
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    made = view(tmp_path / "config.json", "wavelengths")
    assert made.title == "RoPE(16, pairing='halves'): wavelengths"
    assert [mark.name for mark in made.panels[0].marks] == ["trained length: 128"]


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [
        (pe.Sinusoidal(8), "heatmap"),
        (pe.RoPE(8), "rotation"),
        (pe.ALiBi(4), "bias"),
        (pe.Shaw(8, 4), "attention"),
        (pe.AxialSinusoidal(8), "maps"),
        (pe.AxialRoPE.split(8), "maps"),
        (pe.SwinBias(2, (3, 3)), "bias"),
        (pe.Tempered(pe.RoPE(8), pe.LogN(128)), "attention"),
    ],
)
def test_each_mechanism_has_a_kind_of_its_own(encoding, kind):
    assert default_kind(encoding) == kind == view(encoding).kind


@pytest.mark.parametrize("kind", ["heatmap", "waves", "similarity", "products", "learned"])
def test_a_short_table_is_shown_as_far_as_it_goes(kind):
    panel = view(pe.Learned(5, 4), kind).panels[0]
    assert len(panel.x if kind == "waves" else panel.values) == 5
    both = view([pe.Sinusoidal(4), pe.Learned(5, 4)], "heatmap")
    assert [len(panel.values) for panel in both.panels] == [5, 5]


def test_what_has_no_kind_in_common_is_shown_as_attention():
    assert view([pe.Sinusoidal(8), pe.RoPE(8), pe.ALiBi(4)]).kind == "attention"


@pytest.mark.parametrize("name", [*pe.catalogue(), "yarn", "mrope"])
def test_every_encoding_has_every_view_that_is_promised(name):
    """Kinds that suit are made, all others are refused with a sentence; JSON has no NaN."""
    from posenc.names.resolve import found

    (encoding,) = found(name).values()
    suitable = kinds_for(encoding)
    assert suitable
    for kind in KINDS:
        if kind in suitable:
            made = view(encoding, kind, length=6)
            assert (made.kind, bool(made.panels)) == (kind, True)
            json.dumps(made.to_json(), allow_nan=False)
        else:
            with pytest.raises(ValueError, match="kind must be one that suits"):
                view(encoding, kind, length=6)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ("alibi", "rotation"),
            {},
            r"suits ALiBi \(bias, attention\); got kind='rotation', which suits rope$",
        ),
        (("rope", "pie"), {}, r"kind must be one that suits RoPE \(heatmap, .*\); got kind='pie'$"),
        (("rope", "bias"), {}, "got kind='bias', which suits alibi$"),
        (
            ("rope", "decay"),
            {"channels": [0]},
            "channels must be left out for kind 'decay', which shows all; heatmap, waves, rota",
        ),
        (("sinusoidal", "heatmap"), {"channels": [64]}, r"channels must lie in 0 \.\. 63; got 64"),
        ((["rope", "alibi"], "decay"), {}, r"suits RoPE and ALiBi \(attention\); got kind='decay'"),
        (("rope",), {"tokens": " "}, "tokens must not be empty; got tokens=' '"),
        (("rope",), {"tokens": [1]}, "each of tokens must be a string; got 1"),
        (("axial-rope",), {"tokens": "a b"}, "it does not encode the tokens of a sentence"),
        (("rope",), {"tokens": "a b", "length": 3}, "length must be left out where there are"),
        (("rope", "sum"), {"tokens": "a b"}, "kind must be one that suits RoPE"),
        (("learned", "sum"), {"tokens": "a b", "length": 3}, "length must be left out where there"),
        (("alibi", "attention"), {"tokens": "a b", "length": 3}, "length must be left out where"),
        (("rope",), {"length": 0}, "length must be a whole number of at least 1"),
        (("rope", "waves"), {"channels": [32]}, r"channels must lie in 0 \.\. 31; got 32"),
        (("rope", "waves"), {"channels": [0.5]}, "each of channels must be a whole number"),
        (("rope", "waves"), {"channels": []}, "channels must not be empty"),
        (("rope", "attention"), {"channels": []}, "channels must not be empty"),
        (("rope", "decay"), {"channels": [0]}, "channels must be left out for kind 'decay', which"),
        (([],), {}, "what is shown must be 1 to 8 encodings; got 0"),
        ((["rope"] * 9,), {}, "what is shown must be 1 to 8 encodings; got 9"),
        ((7,), {}, "what is shown must be an Encoding or name one; got 7"),
        (("rpoe",), {}, "no encoding is called 'rpoe'; did you mean rope"),
        ((pe.RoPE(8),), {"dim": 4}, "dim must be left out for what has its own size; got RoPE"),
        (("RoPE(8)",), {"dim": 4}, "dim must be left out for what has its own size"),
        ((["rope", "alibi"],), {"params": {}}, "params must be left out for several encodings"),
        (("rope",), {"seed": -1}, "seed must be a whole number of at least 0; got seed=-1"),
        (("rope",), {"lang": "fr"}, "lang must be 'en' or"),
        (("sinusoidal", "similarity"), {"length": 10_000}, "length must be .* at most 4,096"),
        (("rope", "attention"), {"length": 1000}, "tokens must be at most 512; got 1000"),
        ((pe.Learned(4, 8), "heatmap"), {"length": 5}, "positions must lie in the table"),
    ],
)
def test_what_cannot_be_shown_is_a_sentence(arguments, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        view(*arguments, **options)


def test_a_window_that_is_not_square_says_what_its_maps_show():
    long = view("SwinBias(4, (4, 16))", "bias")
    assert long.panels[0].values.shape == (7, 7)
    assert "a window of 4 × 16: keys up to 3 away are shown" in long.notes
    assert not any("window" in note for note in view("SwinBias(4, (7, 7))", "bias").notes)


def test_a_config_keeps_its_notes_and_says_which_part_has_which(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "t5", "num_heads": 8, "num_layers": 2}')
    seen = view(path, "bias", length=4)
    assert "T5Bias(8, bidirectional=True, scaled=False): encoder" in seen.notes
    assert "T5Bias(8, scaled=False): decoder" in seen.notes
    assert "layers 0-1 are the encoder's, 2-3 the decoder's" in seen.notes
    assert len(set(seen.notes)) == len(seen.notes)
    told = view(path, "bias", length=4, lang="ja").notes
    assert "T5Bias(8, scaled=False)：デコーダー" in told


@pytest.mark.parametrize("expression", ["T5Bias(8)", "FIRE(8)", "Tempered(FIRE(8), LogN(64))"])
def test_attention_is_masked_on_both_sides_or_on_neither(expression):
    """Without positions there is the same mask, so that what differs is the encoding's doing."""
    seen = view(expression, "attention", tokens="我 爱 学习 AI")
    ahead = np.triu_indices(4, 1)
    for panel in (seen.panels[0], seen.panels[2]):
        assert not panel.values[ahead].any()
    assert any("causal mask" in note for note in seen.notes)
    asked = view(expression, "attention", tokens="我 爱 学习 AI", causal=True)
    assert all((a.values == b.values).all() for a, b in zip(seen.panels, asked.panels, strict=True))
    with pytest.raises(
        ValueError, match=r"^causal must not be False for .*, meant for keys behind"
    ):
        view(expression, "attention", tokens="我 爱 学习 AI", causal=False)


def test_a_fresh_t5_hardly_changes_attention():
    """A weight w changes by w (1 - w) times a difference of biases: by at most half the largest.

    The mask alone made 0.934 of what was shown as T5's doing; that is 0.0115.
    """
    t5 = pe.T5Bias(8)
    table = t5.bias(np.arange(5), np.arange(5), t5.init(np.random.default_rng(0)))[0]
    without, _, fresh, _ = (p.values for p in view("T5Bias(8)", "attention", length=5).panels)
    assert 0 < np.abs(without - fresh).max() <= np.abs(table).max() / 2 < 0.05


def test_the_mask_is_chosen_and_alone_tells_order():
    seen = {c: view("RoPE(8)", "attention", length=4, causal=c).panels for c in (True, False, None)}
    assert not seen[True][0].values[np.triu_indices(4, 1)].any()
    assert seen[False][0].values[np.triu_indices(4, 1)].all()
    assert (seen[None][2].values == seen[False][2].values).all()
    assert seen[False][1].title == "shuffled and put back: differs by 0"
    assert seen[True][1].title != "shuffled and put back: differs by 0"
    with pytest.raises(ValueError, match=r"^causal must be left out for kind 'bias'; attention"):
        view("ALiBi(8)", "bias", causal=True)
    with pytest.raises(TypeError, match=r"^causal must be True or False; got causal=1"):
        view("ALiBi(8)", "attention", length=4, causal=1)


def test_the_head_that_is_looked_at_is_shown():
    plain = view("ALiBi(8)", "bias", length=4)
    heads = [panel.channel for panel in plain.panels[1:]]
    assert heads == [0, 2]
    same = view("ALiBi(8)", "bias", length=4, head=2)
    assert [panel.channel for panel in same.panels[1:]] == heads
    other = view("ALiBi(8)", "bias", length=4, head=6)
    assert [panel.title for panel in other.panels[1:]] == ["head 7", "head 3"]
    assert (other.panels[1].values == pe.ALiBi(8).bias(np.arange(4), np.arange(4))[6]).all()
    assert view("ALiBi(8)", "attention", length=4, head=6).panels[2].title == "ALiBi(8), head 7"
    maps = view("SwinBias(8, (3, 3))", "bias", head=6)
    assert 6 in [panel.channel for panel in maps.panels]
    beside = view(["RoPE(8)", "ALiBi(8)"], "attention", length=4, head=6)
    assert beside.panels[-2].title == "ALiBi(8), head 7"


@pytest.mark.parametrize("kind", ["bias", "attention"])
def test_a_head_that_is_not_there_is_refused(kind):
    with pytest.raises(ValueError, match=r"^head must lie in 0 \.\. 7; got 8$"):
        view("ALiBi(8)", kind, length=4, head=8)
    with pytest.raises(
        ValueError, match=r"^head must be left out for kind 'heatmap'; bias, attent"
    ):
        view("RoPE(8)", "heatmap", head=0)


@pytest.mark.parametrize(
    ("what", "kind", "own"),
    [
        (["Learned(64, 64)", "Sinusoidal(64)"], "heatmap", True),
        (["Learned(64, 64)", "Sinusoidal(64)"], "products", True),
        (["T5Bias(8)", "ALiBi(8)"], "bias", True),
        (["T5Bias(8)", "SwinV2Bias(8, (7, 7))"], "bias", True),
        (["Learned(64, 64)", "Sinusoidal(64)"], "sum", True),
        (["ALiBi(8)", "TwoSidedALiBi(8)"], "bias", False),
        (["Sinusoidal(64)", "Sinusoidal(32)"], "heatmap", False),
    ],
)
def test_pictures_that_would_be_blank_have_a_scale_of_their_own(what, kind, own):
    seen = view(what, kind, length=32)
    images = [panel for panel in seen.panels if isinstance(panel, Image)]
    sizes = [np.nanmax(np.abs(image.values)) for image in images]
    for image, size in zip(images, sizes, strict=True):
        assert size <= image.limit <= 8 * size
    assert (len({image.limit for image in images}) > 1) == own
    said = [
        note for note in seen.notes if note.startswith("each encoding has its own colour scale")
    ]
    assert len(said) == own


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


def test_the_last_step_of_the_tour_compares_what_differs():
    """Similarities of Sinusoidal and RoPE were the same within 9e-16."""
    tour = (ROOT / "web" / "src" / "tour.ts").read_text(encoding="utf-8")
    listed, kind = re.findall(r'e: \[(.*?)\], view: "(\w+)"', tour)[-1]
    names = re.findall(r'"(.*?)"', listed)
    seen = view(names, kind, tokens="the dog bit the man")
    first = {panel.of: panel.values for panel in reversed(seen.panels) if panel.of is not None}
    for one, other in itertools.combinations(first.values(), 2):
        assert np.abs(one - other).max() > 0.01
    assert "YaRN" in tour[tour.index('t("Which one to choose")') :]
