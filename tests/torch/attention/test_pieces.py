"""The insides of `attend` by themselves, so that small calls reach what only long ones would."""

import math

import pytest
import torch

import posenc as pe
from posenc.torch import attend
from posenc.torch.attention import blocked, flex, pieces, toeplitz
from posenc.torch.attention.call import prepare
from posenc.torch.attention.pieces import BiasedPiece, Piece, in_pieces
from tests.slow import in_turn
from tests.torch.attention.test_attend import CALLS, DIM, HEADS, check, encodings, of, qkv

EVERY = slice(None)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def piecewise(monkeypatch):
    """No call has few enough pairs to be taken at once."""
    monkeypatch.setattr(blocked, "FEW_PAIRS", 0)


@pytest.mark.usefixtures("piecewise")
@pytest.mark.parametrize(
    ("name", "call", "kv_heads"),
    in_turn(
        ["alibi", "two-sided", "t5", "clipped", "fire", "fire, beyond", "transformer-xl, wide"],
        CALLS,
        of=[HEADS, 2, 1],
    ),
)
def test_pieces_equal_dense_forward_and_backward(name, call, kv_heads):
    """In float64: in float32 sums over all pairs differ by as much as they are rounded."""
    encoding, options = encodings()[name], CALLS[call]
    if of(encoding).causal_only and not options.get("causal"):
        options = options | {"causal": True}
    tensors = [x.double().requires_grad_() for x in qkv(70, 90, kv_heads=kv_heads)]
    learned = list(encoding.double().parameters()) if isinstance(encoding, torch.nn.Module) else []
    cotangent = torch.randn(2, HEADS, 70, DIM).double()
    both = []
    for impl in ("blocked", "dense"):
        out = attend(*tensors, encoding=encoding, impl=impl, **options)
        wanted = [*tensors, *learned]
        both.append((out, *torch.autograd.grad(out, wanted, cotangent, allow_unused=True)))
    for ours, theirs in zip(*both, strict=True):
        if theirs is not None:
            assert (ours - theirs).abs().max() < 1e-6 * max(1, theirs.abs().max())


@pytest.mark.usefixtures("piecewise")
@pytest.mark.parametrize("start", [-100, -30, 0, 30, 200])
def test_queries_beside_the_keys_are_not_taken_for_keys(start):
    """Where a query is at no key there is none beside which others could be too small to matter."""
    q, k, v = qkv(70, 90)
    where = {"q_pos": torch.arange(start, start + 70), "k_pos": torch.arange(90)}
    for window in (None, 40):
        options = {"encoding": pe.ALiBi(HEADS), "window": window, **where}
        check(["blocked"], q, k, v, **options)


@pytest.mark.usefixtures("piecewise")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_pieces_in_a_half_are_summed_in_float32(dtype):
    """Each adds 1: in bfloat16 256 + 1 is 256 again, in float16 2,048 + 1 is 2,048."""
    rows = 300 if dtype == torch.bfloat16 else 2_052
    q, v = torch.zeros(1, 1, rows, 1, dtype=dtype), torch.zeros(1, 1, 3, 1, dtype=dtype)
    v.requires_grad_()
    pieces = [
        Piece(EVERY, slice(row, row + 1), EVERY, lambda q, k, v, extras: v.sum(2, keepdim=True))
        for row in range(rows)
    ]
    in_pieces(pieces, q, v.detach(), v, ()).sum().backward()
    assert (v.grad == rows).all()


def find_runs(call, offset):
    """Runs of heads, and the distances that matter to them."""
    line = toeplitz.hide_lost_keys(call, toeplitz.line(call, offset), offset)
    return toeplitz._runs(call, line, offset)


@pytest.mark.parametrize("worth", [0, toeplitz.WORTH])
def test_a_head_that_sees_nothing_takes_none_from_its_neighbours(worth, monkeypatch):
    """Biases of -inf: four heads see everything, one neighbour, nothing, the last key but one."""
    monkeypatch.setattr(toeplitz, "WORTH", worth)
    q, k, v = qkv(70, 90, kv_heads=2)
    table = torch.full((7, HEADS), -math.inf)
    table[:, 0], table[4, 1], table[5, 3] = 0.0, 0.0, 0.0
    options = {"encoding": pe.ClippedBias(HEADS, 3), "params": {"table": table}}
    check(("blocked", "dense"), q, k, v, **options)
    call = prepare(q, k, v, **options)
    runs = find_runs(call, 20)
    assert runs[1:] == ([] if worth else [(slice(2, 4), 2, 2)])


@pytest.mark.parametrize("product", [-1.0, 1.0])
def test_what_may_be_left_out_depends_on_the_product_with_the_own_key(product):
    """Keys 45 nats below the query's own matter if that one has a product of -36, not of 36."""
    q, k = torch.zeros(8, 1, 300, 4), torch.zeros(8, 1, 600, 4)
    q[..., 0], k[:, :, :300, 0], k[:, :, 300:, 0] = 6.0, 6.0, 6.0 * product
    v, table = torch.randn(8, 1, 600, 4), torch.zeros(7, 1)
    table[-1] = -45.0
    options = {"encoding": pe.ClippedBias(1, 3), "params": {"table": table}, "causal": True}
    check(("blocked", "dense"), q, k, v, scale=1.0, **options)
    dense = attend(q, k, v, impl="dense", scale=1.0, **options)
    far = v[:, :, :300].mean(2)
    assert ((dense[:, :, -1] - far).abs().max() < 0.01) == (product < 0)


def test_heads_that_share_a_bias_may_see_more_or_less_of_it():
    class Steep(pe.Bias):
        traits = pe.Traits(relative=True)

        def bias(self, q_pos, k_pos, params=None):
            return -pe.distances(q_pos, k_pos).abs().float()[..., None, :, :]

    q, k, v = qkv(600, 600, kv_heads=2)
    q[:, 2:] *= 20
    call = prepare(q, k, v, encoding=Steep())
    assert len(find_runs(call, 0)) == 2
    check(["blocked"], q, k, v, encoding=Steep())


@pytest.mark.usefixtures("piecewise")
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(("dtype", "bits"), [(torch.float32, 24), (torch.float64, 53)])
def test_keys_are_left_out_only_if_all_together_are_lost_in_rounding(dtype, bits, ahead):
    """Far keys that each are far too small, and together 2^(1 - bits) of the query's own."""
    q, v = torch.zeros(1, 1, 600, 4, dtype=dtype), torch.ones(1, 1, 600, 4, dtype=dtype)
    i, row = (0, 0) if ahead else (599, -1)
    v[:, :, i] = 0.0
    table = torch.full((7, 1), -200.0, dtype=dtype)
    table[3], table[row] = 0.0, -(bits - 1) * math.log(2) - math.log(597)
    options = {"encoding": pe.ClippedBias(1, 3), "params": {"table": table}}
    ours, dense = (attend(q, q, v, impl=impl, **options) for impl in ("blocked", "dense"))
    assert (dense[0, 0, i] * 2 ** (bits - 1) - 1).abs().max() < 1e-3
    assert (ours - dense)[0, 0, i].abs().max() < 2.0 ** -(bits + 1)


@pytest.mark.parametrize("causal", [False, True])
def test_far_keys_of_steep_heads_are_left_out_on_both_sides(causal, monkeypatch):
    monkeypatch.setattr(toeplitz, "WORTH", 0)
    monkeypatch.setattr(toeplitz, "LOOK", 0)
    q, k, v = qkv(600, 600, kv_heads=2)
    call = prepare(q * 0, k, v, encoding=pe.ALiBi(HEADS), causal=causal)
    runs = find_runs(call, 0)
    assert [heads for heads, _, _ in runs] == [slice(0, 2), slice(2, 4)]
    for (_, nearest, farthest), slope in zip(runs, (2**-4, 2**-8), strict=True):
        # from d on e^(-m d) sum to e^(-m d) / (1 - e^-m), for the flatter head of the two
        lost = (25 * math.log(2) - math.log(-math.expm1(-slope))) / slope
        assert nearest == (0 if causal else -farthest)
        assert abs(farthest - min(lost, 599)) <= 1
    q = q[:, :, :40]
    call = prepare(q, k, v, encoding=pe.ALiBi(HEADS), causal=causal, window=9)
    (run,) = find_runs(call, 560)
    assert run == (slice(0, 4), 0 if causal else -8, 8)


SIGHTS = {
    "one way": {"causal": True},
    "a window": {"causal": True, "window": 128},
    "a window both ways": {"window": 129},
    "documents": {"documents": torch.arange(390) // 128},
}
MIXED = {
    "documents of each row": {
        "causal": True,
        "documents": torch.stack([torch.arange(390) // 70, 9 - torch.arange(390) // 50]),
    },
    "documents in any order": {"documents": torch.arange(390) * 7 // 64 % 5},
    "a mask": {"mask": torch.rand(2, HEADS, 300, 390, generator=torch.Generator()) > 0.5},
    "a mask of each row": {"mask": torch.rand(2, 390, generator=torch.Generator()) > 0.5},
    "positions of each row": {
        "causal": True,
        "window": 50,
        "q_pos": torch.stack([torch.randperm(300, generator=torch.Generator()) for _ in "ab"]),
        "k_pos": torch.stack([torch.arange(390), torch.arange(390).flip(0) - 90]),
    },
    "positions of each row both ways": {
        "window": 50,
        "q_pos": torch.stack([torch.arange(300), 500 + torch.arange(300)]),
        "k_pos": torch.stack([torch.arange(390) + 40, torch.arange(390).flip(0)]),
    },
}


def in_flex(options):
    q, k, v = qkv(300, 390, kv_heads=2)
    return prepare(q, k, v, encoding=pe.ALiBi(HEADS), **options)


def indices(call):
    """b, h, i and j, whose broadcast are all pairs."""
    shape = (2, HEADS, call.q.shape[2], call.k.shape[2])
    return [
        torch.arange(size).reshape([-1 if n == axis else 1 for n in range(4)])
        for axis, size in enumerate(shape)
    ]


def blocks_of(visible):
    """Whether anything is seen in each block of 128 x 128: (batch, q blocks, k blocks)."""
    padded = torch.nn.functional.pad(visible.any(1), (0, -390 % 128, 0, -300 % 128))
    return padded.reshape(2, 3, 128, -1, 128).any(-1).any(2)


@pytest.mark.parametrize("name", SIGHTS | MIXED)
def test_flex_asks_each_pair_what_dense_sees(name):
    call = in_flex((SIGHTS | MIXED)[name])
    visible = call.visibility.visible(EVERY, EVERY).expand(2, HEADS, -1, -1)
    asked = flex._mask_mod(call.visibility, 2)(*indices(call)).expand_as(visible)
    assert torch.equal(asked, visible)
    found = flex._seen_blocks(call.visibility, 2)
    assert (found >= blocks_of(visible)).all()  # none is left out


@pytest.mark.parametrize("name", SIGHTS)
@pytest.mark.parametrize("start", [-1, 0, 1, 90, 128])
def test_flex_leaves_out_every_block_that_is_not_seen(name, start):
    where = {"q_pos": torch.arange(start, start + 300), "k_pos": torch.arange(390)}
    call = in_flex(SIGHTS[name] | where)
    visible = call.visibility.visible(EVERY, EVERY).expand(2, -1, -1, -1)
    assert torch.equal(flex._seen_blocks(call.visibility, 2), blocks_of(visible))


@pytest.mark.parametrize("name", ["one way", "positions of each row"])
def test_flex_looks_up_the_bias_of_each_pair(name):
    call = in_flex((SIGHTS | MIXED)[name])
    found = flex._score_mod(call)(torch.zeros(()), *indices(call))
    bias = call.encoding.bias(call.q_pos, call.k_pos)
    assert torch.equal(found, bias.float().expand_as(found))


@pytest.mark.usefixtures("piecewise")
@pytest.mark.parametrize("entries", [1, 500, 5_000, 2**20])
@pytest.mark.parametrize("kv_heads", [HEADS, 2, 1])
def test_a_backward_pass_may_have_any_number_of_weights_before_it(entries, kv_heads, monkeypatch):
    """One query of one head at a time, several heads or rows, or all: the sums are the same."""
    monkeypatch.setattr(pieces, "ENTRIES", entries)
    encoding = encodings()["t5"].double()
    tensors = [x.double().requires_grad_() for x in qkv(30, 40, kv_heads=kv_heads)]
    cotangent = torch.randn(2, HEADS, 30, DIM).double()
    wanted = [*tensors, *encoding.parameters()]
    ours, dense = (
        torch.autograd.grad(
            attend(*tensors, encoding=encoding, causal=True, impl=impl), wanted, cotangent
        )
        for impl in ("blocked", "dense")
    )
    for mine, exact in zip(ours, dense, strict=True):
        # 12 sqrt(n) roundings of 2^-53, of sums of n <= 2 * 30 * 40 products of about 1
        assert (mine - exact).abs().max() < 12 * 2400**0.5 * 2.0**-53 * max(1, exact.abs().max())


@pytest.mark.usefixtures("piecewise")
def test_a_text_that_starts_late_is_beyond_the_length_sooner():
    """By position, and by the largest of a batch, not by the number of the query."""
    encoding = encodings()["fire, beyond"].double()
    tensors = [x.double() for x in qkv(90, 90)]
    for start, told in ((0, "86 queries"), (10, "76 queries"), (40, "block")):
        rows = torch.arange(90) + torch.tensor([[start], [0]])
        where = {"q_pos": rows, "k_pos": rows, "causal": True}
        assert told in attend.explain(*tensors, encoding=encoding, **where).why
        check(("blocked", "dense"), *tensors, encoding=encoding, **where)


def test_a_mask_of_each_row_and_of_all_heads_has_its_gradient():
    """Where a bias has no axis for heads, or rows of its own, slopes are summed to its shape."""
    tensors = [x.double().requires_grad_() for x in qkv(6, 7, kv_heads=2)]
    cotangent = torch.randn(2, HEADS, 6, DIM).double()
    for shape in ((1, 1, 6, 7), (2, 1, 6, 7), (1, HEADS, 6, 7), (2, HEADS, 6, 7)):
        mask = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        piece = BiasedPiece(EVERY, EVERY, EVERY, lambda extras: extras[0], 0.25)
        ours = in_pieces([piece], *tensors, (mask,))
        q, k, v = tensors[0], *(x.repeat_interleave(2, 1) for x in tensors[1:])
        truth = torch.softmax(q @ k.mT / 4 + mask, -1) @ v
        both = (torch.autograd.grad(out, [*tensors, mask], cotangent) for out in (ours, truth))
        for mine, exact in zip(*both, strict=True):
            assert mine.shape == exact.shape
            assert (mine - exact).abs().max() < 12 * 180**0.5 * 2.0**-53 * max(1, exact.abs().max())


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_hidden_from_the_queries_before_it(bad, learns):
    """NaN + -inf is NaN: what is ahead of a query has to be left out, not only weighed by 0."""
    q, k, v = qkv(512, 512, kv_heads=2)
    k[0, 0, 300, 0] = bad
    tensors = [x.requires_grad_(learns) for x in (q, k, v)]
    assert not pieces.is_finite(pieces.attend_causal(*tensors, scale=0.25))
    ours = attend(*tensors, encoding=pe.NoPE(), causal=True)
    truth = attend(*tensors, encoding=pe.NoPE(), causal=True, impl="dense")
    assert torch.equal(ours.isfinite(), truth.isfinite())
    assert ours[0, :2, :300].isfinite().all()
    assert not ours[0, :2, 300:].isfinite().all()


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_causal_attention_is_mapped_and_traced_at_every_length():
    """Pieces are for tensors at rest: `torch.func` and tracers see PyTorch's own operator."""
    q, k, v = qkv(512, 512)

    def run(q, k, v):
        return attend(q, k, v, encoding=pe.NoPE(), causal=True)

    truth = run(q, k, v)
    mapped = torch.func.vmap(lambda *one: run(*(x[None] for x in one))[0])(q, k, v)
    assert (mapped - truth).abs().max() < 1e-5
    graph = torch.fx.experimental.proxy_tensor.make_fx(run)(q, k, v)
    assert (graph(q, k, v) - truth).abs().max() < 1e-5
