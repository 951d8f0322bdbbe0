"""posenc: Transformer positional encodings, exact at any position."""

import typing as _typing

from posenc.encodings import (
    FIRE,
    KERPLE,
    ALiBi,
    AxialRoPE,
    AxialSinusoidal,
    ClippedBias,
    FourierFeatures,
    Learned,
    LearnedFourier,
    NoPE,
    RoPE,
    Sandwich,
    Shaw,
    Sinusoidal,
    SwinBias,
    SwinV2Bias,
    T5Bias,
    TransformerXL,
    TwoSidedALiBi,
    XPos,
    catalogue,
    named,
)
from posenc.mechanisms import Additive, Bias, Encoding, Rotary, Scores, Traits, logits
from posenc.positions import (
    cape,
    consecutive,
    detr_grid,
    distances,
    documents,
    grid,
    left_padded,
    mrope_positions,
    packed,
    randomised,
)
from posenc.scalings import (
    NTK,
    DynamicNTK,
    Interpolation,
    Llama3,
    LongRoPE,
    Proportional,
    Scaling,
    YaRN,
)
from posenc.schedules import Schedule
from posenc.temperatures import (
    Llama4Temperature,
    LogN,
    MinistralTemperature,
    SSMax,
    Temperature,
    Tempered,
)

if _typing.TYPE_CHECKING:
    from posenc import adapt
    from posenc.checks import Report, check
    from posenc.interop import ModelPositions, from_config, from_state_dict, read_config

__version__ = "0.1.0"

__all__ = [
    "FIRE",
    "KERPLE",
    "NTK",
    "ALiBi",
    "Additive",
    "AxialRoPE",
    "AxialSinusoidal",
    "Bias",
    "ClippedBias",
    "DynamicNTK",
    "Encoding",
    "FourierFeatures",
    "Interpolation",
    "Learned",
    "LearnedFourier",
    "Llama3",
    "Llama4Temperature",
    "LogN",
    "LongRoPE",
    "MinistralTemperature",
    "ModelPositions",
    "NoPE",
    "Proportional",
    "Report",
    "RoPE",
    "Rotary",
    "SSMax",
    "Sandwich",
    "Scaling",
    "Schedule",
    "Scores",
    "Shaw",
    "Sinusoidal",
    "SwinBias",
    "SwinV2Bias",
    "T5Bias",
    "Temperature",
    "Tempered",
    "Traits",
    "TransformerXL",
    "TwoSidedALiBi",
    "XPos",
    "YaRN",
    "adapt",
    "cape",
    "catalogue",
    "check",
    "consecutive",
    "detr_grid",
    "distances",
    "documents",
    "from_config",
    "from_state_dict",
    "grid",
    "left_padded",
    "logits",
    "mrope_positions",
    "named",
    "packed",
    "randomised",
    "read_config",
]


def __getattr__(name: str) -> _typing.Any:
    """Names that are imported when they are first used."""
    if name in ("ModelPositions", "from_config", "from_state_dict", "read_config"):
        from posenc import interop

        return getattr(interop, name)
    if name in ("Report", "check"):
        from posenc import checks

        return getattr(checks, name)
    if name == "adapt":
        from importlib import import_module

        return import_module("posenc.adapt")
    raise AttributeError(f"module 'posenc' has no attribute {name!r}")
