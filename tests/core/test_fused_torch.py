"""Waves as the kernels take them, and why a call cannot go through them."""

import dataclasses

import numpy as np
import pytest
import torch

import posenc as pe
from posenc import kernels
from posenc.core import fused_torch
from posenc.core.fused_torch import FusedRotation, has_memory, learns
from posenc.core.rotation import Waves

X, P = torch.zeros(2, 5, 16), torch.arange(5)


def test_a_partial_rotation_begins_where_its_channels_do():
    fused = pe.RoPE(16, rotary_dim=6, rotated="trailing", pairing="halves").fuse()
    assert (fused.start, fused.halves, fused.dim) == (10, True, 16)
    assert fused.tables_for_few(P, torch.float32) is None
    assert pe.RoPE(16).fuse().tables_for_few(P, torch.float32) is not None
    assert pe.RoPE(16).fuse().tables_for_few(P.to("meta"), torch.float32) is None
    assert pe.XPos(16).fuse() is None


@pytest.mark.parametrize(
    ("x", "positions", "why"),
    [
        (X, P, None),
        (X.half(), P.float(), None),
        (X.to("meta"), P.to("meta"), "the kernels are for the CPU; got tensors on meta"),
        (X.long(), P, "the kernels do not take torch.int64 at positions in torch.int64"),
        (X, P.to(torch.int16), "the kernels do not take torch.float32 at positions in torch.int16"),
        (X, P.double().requires_grad_(), "the kernels have no gradient for positions"),
        (X[(None,) * 14], P, "the kernels take strided tensors of at most 16 axes"),
    ],
)
def test_what_the_kernels_cannot_take_is_said(x, positions, why):
    assert pe.RoPE(16).fuse().why_refused(x, positions) == why


def test_channels_and_axes_must_fit_before_a_module_hands_them_over():
    fused, axial = pe.RoPE(16).fuse(), pe.AxialRoPE.split(16).fuse()
    assert fused.fits(X, P)
    assert not fused.fits(X[..., :8], P)
    assert not fused.fits(X, [0, 1, 2, 3, 4])
    assert axial.fits(X, torch.zeros(5, 2, dtype=torch.int64))
    assert not axial.fits(X, P)


def test_waves_that_are_too_fast_are_not_for_the_kernels(monkeypatch):
    monkeypatch.setattr(kernels, "is_active", lambda: True)
    fast = Waves(np.array([2 * kernels.FASTEST]), None, 1.0)
    fused = FusedRotation(fast, 2, pairing="halves", rotated="leading")
    assert (
        fused.why_unavailable()
        == f"a wave turns by more than {kernels.FASTEST:g} radians per position"
    )


def test_cosines_of_pytorch_are_those_of_the_encoding():
    rope = pe.RoPE(16, scaling=pe.YaRN(4.0, 64))
    (turns,) = rope.fuse().tables_for_few(P, torch.float64)
    assert torch.allclose(turns, torch.complex(*rope.cos_sin(P, dtype=torch.float64)), atol=1e-14)
    halves = dataclasses.replace(rope, pairing="halves")
    cos, sin = rope.cos_sin(P, dtype=torch.float64)
    of_channels = torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)
    for ours, theirs in zip(
        halves.fuse().tables_for_few(P, torch.float64), of_channels, strict=True
    ):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-14)


def test_traced_and_transformed_tensors_have_no_memory():
    assert has_memory(X, torch.nn.Parameter(X))
    seen = []
    torch.func.vmap(lambda x: seen.append(has_memory(x)) or x)(X)
    torch.jit.trace(lambda x: seen.append(has_memory(x)) or x + 1, X, check_trace=False)
    with torch.autograd.forward_ad.dual_level():
        seen.append(has_memory(X))
    assert seen == [False] * len(seen)
    assert len(seen) >= 3


def test_what_wants_a_gradient():
    x = X.clone().requires_grad_()
    assert learns(P.float(), x)
    with torch.no_grad():
        assert not learns(x)
    assert not fused_torch.learns(X)
