"""Adapters that call the modules of other libraries the way `pe.adapt` expects."""

from __future__ import annotations  # PyTorch is not imported before it is used

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

CELLS = 2**17
"""The largest table that is built to look up a position."""


@dataclass
class ModuleAdapter:
    """A module with the function that calls it, `call(module, …)`; casts apply to the module."""

    module: Any
    call: Callable[..., Any]

    def __call__(self, *args: object) -> object:
        return self.call(self.module, *args)

    def parameters(self) -> Any:
        """The parameters of the module."""
        return self.module.parameters()

    def to(self, *args: object) -> ModuleAdapter:
        """Cast or move the module in place, as `torch.nn.Module.to` does."""
        self.module.to(*args)
        return self


def import_library(module: str, package: str | None = None) -> Any:
    """Import a module of another library, or raise an error that names the package to install."""
    package = package or module.partition(".")[0].replace("_", "-")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{package} must be installed: pip install {package}; {error.name} was not found",
            name=error.name,
        ) from error


def split_runs(positions: Tensor) -> Iterator[tuple[int, slice]]:
    """Split positions into runs of consecutive ones: the first position and the slice of each."""
    p, first = positions.tolist(), 0
    for end in range(1, len(p) + 1):
        if end == len(p) or p[end] != p[end - 1] + 1:
            yield p[first], slice(first, end)
            first = end


def find_table_sides(positions: Tensor, axes: int) -> list[int]:
    """The sides of a table with a cell for each of `positions` (n, axis), if it is small enough."""
    most = int(CELLS ** (1 / axes))
    sides = [int(side) + 1 for side in positions.max(dim=0).values]
    if int(positions.min()) < 0 or max(sides) > most:
        raise ValueError(
            f"positions must lie between 0 and {most - 1:,} for a table of them; got sides {sides}"
        )
    return sides
