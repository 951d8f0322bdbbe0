"""The view `rotation`: its numbers, recomputed in float64 with plain NumPy."""

import math

import numpy as np
import pytest

from posenc.views import view
from tests.views.formulas import frequencies


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
