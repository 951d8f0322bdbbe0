"""Rotating queries, against copying them, which no rotation can beat."""

from typing import Any

import numpy as np
import torch

from posenc.bench.timing import compare_times
from posenc.core import rules
from posenc.encodings.rope import RoPE

SHAPE = (1, 32, 2048, 128)


def measure(*, rounds: int = 9, shape: tuple[int, int, int, int] = SHAPE) -> dict[str, Any]:
    """Median seconds to clone and to rotate a float32 tensor, and the errors of the rotations.

    Raises ArithmeticError if a rotation is off by more than 2e-6.
    """
    rounds = rules.whole("rounds", rounds, least=1)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    positions = torch.arange(shape[-2])
    ropes = {pairing: RoPE(shape[-1], pairing=pairing) for pairing in ("interleaved", "halves")}
    work = {"clone": x.clone} | {
        f"rotate, {pairing}": lambda rope=rope: rope.rotate(x, positions)
        for pairing, rope in ropes.items()
    }
    errors = {"clone": 0.0}
    for pairing, rope in ropes.items():
        truth = rope.rotate(x.double().numpy(), np.arange(shape[-2]))
        errors[f"rotate, {pairing}"] = float(
            np.abs(rope.rotate(x, positions).numpy() - truth).max()
        )
    what = f"{' x '.join(map(str, shape))} float32"
    return compare_times(what, work, errors, bound=2e-6, rounds=rounds)
