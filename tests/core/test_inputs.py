"""What methods take: shapes that fit, heads that repeat, a length that can be read."""

import numpy as np
import pytest

import posenc as pe
from posenc.core import inputs


def test_positions_for_x_are_one_row_or_one_for_each_of_the_batch():
    x = np.zeros((2, 3, 5, 4))
    for p in (range(5), np.zeros((2, 5), int), np.zeros((1, 5), int)):
        assert inputs.positions_for("x", x, p).shape == np.shape(p)
    for p in (range(4), np.zeros((3, 5), int)):
        with pytest.raises(ValueError, match=r"must agree; got shapes \(2, 3, 5, 4\) and"):
            inputs.positions_for("x", x, p)
    assert inputs.positions_for("x", x, np.zeros((5, 2)), axes=2).shape == (5, 2)


@pytest.mark.parametrize(
    ("x", "error"),
    [
        (np.zeros((2, 2), int), TypeError),
        (np.zeros((2, 2), complex), TypeError),
        (np.zeros(2), ValueError),
    ],
)
def test_what_is_rotated_is_floating_and_has_channels(x, error):
    with pytest.raises(error, match=r"^q must "):
        inputs.check_floating("q", x)


def test_heads_of_keys_are_repeated_for_their_group():
    k, q = np.arange(2.0).reshape(1, 2, 1, 1), np.zeros((1, 6, 1, 1))
    assert inputs.repeat_heads("k", k, q).ravel().tolist() == [0, 0, 0, 1, 1, 1]
    assert inputs.repeat_heads("k", k, q[:, :2]) is k
    with pytest.raises(ValueError, match="heads of q being a multiple of those of k"):
        inputs.repeat_heads("k", k, q[:, :5])


def test_the_length_of_a_text_is_one_more_than_its_largest_position():
    assert inputs.span(np.array([3, 1]), np.array([], int)) == 4
    assert inputs.span(np.array([-5])) == 1
    assert inputs.span() == 1
    with pytest.raises(ValueError, match="positions must be finite; got inf"):
        inputs.span(np.array([np.inf]))


def test_an_encoding_is_settled_by_the_largest_of_all_positions():
    rope = pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 16))
    settled = inputs.at_length_of(rope, np.arange(4), np.arange(40))
    assert settled == rope.at(40)
    assert inputs.at_length_of(settled, np.arange(80)) is settled


def test_a_table_gets_axes_for_the_heads():
    table, x = np.zeros((2, 5, 3)), np.zeros((2, 7, 8, 5, 6))
    assert inputs.beside_heads(table, x).shape == (2, 1, 1, 5, 3)
    assert inputs.beside_heads(table[0], x).shape == (5, 3)


def test_features_are_a_pair_and_no_mask_is_left_out():
    class Gated(pe.NoPE):
        needs = frozenset({"features"})

    features = np.ones((3, 2))
    assert [*inputs.read_needs(Gated(), features=features)["features"]] == [features] * 2
    pair = (features, 2 * features)
    assert inputs.read_needs(Gated(), features=pair) == {"features": pair}
    with pytest.raises(ValueError, match=r"^mask must be left out for Gated"):
        inputs.read_needs(Gated(), features=features, mask=np.ones((3, 3)))


def test_an_error_in_ones_own_class_names_the_library_that_it_did_not_expect():
    torch = pytest.importorskip("torch")

    class Own(pe.Bias):
        def bias(self, q_pos, k_pos, params=None):
            raise TypeError("no tensors here")

    p = torch.arange(3)
    with pytest.raises(TypeError, match="bias of Own must take arrays and dtypes of torch; no"):
        inputs.call(Own(), Own().bias, p, p, p)
    with pytest.raises(TypeError, match=r"^no tensors here$"):
        inputs.call(Own(), Own().bias, np.arange(3), p, p)
    with pytest.raises(TypeError, match="of the library of the positions, torch; got an array of"):
        inputs.call(Own(), np.zeros, p, 2)
