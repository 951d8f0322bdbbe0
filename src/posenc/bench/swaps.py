"""A generated token of a model of transformers whose encoding was swapped, against it as it was."""

import copy
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from posenc.bench.case import Bound, Case, Entry, Request, Setup
from posenc.encodings.alibi import ALiBi
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.t5 import T5Bias

LAYERS, DIM, HEADS, VOCABULARY, LENGTH, STEPS = 8, 512, 8, 96, 512, 64
OWN = "as it was"
WHAT = f"a token after {LENGTH} others, a Llama of {LAYERS} layers of {DIM}, {HEADS} heads"


def generate(_request: Request) -> Setup:
    """A token after a text with a cache, in a Llama with each encoding swapped in."""
    if find_spec("transformers") is None:
        return Setup({}, {OWN: "transformers is not installed"})
    models = _make_models()
    prompt = torch.randint(VOCABULARY, (1, LENGTH), generator=torch.Generator().manual_seed(0))

    def exact(name: str) -> Tensor:
        """Logits of the same model in float64; with RoPE, of the model as it was."""
        model = models[OWN if name == "posenc, RoPE" else name]
        return _logits(copy.deepcopy(model).double(), prompt)

    rounding = float((_logits(models[OWN], prompt) - exact(OWN)).abs().max())

    def compare(name: str) -> Callable[[], list[tuple[Tensor, Tensor]]]:
        return lambda: [(_logits(models[name], prompt), exact(name))]

    return Setup(
        {
            name: Entry(_go_on(model, prompt), compare(name), Bound(16 * rounding), name != OWN)
            for name, model in models.items()
        }
    )


def _make_models() -> dict[str, Any]:
    """The model as it was, and with each encoding swapped in; all have the very same weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from posenc.models import swap

    config = LlamaConfig(
        hidden_size=DIM,
        intermediate_size=2 * DIM,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        vocab_size=VOCABULARY,
        max_position_embeddings=4 * LENGTH,
    )
    encodings = {
        "RoPE": RoPE(DIM // HEADS),
        "NoPE": NoPE(),
        "ALiBi": ALiBi(HEADS),
        "T5": T5Bias(HEADS),
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        own = LlamaForCausalLM(config).eval()
        swapped = {name: swap(_share(own), each) for name, each in encodings.items()}
    return {OWN: own} | {f"posenc, {name}": model for name, model in swapped.items()}


def _share(model: Any) -> Any:
    """A copy with the same weights in memory: where they are changes their time by 2%."""
    return copy.deepcopy(model, {id(p): p for p in model.parameters()})


@torch.no_grad()
def _logits(model: Any, tokens: Tensor) -> Tensor:
    return model(tokens, use_cache=False).logits


@torch.no_grad()
def _go_on(model: Any, prompt: Tensor) -> Callable[[], Tensor]:
    """A step of decoding; after some tokens it starts again."""
    cache, done, token = model(prompt, use_cache=True).past_key_values, 0, prompt[:, -1:]

    @torch.no_grad()
    def step() -> Tensor:
        nonlocal done
        if done == STEPS:
            cache.crop(-STEPS)
            done = 0
        done += 1
        return model(token, past_key_values=cache).logits

    return step


CASES = (Case("swap-token", "a swapped model", WHAT, generate),)
