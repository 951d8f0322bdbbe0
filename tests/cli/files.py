"""Python files that --load takes."""

STRETCH = """
from dataclasses import dataclass
import numpy as np
import posenc as pe

@dataclass(frozen=True)
class Stretch(pe.Rotary):
    dim: int = 4
    traits = pe.Traits({claims})
    def cos_sin(self, positions, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.array([1.0, 0.1])
        return 2 * np.cos(angle).astype(dtype), 2 * np.sin(angle).astype(dtype)
"""
"""A rotary encoding that doubles lengths; {claims} are the arguments of its traits."""
