"""`SelfAttention`, against attention written out for one head at a time, and its cache."""

import copy
import math

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import Positions, SelfAttention, attend
from tests.bounds import gamma
from tests.oracles import rotary as oracle
from tests.slow import slow
from tests.torch.own_encodings import Forgetting, Recency

DIM, HEADS, SEQ = 32, 4, 10
HEAD_DIM = DIM // HEADS
ENCODINGS = [
    pe.Sinusoidal(DIM),
    pe.RoPE(HEAD_DIM),
    pe.XPos(HEAD_DIM),
    pe.ALiBi(HEADS),
    pe.T5Bias(HEADS),
    pe.FIRE(HEADS),
    pe.NoPE(),
    pe.Shaw(HEAD_DIM, 4),
    pe.TransformerXL(HEADS, HEAD_DIM),
    pe.Tempered(pe.RoPE(HEAD_DIM), pe.LogN(4)),
    Recency(HEADS),
]
EACH = pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda each: str(each)[:40])


@pytest.fixture
def x():
    return torch.randn(2, SEQ, DIM, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kv_heads", [None, 1, 2])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_each_head_attends_by_itself(kv_heads, causal, turned, x):
    """Without an encoding and with RoPE, for which each position has a matrix."""
    layer = SelfAttention(
        DIM, HEADS, kv_heads=kv_heads, encoding=pe.RoPE(HEAD_DIM) if turned else None, causal=causal
    )
    group = HEADS // (kv_heads or HEADS)
    weight, out_weight = layer.qkv.weight.detach().double(), layer.out.weight.detach().double()
    rows = weight.split(HEAD_DIM)  # a matrix for each head: those of queries, of keys, of values
    turn = torch.eye(HEAD_DIM).double().expand(SEQ, -1, -1)
    if turned:
        w, basis = oracle.plain(HEAD_DIM, 10_000), torch.eye(HEAD_DIM).tolist()
        turned_basis = [[oracle.rotate(e, p, w) for e in basis] for p in range(SEQ)]
        turn = torch.tensor(np.array(turned_basis, dtype=float)).mT
    future = torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1) & causal
    for text, made in zip(x.double(), layer(x), strict=True):
        heads, sizes = [], []
        for head in range(HEADS):
            others = len(rows) - HEADS
            of_k = HEADS + head // group
            q, k, v = (text @ rows[at].T for at in (head, of_k, of_k + others // 2))
            q, k = (torch.einsum("nij,nj->ni", turn, each) for each in (q, k))
            products = q @ k.T / math.sqrt(HEAD_DIM)
            weights = products.masked_fill(future, -math.inf).softmax(-1)
            heads.append(weights @ v)
            # q and k are sums of DIM products, at most as large as without cancellation; a rotation
            # has 4 roundings; a weight changes by twice what a logit does, and has 16 of its own
            big_q, big_k, big_v = (
                text.abs() @ rows[at].abs().T for at in (head, of_k, of_k + others // 2)
            )
            largest = big_q.norm(dim=-1).max() * big_k.norm(dim=-1).max() / math.sqrt(HEAD_DIM)
            off = 2 * gamma(2 * DIM + HEAD_DIM + 8) * largest + gamma(DIM + SEQ + 16)
            sizes.append(off * (weights @ big_v))
        truth, size = torch.cat(heads, dim=-1), torch.cat(sizes, dim=-1)
        bound = size @ out_weight.abs().T + gamma(DIM) * truth.abs() @ out_weight.abs().T
        assert ((made - truth @ out_weight.T).abs() <= bound).all()


@EACH
def test_any_encoding_acts_as_in_attend(encoding, x):
    layer = SelfAttention(DIM, HEADS, kv_heads=2, encoding=encoding, bias=True)
    q, k, v = layer.qkv(x).unflatten(-1, (8, HEAD_DIM)).transpose(1, 2).tensor_split((4, 6), dim=1)
    module = pe.NoPE() if isinstance(encoding, pe.Additive) else layer.positions
    for pos in (None, torch.arange(5, 5 + SEQ), torch.arange(2 * SEQ).reshape(2, SEQ)):
        y = attend(q, k, v, encoding=module, q_pos=pos, causal=True)
        assert torch.equal(layer(x, pos), layer.out(y.transpose(1, 2).flatten(2)))


def test_options_reach_attend(x):
    layer = SelfAttention(DIM, HEADS, encoding=pe.RoPE(HEAD_DIM))
    q, k, v = layer.qkv(x).unflatten(-1, (12, HEAD_DIM)).transpose(1, 2).chunk(3, dim=1)
    for options in ({"documents": torch.arange(SEQ) // 6}, {"window": 3}, {"impl": "dense"}):
        y = attend(q, k, v, encoding=layer.positions, causal=True, **options)
        assert torch.equal(layer(x, **options), layer.out(y.transpose(1, 2).flatten(2)))
    with pytest.raises(
        TypeError, match=r"attend has no argument 'dropout_p'; did you mean dropout="
    ):
        layer(x, dropout_p=0.1)


def test_an_encoding_that_depends_on_the_tokens_is_given_them(x):
    layer = SelfAttention(DIM, HEADS, encoding=Forgetting(DIM))
    q, k, v = layer.qkv(x).unflatten(-1, (12, HEAD_DIM)).transpose(1, 2).chunk(3, dim=1)
    y = attend(q, k, v, encoding=Forgetting(DIM), features=x, causal=True)
    assert torch.equal(layer(x), layer.out(y.transpose(1, 2).flatten(2)))
    with pytest.raises(TypeError, match="encoding must not depend on features of the tokens"):
        layer.start_cache()


@EACH
@torch.no_grad()
def test_a_cache_changes_rounding_alone(encoding, x):
    """By how much roundings move the output, a run in float32 tells, whose own are 2^29 larger."""
    layer = SelfAttention(DIM, HEADS, kv_heads=2, encoding=encoding).double()
    for pos in (None, torch.arange(5, 5 + SEQ)):
        whole = layer(x.double(), pos)
        rounded = copy.deepcopy(layer).float()(x, pos)
        cache, parts = layer.start_cache(), []
        for at in torch.arange(SEQ).split([4, 1, 1, 3, 1]):
            part, cache = layer(x[:, at].double(), None if pos is None else pos[at], cache)
            parts.append(part)
        assert len(cache) == SEQ
        bound = 16 * 2.0**-29 * (rounded - whole).abs().max()
        assert (torch.cat(parts, dim=1) - whole).abs().max() <= bound


@torch.no_grad()
def test_texts_padded_on_the_left(x):
    """Each is as it would be alone, and so is what follows it."""
    layer = SelfAttention(DIM, HEADS, encoding=pe.T5Bias(HEADS)).double()
    x, lengths = x.double(), (SEQ - 1, 4)
    tokens = torch.tensor([[0] * (SEQ - 1 - n) + [1] * n for n in lengths]).bool()
    pos = pe.left_padded(tokens)
    whole = layer(x[:, :-1], pos, mask=tokens)
    y, cache = layer(x[:, :-1], pos, layer.start_cache(), mask=tokens)
    last, cache = layer(x[:, -1:], cache=cache)
    assert torch.equal(cache.positions[:, -1], torch.tensor(lengths))
    for row, length in enumerate(lengths):
        alone = layer(x[row : row + 1, -1 - length :])
        rounded = copy.deepcopy(layer).float()(x[row : row + 1, -1 - length :].float())
        bound = 16 * 2.0**-29 * (rounded - alone).abs().max()
        for batch in (whole, y):
            assert (batch[row, -length:] - alone[0, :-1]).abs().max() <= bound
        assert (last[row] - alone[0, -1]).abs().max() <= bound


@pytest.mark.parametrize(
    "encoding", [pe.RoPE(HEAD_DIM), *slow(pe.Sinusoidal(DIM), pe.ALiBi(HEADS), pe.T5Bias(HEADS))]
)
def test_it_compiles_as_one_graph(encoding, x):
    layer = SelfAttention(DIM, HEADS, kv_heads=2, encoding=encoding)
    torch.compiler.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)(x)
    truth = copy.deepcopy(layer).double()(x.double())
    assert (compiled - truth).abs().max() <= 16 * (layer(x) - truth).abs().max()
    compiled.square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in layer.parameters())


def test_layers_share_what_is_shared():
    t5 = pe.T5Bias(HEADS)
    shared = Positions(t5)
    together = torch.nn.ModuleList(SelfAttention(DIM, HEADS, encoding=shared) for _ in range(3))
    apart = torch.nn.ModuleList(SelfAttention(DIM, HEADS, encoding=t5) for _ in range(3))
    table = shared.params["table"].numel()
    count = [sum(p.numel() for p in layers.parameters()) for layers in (together, apart)]
    assert count == [3 * 4 * DIM**2 + table, 3 * 4 * DIM**2 + 3 * table]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((30, 4), {}, "dim must be a multiple of heads; got dim=30, heads=4"),
        ((32, 4), {"kv_heads": 3}, "heads must be a multiple of kv_heads; got heads=4, kv_heads=3"),
        ((32, 0), {}, "heads must be a whole number of at least 1; got heads=0"),
        ((32, 4), {"kv_heads": 0}, "kv_heads must be a whole number of at least 1"),
        (
            (32, 4),
            {"encoding": pe.RoPE(32)},
            r"encoding must have dim=8, for 4 heads of 8 channels; got RoPE\(32\)",
        ),
        (
            (32, 4),
            {"encoding": pe.Tempered(pe.ALiBi(8), pe.LogN(4))},
            r"encoding must have heads=4, for 4 heads of 8 channels; got Tempered\(ALiBi\(8\), ",
        ),
    ],
)
def test_sizes_that_cannot_be_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        SelfAttention(*arguments, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"causal": 1}, "causal must be True or False; got causal=1"),
        ({"encoding": "rope"}, "encoding must be Encoding; got str"),
        ({"n_kv_heads": 2}, r"SelfAttention has no argument 'n_kv_heads'; did you mean kv_heads="),
    ],
)
def test_what_is_not_meant_is_refused(options, message):
    with pytest.raises(TypeError, match=message):
        SelfAttention(DIM, HEADS, **options)


def test_what_is_no_input_is_refused():
    layer = SelfAttention(DIM, HEADS, encoding=pe.RoPE(HEAD_DIM))
    with pytest.raises(ValueError, match=rf"x must be \(batch, seq, dim\); got shape \(3, {DIM}\)"):
        layer(torch.ones(3, DIM))
    with pytest.raises(TypeError, match="cache must be a KVCache; got list"):
        layer(torch.ones(1, 3, DIM), cache=[])


def test_softcap_sinks_and_dropout_are_those_of_attend(x):
    layer = SelfAttention(
        DIM, HEADS, encoding=pe.RoPE(HEAD_DIM), softcap=2.0, sinks=True, dropout=0.5
    )
    assert layer.sinks.shape == (HEADS,)
    torch.nn.init.normal_(layer.sinks)
    q, k, v = layer.qkv(x).unflatten(-1, (12, HEAD_DIM)).transpose(1, 2).chunk(3, dim=1)
    options = {"encoding": layer.positions, "causal": True, "softcap": 2.0, "sinks": layer.sinks}
    join = lambda y: layer.out(y.transpose(1, 2).flatten(2))  # noqa: E731
    seeded = lambda: torch.Generator().manual_seed(1)  # noqa: E731
    ours, truth = (
        layer(x, generator=seeded()),
        join(attend(q, k, v, dropout=0.5, generator=seeded(), **options)),
    )
    assert torch.equal(ours, truth)
    layer.eval()
    assert torch.equal(layer(x), join(attend(q, k, v, **options)))
    layer(x).sum().backward()
    assert layer.sinks.grad.any()
    first, cache = layer(x[:, :4], cache=layer.start_cache())
    rest, _ = layer(x[:, 4:], cache=cache)
    assert torch.allclose(torch.cat([first, rest], dim=1), layer(x), atol=1e-5)


@pytest.mark.parametrize("option", [{"layout": "bshd"}, {"return_lse": True}])
def test_a_layer_keeps_the_shape_of_its_result(x, option):
    layer = SelfAttention(DIM, HEADS)
    with pytest.raises(ValueError, match=rf"{next(iter(option))} must be left out for SelfAttent"):
        layer(x, **option)
