"""How foreign modules are called: what `pe.adapt` takes, made of what they offer."""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

CELLS = 2**17
"""The largest table that is made to look up a position."""


@dataclass
class Driven:
    """A module, and how it is called: `drive(module, …)`. A cast of it is one of the module."""

    module: Any
    drive: Callable[..., Any]

    def __call__(self, *given: Any) -> Any:
        return self.drive(self.module, *given)

    def parameters(self) -> Any:
        """Those of the module."""
        return self.module.parameters()

    def to(self, *given: Any) -> "Driven":
        """Cast or move the module itself, as modules do."""
        self.module.to(*given)
        return self


def imported(module: str, package: str | None = None) -> Any:
    """A module of another library, or which package to install."""
    package = package or module.partition(".")[0].replace("_", "-")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{package} must be installed: pip install {package}; {error.name} was not found",
            name=error.name,
        ) from error


def runs(positions: Any) -> Iterator[tuple[Any, slice]]:
    """Where each run of consecutive positions starts, and which of them it is."""
    p, first = positions.tolist(), 0
    for end in range(1, len(p) + 1):
        if end == len(p) or p[end] != p[end - 1] + 1:
            yield p[first], slice(first, end)
            first = end


def sides(positions: Any, axes: int) -> list[int]:
    """The sides of a table that holds these positions (n, axis), as far as memory goes."""
    most = int(CELLS ** (1 / axes))
    found = [int(side) + 1 for side in positions.max(dim=0).values]
    if int(positions.min()) < 0 or max(found) > most:
        raise ValueError(
            f"positions must lie between 0 and {most - 1:,} for a table of them; got sides {found}"
        )
    return found
