"""Sinusoidal encodings: every number recomputed by the paper's formula."""

import math

import numpy as np
import pytest

import posenc as pe
from tests.explanation.reading import columns, matrix, values_in, waves


@pytest.mark.parametrize(("dim", "position"), [(8, 3), (2, 0), (16, 4095)])
def test_sinusoidal(dim, position):
    explained = pe.explain("sinusoidal", dim=dim, position=position, length=5)
    i = np.arange(dim // 2)
    told = columns(explained["frequencies"])
    assert told["exponent"] == pytest.approx(2 * i / dim)
    assert told["divisor"] == pytest.approx(10_000.0 ** (2 * i / dim))
    assert told["wavelength"] == pytest.approx(2 * np.pi * 10_000.0 ** (2 * i / dim))
    told, truth = columns(explained["angles"]), waves([position], dim)[0]
    assert told["angle"] == pytest.approx(position * 10_000.0 ** (-2 * i / dim))
    assert told["sin"] == pytest.approx(truth[0::2])
    assert told["cos"] == pytest.approx(truth[1::2])
    assert matrix(explained["encodings"]) == pytest.approx(waves(range(5), dim))
    embeddings = np.add.outer(np.arange(5), np.arange(dim)) / 10 + 0.1
    assert matrix(explained["addition"]) == pytest.approx(embeddings + waves(range(5), dim))
    moved = matrix(explained["shift"]) @ truth
    assert moved == pytest.approx(waves([position + 1], dim)[0])


def test_the_formulas_of_sinusoidal_have_their_numbers():
    explained = pe.explain("sinusoidal", position=3)
    truth = waves([3], 8)[0]
    formulas = explained["angles"].formulas
    assert len(formulas) == 8
    for c, formula in enumerate(formulas):
        position, column, _, base, exponent, angle, value = values_in(formula)
        assert (position, column, base) == (3, c, 10_000)
        assert exponent == 2 * (c // 2) / 8
        assert angle == pytest.approx(3 / 10_000**exponent)
        assert value == pytest.approx(truth[c])
    assert "PE_(3, 2) = sin(3/10000^0.25) = sin(0.3) = 0.2955" in str(explained)
    *block_and_vector, sine, cosine = values_in(explained["shift"].formulas[0])
    assert [sine, cosine] == pytest.approx(waves([4], 8)[0][2:4])
    c, s = math.cos(0.1), math.sin(0.1)
    assert block_and_vector == pytest.approx([c, s, -s, c, *truth[2:4]])


def test_the_sum_and_the_shift_say_their_own_numbers():
    explained = pe.explain("sinusoidal", length=3)
    embedding, encoding, total = values_in(explained["addition"].formulas[0])
    assert (embedding, encoding) == pytest.approx((0.3, math.sin(2)))
    assert total == pytest.approx(0.3 + math.sin(2))
    encoding = pe.Sinusoidal(8)
    here, there = encoding.encode([3, 4])
    error = np.abs(encoding.shift(1) @ here - there).max()
    assert f"differs from PE(4) by {error:.2g} at most" in explained["shift"].words


def test_sinusoidal_in_the_layout_of_tensor2tensor():
    explained = pe.explain(pe.Sinusoidal(7, layout="concat", spacing="t2t"), position=2)
    assert columns(explained["frequencies"])["exponent"] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    told = columns(explained["angles"])
    assert told["dimension"] == [0, 1, 2, 3]
    assert told["cos"][-1] == ""  # the last sine has no partner
    assert [step.name for step in explained.steps][-1] == "addition"  # and so no shift
