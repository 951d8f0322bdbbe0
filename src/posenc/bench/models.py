"""A small GPT with each kind of encoding, against one with hand-written RoPE and attention."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from posenc.bench.case import Bound, Case, Entry, Request, Setup
from posenc.bench.handwritten import GPT, RotaryAttention
from posenc.core.encoding import Encoding
from posenc.encodings.alibi import ALiBi
from posenc.encodings.fire import FIRE
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.t5 import T5Bias
from posenc.encodings.transformer_xl import TransformerXL
from posenc.torch import SelfAttention

LAYERS, DIM, HEADS, VOCABULARY = 2, 256, 8, 96
LENGTH, BATCH, STEPS = 512, 2, 128
HAND = "hand-written RoPE"


def make_encodings() -> dict[str, Encoding]:
    """What is put into the model, by name."""
    return {
        "RoPE": RoPE(DIM // HEADS, pairing="halves"),
        "ALiBi": ALiBi(HEADS),
        "NoPE": NoPE(),
        "T5": T5Bias(HEADS),
        "FIRE": FIRE(HEADS),
        "Transformer-XL": TransformerXL(HEADS, DIM // HEADS),
    }


def make_models() -> dict[str, GPT]:
    """The hand-written model, and one with each encoding; shared weights are equal."""
    make = partial(GPT, layers=LAYERS, dim=DIM, vocabulary=VOCABULARY)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        hand = make(lambda: RotaryAttention(DIM, HEADS, length=LENGTH + STEPS))
        models = {HAND: hand}
        for name, encoding in make_encodings().items():
            model = make(lambda encoding=encoding: SelfAttention(DIM, HEADS, encoding=encoding))
            model.load_state_dict(hand.state_dict(), strict=False)
            models[f"posenc, {name}"] = model
    return models


def draw_tokens(batch: int, length: int) -> Tensor:
    """Random tokens."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(VOCABULARY, (batch, length), generator=generator)


def enter(models: dict[str, GPT], work: Callable[[GPT], Callable[[], Any]]) -> Setup:
    """`work` of each model, once its logits are those of the same model in float64.

    RoPE is held against the hand-written model in float64; what the hand-written one is off in
    float32 is rounding, and none may be off by more than eight times as much.
    """
    tokens = draw_tokens(1, LENGTH)

    def exact(name: str) -> Tensor:
        model = models[HAND if name == "posenc, RoPE" else name]
        return compute_logits(copy.deepcopy(model).double(), tokens)

    rounding = float((compute_logits(models[HAND], tokens) - exact(HAND)).abs().max())
    return Setup(
        {
            name: Entry(
                work(model),
                lambda name=name, model=model: [(compute_logits(model, tokens), exact(name))],
                Bound(8 * rounding),
                ours=name != HAND,
            )
            for name, model in models.items()
        }
    )


@torch.no_grad()
def compute_logits(model: GPT, tokens: Tensor) -> Tensor:
    """The logits of a text."""
    return model(tokens)[0]


def train(_request: Request) -> Setup:
    """A training step: forward, backward, AdamW."""
    tokens = draw_tokens(BATCH, LENGTH + 1)

    def start(model: GPT) -> Callable[[], None]:
        trained = copy.deepcopy(model)  # the gate looks at the model before it has learned
        optimiser = torch.optim.AdamW(trained.parameters(), lr=1e-4)

        def step() -> None:
            logits, _ = trained(tokens[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimiser.zero_grad()
            loss.backward()  # pyright: ignore[reportUnknownMemberType]
            optimiser.step()

        return step

    return enter(make_models(), start)


def generate(_request: Request) -> Setup:
    """A token after a text, with the caches; after some tokens it starts again."""
    prompt = draw_tokens(1, LENGTH)

    @torch.no_grad()
    def start(model: GPT) -> Callable[[], Tensor]:
        _, filled = model(prompt, model.start_caches())
        caches, done = filled, 0
        token = prompt[:, -1:]

        @torch.no_grad()
        def step() -> Tensor:
            nonlocal caches, done
            if done == STEPS:
                caches, done = filled, 0
            logits, caches = model(token, caches)
            done += 1
            return logits

        return step

    return enter(make_models(), start)


WHAT = f"{LAYERS} layers of {DIM}, {HEADS} heads"
CASES = (
    Case("gpt-train", "a GPT", f"a training step, {WHAT}, {BATCH} x {LENGTH} tokens", train),
    Case("gpt-token", "a GPT", f"a token after {LENGTH} others, {WHAT}", generate),
)
