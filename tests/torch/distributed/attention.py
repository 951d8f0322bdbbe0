"""Attention over a text that is shared out, by the functions of the how-to page; for the ranks."""

from pathlib import Path

import numpy as np
import torch
from torch import distributed as dist

import posenc as pe
from posenc.torch import BiasLogits
from tests.torch.distributed.page import load_page

BATCH, HEADS, KV_HEADS, LENGTH, DIM = 2, 4, 2, 64, 16
PARTS = [10, (2, 4, 3), 14, (1, 3, 2), 10]
"""Text, a video, text, an image and text: 64 tokens."""
WAYS = "attend_gathered", "attend_in_ring"


def encodings():
    """By name: the encoding, what it learns, and the positions of the text."""
    t5 = pe.T5Bias(HEADS, std=1.0)
    learned = {"table": torch.from_numpy(t5.init(np.random.default_rng(0))["table"]).double()}
    mrope = pe.AxialRoPE.mrope(DIM, sections=(4, 2, 2))
    text = torch.arange(LENGTH)
    return {
        "rope": (pe.RoPE(DIM), None, text),
        "alibi": (pe.ALiBi(HEADS), None, text),
        "t5": (t5, learned, text),
        "mrope": (mrope, None, torch.from_numpy(pe.mrope_positions(PARTS))),
        "far rope": (pe.RoPE(DIM, scaling=pe.YaRN(4.0, 64)), None, text + 2**23),
        "fire": (pe.FIRE(HEADS), BiasLogits(pe.FIRE(HEADS)).double().tensors(), text),
    }


def whole_text():
    """q, k, v and the gradient of the output, of the whole text."""
    rng = np.random.default_rng(1)
    shapes = [(BATCH, heads, LENGTH, DIM) for heads in (HEADS, KV_HEADS, KV_HEADS, HEADS)]
    return [torch.from_numpy(rng.normal(size=shape)) for shape in shapes]


def run(rank: int, world: int, folder: Path) -> None:
    """Save the outputs and gradients of this rank, by encoding, way and zigzag."""
    page, made = load_page(), {}
    for name, (encoding, drawn, positions) in encodings().items():
        params = {n: p.detach() for n, p in (drawn or {}).items()}
        for each in params.values():  # as DDP does
            dist.broadcast(each, 0)
        for way in WAYS:
            for zigzag in (True, False):
                mine = pe.sharded(LENGTH, rank=rank, world=world, zigzag=zigzag, like=positions)
                q, k, v, grad = (x[:, :, mine] for x in whole_text())
                inputs = [x.clone().requires_grad_() for x in (q, k, v)]
                learned = {n: p.clone().requires_grad_() for n, p in params.items()}
                out = page[way](
                    *inputs, positions, encoding=encoding, params=learned or None, zigzag=zigzag
                )
                out.backward(grad)
                for each in learned.values():
                    dist.all_reduce(each.grad)
                grads = [x.grad for x in inputs]
                rest = {n: p.grad for n, p in learned.items()}
                kept = {n: p.detach() for n, p in learned.items()}
                made[name, way, zigzag] = mine, out.detach(), grads, rest, kept
    torch.save(made, folder / f"attention-{rank}.pt")
