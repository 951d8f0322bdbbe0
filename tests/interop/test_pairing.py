"""A guess needs evidence: weights with the trace of a pairing, and none without."""

import numpy as np
import pytest
import torch

import posenc as pe
from tests.interop.pairing_study import judge, train

HEADS, DIM, HIDDEN = 4, 16, 48


def traced(pairing, seed=0, kv_heads=HEADS, strength=0.4, layers=2):
    """Random weights in which rows of a pair are aligned between queries and keys."""
    rng = np.random.default_rng(seed)
    queries, keys = [], []
    for _ in range(layers):
        q = rng.normal(size=(HEADS, DIM, HIDDEN))
        k = rng.normal(size=(kv_heads, DIM, HIDDEN))
        own = np.repeat(k, HEADS // kv_heads, axis=0)
        for i in range(DIM // 2):
            a, b = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + DIM // 2)
            q[:, a] += strength * own[:, b]
            q[:, b] -= strength * own[:, a]
        queries.append(q.reshape(-1, HIDDEN))
        keys.append(k.reshape(-1, HIDDEN))
    return queries, keys


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("pairing", ["halves", "interleaved"])
def test_the_trace_of_a_pairing_is_found(pairing, kv_heads):
    guess = pe.pairing_of(*traced(pairing, kv_heads=kv_heads), heads=HEADS, kv_heads=kv_heads)
    assert guess.pairing == pairing
    assert str(guess).startswith(f"{pairing} (interleaved ")


def test_fresh_weights_say_nothing():
    """At most one in a hundred is guessed; a z-score of 3 has one in a thousand on each side."""
    guesses = [
        pe.pairing_of(*traced("halves", seed, strength=0.0), heads=HEADS) for seed in range(200)
    ]
    assert sum(guess.pairing is not None for guess in guesses) <= 2
    assert str(guesses[0]).startswith("cannot tell (")


def test_only_channels_that_rotate_count():
    q, k = traced("halves")
    half = [
        np.concatenate([w.reshape(HEADS, DIM, HIDDEN), rest], axis=1).reshape(-1, HIDDEN)
        for w, rest in ((q[0], np.ones((HEADS, 8, HIDDEN))), (k[0], np.ones((HEADS, 8, HIDDEN))))
    ]
    assert pe.pairing_of(*half, heads=HEADS, rotary_dim=DIM) == pe.pairing_of(
        q[0], k[0], heads=HEADS
    )


def test_tensors_of_torch():
    q, k = ([torch.tensor(w) for w in weights] for weights in traced("halves"))
    assert pe.pairing_of(q, k, heads=HEADS).pairing == "halves"


def test_the_loss_decides():
    assert pe.pairing_by_loss({"halves": 2.0, "interleaved": 3.0}.get).pairing == "halves"
    assert pe.pairing_by_loss({"halves": 2.0, "interleaved": 2.01}.get).pairing is None
    with pytest.raises(ValueError, match="loss"):
        pe.pairing_by_loss(lambda pairing: float("nan"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": 3}, "q_weight must be"),
        ({"heads": 4, "kv_heads": 3}, "kv_heads must divide heads=4"),
        ({"heads": 4, "kv_heads": 2}, "heads of the same size"),
        ({"heads": 4, "rotary_dim": 3}, "rotary_dim must be"),
        ({"heads": 0}, "heads must be"),
    ],
)
def test_errors_say_what_is_wrong(arguments, message):
    q, k = traced("halves")
    with pytest.raises(ValueError, match=message):
        pe.pairing_of(q, k, **arguments)
    with pytest.raises(ValueError, match="a weight for each layer; got 2 and 1"):
        pe.pairing_of(q, k[:1], heads=HEADS)


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["halves", "interleaved"])
def test_a_trained_model_is_not_taken_for_the_other(truth):
    guess = pe.pairing_of(*train(truth, seed=7), heads=2)
    assert judge(guess, truth) != "wrong"
    assert max(guess.evidence, key=guess.evidence.get) == truth
