"""`Positions`: any encoding in a model, which acts where it acts and nowhere else."""

import copy
import math

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, Positions, RotateQK, ScoreQK, attend
from tests.bounds import gamma
from tests.torch.own_encodings import Recency, Turning

HEADS, DIM, SEQ = 4, 8, 10
WIDTH = HEADS * DIM


ADDED = [pe.Sinusoidal(WIDTH), pe.Learned(SEQ, WIDTH)]
IN_ATTENTION = [
    (RotateQK, pe.RoPE(DIM)),
    (RotateQK, Turning(DIM)),
    (RotateQK, pe.Tempered(pe.RoPE(DIM), pe.LogN(4))),
    (BiasLogits, pe.ALiBi(HEADS)),
    (BiasLogits, pe.T5Bias(HEADS)),
    (BiasLogits, pe.NoPE()),
    (BiasLogits, Recency(HEADS)),
    (ScoreQK, pe.Shaw(DIM, 4)),
    (ScoreQK, pe.TransformerXL(HEADS, DIM)),
    (ScoreQK, pe.Tempered(pe.T5Bias(HEADS), pe.LogN(4))),
]


@pytest.fixture
def x():
    return torch.randn(2, SEQ, WIDTH, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def qkv():
    return torch.randn(3, 2, HEADS, SEQ, DIM, generator=torch.Generator().manual_seed(1))


def seeded(kind, encoding):
    torch.manual_seed(2)
    return kind(encoding)


@pytest.mark.parametrize("encoding", ADDED, ids=str)
def test_an_additive_encoding_is_added_and_attention_is_plain(encoding, x, qkv):
    positions, module = seeded(Positions, encoding), seeded(AddPositions, encoding)
    assert torch.equal(positions.embed(x), module(x))
    back = torch.arange(SEQ).flip(0)
    assert torch.equal(positions.embed(x, back), module(x, back))
    assert not torch.equal(positions.embed(x), x)
    plain = attend(*qkv, encoding=pe.NoPE(), causal=True)
    assert torch.equal(positions.attend(*qkv, causal=True), plain)


@pytest.mark.parametrize(("kind", "encoding"), IN_ATTENTION, ids=lambda each: str(each)[:40])
def test_any_other_acts_in_attention_alone(kind, encoding, x, qkv):
    positions, module = seeded(Positions, encoding), seeded(kind, encoding)
    assert positions.embed(x) is x
    options = {"causal": True, "q_pos": torch.arange(3, 3 + SEQ), "window": 5}
    theirs = attend(*qkv, encoding=module, **options)
    assert torch.equal(positions.attend(*qkv, **options), theirs)


@pytest.mark.parametrize("wrap", [1, 2])
def test_the_temperature_of_an_additive_encoding_stays_in_attention(wrap, x, qkv):
    encoding = pe.Sinusoidal(WIDTH)
    for _ in range(wrap):
        encoding = pe.Tempered(encoding, pe.LogN(4))
    positions = Positions(encoding)
    assert torch.equal(positions.embed(x), AddPositions(pe.Sinusoidal(WIDTH))(x))
    q, k, v = qkv
    factors = (np.maximum(1, np.log(np.arange(SEQ) + 1) / np.log(4)) ** wrap)[:, None]
    products = q.double() @ k.double().mT * torch.from_numpy(factors) / math.sqrt(DIM)
    future = torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1)
    weights = products.masked_fill(future, -math.inf).softmax(-1)
    truth = weights @ v.double()
    # sums of DIM products, 8 roundings of the factors and 8 of the softmax move a logit; the
    # weights, which are exponentials of it, by twice that; then there is a sum of SEQ values
    size = q.double().norm(dim=-1).max() * k.double().norm(dim=-1).max() * factors.max()
    off = 2 * gamma(DIM + 16) * size + gamma(SEQ + 8)
    error = (positions.attend(q, k, v, causal=True) - truth).abs()
    assert (error <= off * (weights @ v.double().abs())).all()


@pytest.mark.parametrize(
    "encoding", [pe.Learned(SEQ, WIDTH), Turning(DIM), pe.FIRE(HEADS), pe.Shaw(DIM, 4)], ids=str
)
def test_what_an_encoding_learns_belongs_to_the_module(encoding, x, qkv):
    positions = Positions(encoding)
    names = {f"params.{name}" for name in encoding.parameters()}
    assert set(positions.state_dict()) == names
    (positions.embed(x).sum() + positions.attend(*qkv, causal=True).square().sum()).backward()
    assert all(p.grad is not None and p.grad.any() for p in positions.parameters())
    twin = copy.deepcopy(positions)
    assert torch.equal(twin.attend(*qkv, causal=True), positions.attend(*qkv, causal=True))
    given = {name: tensor.detach().numpy() for name, tensor in positions.tensors().items()}
    again = Positions(encoding, params=given)
    assert all(
        torch.equal(again.state_dict()[name], positions.state_dict()[name]) for name in names
    )


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("rope", "encoding must be Encoding; got str; pe.make makes one by its name"),
        (pe.RoPE, r"encoding must be Encoding; got RoPE; did you mean RoPE\(…\)\?"),
        (None, "encoding must be Encoding; got NoneType"),
        (AddPositions(pe.Sinusoidal(8)), "encoding must be Encoding; got AddPositions"),
    ],
)
def test_what_is_no_encoding_is_refused(encoding, message):
    with pytest.raises(TypeError, match=message):
        Positions(encoding)


def test_arguments_of_attend_are_those_of_attend(qkv):
    with pytest.raises(
        TypeError, match=r"attend has no argument 'is_causal'; did you mean causal="
    ):
        Positions(pe.RoPE(DIM)).attend(*qkv, is_causal=True)
