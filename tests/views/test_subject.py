"""Encodings as views see them: unwrapped, with their parameters, with what they need of tokens."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.core.encoding import Parameter
from posenc.views import KINDS, default_kind, kinds_for, view
from posenc.views.embedding import embeddings
from posenc.views.naming import short_name
from posenc.views.subject import count_channels
from tests.views.formulas import softmax

WARM = pe.LogN(2)


@pytest.mark.parametrize(
    "encoding", [pe.RoPE(8), pe.Sinusoidal(8), pe.ALiBi(4), pe.Learned(9, 4), pe.Shaw(8, 4)]
)
def test_a_temperature_twice_offers_the_same_views_as_once(encoding):
    once = pe.Tempered(encoding, WARM)
    twice = pe.Tempered(once, WARM)
    assert kinds_for(twice) == kinds_for(once) == kinds_for(encoding)
    for kind in kinds_for(twice):
        assert KINDS[kind].cost(twice, 5) == KINDS[kind].cost(encoding, 5)
        if kind not in ("attention", "decay"):  # which show logits
            panels = [str(view(e, kind, length=5).to_json()["panels"]) for e in (encoding, twice)]
            assert panels[0] == panels[1].replace(short_name(twice), short_name(encoding))


def test_a_temperature_twice_multiplies_the_logits_twice():
    weights = [
        view(e, "attention", length=4, seed=1).panels[2].values
        for e in (pe.RoPE(8), pe.Tempered(pe.Tempered(pe.RoPE(8), WARM), WARM))
    ]
    factors = WARM.factors(np.arange(4))[:, None] ** 2
    assert np.allclose(softmax(factors * np.log(weights[0])), weights[1])


def test_what_is_learned_is_asked_and_not_drawn(monkeypatch):
    monkeypatch.setattr(pe.Learned, "init", lambda *_, **__: pytest.fail("drawn"))
    assert "learned" in kinds_for(pe.Learned(4_096, 4_096))
    assert "learned" not in kinds_for(pe.Sinusoidal(8))


@dataclass(frozen=True)
class LearnedTurns(pe.Rotary):
    """A rotation whose frequencies are parameters."""

    dim: int = 4

    def parameters(self):
        return {"w": Parameter((2,))}

    def init(self, rng, *, like=None):
        return {"w": rng.uniform(size=2)}

    def cos_sin(self, positions, params=None, *, dtype=None):
        angles = np.asarray(positions)[..., None] * params["w"]
        return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def test_a_rotation_is_shown_with_its_parameters():
    params = {"w": np.array([0.5, 0.25])}
    made = view(LearnedTurns(), "heatmap", length=4, params=params)
    assert np.allclose(made.panels[0].values, np.arange(4)[:, None] * params["w"])
    drawn = view(LearnedTurns(), "rotation", length=4, seed=3)
    assert drawn.notes[-1] == "parameters drawn at random, seed 3"
    for kind in kinds_for(LearnedTurns()):
        assert view(LearnedTurns(), kind, length=4, params=params).panels


@dataclass(frozen=True)
class Gated(pe.Scores):
    """Logits less the gates of the keys that are seen: of their features, so of the tokens."""

    dim: int = 4
    heads: int = 2
    feature_dim: int = 3
    needs = frozenset({"features", "mask"})

    def scores(self, q, k, q_pos, k_pos, params=None, *, features, mask):
        gates = features[1].sum(axis=-1) * mask
        return q @ np.swapaxes(k, -1, -2) / 2 - gates


@dataclass(frozen=True)
class Selective(pe.Rotary):
    """Angles that the tokens choose."""

    dim: int = 4
    feature_dim: int = 2
    needs = frozenset({"features"})

    def cos_sin(self, positions, params=None, *, dtype=None, features):
        angles = np.cumsum(features, axis=-2)
        return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


@pytest.mark.parametrize("encoding", [Gated(), Selective(), pe.Tempered(Gated(), WARM)])
def test_what_depends_on_the_tokens_is_shown_as_attention(encoding):
    assert kinds_for(encoding) == ["attention"]
    assert default_kind(encoding) == view(encoding, length=3).kind == "attention"
    with pytest.raises(ValueError, match="kind must be one that suits"):
        view(encoding, "decay")


@pytest.mark.parametrize("causal", [True, False])
def test_attention_gives_an_encoding_the_features_and_the_mask(causal):
    tokens = ["the", "dog", "bit", "the", "man"]
    made = view(Gated(), "attention", tokens=tokens, causal=causal, seed=2)
    x = embeddings(tuple(tokens), 4)
    wq, wk = np.random.default_rng(2).normal(size=(2, 4, 4)) / 2
    seen = np.tri(5, dtype=bool) if causal else np.ones((5, 5), dtype=bool)
    gates = embeddings(tuple(tokens), 3).sum(axis=-1)
    logits = (x @ wq) @ (x @ wk).T / 2 - gates * seen
    assert np.allclose(made.panels[2].values, softmax(np.where(seen, logits, -np.inf)))


def test_shuffled_words_take_their_features_along():
    tokens = ["the", "dog", "bit", "the", "man"]
    made = view(Selective(), "attention", tokens=tokens)
    straight, back = made.panels[2:]
    assert not np.allclose(straight.values, back.values)
    gated = view(Gated(), "attention", tokens=tokens, causal=False).panels[2:]
    assert np.allclose(gated[0].values, gated[1].values)  # gates know no order


@pytest.mark.parametrize("encoding", [pe.RoPE(4), LearnedTurns(), Selective()], ids=repr)
def test_pairs_are_counted_whatever_the_rotation_depends_on(encoding):
    assert count_channels(encoding) == 2


def test_features_count_in_the_cost_of_attention():
    wide = KINDS["attention"].cost(Gated(feature_dim=4096), 8)
    assert wide == {"heads": 2, "positions or dimensions": 4096, "the same again": 8192}
