"""Building a sinusoidal table, against the straightforward `sin(position * frequency)`."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posenc.bench.timing import compare_times
from posenc.core import rules
from posenc.encodings.sinusoidal import Sinusoidal

LENGTH, DIM = 65_536, 512


def straightforward_table(length: int, dim: int) -> Tensor:
    """The table as most code builds it: float32 angles, a sine and a cosine for each entry."""
    position = torch.arange(length, dtype=torch.float32)[:, None]
    frequency = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10_000.0) / dim))
    table = torch.zeros(length, dim)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table


def measure(*, rounds: int = 9, length: int = LENGTH, dim: int = DIM) -> dict[str, Any]:
    """Median seconds of each way to build the table, their ratio to the first, and their errors.

    Raises ArithmeticError if a table of posenc is off by more than 1.5e-7.
    """
    rounds = rules.whole("rounds", rounds, least=1)
    encoding, on_torch, on_numpy = Sinusoidal(dim), torch.arange(length), np.arange(length)
    work = {
        "straightforward, torch": lambda: straightforward_table(length, dim),
        "posenc, torch": lambda: encoding.encode(on_torch, dtype=torch.float32),
        "posenc, numpy": lambda: encoding.encode(on_numpy, dtype=np.float32),
    }
    truth = np.concatenate(
        [encoding.encode(part) for part in np.array_split(on_numpy, length // 512)]
    )
    errors = {name: float(np.abs(np.asarray(make()) - truth).max()) for name, make in work.items()}
    return compare_times(
        f"{length} x {dim} float32 table", work, errors, bound=1.5e-7, rounds=rounds
    )
