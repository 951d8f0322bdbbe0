"""DTensors as inputs of everything that takes tensors; for the ranks."""

from pathlib import Path

import torch
from torch import distributed as dist

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, KVCache, Positions, RotateQK, ScoreQK, attend

HEADS, LENGTH, DIM = 4, 6, 8
WHERE = torch.arange(LENGTH)
CALLS = {
    "rotate": lambda x: pe.RoPE(DIM).rotate(x, WHERE),
    "rotate positions": lambda x: pe.RoPE(LENGTH).rotate(x.to_local(), x[0, 0, 0]),
    "add": lambda x: pe.Sinusoidal(DIM).add(x, WHERE),
    "logits": lambda x: pe.logits(pe.ALiBi(HEADS), x, x, WHERE, WHERE),
    "rotate_cached": lambda x: pe.rotate_cached(pe.RoPE(DIM), x, by=3),
    "left_padded": lambda x: pe.left_padded(x[0, 0]),
    "attend, rotary": lambda x: attend(x, x, x, encoding=pe.RoPE(DIM)),
    "attend, bias": lambda x: attend(x, x, x, encoding=pe.ALiBi(HEADS), causal=True),
    "attend, nothing": lambda x: attend(x, x, x, encoding=pe.NoPE()),
    "RotateQK": lambda x: RotateQK(pe.RoPE(DIM))(x, x, WHERE),
    "AddPositions": lambda x: AddPositions(pe.Sinusoidal(DIM))(x, WHERE),
    "AddPositions, learned": AddPositions(pe.Learned(LENGTH, DIM)),
    "BiasLogits": lambda x: BiasLogits(pe.ALiBi(HEADS))(x[..., :LENGTH], WHERE),
    "ScoreQK": lambda x: ScoreQK(pe.Shaw(DIM, reach=4))(x, x, WHERE),
    "Positions.embed": lambda x: Positions(pe.Sinusoidal(DIM)).embed(x),
    "KVCache": lambda x: KVCache(pe.RoPE(DIM)).append(x, x),
    "KVCache, bias": lambda x: KVCache(pe.ALiBi(HEADS)).append(x, x),
}


def run(rank: int, world: int, folder: Path) -> None:
    """Save what each call says of a DTensor; None if it says nothing."""
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = dist.init_device_mesh("cpu", (world,))
    x = distribute_tensor(torch.randn(2, HEADS, LENGTH, DIM), mesh, [Shard(1)])
    torch.save(
        {name: _answer(call, x) for name, call in CALLS.items()}, folder / f"inputs-{rank}.pt"
    )


def _answer(call, x: torch.Tensor) -> str | None:
    try:
        call(x)
    except TypeError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
