"""Encodings of a user's own: a rotation that learns, scores that forget, a bias of six lines."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch

import posenc as pe
from posenc.core.encoding import Parameter


@dataclass(frozen=True)
class Turning(pe.Rotary):
    """A rotation whose frequencies are learned: w_i = 0.1 e^{a_i}."""

    dim: int
    traits = pe.Traits(relative=True)

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


@dataclass(frozen=True)
class Forgetting(pe.Scores):
    """FoX: the logits of a key fade by the gates between it and its query; unseen pairs are 0."""

    feature_dim: int
    needs: frozenset[str] = field(default=frozenset({"features", "mask"}), init=False)

    def scores(self, q, k, q_pos, k_pos, params=None, *, features, mask):
        of_q, of_k = (torch.nn.functional.logsigmoid(x[..., 0]).cumsum(-1) for x in features)
        total = of_k[..., -1:] - of_q[..., -1:]  # queries are the last tokens
        products = q @ k.mT / math.sqrt(q.shape[-1])
        fading = of_q[..., :, None] + total[..., None] - of_k[..., None, :]
        return torch.where(mask, products + fading, 0.0)


@dataclass(frozen=True)
class Recency(pe.Bias):
    """The six-line class of the documentation."""

    heads: int

    def bias(self, q_pos, k_pos, params=None):
        return -abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 0.5
