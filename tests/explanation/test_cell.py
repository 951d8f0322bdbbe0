"""Cells: every number that a formula shows, put together again without posenc, is the result."""

import re

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import Cell, cell, convention
from posenc.i18n import LANGUAGES
from posenc.names.resolve import evaluate_encoding
from tests.explanation.evaluating import computed, sides
from tests.explanation.reading import LONG, cell_lines, draw_params, encoding_at, formula_lines

POINTS = [(0, 0), (3, 5), (11, 2)]
UNIT = [(0.0, 0.5), (0.21875, 0.90625)]
PAIRS = [(0, 0), (9, 2), (2, 9), (700, 1), (5, 5)]
NEAR = [((6, 6), (0, 3)), ((6, 6), (6, 6)), ((2, 1), (5, 6))]
ADDED = [
    ("Learned(16, 8)", [(3, 2), (15, 7), (0, 0)]),
    ("Sinusoidal(8)", [(3, 2), (1000, 7), (0, 1)]),
    ("Sinusoidal(8, layout='concat')", [(3, 2), (1000, 7)]),
    ("Sinusoidal(8, spacing='t2t', base=100.0)", [(3, 6), (12, 1)]),
    ("AxialSinusoidal(16)", [(p, d) for p in POINTS for d in (0, 5, 9, 15)]),
    ("AxialSinusoidal.mae(16)", [(p, d) for p in POINTS for d in (0, 5, 9, 15)]),
    ("AxialSinusoidal(14, 3)", [((1, 2, 3), d) for d in (0, 5, 9, 13)]),
    ("FourierFeatures(8)", [(p, d) for p in UNIT for d in (0, 3, 4, 7)]),
    ("FourierFeatures.sam(8)", [(p, d) for p in UNIT for d in (0, 3, 4, 7)]),
    ("FourierFeatures(8, 1)", [((0.25,), d) for d in (0, 5)]),
    ("LearnedFourier(8)", [(p, d) for p in UNIT for d in (0, 7)]),
]
ROTATED = [
    ("RoPE(8)", [(5, d) for d in range(8)]),
    ("RoPE(8, pairing='halves', base=500.0)", [(5, d) for d in range(8)]),
    ("RoPE(8, rotary_dim=4)", [(5, d) for d in range(4)]),
    ("RoPE(8, rotary_dim=4, rotated='trailing')", [(5, d) for d in range(4, 8)]),
    (
        "RoPE(10, rotary_dim=6, rotated='trailing', pairing='halves')",
        [(7, d) for d in range(4, 10)],
    ),
    ("RoPE(8, scaling=YaRN(4.0, 4096))", [(5000, d) for d in range(8)]),
    ("RoPE(8, scaling=YaRN(4.0, 4096), rotary_dim=4)", [(5000, d) for d in range(4)]),
    ("RoPE(8, base=500000.0, scaling=Llama3(8.0, 8192))", [(9000, d) for d in range(8)]),
    ("RoPE(8, scaling=Interpolation(4.0))", [(5, d) for d in (0, 3, 7)]),
    ("RoPE(8, scaling=NTK(4.0))", [(5, d) for d in (0, 3, 7)]),
    ("RoPE(8, scaling=DynamicNTK(2.0, 64))", [(200, d) for d in (0, 3, 7)]),
    ("RoPE(8, scaling=Proportional(0.5, 2.0))", [(5, d) for d in range(8)]),
    (f"RoPE(8, scaling={LONG})", [(5, d) for d in (0, 3, 7)]),
    (f"RoPE(8, scaling={LONG})", [(5000, d) for d in (0, 3, 7)]),
    ("XPos(8)", [(5, d) for d in range(8)]),
    ("XPos(8, centre=100.0, pairing='halves')", [(300, d) for d in range(8)]),
    ("AxialRoPE.split(8)", [(p, d) for p in POINTS for d in range(8)]),
    ("AxialRoPE.mrope(16, sections=(2, 3, 3))", [((4, 1, 2), d) for d in range(16)]),
]
BIASES = [
    ("ALiBi(8)", PAIRS),
    ("ALiBi(8, future='offset')", PAIRS),
    ("ALiBi(6)", PAIRS),
    ("ALiBi(6, slopes='paper')", PAIRS),
    ("ALiBi.falcon(4, 64)", PAIRS),
    ("ALiBi(6, divisor=3.0)", PAIRS),
    ("TwoSidedALiBi(4)", PAIRS),
    ("KERPLE(4)", PAIRS),
    ("KERPLE(4, kernel='power')", PAIRS),
    ("FIRE(4)", PAIRS),
    ("Sandwich(4)", PAIRS),
    ("T5Bias(4, bidirectional=False)", PAIRS),
    ("T5Bias(4, bidirectional=True)", PAIRS),
    ("ClippedBias(4, 8)", PAIRS),
    ("SwinBias(4, (7, 7))", NEAR),
    ("SwinV2Bias(4, (7, 7))", NEAR),
    ("SwinV2Bias(4, (8, 8), pretrained_window=(4, 6))", NEAR),
    ("NoPE()", PAIRS),
]
SCORES = [("Shaw(8, 4)", PAIRS), ("TransformerXL(2, 8)", PAIRS)]
EVERY = [
    pytest.param(expression, *place, id=f"{expression} {place}")
    for expression, places in (*ADDED, *ROTATED, *BIASES, *SCORES)
    for place in places
]


def the_number(encoding: pe.Encoding, place, other) -> float:
    """What the library's own call gives, in float64."""
    params = {k: np.asarray(v, dtype=np.float64) for k, v in draw_params(encoding).items()}
    q, k = np.array([place]), np.array([other])
    match encoding:
        case pe.Additive():
            return float(encoding.encode(q, params, dtype=np.float64)[0, other])
        case pe.Bias():
            return float(encoding.bias(q, k, params)[0, 0, 0])
        case pe.Rotary():
            dim = encoding.dim
            width = encoding.rotary_dim or dim
            begin = dim - width if encoding.rotated == "trailing" else 0
            channel = other - begin
            first = channel % (width // 2) if encoding.pairing == "halves" else channel // 2 * 2
            x = np.zeros((1, dim))
            x[0, begin + first] = 1.0  # the first of its pair: it becomes (cos, sin)
            return float(encoding.rotate(x, q)[0, other])
        case _:
            x = np.random.default_rng(0).normal(size=(encoding.heads or 1, 1, 8))
            return float(encoding.scores(x, x, q, k, params)[0, 0, 0])


@pytest.mark.parametrize(("expression", "place", "other"), EVERY)
def test_a_cell_is_worked_out(expression, place, other):
    """Made once and looked at from every side: there are hundreds of them."""
    encoding = encoding_at(expression, place)
    told = cell(encoding, place, other, draw_params(encoding))
    the_formula_gives_the_number(encoding, place, other, told)
    numbers_are_put_in_before_the_result(expression, told.to_json())
    every_equation_holds_and_every_table_adds_up(told.to_json())
    letters_come_before_numbers(told)
    a_negative_number_after_a_sign_is_in_brackets(told)


def the_formula_gives_the_number(encoding, place, other, told):
    truth = the_number(encoding, place, other)
    assert told.truth == pytest.approx(truth, rel=1e-12, abs=1e-12)
    assert told.value == pytest.approx(truth, rel=2e-6, abs=2e-6)
    numbers = next(step for step in told.to_json()["steps"][::-1] if step["formulas"])
    last = [computed(side) for side in sides(numbers["formulas"][-1])]
    shown = [value for value in last if value is not None]
    assert shown, "no side of the last formula is a number"
    for value in shown:
        assert value == pytest.approx(truth, rel=1e-9, abs=1e-9)


TABLES = {"Learned": 1, "T5Bias": 1, "ClippedBias": 1, "SwinBias": 1, "NoPE": 1}


def numbers_are_put_in_before_the_result(expression, told):
    """But for what is looked up, a formula with numbers stands before its result."""
    numbers = next(step for step in told["steps"][::-1] if step["formulas"])
    shown = [computed(side) for side in sides(numbers["formulas"][-1])]
    least = TABLES.get(expression.partition("(")[0], 2)
    assert sum(value is not None for value in shown) >= least


def every_equation_holds_and_every_table_adds_up(told):
    for step in told["steps"]:
        for formula in step["formulas"]:
            found = [value for value in map(computed, sides(formula)) if value is not None]
            for value in found[1:]:
                assert value == pytest.approx(found[0], rel=1e-9, abs=1e-9)
        if step["table"] and " · " in step["table"]["columns"][-1]:
            for *_, left, right, product in step["table"]["rows"]:
                assert left * right == pytest.approx(product, rel=1e-12, abs=1e-15)
            total = sum(line[-1] for line in step["table"]["rows"])
            _, [_, [_, summed, *_]], _ = sides(told["steps"][-1]["formulas"][-1])
            assert computed(["row", summed]) == pytest.approx(total, rel=1e-9, abs=1e-9)


def letters_come_before_numbers(told):
    steps = [step for step in told.steps if step.name != "unseen"]
    assert steps[0].name == "formula"
    assert steps[-1].name == "numbers"
    assert [step.name for step in steps].count("numbers") == 1
    assert all(computed(s) is None for f in steps[0].to_json()["formulas"] for s in sides(f)[:1])


def a_negative_number_after_a_sign_is_in_brackets(told):
    for lines in formula_lines(told).values():
        for line in lines:
            assert not re.search(r"[+−·] -", line), line


def test_negative_numbers_of_ones_own_are_in_brackets():
    told = cell_lines("SwinBias(4, (7, 7))", (2, 1), (5, 6))
    assert told["formula"][1] == "r = (y + H − 1) · (2W − 1) + x + W − 1"
    assert told["numbers"][0] == "r = (-3 + 7 − 1) · (2 · 7 − 1) + (-5) + 7 − 1 = 40"
    assert "p − (-5)" in cell_lines("XPos(8, centre=-5.0)", 3, 2)["formula"][0]
    turned = cell_lines("AxialRoPE(4, PairTable((0, 1), (1.0, -0.5)))", (3, 4), 2)
    assert turned["numbers"][1] == "θ_(4, 1) = 4 · (-0.5) = -2"


def test_steps_below_the_least_truth_are_those_at_it():
    assert Cell((), 2.0**-30, 0.0).ulps == 2.0**-30 / 2.0**-47
    assert Cell((), 2.0**-30, 2.0**-31).ulps == 2.0**-31 / 2.0**-47
    assert Cell((), 1.0 + 2.0**-23, 1.0).ulps == 1
    assert Cell((), -3.0, -3.0 + 2.0**-22).ulps == 1


def test_the_convention_names_the_scaling_and_what_turns():
    told = convention(
        evaluate_encoding("RoPE(8, rotary_dim=4, rotated='trailing', scaling=YaRN(4.0, 4096))")
    )
    assert told == {
        "base": 10_000.0,
        "pairing": "interleaved",
        "rotary_dim": 4,
        "rotated": "trailing",
        "scaling": "YaRN(4.0, 4096)",
    }
    assert "scaling" not in convention(pe.RoPE(8))
    many = pe.RoPE(16, scaling=pe.LongRoPE((1.0,) * 8, (1.0, *(2.5,) * 7), 4096))
    assert convention(many)["scaling"] == "LongRoPE((1.0, 1.0, …), (1.0, 2.5, …), 4096)"
    assert "std" not in convention(pe.T5Bias(4))


@pytest.mark.parametrize("lang", LANGUAGES[1:])
@pytest.mark.parametrize(
    "expression", [expression for expression, _ in (*ADDED, *ROTATED, *BIASES, *SCORES)]
)
def test_words_are_in_every_language(expression, lang):
    place, other = dict((*ADDED, *ROTATED, *BIASES, *SCORES))[expression][0]
    encoding = encoding_at(expression, place)
    english = cell(encoding, place, other, draw_params(encoding)).to_json()["steps"]
    said = cell(encoding, place, other, draw_params(encoding), lang=lang).to_json()["steps"]
    for here, there in zip(english, said, strict=True):
        assert here["words"] != there["words"]
        assert here["formulas"] == there["formulas"]


def test_what_a_place_must_be():
    with pytest.raises(TypeError, match=r"place must be a tuple of 2 numbers, .*; got 3"):
        cell(pe.AxialSinusoidal(8), 3, 0)
    with pytest.raises(TypeError, match=r"other must be a tuple of 2 numbers"):
        cell(pe.SwinBias(4, (7, 7)), (1, 2), 3, draw_params(pe.SwinBias(4, (7, 7))))
    with pytest.raises(TypeError, match="place must be a whole number"):
        cell(pe.Sinusoidal(8), (1, 2), 0)
    with pytest.raises(ValueError, match="each of place must be a finite number of at least 0"):
        cell(pe.AxialSinusoidal(8), (1, -2), 0)
    with pytest.raises(ValueError, match=r"dimension must be 0 .. 7; got 8"):
        cell(pe.AxialSinusoidal(8), (1, 2), 8)


HEADED = [(e, places[1]) for e, places in (*BIASES, *SCORES) if "NoPE" not in e and "Shaw" not in e]


@pytest.mark.parametrize(("expression", "where"), HEADED)
def test_the_cell_of_another_head_is_worked_with_its_numbers(expression, where):
    encoding = evaluate_encoding(expression)
    params = draw_params(encoding)
    last = encoding.heads - 1
    told = cell(encoding, *where, params, head=last)
    q, k = (np.array([place]) for place in where)
    wide = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
    if isinstance(encoding, pe.Bias):
        truth = float(encoding.bias(q, k, wide)[last, 0, 0])
    else:
        x = np.random.default_rng(0).normal(size=(encoding.heads, 1, encoding.dim))
        truth = float(encoding.scores(x, x, q, k, wide)[last, 0, 0])
    assert told.truth == pytest.approx(truth, rel=1e-12, abs=1e-12)
    formula = told.to_json()["steps"][-1]["formulas"][-1]
    for value in map(computed, sides(formula)):
        assert value is None or value == pytest.approx(truth, rel=1e-9, abs=1e-9)
    with pytest.raises(ValueError, match=f"at most {last}; got head={last + 1}"):
        cell(encoding, *where, params, head=last + 1)


@pytest.mark.parametrize(
    ("encoding", "key", "ahead"),
    [
        (pe.T5Bias(2), 3, True),
        (pe.T5Bias(2), 2, False),
        (pe.T5Bias(2, bidirectional=True), 3, False),
        (pe.FIRE(2), 3, True),
        (pe.ALiBi(2), 3, False),
    ],
)
def test_the_cell_of_a_key_that_is_not_seen_says_so(encoding, key, ahead):
    worked = cell(encoding, 2, key, encoding.init(np.random.default_rng(0)))
    said = (
        "Key 3 is ahead of query 2: a decoder does not see it, and its mask takes the place of "
        "this number."
    )
    assert (worked.steps[0].words == said) == ahead
    assert ("unseen" in [step.name for step in worked.steps]) == ahead
