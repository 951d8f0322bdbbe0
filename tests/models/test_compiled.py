"""Swapped models under torch.compile with its own compiler, which makes C++ of them."""

import shutil

import pytest
import torch

import posenc as pe
from tests.models.architectures import build
from tests.models.nearness import bound_logits, compiled_error, swap_own

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
    pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`"),
]

LENGTH = 24
TOKENS = torch.randint(3, 60, (2, LENGTH), generator=torch.Generator().manual_seed(0))
DTYPES = [torch.float32, torch.bfloat16]
NAMES = ["llama", "gemma2", "gemma3_text", "phi3", "cohere", "modernbert", "deepseek_v3"]


def run(model):
    with torch.no_grad():
        return model(TOKENS).logits.float()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_model_has_the_logits_of_the_model(name, dtype):
    model = swap_own(build(name, dtype=dtype))
    assert compiled_error(model, run, backend="inductor") <= bound_logits(model, run, LENGTH)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("encoding", [pe.ALiBi(4), pe.T5Bias(4), pe.FIRE(4)], ids=str)
def test_so_does_one_with_a_bias(encoding, dtype):
    """To 64 roundings of its largest logit: sums of a few dozen terms in each of two layers."""
    model = pe.models.swap(build("llama", dtype=dtype), encoding)
    bound = 64 * torch.finfo(dtype).eps / 2 * float(run(model).abs().max())
    assert compiled_error(model, run, backend="inductor") <= bound


def test_a_compiled_step_trains_what_an_encoding_learns():
    model = pe.models.swap(build("llama"), pe.T5Bias(4))

    def gradients(module):
        model.zero_grad()
        module(TOKENS, use_cache=False).logits.square().mean().backward()
        return {name: p.grad.clone() for name, p in model.named_parameters()}

    plain = gradients(model)
    torch.compiler.reset()
    made = gradients(torch.compile(model, fullgraph=True))
    for name, grad in plain.items():
        assert (made[name] - grad).abs().max() <= 1e-4 * grad.abs().max(), name
