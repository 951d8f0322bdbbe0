"""Biases that hide keys."""

from dataclasses import dataclass

import numpy as np

import posenc as pe


@dataclass(frozen=True)
class Window(pe.Bias):
    """Keys 64 away or more are hidden; written with operators that NumPy and PyTorch share."""

    heads: int = 2

    @property
    def traits(self):
        return pe.Traits(any_length=True, relative=True, ordered=True, symmetric=True)

    def bias(self, q_pos, k_pos, params=None):
        away = abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 1.0
        hidden = away >= 64
        away[hidden] = np.inf
        return -0.5 * away


@dataclass(frozen=True)
class HiddenHead(Window):
    """The second head sees nothing."""

    @property
    def traits(self):
        return pe.Traits(any_length=True, ordered=True, decays=True)

    def bias(self, q_pos, k_pos, params=None):
        made = pe.ALiBi(self.heads).bias(q_pos, k_pos)
        made[..., 1, :, :] = -np.inf
        return made
