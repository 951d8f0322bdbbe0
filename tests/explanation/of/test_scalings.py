"""Scalings: each frequency recomputed by its paper's formula."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import maths
from posenc.explanation.cell import cell
from tests.explanation.evaluating import computed, sides
from tests.explanation.reading import LONG, cell_lines, columns, encoding_at, values_in


def test_yarn_frequency_by_frequency():
    explained = pe.explain("yarn", dim=64)
    told = columns(explained["frequencies"])
    w = 10_000.0 ** (-np.arange(32) / 32)
    low, high = (
        64 * math.log(4096 / (turns * 2 * math.pi)) / (2 * math.log(10_000)) for turns in (32, 1)
    )
    ramp = np.clip((np.arange(32) - math.floor(low)) / (math.ceil(high) - math.floor(low)), 0, 1)
    assert told["w"] == pytest.approx(w)
    assert told["turns"] == pytest.approx(4096 * w / (2 * np.pi))
    assert told["γ"] == pytest.approx(1 - ramp)
    assert told["w′"] == pytest.approx(ramp * w / 4 + (1 - ramp) * w)
    assert told["w′/w"] == pytest.approx(ramp / 4 + 1 - ramp)
    angles = columns(explained["angles"])
    assert angles["cos"] == pytest.approx(np.cos(3 * np.array(told["w′"])))
    assert angles["factor"] == pytest.approx([0.1 * math.log(4) + 1] * 32)
    assert values_in(explained["attention-factor"].formulas[0])[-1] == pytest.approx(
        0.1 * math.log(4) + 1
    )
    angles = columns(explained["angles"])
    assert angles["angle"] == pytest.approx(3 * np.array(told["w′"]))
    assert angles["cos"] == pytest.approx(np.cos(angles["angle"]))  # without the factor
    assert angles["sin"] == pytest.approx(np.sin(angles["angle"]))
    assert angles["factor"] == pytest.approx([0.1 * math.log(4) + 1] * 32)
    assert maths.text(explained["formula"].formulas[0]) == "θ_(p, i) = p · w′_i"
    _, worked = explained["frequencies"].formulas
    i, _, gamma, before, factor, again, before_again, after = values_in(worked)
    assert (gamma, before) == (again, before_again)
    assert after == pytest.approx((1 - gamma) * before / factor + gamma * before)
    assert after == pytest.approx(told["w′"][i])


def test_a_scaling_that_depends_on_the_length_is_for_a_text_that_ends_at_the_position():
    explained = pe.explain(pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 4096)), position=8191)
    base, factor, *_, grown = values_in(explained["frequencies"].formulas[0])
    assert (base, factor) == (10_000, pytest.approx(3.0))
    assert grown == pytest.approx(10_000 * 3 ** (8 / 6))
    assert columns(explained["frequencies"])["w′"] == pytest.approx(grown ** (-np.arange(4) / 4))


@pytest.mark.parametrize(
    ("scaling", "formula"),
    [
        (pe.YaRN(4.0, 4096), "m = 0.1 · ln s + 1 = 1.1386"),
        (pe.YaRN(4.0, 4096, attention_factor=1.25), "m = 1.25"),
        (pe.YaRN(4.0, 4096, mscale=2.0, mscale_all_dim=1.0), "m = 1.1218"),
    ],
)
def test_the_attention_factor_says_where_it_is_from(scaling, formula):
    explained = pe.explain(pe.RoPE(8, scaling=scaling))
    assert [maths.text(f) for f in explained["attention-factor"].formulas] == [formula]


def test_llama3_frequency_by_frequency():
    told = columns(pe.explain("llama3", dim=128)["frequencies"])
    w = 500_000.0 ** (-np.arange(64) / 64)
    wavelength = 2 * np.pi / w
    smooth = (8192 / wavelength - 1) / (4 - 1)
    scaled = np.where(
        wavelength > 8192,
        w / 8,
        np.where(wavelength < 8192 / 4, w, (1 - smooth) * w / 8 + smooth * w),
    )
    assert told["w′"] == pytest.approx(scaled)
    assert told["wavelength"] == pytest.approx(2 * np.pi / scaled)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("interpolation", lambda i: np.full(4, 0.25)),
        ("ntk", lambda i: 4.0 ** (-i / 3)),
        ("p-rope", lambda i: (i < 1) * 1.0),
    ],
)
def test_other_scalings(name, ratio):
    explained = pe.explain(name)
    assert columns(explained["frequencies"])["w′/w"] == pytest.approx(ratio(np.arange(4)))
    if name == "ntk":
        *_, base = values_in(explained["frequencies"].formulas[0])
        assert base == pytest.approx(10_000 * 4 ** (8 / 6))


SCALED = [
    ("YaRN(4.0, 4096)", 5, 0, "YaRN(4.0, 4096) keeps the frequency of pair 0.", 1.0),
    (
        "YaRN(4.0, 4096)",
        5,
        4,
        "YaRN(4.0, 4096) multiplies the frequency of pair 2 by 0.625: 0.01 becomes 0.00625.",
        0.625,
    ),
    (
        "Interpolation(4.0)",
        5,
        2,
        "Interpolation(4.0) multiplies the frequency of pair 1 by 0.25: 0.1 becomes 0.025.",
        0.25,
    ),
    (
        "DynamicNTK(2.0, 64)",
        127,
        6,
        "NTK(3.0) multiplies the frequency of pair 3 by 0.3333: 0.001 becomes 0.0003333.",
        1 / 3,
    ),
    (
        "Proportional(0.5)",
        5,
        4,
        "Proportional(0.5) stops pair 2: its frequency becomes 0.",
        0.0,
    ),
    ("Proportional(0.5)", 5, 2, "Proportional(0.5) keeps the frequency of pair 1.", 1.0),
    (LONG, 4096, 7, "by 0.03125: 0.001 becomes 3.125e-05.", 1 / 32),
    (LONG, 4095, 7, "by 0.5: 0.001 becomes 0.0005.", 1 / 2),
]


@pytest.mark.parametrize(("scaling", "place", "channel", "words", "ratio"), SCALED)
def test_a_scaling_says_what_it_does_to_the_pair(scaling, place, channel, words, ratio):
    encoding = encoding_at(f"RoPE(8, scaling={scaling})", place)
    told = cell(encoding, place, channel)
    (step,) = [step for step in told.steps if step.name == "scaling"]
    assert words in step.words
    assert ("multiplied by a factor" in step.words) == (encoding.attention_factor != 1)
    first, *_, last = [sides(formula) for formula in step.to_json()["formulas"]]
    assert [computed(side) for side in first[1:]] == pytest.approx([10 ** -(channel // 2)] * 2)
    assert [computed(side) for side in last[1:]] == pytest.approx([ratio] * 2)


def test_a_scaling_is_made_of_its_own_numbers():
    told = cell_lines("RoPE(8, scaling=NTK(4.0))", 5, 6)["scaling"]
    assert told[1:3] == ["b′ = 10000 · 4^(8/6) = 63496.0421", "w′_3 = 63496.0421^(−6/8) = 0.00025"]
    told = cell_lines("RoPE(8, scaling=YaRN(4.0, 4096))", 5, 4)["scaling"]
    assert told[1:3] == [
        "w′_i = (1 − γ_i) · w_i/s + γ_i · w_i",
        "w′_2 = (1 − 0.5) · 0.01/4 + 0.5 · 0.01 = 0.0063",
    ]
    told = cell_lines(f"RoPE(8, scaling={LONG})", 5000, 7)["scaling"]
    assert told[1:3] == ["w′_i = w_i/λ_i", "w′_3 = 0.001/32 = 3.125e-05"]
