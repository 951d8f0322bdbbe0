"""A user's own class of six lines, of each mechanism and unregistered, works in every tool."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import posenc as pe
from posenc import torch as pt
from posenc.views import view

DIM, HEADS, SEQ = 8, 2, 6


@dataclass(frozen=True)
class Halving(pe.Additive):
    dim: int

    def encode(self, positions, params=None, *, dtype=None):
        columns = [positions * 0.5**i for i in range(self.dim)]
        return (torch if isinstance(positions, torch.Tensor) else np).stack(columns, -1)


@dataclass(frozen=True)
class Quarters(pe.Rotary):
    dim: int

    def cos_sin(self, positions, params=None, *, dtype=None):
        xp = torch if isinstance(positions, torch.Tensor) else np
        wide = xp.asarray(positions, dtype=xp.float64)
        angles = xp.stack([wide / (i + 4) for i in range(self.dim // 2)], -1)
        return tuple(xp.asarray(wave(angles), dtype=dtype) for wave in (xp.cos, xp.sin))


@dataclass(frozen=True)
class Recency(pe.Bias):
    heads: int

    def bias(self, q_pos, k_pos, params=None):
        return -abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 0.5


@dataclass(frozen=True)
class Nearness(pe.Scores):
    dim: int

    def scores(self, q, k, q_pos, k_pos, params=None):
        return q @ k.mT / (1 + abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]))


OWN = {
    "additive": Halving(DIM),
    "rotary": Quarters(DIM),
    "bias": Recency(HEADS),
    "scores": Nearness(DIM),
}
EACH = pytest.mark.parametrize("encoding", OWN.values(), ids=OWN)


def turn(x, positions):
    """Neighbouring channels as a complex number, times e^(i p / (pair + 4))."""
    angles = positions[:, None] / (4 + np.arange(x.shape[-1] // 2))
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


def true_logits(name, q, k):
    """By the formulas above, with nothing of posenc."""
    p, root = np.arange(SEQ), np.sqrt(DIM)
    distance = abs(p[:, None] - p)
    if name == "additive":
        table = p[:, None] * 0.5 ** np.arange(DIM)
        return (q + table) @ (k + table).mT / root
    if name == "rotary":
        return turn(q, p) @ turn(k, p).mT / root
    return q @ k.mT / root - 0.5 * distance if name == "bias" else q @ k.mT / (1 + distance)


@pytest.fixture
def qkv(rng):
    return rng.normal(size=(3, 1, HEADS, SEQ, DIM))


@EACH
def test_the_doctor_measures_it(encoding):
    report = pe.check(encoding, limit=300.0)
    assert report["gradient"].verdict in ("holds", "not applicable")
    assert report.ok, str(report)


@EACH
def test_it_is_explained_shown_and_compared(encoding):
    name = type(encoding).__name__
    assert name in pe.explain(encoding).title
    assert view(encoding).panels
    assert pe.show(encoding).axes
    (entry,) = pe.compare(encoding, bench=False, limit=300.0).entries
    assert entry.acts == encoding.mechanism


@pytest.mark.parametrize("name", OWN)
def test_its_logits_are_its_formula(name, qkv):
    q, k, _ = qkv
    made = pe.logits(OWN[name], q, k, range(SEQ), range(SEQ))
    assert np.allclose(made, true_logits(name, q, k), rtol=1e-12)


@pytest.mark.parametrize("name", OWN)
def test_the_modules_and_attend_compute_it(name, qkv):
    q, k, v = map(torch.from_numpy, qkv)
    p, encoding = torch.arange(SEQ), OWN[name]
    truth = torch.from_numpy(true_logits(name, *qkv[:2]))
    products = q @ k.mT / DIM**0.5
    match name:
        case "additive":
            add = pt.AddPositions(encoding)
            found = add(q, p) @ add(k, p).mT / DIM**0.5
        case "rotary":
            turned = pt.RotateQK(encoding)(q, k, p)
            found = turned[0] @ turned[1].mT / DIM**0.5
        case "bias":
            found = pt.BiasLogits(encoding)(products, p)
        case "scores":
            found = pt.ScoreQK(encoding)(q, k, p)
    assert torch.allclose(found, truth, rtol=1e-9)
    if name == "additive":
        with pytest.raises(TypeError, match="added to the embeddings before the projections"):
            pt.attend(q, k, v, encoding=encoding)
        return
    hidden = torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1)
    attended = truth.masked_fill(hidden, -torch.inf).softmax(-1) @ v
    assert torch.allclose(pt.attend(q, k, v, encoding=encoding, causal=True), attended, rtol=1e-9)
    cache = pt.KVCache(encoding).append(k[:, :, :4], v[:, :, :4]).append(k[:, :, 4:], v[:, :, 4:])
    last = pt.attend(q[:, :, 4:], cache=cache, causal=True)
    assert torch.allclose(last, attended[:, :, 4:], rtol=1e-9)


@EACH
def test_a_layer_decodes_with_it(encoding, rng):
    width = DIM if encoding.mechanism == "additive" else HEADS * DIM
    layer = pt.SelfAttention(width, HEADS, encoding=encoding).double()
    x = torch.from_numpy(rng.normal(size=(1, SEQ, width)))
    first, cache = layer(x[:, :4], cache=layer.start_cache())
    last, _ = layer(x[:, 4:], cache=cache)
    assert torch.allclose(torch.cat([first, last], 1), layer(x), rtol=1e-9)
