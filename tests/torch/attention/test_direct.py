"""Calls that go to PyTorch's attention from the door: right, or declined."""

import pytest
import torch

import posenc as pe
from posenc.torch import BiasLogits, KVCache, ScoreQK, attend
from posenc.torch.attention.call import prepare
from posenc.torch.attention.dense import dense
from posenc.torch.attention.direct import attend_newest, attend_plain

GENERATOR = torch.Generator().manual_seed(0)
Q, K, V = torch.randn(3, 2, 2, 6, 8, generator=GENERATOR, dtype=torch.float64)
MODULES = (
    pytest.param(lambda: ScoreQK(pe.TransformerXL(2, 8, std=0.5)), id="TransformerXL"),
    pytest.param(lambda: BiasLogits(pe.T5Bias(2, bidirectional=True)), id="T5Bias"),
)


@pytest.mark.parametrize("encoding", [pe.RoPE(8), pe.NoPE()], ids=str)
@pytest.mark.parametrize(("queries", "causal"), [(6, True), (6, False), (1, True), (4, False)])
def test_what_is_taken_is_the_specification(encoding, queries, causal):
    q = Q[:, :, -queries:]
    made = attend_plain(q, K, V, encoding, causal=causal)
    truth = dense(prepare(q, K, V, encoding=encoding, causal=causal))
    assert (made - truth).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("q", "encoding", "causal"),
    [
        (Q, pe.ALiBi(2), True),  # a bias
        (Q[:, :, :4], pe.RoPE(8), True),  # PyTorch's causal mask begins at the first key
        (Q, pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 4)), True),  # depends on the length
        (Q.float(), pe.RoPE(8), True),  # of another dtype than k
        (Q[..., :4], pe.RoPE(8), True),
        (Q, pe.RoPE(16), True),
        (Q, pe.RoPE(8), 1),  # no flag
        (Q.tolist(), pe.RoPE(8), True),
    ],
)
def test_what_it_does_not_know_to_be_right_is_declined(q, encoding, causal):
    assert attend_plain(q, K, V, encoding, causal=causal) is None


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("encoding", [pe.RoPE(8), pe.ALiBi(2), pe.NoPE()], ids=str)
def test_the_newest_token_attends_to_the_cache(encoding, window):
    cache = KVCache(encoding)
    for t in range(6):
        cache = cache.append(K[:, :, t : t + 1], V[:, :, t : t + 1])
        q = Q[:, :, t : t + 1]
        made = attend_newest(q, cache, causal=True, window=window)
        options = {"encoding": encoding, "causal": True, "window": window}
        truth = dense(prepare(q, K[:, :, : t + 1], V[:, :, : t + 1], **options))
        assert (made - truth).abs().max() < 1e-7


def test_two_queries_and_gradients_are_declined():
    cache = KVCache(pe.ALiBi(2)).append(K, V)
    assert attend_newest(Q[:, :, :2], cache, causal=True, window=None) is None
    learning = Q[:, :, :1].clone().requires_grad_()
    assert attend_newest(learning, cache, causal=True, window=None) is None
    with torch.no_grad():
        assert attend_newest(learning, cache, causal=True, window=None) is not None


def write(module):
    for parameter in module.parameters():
        parameter.mul_(2)


def replace(module):
    for name, parameter in module.params.items():
        module.params[name] = torch.nn.Parameter(2 * parameter, requires_grad=False)


def swap_memory(module):
    for parameter in module.parameters():
        parameter.data = 2 * parameter


@pytest.mark.parametrize("change", [write, replace, swap_memory])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("of_inference", [False, True])
@pytest.mark.parametrize("make", MODULES)
def test_what_is_kept_is_made_anew_once_parameters_change(make, of_inference, mode, change):
    if of_inference and change is not replace and mode is torch.no_grad:
        pytest.skip("PyTorch refuses to write to tensors of inference mode outside of it")
    q, k, v = torch.randn(3, 1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode(of_inference):
        module = make().requires_grad_(requires_grad=False)
    with mode():
        cache = KVCache(module).append(k, v)
        before = attend(q[:, :, 4:], cache=cache)
        change(module)
        made = attend(q[:, :, 4:], cache=cache)
        wanted = attend(q[:, :, 4:], k, v, encoding=module, impl="dense")
    assert (made - before).abs().max() > 1e-3
    assert (made - wanted).abs().max() < 1e-5


@pytest.mark.parametrize("make", MODULES)
def test_parameters_of_a_functional_call_are_used(make):
    q, k, v = torch.randn(3, 1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
    module, other = (make().requires_grad_(requires_grad=False) for _ in range(2))
    cache = KVCache(module).append(k, v)
    attend(q[:, :, 4:], cache=cache)

    class Calls(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoding = module

        def forward(self, q):
            return attend(q, cache=cache)

    given = {f"encoding.{name}": x for name, x in other.named_parameters()}
    made = torch.func.functional_call(Calls(), given, (q[:, :, 4:],))
    wanted = attend(q[:, :, 4:], k, v, encoding=other, impl="dense")
    assert (made - wanted).abs().max() < 1e-5
