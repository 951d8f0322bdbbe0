"""Gradients are checked where PyTorch and the encoding allow it."""

import importlib.util
from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.checks import ALL
from posenc.checks.engine import run
from tests.patient import LIMIT, check


@dataclass(frozen=True)
class OwnBias(pe.Bias):
    heads: int = 1

    def bias(self, q_pos, k_pos, params=None):
        return -np.abs(np.subtract.outer(np.asarray(q_pos), np.asarray(k_pos)))[None] * 0.5


@dataclass(frozen=True)
class OwnRotary(pe.Rotary):
    dim: int = 4

    def cos_sin(self, positions, *, dtype=None):
        angles = np.asarray(positions)[..., None] * np.array([1.0, 0.01])
        return np.cos(angles).astype(dtype or float), np.sin(angles).astype(dtype or float)


@dataclass(frozen=True)
class OwnAdditive(pe.Additive):
    dim: int = 2

    def init(self, rng):
        return {"scale": np.ones(1)}

    def encode(self, positions, params=None, *, dtype=None):
        angles = np.asarray(positions)[..., None] * np.asarray(params["scale"])
        return np.concatenate([np.sin(angles), np.cos(angles)], -1).astype(dtype or float)


@dataclass(frozen=True)
class OwnScores(pe.Scores):
    dim: int = 4

    def scores(self, q, k, q_pos, k_pos, params=None):
        away = np.abs(np.subtract.outer(np.asarray(q_pos), np.asarray(k_pos)))
        return np.einsum("...qd,...kd->...qk", np.asarray(q), np.asarray(k)) - 0.1 * away


@pytest.mark.parametrize("kind", [OwnBias, OwnRotary, OwnAdditive, OwnScores])
def test_what_is_written_for_numpy_alone_has_no_gradient_to_check(kind):
    report = check(kind())
    assert report.ok, str(report)
    row = report["gradient"]
    assert (row.verdict, row.detail) == ("not applicable", "it does not take PyTorch tensors")


def test_without_pytorch_gradients_do_not_apply(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "torch" else find(name)
    )
    gradient = [each for each in ALL if each.name == "gradient"]
    for encoding in (pe.RoPE(8), OwnBias()):
        row = run(encoding, gradient, limit=LIMIT).rows[0]
        assert (row.verdict, row.detail) == ("not applicable", "PyTorch is not installed")
