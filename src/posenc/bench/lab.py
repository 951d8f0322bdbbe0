"""A training step of the lab's model, against the same model with hand-written attention."""

import copy
from typing import cast

import torch
from torch import Tensor

from posenc.bench.case import Bound, Case, Entry, Request, Setup
from posenc.bench.handwritten import RotaryAttention
from posenc.bench.models import HAND
from posenc.lab.batches import draw_batch, measure_sequence
from posenc.lab.grid import plan
from posenc.lab.model import Block, Transformer
from posenc.lab.settings import Settings
from posenc.lab.subjects import find_encoding
from posenc.lab.training import State, advance, start

OURS = "posenc, RoPE"


class Plain(RotaryAttention):
    """Hand-written attention, called as the lab calls its layers."""

    def forward(self, x: Tensor, pos: None = None, mask: None = None) -> Tensor:  # pyright: ignore
        """The output (batch, seq, dim), with positions from 0 on."""
        return super().forward(x)


def make_settings() -> Settings:
    """The run of `posenc lab run --quick`, with RoPE by halves as people write it."""
    (settings,) = plan(protocol="quick", encodings=["RoPE(64, pairing='halves')"], seeds=1)
    return settings


def replace_attention(model: Transformer, *, heads: int, length: int) -> Transformer:
    """The same model with the same weights, but hand-written attention."""
    other = copy.deepcopy(model)
    for block in other.blocks:
        ours = cast(Block, block).attention
        plain = Plain(ours.qkv.in_features, heads, length=length)
        plain.qkv, plain.out = ours.qkv, ours.out
        block.attention = plain
    return other


def train(_request: Request) -> Setup:
    """A step of the lab: a batch drawn, forward, backward, AdamW; logits are checked first."""
    settings = make_settings()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        ours = start(settings, find_encoding(settings))
    length = measure_sequence(settings, settings.train_lengths[1])
    hand = replace_attention(ours.model, heads=settings.heads, length=length)
    optimiser = torch.optim.AdamW(hand.parameters(), lr=settings.learning_rate)
    tokens = draw_batch(settings, "train", 0).tokens
    exact = compute_logits(copy.deepcopy(hand).double(), tokens)
    rounding = float((compute_logits(hand, tokens) - exact).abs().max())

    def enter(state: State, *, is_ours: bool) -> Entry:
        before = copy.deepcopy(state.model)  # the gate looks at the model before it has learned
        return Entry(
            lambda: step_once(state, settings),
            lambda: [(compute_logits(before, tokens), exact)],
            Bound(8 * rounding),
            ours=is_ours,
        )

    return Setup(
        {HAND: enter(State(hand, optimiser), is_ours=False), OURS: enter(ours, is_ours=True)}
    )


def step_once(state: State, settings: Settings) -> None:
    """One step, always the first, which neither checks nor ends."""
    state.step = 0
    advance(state, settings)


@torch.no_grad()
def compute_logits(model: Transformer, tokens: Tensor) -> Tensor:
    """The logits of a batch."""
    return model(tokens)


CASES = (Case("lab-train", "the lab", "a training step of `posenc lab run --quick`", train),)
