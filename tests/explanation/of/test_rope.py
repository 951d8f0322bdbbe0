"""RoPE and xPos: every number recomputed by complex numbers."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import maths
from tests.explanation.reading import cell_lines, columns, matrix, values_in


def turned(x, p, w):
    """R(p) x of neighbouring pairs by complex numbers."""
    z = (x[0::2] + 1j * x[1::2]) * np.exp(1j * p * w)
    return np.stack([z.real, z.imag], axis=1).ravel()


@pytest.fixture
def query_and_key():
    legacy = np.random.RandomState(42)
    return legacy.randn(8), legacy.randn(8)


def test_rope(query_and_key):
    q, k = query_and_key
    w = 10_000.0 ** (-np.arange(4) / 4)
    explained = pe.explain("rope", position=3)
    told = columns(explained["frequencies"])
    assert told["frequency"] == pytest.approx(w)
    assert told["wavelength"] == pytest.approx(2 * np.pi / w)
    told = columns(explained["pairs"])
    assert told["channels"] == ["0, 1", "2, 3", "4, 5", "6, 7"]
    assert (told["x"], told["y"]) == (pytest.approx(q[0::2]), pytest.approx(q[1::2]))
    told = columns(explained["angles"])
    assert told["angle"] == pytest.approx(3 * w)
    assert told["cos"] == pytest.approx(np.cos(3 * w))
    assert told["sin"] == pytest.approx(np.sin(3 * w))
    after = turned(q, 3, w)
    told = columns(explained["rotation"])
    assert (told["x′"], told["y′"]) == (pytest.approx(after[0::2]), pytest.approx(after[1::2]))
    for i, formula in enumerate(explained["rotation"].formulas):
        c, s = math.cos(3 * w[i]), math.sin(3 * w[i])
        pair = slice(2 * i, 2 * i + 2)
        assert values_in(formula) == pytest.approx([c, -s, s, c, *q[pair], *after[pair]])
    assert matrix(explained["flattened"]) == pytest.approx(np.stack([q, after]))
    assert explained["norms"].table.rows[0] == pytest.approx([np.linalg.norm(q)] * 2)
    for m, n, distance, product, exchanged in explained["relative"].table.rows:
        assert distance == m - n
        assert product == pytest.approx(turned(q, m, w) @ turned(k, n, w))
        assert exchanged == pytest.approx(turned(k, m, w) @ turned(q, n, w))


@pytest.mark.parametrize("rotated", ["leading", "trailing"])
def test_the_channels_of_a_pair_follow_pairing_and_part(rotated):
    rope = pe.RoPE(10, rotary_dim=4, pairing="halves", rotated=rotated)
    first = 0 if rotated == "leading" else 6
    explained = pe.explain(rope, position=5)
    q = np.random.RandomState(42).randn(10)
    told = columns(explained["pairs"])
    assert told["channels"] == [f"{first}, {first + 2}", f"{first + 1}, {first + 3}"]
    assert told["x"] == pytest.approx(q[first : first + 2])
    assert told["y"] == pytest.approx(q[first + 2 : first + 4])


def test_xpos_has_a_factor_for_each_pair():
    told = columns(pe.explain("xpos", position=3)["angles"])
    w, zeta = 10_000.0 ** (-np.arange(4) / 4), (np.arange(4) / 4 + 0.4) / 1.4
    assert told["cos"] == pytest.approx(np.cos(3 * w))
    assert told["sin"] == pytest.approx(np.sin(3 * w))
    assert told["factor"] == pytest.approx(zeta ** (3 / 512))
    x = np.random.RandomState(42).randn(2, 8)
    q, k = x[:, 0::2] + 1j * x[:, 1::2]
    for m, n, _, product, exchanged in pe.explain("xpos")["relative"].table.rows:
        turn = np.exp(1j * (m - n) * w) * zeta ** ((m - n) / 512)
        assert product == pytest.approx((q * k.conj() * turn).sum().real)
        assert exchanged == pytest.approx((k * q.conj() * turn).sum().real)


def test_the_formula_of_rope_turns_to_the_left():
    (_, turn) = pe.explain("rope")["formula"].formulas
    assert maths.text(turn) == "[x′; y′] = [cos θ −sin θ; sin θ cos θ][x; y]"


def test_the_formula_of_rope_has_the_channels_that_turn():
    (angle, _) = pe.explain(pe.RoPE(8, rotary_dim=4))["formula"].formulas
    assert maths.text(angle) == "θ_(p, i) = p · 10000^(−2i/4)"
    (angle, _) = pe.explain(pe.RoPE(8))["formula"].formulas
    assert maths.text(angle) == "θ_(p, i) = p · 10000^(−2i/d)"


def test_rope_says_where_its_angle_is_from():
    told = cell_lines("RoPE(8)", 5, 4)
    assert told["formula"] == ["θ_(p, i) = p · w_i", "w_i = 10000^(−2i/d)"]
    assert told["numbers"][:2] == ["w_2 = 10000^(−4/8) = 0.01", "θ_(5, 2) = 5 · 0.01 = 0.05"]
    told = cell_lines("RoPE(8, rotary_dim=4, rotated='trailing')", 5, 6)
    assert told["formula"][1] == "w_i = 10000^(−2i/4)"
    assert told["numbers"][0] == "w_1 = 10000^(−2/4) = 0.01"
    told = cell_lines("AxialRoPE.split(8)", (3, 5), 6)
    assert told["formula"] == ["θ_(p, i) = p_1 · w_i"]
    assert told["numbers"][:2] == ["w_3 = 0.01", "θ_(5, 3) = 5 · 0.01 = 0.05"]
