"""Subjects: which library an encoding takes, and how wide it is."""

from tests.mutants.encodings import Turned
from tests.patient import check


def test_a_class_for_tensors_only_needs_no_telling():
    import torch

    class Tensors(Turned):
        def cos_sin(self, positions, *, dtype=None):
            angles = positions.double()[..., None] * torch.from_numpy(self.w())
            return angles.cos().to(dtype), angles.sin().to(dtype)

    assert check(Tensors()).failed == ()
