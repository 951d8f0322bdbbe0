"""What the explorer accepts at most. Each is checked before memory or time is spent on it."""

from typing import Any

TEXT = 2_000
POSITIONS = 8_192
CELLS = 2**22
ENCODINGS = 4
EXPRESSION = 2_000
CONFIG = 256 * 1024
SIZES = {
    "dim": 4_096,
    "rotary_dim": 4_096,
    "heads": 64,
    "length": 8_192,
    "axes": 4,
    "reach": 4_096,
    "buckets": 4_096,
    "hidden": 1_024,
    "window": 32,
    "sections": 2_048,
    "shares": 2_048,
    "axis_of_pair": 2_048,
    "frequencies": 2_048,
}
"""Largest values of sizes by the name of their field; of tuples, largest entries and lengths."""


def check_arguments(kind: str, arguments: dict[str, Any]) -> None:
    """Say which argument of an encoding is too large, before one is made of it."""
    for name, value in arguments.items():
        most = SIZES.get(name)
        many = value if isinstance(value, tuple) else (value,)
        if len(many) > 4_096:
            raise ValueError(f"{name} of {kind} must have at most 4,096 entries; got {len(many)}")
        for entry in many:
            if most is not None and type(entry) in (int, float) and abs(entry) > most:
                raise ValueError(f"{name} must be at most {most:,} in the explorer; got {entry}")
