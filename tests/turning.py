"""A rotation of a user's own that learns, and what it must do, written out in complex numbers."""

from dataclasses import dataclass

import numpy as np
import torch

import posenc as pe
from posenc.core.encoding import Parameter


@dataclass(frozen=True)
class Turning(pe.Rotary):
    """A rotation whose frequencies are learned: w_i = 0.1 e^{a_i}."""

    dim: int

    def parameters(self):
        return {"a": Parameter((self.dim // 2,))}

    def init(self, rng, *, like=None):
        return {"a": rng.normal(size=self.dim // 2)}

    def cos_sin(self, positions, params=None, *, dtype=None):
        w = torch.exp(self.read_params(params)["a"].double()) * 0.1
        angles = positions.double()[..., None] * w
        return angles.cos().to(dtype), angles.sin().to(dtype)


def turn(x, positions, a):
    """(x_2i + j x_2i+1) e^{j p w_i} in complex128: adjacent channels are a pair."""
    pairs = torch.view_as_complex(x.to(torch.float64).unflatten(-1, (-1, 2)).contiguous())
    angles = positions.double()[:, None] * (0.1 * a.double().exp())
    return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2)


A = np.linspace(-1.0, 1.0, 8, dtype=np.float32)
"""Parameters for 16 channels."""
