"""FlexAttention: when it can be had, and what it is told (test_attend.py has what it computes)."""

import pytest
import torch

import posenc as pe
from posenc.torch.attention import flex
from posenc.torch.attention.call import prepare

Q, K = (torch.zeros(1, 2, n, 8) for n in (3, 5))


def call_of(encoding, dtype=torch.float32, **options):
    params = {n: torch.ones(p.shape) for n, p in encoding.parameters().items()} or None
    q, k = Q.to(dtype), K.to(dtype)
    return prepare(q, k, k, encoding=encoding, params=params, causal=True, **options)


@pytest.mark.parametrize(
    ("encoding", "options", "why"),
    [
        (pe.RoPE(8), {}, None),
        (pe.ALiBi(2), {}, None),
        (pe.Shaw(8, 2), {}, "the scores of Shaw are not products plus a bias"),
        (pe.FIRE(2), {}, "FIRE does not claim that its bias depends on the distance alone"),
        (
            pe.ALiBi(2),
            {"q_pos": [0.5, 1.0, 2.0], "k_pos": [0.0] * 5},
            "positions must be whole numbers to be looked up by distance; got torch.float64",
        ),
        (pe.RoPE(8), {"dtype": torch.float64}, "FlexAttention does not take float64 here"),
    ],
    ids=str,
)
def test_why_it_is_unavailable(encoding, options, why, monkeypatch):
    monkeypatch.setattr(flex, "ON_CPU", True)
    assert flex.why_unavailable(call_of(encoding, **options)) == why
    monkeypatch.setattr(flex, "ON_CPU", False)
    assert flex.why_unavailable(call_of(encoding, **options)) is not None


def test_the_line_spans_the_distances_that_there_are():
    assert flex._range(call_of(pe.ALiBi(2))) == (-2, 4)
    where = {"q_pos": [7, 0, 9], "k_pos": [1, 1, 2, 4, 3]}
    assert flex._range(call_of(pe.ALiBi(2), **where)) == (-4, 8)


def test_without_a_bias_nothing_is_looked_up():
    assert flex._score_mod(call_of(pe.NoPE())) is None
    looked_up = flex._score_mod(call_of(pe.ALiBi(2)))
    bias = pe.ALiBi(2).bias(torch.arange(2, 5), torch.arange(5))
    for h, i, j in ((0, 0, 0), (1, 2, 1), (1, 1, 3)):
        index = (torch.tensor(x) for x in (0, h, i, j))
        assert looked_up(torch.tensor(10.0), *index) == 10 + bias[h, i, j]
