"""The layout of tables, found by calling a model's module."""

import numpy as np
import pytest
import torch
from torch import nn

import posenc as pe
from posenc.models.layout import TableLayout, probe_layout

ROPE = pe.RoPE(8)
W = 10_000.0 ** (-np.arange(4) / 4)


class Module(nn.Module):
    """A rotary module whose tables are laid out as one wants."""

    def __init__(self, repeat, *, sign=1.0, scale=1.0, dtype=None):
        super().__init__()
        self.inv_freq = nn.Buffer(torch.tensor(W * scale, dtype=torch.float32))
        self.repeat, self.sign, self.dtype = repeat, sign, dtype

    def forward(self, x, position_ids):
        angles = self.repeat(position_ids[..., None].float() * self.inv_freq.float())
        dtype = self.dtype or x.dtype
        return angles.cos().to(dtype), (self.sign * angles.sin()).to(dtype)


def twice(angles):
    return torch.cat([angles, angles], dim=-1)


def each(angles):
    return angles.repeat_interleave(2, dim=-1)


@pytest.mark.parametrize(
    ("repeat", "columns"),
    [
        (twice, [0, 1, 2, 3] * 2),
        (each, [0, 0, 1, 1, 2, 2, 3, 3]),
        (lambda angles: angles, [0, 1, 2, 3]),
    ],
)
def test_columns_are_found(repeat, columns):
    layout = probe_layout(Module(repeat), None, ROPE)
    assert layout.columns.tolist() == columns
    assert (layout.pairs, layout.is_complex, layout.follows_input) == (4, False, True)
    assert not layout.backwards


def test_a_complex_table_a_fixed_dtype_and_a_direction_are_found():
    class Complex(Module):
        def forward(self, x, position_ids):
            cos, sin = super().forward(x, position_ids)
            return torch.complex(cos.float(), sin.float())

    layout = probe_layout(Complex(lambda angles: angles), None, ROPE)
    assert layout.is_complex
    assert layout.columns.tolist() == [0, 1, 2, 3]
    made = layout.join(torch.ones(1), torch.zeros(1))
    assert made.dtype == torch.complex64
    assert not probe_layout(Module(twice, dtype=torch.float32), None, ROPE).follows_input
    backwards = probe_layout(Module(twice, sign=-1.0), None, ROPE)
    assert backwards.backwards
    assert backwards.join(torch.ones(1), torch.ones(1))[1] == -1


def test_axes_that_a_module_mixes_are_found():
    class Mixed(Module):
        def forward(self, x, position_ids):
            angles = position_ids.expand(3, -1, -1)[..., None].float() * self.inv_freq
            one = torch.cat([angles[0, ..., :1], angles[1, ..., 1:2], angles[2, ..., 2:]], dim=-1)
            return twice(one).cos().to(x.dtype), twice(one).sin().to(x.dtype)

    rope = pe.AxialRoPE(8, pe.Sections((1, 1, 2)), pairing="halves")
    assert probe_layout(Mixed(twice), None, rope).axes == 3
    with pytest.raises(ValueError, match="a rotary module for positions of 1 axes, as its config"):
        probe_layout(Mixed(twice), None, ROPE)


def test_what_is_not_as_the_config_says_is_refused():
    with pytest.raises(ValueError, match="the tables that its config says; got cosines and sines"):
        probe_layout(Module(twice, scale=1.01), None, ROPE)
    with pytest.raises(ValueError, match="must turn the 3 pairs of channels that its config says"):
        probe_layout(Module(twice), None, pe.RoPE(6))

    class Odd(Module):
        def forward(self, x, position_ids):
            return [1.0]

    with pytest.raises(ValueError, match=r"returns .cos, sin. or a complex table; got list"):
        probe_layout(Odd(twice), None, ROPE)


def test_frequencies_that_a_cast_has_rounded_are_still_those_of_the_config():
    assert probe_layout(Module(twice).to(torch.bfloat16), None, ROPE).pairs == 4


def test_tables_of_pairs():
    assert TableLayout.of_pairs(2, None).columns.tolist() == [0, 1]
    half = torch.zeros(1, dtype=torch.bfloat16)
    assert TableLayout.of_pairs(2, None).dtype_for(half) == torch.bfloat16
