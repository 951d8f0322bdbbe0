"""The lab's model against plain formulas, for every mechanism."""

import pytest
import torch

import posenc as pe
from posenc.lab.model import Transformer, balance_scales
from posenc.torch import Positions

SIZES = {"tokens": 11, "layers": 2, "width": 16, "heads": 2}
ENCODINGS = [
    pe.NoPE(),
    pe.RoPE(8),
    pe.ALiBi(2),
    pe.T5Bias(2),
    pe.Learned(20, 16),
    pe.Sinusoidal(16),
    pe.TransformerXL(2, 8),
]


def make(encoding, **options):
    torch.manual_seed(0)
    return Transformer(encoding, **SIZES, **options)


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda e: type(e).__name__)
def test_a_decoder_sees_nothing_ahead_and_padding_is_nothing(encoding):
    model, tokens = make(encoding), torch.randint(11, (2, 9))
    logits = model(tokens)
    assert torch.allclose(model(tokens[:, :5]), logits[:, :5], atol=1e-5)


@pytest.mark.parametrize("encoding", [e for e in ENCODINGS if not e.causal_only], ids=repr)
def test_an_encoder_ignores_padding(encoding):
    model, tokens = make(encoding, causal=False), torch.randint(11, (2, 9))
    mask = torch.arange(9) < torch.tensor([[9], [6]])
    logits = model(tokens, mask=mask)
    assert torch.allclose(model(tokens[1:, :6]), logits[1:, :6], atol=1e-5)


def test_an_encoder_without_positions_is_equivariant_and_with_them_is_not():
    tokens, order = torch.randint(11, (1, 9)), torch.randperm(9)
    for encoding, same in ((pe.NoPE(), True), (pe.RoPE(8), False), (pe.Sinusoidal(16), False)):
        model = make(encoding, causal=False)
        found = torch.allclose(model(tokens)[:, order], model(tokens[:, order]), atol=1e-5)
        assert found is same


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda e: type(e).__name__)
def test_positions_are_used_where_the_encoding_acts(encoding):
    model, tokens = make(encoding), torch.randint(11, (2, 9))
    with torch.no_grad():
        for parameter in model.positions.parameters():
            parameter.normal_()
    far = model(tokens, torch.arange(9) * 2)
    assert torch.allclose(model(tokens, torch.arange(9)), model(tokens), atol=1e-5)
    assert torch.allclose(far, model(tokens), atol=1e-5) is isinstance(encoding, pe.NoPE)


def test_other_weights_are_the_same_for_every_encoding():
    first, *others = [make(encoding).state_dict() for encoding in ENCODINGS]
    for other in others:
        shared = first.keys() - {"embedding.weight"}
        assert all(torch.equal(first[name], other[name]) for name in shared)


@pytest.mark.parametrize("encoding", [pe.Learned(500, 16), pe.RoPE(8)], ids=repr)
def test_gpt2_begins_small_with_a_tied_head(encoding):
    """Against the sizes of the GPT-2 of Transformers: 0.02, and 0.02 / sqrt(2 layers)."""
    torch.manual_seed(0)
    model = Transformer(encoding, tokens=300, layers=3, width=16, heads=2, init="gpt2")
    assert model.head.weight is model.embedding.weight
    assert model.head.bias is None
    for name, values in model.named_parameters():
        if values.ndim == 2:
            adds = name.endswith(("out.weight", "mlp.2.weight"))
            wanted = 0.02 / 6**0.5 if adds else 0.02
            assert abs(float(values.detach().std()) / wanted - 1) < 0.2, name
        else:
            assert torch.all(values == name.endswith("weight")), name


def test_a_tied_head_learns_with_the_tokens():
    torch.manual_seed(0)
    model = Transformer(pe.NoPE(), **SIZES, init="gpt2")
    model(torch.zeros(1, 3, dtype=torch.long)).logsumexp(-1).sum().backward()
    gradient = model.embedding.weight.grad
    assert gradient is not None
    assert torch.all(gradient.abs().sum(-1) > 0), "of tokens that were not read, from the head"
    again = Transformer(pe.NoPE(), **SIZES, init="gpt2")
    again.load_state_dict(model.state_dict())
    assert again.head.weight is again.embedding.weight


def test_tokens_begin_as_large_as_what_is_added():
    """And a table is brought to the size of the layers' outputs."""
    learned = Positions(pe.Learned(500, 16))
    before = learned.tensors()["table"].detach().clone()
    scales = [balance_scales(Positions(pe.RoPE(8))), balance_scales(learned)]
    assert scales == [1.0, 1.0]
    after = learned.tensors()["table"].detach()
    assert abs(float(after.square().mean()) - 1) < 1e-5
    assert torch.allclose(after / before, after[0, 0] / before[0, 0])
    assert abs(balance_scales(Positions(pe.Sinusoidal(16))) - 0.5**0.5) < 1e-6
