"""The view `attention`: its numbers, recomputed in float64 with plain NumPy."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.views import view
from tests.views.formulas import sinusoids, softmax

TOKENS = ("我", "爱", "学习", "AI")


def test_attention_does_not_see_order_without_positions():
    """The permutation demonstration: the same numbers, recomputed from the embeddings."""
    from posenc.views.embedding import embeddings
    from posenc.views.kinds.attention import shuffle_order

    made = view("sinusoidal", "attention", tokens="我 爱 学习 AI", dim=8, seed=3)
    without, without_again, positions, positions_again = (panel.values for panel in made.panels)
    wq, wk = np.random.default_rng(3).normal(size=(2, 8, 8)) / math.sqrt(8)
    x = embeddings(TOKENS, 8)
    q, k, e = x @ wq, x @ wk, sinusoids(4, 8)
    assert np.allclose(without, softmax(q @ k.T / math.sqrt(8)), atol=1e-14)
    assert np.allclose(positions, softmax((q + e) @ (k + e).T / math.sqrt(8)), atol=1e-13)
    order = shuffle_order(4, 3)
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
    from posenc.views.kinds.attention import shuffle_order

    for seed in range(20):
        order = shuffle_order(count, seed)
        assert sorted(order) == list(range(count))
        assert count == 1 or (order != np.arange(count)).any()


@pytest.mark.parametrize(
    "name",
    [name for name, kind in pe.catalogue().items() if kind.example().axes is None],
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
