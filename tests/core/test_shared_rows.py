"""A single row of positions serves every row of a batch, in every form, as broadcasting would."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, RotateQK, ScoreQK, attend
from posenc.torch.attention import blocked, flex
from tests.slow import slow

BATCH, HEADS, QUERIES, KEYS, DIM = 2, 2, 3, 5, 8
ENCODINGS = {
    "alibi": pe.ALiBi(HEADS),
    "two-sided": BiasLogits(pe.TwoSidedALiBi(HEADS)),
    "t5": BiasLogits(pe.T5Bias(HEADS)),
    "clipped": BiasLogits(pe.ClippedBias(HEADS, 4)),
    "kerple": BiasLogits(pe.KERPLE(HEADS)),
    "fire": BiasLogits(pe.FIRE(HEADS)),
    "sandwich": pe.Sandwich(HEADS),
    "swin": BiasLogits(pe.SwinBias(HEADS, (16, 16))),
    "rope": pe.RoPE(DIM),
    "dynamic": pe.RoPE(DIM, scaling=pe.DynamicNTK(2.0, 4)),
    "axial": pe.AxialRoPE.split(DIM),
    "xpos": pe.XPos(DIM),
    "shaw": ScoreQK(pe.Shaw(DIM, 4)),
    "transformer-xl": ScoreQK(pe.TransformerXL(HEADS, DIM)),
    "tempered": pe.Tempered(pe.ALiBi(HEADS), pe.LogN(2)),
    "nope": pe.NoPE(),
}


def places(axes):
    """One row of queries and one of keys, and rows that differ: (…, seq) or (…, seq, axes)."""
    q, k = torch.arange(7, 7 + QUERIES), torch.arange(KEYS)
    found = q[None], k[None], torch.stack([q, q + 3]), torch.stack([k, k + 2])
    return found if axes is None else [torch.stack([p, p // 2], -1) for p in found]


def whole(positions, axes):
    """A row for each of the batch, written out."""
    short = positions.ndim == (1 if axes is None else 2)
    rows = positions[None] if short else positions
    return rows.expand(BATCH, *rows.shape[1:]).clone()


@pytest.fixture
def in_small_pieces(monkeypatch):
    """Nothing is few enough to be written down at once."""
    monkeypatch.setattr(blocked, "FEW_PAIRS", 0)


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("shared", ["q", "k", "both"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_one_row_of_positions_serves_every_row_of_a_batch(name, shared):
    given = ENCODINGS[name]
    encoding = getattr(given, "encoding", given) if isinstance(given, torch.nn.Module) else given
    params = given.tensors() if isinstance(given, torch.nn.Module) else None
    one_q, one_k, many_q, many_k = places(encoding.axes)
    q_pos, k_pos = one_q if shared != "k" else many_q, one_k if shared != "q" else many_k
    written = [whole(p, encoding.axes) for p in (q_pos, k_pos)]
    q, k, v = (torch.randn(BATCH, HEADS, n, DIM) for n in (QUERIES, KEYS, KEYS))

    made = pe.logits(encoding, q, k, q_pos, k_pos, params)
    expected = pe.logits(encoding, q, k, *written, params)
    assert torch.allclose(made, expected, atol=1e-6)
    where, causal = {"q_pos": written[0], "k_pos": written[1]}, encoding.axes is None
    served = attend.explain(q, k, v, encoding=given, causal=causal, **where)
    for impl in {"dense", "blocked", "folded"} - set(served.unavailable):
        expected, made = (
            attend(q, k, v, encoding=given, q_pos=a, k_pos=b, causal=causal, impl=impl)
            for a, b in (written, (q_pos, k_pos))
        )
        assert torch.allclose(made, expected, atol=2e-6), impl
    if isinstance(encoding, pe.Bias) and name != "nope":
        bias, zero = given if params else BiasLogits(encoding), torch.zeros(BATCH, HEADS, 3, 5)
        assert torch.allclose(bias(zero, q_pos, k_pos), bias(zero, *written), atol=1e-6)
        made = encoding.bias(q_pos, k_pos, params).detach()
        assert torch.allclose(made.expand(BATCH, -1, -1, -1), bias.bias(*written), atol=1e-6)
    if isinstance(encoding, pe.Rotary) and encoding.fits_any_length:
        expected, made = (RotateQK(encoding)(q, k, *p) for p in (written, (q_pos, k_pos)))
        assert torch.allclose(made[0], expected[0])
        assert torch.allclose(made[1], expected[1])


# each case compiles C++ for 5 s
@pytest.mark.skipif(not flex.ON_CPU, reason="PyTorch has no FlexAttention for this CPU")
@pytest.mark.parametrize(("name", "shared"), [("alibi", "q"), *slow(("alibi", "k"), ("t5", "q"))])
def test_one_row_of_positions_serves_every_row_in_flex(name, shared):
    one_q, one_k, many_q, many_k = places(None)
    q_pos, k_pos = (one_q, many_k) if shared == "q" else (many_q, one_k)
    q, k, v = (torch.randn(BATCH, HEADS, n, DIM) for n in (QUERIES, KEYS, KEYS))
    expected, made = (
        attend(q, k, v, encoding=ENCODINGS[name], q_pos=a, k_pos=b, causal=True, impl="flex")
        for a, b in ((whole(q_pos, None), whole(k_pos, None)), (q_pos, k_pos))
    )
    assert torch.allclose(made, expected, atol=2e-6)


def test_every_form_is_among_those_compared():
    q, k, v = (torch.randn(BATCH, HEADS, KEYS, DIM) for _ in range(3))
    served = attend.explain(q, k, v, encoding=ENCODINGS["alibi"], causal=True)
    assert set(served.unavailable) <= (set() if flex.ON_CPU else {"flex"})


@pytest.mark.parametrize("encoding", [pe.Sinusoidal(DIM), pe.Learned(16, DIM)], ids=str)
def test_one_row_serves_every_embedding(encoding):
    add, x, row = AddPositions(encoding), torch.randn(BATCH, QUERIES, DIM), torch.arange(3)[None]
    assert torch.equal(add(x, row), add(x, whole(row, None)))


def test_distances_of_one_row_and_many():
    apart = pe.distances(np.zeros((1, 2), int), np.arange(6).reshape(3, 2))
    assert apart.shape == (3, 2, 2)
    assert apart[2].tolist() == [[-4, -5], [-4, -5]]
    with pytest.raises(ValueError, match="q_pos and k_pos must have the same batch size"):
        pe.distances(np.zeros((2, 2), int), np.zeros((3, 2), int))
