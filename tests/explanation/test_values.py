"""Numbers of encodings with learned parameters, and of those that depend on the tokens."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import cell
from posenc.explanation.values import LONGEST
from tests.explanation.reading import columns, matrix


@dataclass(frozen=True)
class LearnedTurn(pe.Rotary):
    """Frequencies are parameters."""

    dim: int = 4

    def init(self, rng, *, like=None):
        return {"w": rng.normal(size=2)}

    def cos_sin(self, positions, params=None, *, dtype=None):
        angles = np.asarray(positions)[..., None] * params["w"]
        return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


@dataclass(frozen=True)
class SelectiveTurn(pe.Rotary):
    """Each token adds its own angle."""

    dim: int = 4
    feature_dim: int = 2
    needs = frozenset({"features"})

    def cos_sin(self, positions, params=None, *, dtype=None, features):
        angles = np.cumsum(features, axis=-2)
        return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


@dataclass(frozen=True)
class Gates(pe.Scores):
    """Each token forgets those before it by its gate; keys that are not seen do not count."""

    feature_dim: int = 1
    causal_only = True
    needs = frozenset({"features", "mask"})

    def scores(self, q, k, q_pos, k_pos, params=None, *, features, mask):
        gates = np.cumsum(features[1][..., 0])
        seen = mask.sum(axis=-1, keepdims=True)
        return q @ k.mT / np.sqrt(q.shape[-1]) - gates[k_pos] + gates[q_pos][:, None] + seen


@dataclass(frozen=True)
class GatedBias(pe.Bias):
    heads: int = 2
    feature_dim: int = 1
    needs = frozenset({"features"})

    def bias(self, q_pos, k_pos, params=None, *, features):
        gates = np.cumsum(features[1][..., 0])
        return np.stack([gates[q_pos][:, None] - gates[k_pos]] * self.heads)


def draw_features(length, width):
    return np.random.default_rng(0).normal(size=(length, width))


def test_a_rotation_with_parameters():
    params = {"w": np.array([0.5, 0.25])}
    assert cell(LearnedTurn(), 3, 2, params).truth == pytest.approx(np.cos(0.75))
    assert cell(LearnedTurn(), 3, 3, params, angle=True).truth == pytest.approx(0.75)
    w = np.random.default_rng(0).normal(size=2)
    explained = pe.explain(LearnedTurn(), position=3)
    assert columns(explained["angles"])["angle"] == pytest.approx(3 * w)
    q, k = np.random.RandomState(42).randn(2, 4)
    for m, n, _, product, _ in explained["relative"].table.rows:
        turn = np.exp(1j * (m - n) * w)
        both = (q[::2] + 1j * q[1::2]) * (k[::2] - 1j * k[1::2]) * turn
        assert product == pytest.approx(both.sum().real)


def test_a_rotation_that_depends_on_the_tokens():
    angles = np.cumsum(draw_features(4, 2), axis=0)
    assert cell(SelectiveTurn(), 3, 2).truth == pytest.approx(np.cos(angles[3, 1]))
    assert columns(pe.explain(SelectiveTurn())["angles"])["cos"] == pytest.approx(np.cos(angles[3]))


def test_logits_that_depend_on_the_tokens():
    gates = np.cumsum(draw_features(6, 1)[:, 0])
    x = np.random.default_rng(0).normal(size=8)
    expected = x @ x / np.sqrt(8) + gates[5] - gates[2] + 6
    assert cell(Gates(), 5, 2).truth == pytest.approx(expected)
    seen = np.arange(1, 4)[:, None]
    gates = np.cumsum(draw_features(3, 1)[:, 0])
    told = matrix(pe.explain(Gates(), length=3)["difference"])
    assert told == pytest.approx(gates[:, None] - gates + seen)


def test_a_bias_that_depends_on_the_tokens():
    gates = np.cumsum(draw_features(6, 1)[:, 0])
    assert cell(GatedBias(), 5, 2, head=1).truth == pytest.approx(gates[5] - gates[2])
    gates = np.cumsum(draw_features(3, 1)[:, 0])
    told = matrix(pe.explain(GatedBias(), length=3)["bias-2"])
    assert told == pytest.approx(gates[:, None] - gates)


def test_a_key_ahead_of_its_query_is_hidden_in_scores_too():
    assert cell(Gates(), 2, 5).steps[0].name == "unseen"
    assert cell(Gates(), 5, 2).steps[0].name != "unseen"


@pytest.mark.parametrize("encoding", [SelectiveTurn(), Gates(), GatedBias()], ids=repr)
def test_the_text_of_a_number_has_an_end(encoding):
    assert np.isfinite(cell(encoding, LONGEST - 1, 1).truth)
    message = "position must be below 2048 for an encoding that depends on the tokens; got 16777152"
    with pytest.raises(ValueError, match=f"^{message}$"):
        cell(encoding, 2**24 - 64, 1)
