"""Which encodings are no more than waves, and may go through the kernels."""

from dataclasses import dataclass

import numpy as np
import torch

import posenc as pe
from posenc.core import waves


@dataclass(frozen=True)
class Reversed(pe.RoPE):
    """Has angles of its own, whatever waves RoPE has."""

    def cos_sin(self, positions, params=None, *, dtype=None):
        cos, sin = super().cos_sin(positions, params, dtype=dtype)
        return cos, -sin


@dataclass(frozen=True)
class Renamed(pe.RoPE):
    """Changes nothing that is computed."""

    def describe(self):
        return "RoPE"


@dataclass(frozen=True)
class Unhashable(pe.RoPE):
    notes: list[str] | None = None


def test_a_class_with_a_method_of_its_own_is_asked_for_it():
    assert Reversed(8).fuse() is None
    assert Renamed(8).fuse() is not None
    x, at = torch.randn(3, 8, generator=torch.Generator().manual_seed(0)), torch.arange(3)
    back = pe.RoPE(8).rotate(x, at, inverse=True)
    assert torch.allclose(Reversed(8).rotate(x, at), back, atol=1e-6)
    assert not torch.allclose(Reversed(8).rotate(x, at), pe.RoPE(8).rotate(x, at), atol=1e-2)


def test_equal_encodings_share_what_the_kernels_take():
    assert pe.RoPE(8).fuse() is pe.RoPE(8).fuse()
    assert pe.RoPE(8).fuse() is not pe.RoPE(8, base=5e5).fuse()
    unhashable = Unhashable(8, notes=["a"])
    assert np.array_equal(unhashable.fuse().frequencies, pe.RoPE(8).fuse().frequencies)


def test_arrays_of_other_libraries_do_not_go_through_the_kernels():
    assert pe.RoPE(8).fuse_for(np.zeros((3, 8)), np.arange(3)) is None


def test_tensors_without_values_are_not_kept():
    from torch._subclasses.fake_tensor import FakeTensorMode

    rope = pe.RoPE(8, base=4321.0)
    with FakeTensorMode():
        rope.fuse()
    assert waves._fuse(rope).has_values
