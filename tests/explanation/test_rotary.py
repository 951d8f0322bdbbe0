"""Any rotation: pairs, angles, the vector turned, and products that see the distance only."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.rotary import RELATIVE, point_at
from tests.explanation.reading import columns, matrix


@dataclass(frozen=True)
class Clockwork(pe.Rotary):
    """Two pairs, of one radian and of half a radian for each position, twice as long."""

    dim: int = 4
    factor: float = 1.0

    @property
    def traits(self):
        return pe.Traits(relative=True, norm_preserving=self.factor == 1)

    def cos_sin(self, positions, params=None, *, dtype=None):
        angles = np.asarray(positions)[..., None] * np.array([1.0, 0.5])
        return self.factor * np.cos(angles), self.factor * np.sin(angles)


def test_each_pair_is_turned_by_its_angle():
    explained = pe.explain(Clockwork(), position=2)
    assert columns(explained["angles"])["cos"] == pytest.approx(np.cos([2.0, 1.0]))
    _, x, y, x2, y2 = columns(explained["rotation"]).values()
    turned = (np.array(x) + 1j * np.array(y)) * np.exp(1j * np.array([2.0, 1.0]))
    assert np.array(x2) + 1j * np.array(y2) == pytest.approx(turned)
    before, after = matrix(explained["flattened"])
    assert np.linalg.norm(before) == pytest.approx(np.linalg.norm(after))
    assert explained["norms"].words == "A rotation keeps the length of the vector."


def test_equal_distances_have_equal_products():
    rows = columns(pe.explain(Clockwork(), position=2)["relative"])
    assert [*zip(rows["m"], rows["n"], strict=True)] == [*RELATIVE]
    by_distance = {}
    for distance, product in zip(rows["m − n"], rows["q_m · k_n"], strict=True):
        by_distance.setdefault(distance, []).append(product)
    assert set(by_distance) == {0, 10, -10}
    assert all(each == pytest.approx([each[0]] * len(each)) for each in by_distance.values())


def test_a_factor_has_a_column_of_its_own():
    explained = pe.explain(Clockwork(factor=2.0), position=2)
    *_, cos, _, factors = columns(explained["angles"]).values()
    assert factors == pytest.approx([2.0, 2.0])
    assert cos == pytest.approx(np.cos([2.0, 1.0]))
    assert "the length of the vector changes" in explained["norms"].words


def test_on_several_axes_a_position_is_a_point():
    assert point_at(pe.RoPE(8), 3).tolist() == [3]
    assert point_at(pe.AxialRoPE.split(12, axes=3), 3).tolist() == [[3, 4, 5]]
