"""posenc: Transformer positional encodings, exact at any position."""

import typing as _typing
from importlib import import_module as _import_module

from posenc.encodings import BUILTIN as _BUILTIN

__version__ = "0.1.0"

_MODULES = ("adapt", "checks", "encodings", "interop", "jax", "lab", "models", "torch", "views")
_NAMES = {
    "core.about": "About Traits",
    "checks": "Report check",
    "comparison": "Comparison compare",
    "explorer.widget": "explore",
    "encodings.registry": "catalogue lookup",
    "plot": "show",
    "layouts": "Alternating AxisLayout PairTable Periods Sections SpaceThenTime Split",
    "interop": "ModelPositions PairingGuess convert from_config from_state_dict pairing_by_loss "
    "pairing_of read_config to_config",
    "core.encoding": "Encoding",
    "core.grids": "detr_grid grid mrope_positions",
    "core.logits": "logits",
    "core.mechanisms": "Additive Bias Rotary Scores",
    "core.scaling": "Scaling",
    "core.shards": "sharded",
    "core.shift": "rotate_cached",
    "core.positions": "cape consecutive distances documents left_padded packed randomised",
    "scalings": "DynamicNTK Interpolation Llama3 LongRoPE NTK Proportional YaRN",
    "temperatures": "Llama4Temperature LogN MinistralTemperature PowerTemperature SSMax "
    "Temperature Tempered",
    "explanation": "Explanation demonstrate explain",
    "names.make": "make",
}
"""The public names of each module, beside the built-in encodings."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()} | {
    kind: f"encodings.{module}"
    for module, _, kind in (place.partition(":") for place in _BUILTIN.values())
}
"""The module of each public name. Type checkers read __init__.pyi, which `make stub` derives."""

__all__ = sorted([*_HOMES, "adapt"])  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> _typing.Any:
    """Names are imported when they are first used, so that `posenc --help` is quick."""
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'posenc' has no attribute {name!r}")
    module = _import_module(f"posenc.{_HOMES.get(name, name)}")
    globals()[name] = getattr(module, name) if name in _HOMES else module
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
