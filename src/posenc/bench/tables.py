"""Sinusoidal tables, against `sin(position * frequency)`; adding them, against `x + table`."""

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from posenc.bench import truth
from posenc.bench.case import Bound, Case, Entry, Request, Setup, cases_by_size
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.torch import AddPositions

DIM = 512
PROMISED = 1.5e-7
"""The error of a float32 entry, for any position."""


def straightforward_table(length: int, dim: int) -> Tensor:
    """The table as most code builds it: float32 angles, a sine and a cosine for each entry."""
    position = torch.arange(length, dtype=torch.float32)[:, None]
    frequency = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10_000.0) / dim))
    table = torch.zeros(length, dim)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table


def build_table(length: int, _request: Request) -> Setup:
    """A whole table, by torch and by NumPy."""
    encoding, on_torch, on_numpy = Sinusoidal(DIM), torch.arange(length), np.arange(length)

    def check(make: Callable[[], Tensor]) -> Iterable[tuple[Tensor, Tensor]]:
        for made, p in zip(make().split(8192), on_torch.split(8192), strict=True):
            yield made, truth.encode(p, DIM)

    def by_numpy() -> np.ndarray:
        return encoding.encode(on_numpy, dtype=np.float32)

    straight = partial(straightforward_table, length, DIM)
    by_torch = partial(encoding.encode, on_torch, dtype=torch.float32)
    # 5 units of rounding in an angle of up to `length`, one in its sine
    rounded = Bound((5 * length + 1) * torch.finfo(torch.float32).eps / 2)
    return Setup(
        {
            "sin(position * frequency)": Entry(
                straight, partial(check, straight), rounded, convention="angles in float32"
            ),
            "posenc, torch": Entry(by_torch, partial(check, by_torch), Bound(PROMISED), ours=True),
            "posenc, numpy": Entry(
                by_numpy,
                partial(check, lambda: torch.from_numpy(by_numpy())),
                Bound(PROMISED),
                ours=True,
            ),
        }
    )


def add_positions(batch: int, length: int, _request: Request) -> Setup:
    """x + e(p) through the module, against adding rows of a table that is ready."""
    x = torch.randn((batch, length, DIM), generator=torch.Generator().manual_seed(0))
    first = 2047 if length == 1 else 0
    positions = torch.arange(first, first + length)
    exact = truth.encode(positions, DIM)
    table = exact.float()
    module = AddPositions(Sinusoidal(DIM))
    # an entry as promised, and the rounding of a sum of at most |x| + 1
    unit = torch.finfo(torch.float32).eps / 2
    bound = Bound(PROMISED + unit * (float(x.abs().max()) + 1))
    return Setup(
        {
            "x + table": Entry(lambda: x + table),
            "posenc": Entry(
                lambda: module(x, positions),
                lambda: [(module(x, positions), x.double() + exact)],
                bound,
                ours=True,
            ),
        }
    )


CASES = (
    *cases_by_size(
        "table",
        "table",
        f"sinusoidal table {{size}} x {DIM}, float32",
        build_table,
        (16_384, 65_536),
        quick=16_384,
    ),
    *cases_by_size(
        "add",
        "AddPositions",
        f"8 x {{size}} x {DIM}, float32",
        partial(add_positions, 8),
        (512, 2048),
        quick=512,
    ),
    Case(
        "add-token",
        "AddPositions",
        f"one token, 1 x 1 x {DIM}, float32",
        partial(add_positions, 1, 1),
        quick=True,
    ),
)
