"""The rope parameters that describe a scaling: the inverse of `Parameters.scaling`."""

from typing import Any

from posenc import scalings
from posenc.core.scaling import Scaling

ORIGINAL = "original_max_position_embeddings"


def scaling_fields(scaling: Scaling | None, model_type: str) -> dict[str, Any]:
    """The keys of rope_parameters that say `scaling`; what no rope_type says is refused.

    >>> scaling_fields(scalings.YaRN(4.0, 8192), "llama")
    {'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 8192}
    """
    fields: dict[str, Any]
    match scaling:
        case None:
            fields = {"rope_type": "default"}
        case scalings.Interpolation():
            fields = {"rope_type": "linear", "factor": scaling.factor}
        case scalings.DynamicNTK():
            fields = {"rope_type": "dynamic", "factor": scaling.factor}
        case scalings.NTK() if model_type.startswith("hunyuan"):
            fields = {"rope_type": "dynamic", "factor": 1.0, "alpha": scaling.factor}
        case scalings.YaRN(ramp="dim"):
            fields = _yarn_fields(scaling)
        case scalings.Llama3():
            fields = {
                "rope_type": "llama3",
                "factor": scaling.factor,
                ORIGINAL: scaling.original_length,
                "low_freq_factor": scaling.low_freq_factor,
                "high_freq_factor": scaling.high_freq_factor,
            }
        case scalings.LongRoPE():
            fields = _longrope_fields(scaling)
        case scalings.Proportional():
            factor = {} if scaling.factor == 1.0 else {"factor": scaling.factor}
            share = {"partial_rotary_factor": scaling.share}
            fields = {"rope_type": "proportional", **share, **factor}
        case _:
            raise ValueError(_explain_unwritable(scaling, model_type))
    return fields


def _yarn_fields(yarn: scalings.YaRN) -> dict[str, Any]:
    fields = {"rope_type": "yarn", "factor": yarn.factor, ORIGINAL: yarn.original_length}
    defaults = scalings.YaRN(yarn.factor, yarn.original_length)
    optional = [
        "beta_fast",
        "beta_slow",
        "truncate",
        "mscale",
        "mscale_all_dim",
        "attention_factor",
    ]
    given = {name: getattr(yarn, name) for name in optional}
    return fields | {n: v for n, v in given.items() if v != getattr(defaults, n)}


def _longrope_fields(longrope: scalings.LongRoPE) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "rope_type": "longrope",
        "short_factor": list(longrope.short_factor),
        "long_factor": list(longrope.long_factor),
        ORIGINAL: longrope.original_length,
    }
    if longrope.factor is None:
        raise ValueError(
            "LongRoPE must have a factor, which a file states or implies by its lengths; "
            "got factor=None"
        )
    fields["factor"] = longrope.factor
    if longrope.attention_factor is not None:
        fields["attention_factor"] = longrope.attention_factor
    return fields


def _explain_unwritable(scaling: Scaling, model_type: str) -> str:
    match scaling:
        case scalings.NTK():
            why = (
                "NTK has no rope_type: write its larger base, base * factor^(dim / (dim - 2)), "
                "without a scaling"
            )
        case scalings.YaRN():
            why = "ramp must be 'dim', which every engine uses; 'rotations' has no field"
        case scalings.PerPair():
            why = "factors of each pair are written as LongRoPE(short_factor, long_factor, …)"
        case _:
            why = f"{type(scaling).__name__} has no rope_type"
    return f"scaling must be one that a config of {model_type!r} can say: {why}; got {scaling!r}"
