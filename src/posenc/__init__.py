"""posenc: Transformer positional encodings, exact at any position."""

import typing as _typing
from importlib import import_module as _import_module

if _typing.TYPE_CHECKING:  # for readers and type checkers; see __getattr__
    from posenc import adapt
    from posenc.checks import Report, check
    from posenc.comparison import Comparison, compare
    from posenc.core.about import About, Traits
    from posenc.core.mechanisms import Additive, Bias, Encoding, Rotary, Scores, logits
    from posenc.core.positions import (
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
        lookup,
    )
    from posenc.explanation import Explanation, demonstrate, explain
    from posenc.explorer.widget import explore
    from posenc.interop import ModelPositions, from_config, from_state_dict, read_config
    from posenc.layouts import Alternating, AxisLayout, PairTable, Periods, Sections, Split
    from posenc.plot import show
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
    from posenc.temperatures import (
        Llama4Temperature,
        LogN,
        MinistralTemperature,
        SSMax,
        Temperature,
        Tempered,
    )

__version__ = "0.1.0"

__all__ = [
    "FIRE",
    "KERPLE",
    "NTK",
    "ALiBi",
    "About",
    "Additive",
    "Alternating",
    "AxialRoPE",
    "AxialSinusoidal",
    "AxisLayout",
    "Bias",
    "ClippedBias",
    "Comparison",
    "DynamicNTK",
    "Encoding",
    "Explanation",
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
    "PairTable",
    "Periods",
    "Proportional",
    "Report",
    "RoPE",
    "Rotary",
    "SSMax",
    "Sandwich",
    "Scaling",
    "Scores",
    "Sections",
    "Shaw",
    "Sinusoidal",
    "Split",
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
    "compare",
    "consecutive",
    "demonstrate",
    "detr_grid",
    "distances",
    "documents",
    "explain",
    "explore",
    "from_config",
    "from_state_dict",
    "grid",
    "left_padded",
    "logits",
    "lookup",
    "mrope_positions",
    "packed",
    "randomised",
    "read_config",
    "show",
]

_MODULES = ("adapt", "checks", "encodings", "interop", "torch", "views")
_HOMES = {
    "core.about": "About Traits",
    "checks": "Report check",
    "comparison": "Comparison compare",
    "explorer.widget": "explore",
    "encodings": (
        "ALiBi AxialRoPE AxialSinusoidal ClippedBias FIRE FourierFeatures KERPLE Learned "
        "LearnedFourier NoPE RoPE Sandwich Shaw Sinusoidal SwinBias SwinV2Bias T5Bias "
        "TransformerXL TwoSidedALiBi XPos catalogue lookup"
    ),
    "plot": "show",
    "layouts": "Alternating AxisLayout PairTable Periods Sections Split",
    "interop": "ModelPositions from_config from_state_dict read_config",
    "core.mechanisms": "Additive Bias Encoding Rotary Scores logits",
    "core.positions": (
        "cape consecutive detr_grid distances documents grid left_padded mrope_positions "
        "packed randomised"
    ),
    "scalings": "DynamicNTK Interpolation Llama3 LongRoPE NTK Proportional Scaling YaRN",
    "temperatures": "Llama4Temperature LogN MinistralTemperature SSMax Temperature Tempered",
    "explanation": "Explanation demonstrate explain",
}


def __getattr__(name: str) -> _typing.Any:
    """Names are imported when they are first used, so that `posenc --help` is quick."""
    home = next((module for module, names in _HOMES.items() if name in names.split()), None)
    if home is None and name not in _MODULES:
        raise AttributeError(f"module 'posenc' has no attribute {name!r}")
    module = _import_module(f"posenc.{home or name}")
    globals()[name] = module if home is None else getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
