"""What an encoding costs beside the products of queries and keys."""

import numpy as np
import pytest

import posenc as pe
from posenc.bench import costs
from posenc.encodings.registry import load_builtins
from posenc.names.resolve import VARIANTS, resolve


@pytest.mark.parametrize("name", [*load_builtins(), *VARIANTS])
def test_every_encoding_has_a_cost(name):
    cost = costs.measure(resolve(name)[name], tokens=64, rounds=1)
    assert cost.tokens == (49 if name == "swin" else 64)
    assert cost.seconds >= 0
    assert cost.ratio >= 0
    assert cost.bytes > 0
    assert cost.error < 1e-5


@pytest.mark.parametrize(
    ("encoding", "pairs"),
    [(pe.Sinusoidal(64), False), (pe.RoPE(64), False), (pe.ALiBi(8), True), (pe.T5Bias(8), True)],
)
def test_memory_is_that_of_what_is_made(encoding, pairs):
    cost = costs.measure(encoding, rounds=1)
    made = {False: 4 * 64, True: 4 * 8 * 256}[pairs]  # bytes of a token's row, of its logits
    assert cost.bytes >= made
    assert cost.bytes < 40 * made
    assert cost.power == pytest.approx(2 if pairs else 1, abs=0.2)


def test_no_speed_is_told_of_wrong_numbers(monkeypatch):
    right = pe.RoPE.rotate

    def wrong(self, x, positions, *, inverse=False):
        return right(self, x, positions) + (x.dtype == np.float32) * np.float32(1e-3)

    monkeypatch.setattr(pe.RoPE, "rotate", wrong)
    with pytest.raises(ArithmeticError, match=r"applied: error .* is above 1e-05; not timed"):
        costs.measure(pe.RoPE(64), rounds=1)


@pytest.mark.parametrize("name", ["tokens", "rounds"])
def test_costs_want_whole_numbers(name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1; got"):
        costs.measure(pe.RoPE(64), **{name: 0})


def test_what_takes_tensors_only_is_not_timed():
    theirs = pe.adapt.rotary(lambda x, p: x, dim=4, library="torch")
    with pytest.raises(TypeError, match="encoding must take NumPy arrays to be timed"):
        costs.measure(theirs)


@pytest.mark.parametrize(("encoding", "spent"), [(pe.RoPE(64), 3.0), (pe.Shaw(64, 16), 1.0)])
def test_the_ratio_is_to_the_products_and_scores_contain_them(monkeypatch, encoding, spent):
    rows = {"q k^T": {"seconds": 2.0}, "applied": {"seconds": 3.0, "steady": True}}
    monkeypatch.setattr(costs, "summarize", lambda *args, **kwargs: rows)
    cost = costs.measure(encoding)
    assert cost.seconds * cost.tokens == pytest.approx(spent)
    assert cost.ratio == pytest.approx(spent / 2)
    assert cost.steady
