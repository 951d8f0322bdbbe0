"""The properties. Each is a function that measures a number; its docstring says what that is."""

from posenc.checks.engine import Check
from posenc.checks.properties import calls, gradients, logits, places, rotations

ALL: list[Check] = [
    calls.deterministic,
    calls.stateless,
    calls.independent,
    calls.finite,
    calls.decodes,
    rotations.identity_at_zero,
    rotations.norm_preserving,
    logits.relative,
    rotations.composes,
    places.unique,
    places.exact,
    places.linear_shift,
    logits.decays,
    places.bounded,
    logits.symmetric,
    places.any_length,
    places.every_axis,
    rotations.every_channel,
    gradients.gradient,
    rotations.layout,
    logits.ordered,
    calls.castproof,
    rotations.stretches,
]
"""In the order of the report. `stateless` is before `finite`, whose long call in float32 would
fill a cache that a half must not spoil."""
