"""The module that takes the place of a model's rotary module."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.models.layout import TableLayout
from posenc.models.tables import RotaryTables, StillTables, SwappedRotary
from tests import bounds

HALVES = TableLayout.of_pairs(4, "halves")
W = 10_000.0 ** (-np.arange(4) / 4)
POSITIONS = torch.tensor([[0, 1, 1000, 16_777_215], [-3, 7, 63, 8191]])


def truth(positions, columns):
    angles = positions.numpy()[..., None] * W[columns]
    return np.cos(angles), np.sin(angles)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("repeated", ["halves", "interleaved", None])
def test_tables_are_those_of_float64_rounded(dtype, repeated):
    layout = TableLayout.of_pairs(4, repeated)
    tables = RotaryTables(pe.RoPE(8), layout)
    made = tables(torch.zeros(1, dtype=dtype), POSITIONS)
    unit = bounds.UNIT[str(dtype).removeprefix("torch.")]
    for ours, want in zip(made, truth(POSITIONS, layout.columns), strict=True):
        assert ours.dtype == dtype
        assert np.abs(ours.double().numpy() - want).max() <= unit + 4e-9  # angles of 2^24 in 2^-53


def test_a_scale_axes_and_a_direction():
    rope = pe.RoPE(8, scaling=pe.YaRN(4, 64))
    cos, sin = RotaryTables(rope, HALVES)(torch.zeros(1, dtype=torch.float64), POSITIONS)
    assert torch.allclose(cos**2 + sin**2, torch.tensor(rope.attention_factor**2).double())
    axial = pe.AxialRoPE(8, pe.Sections((1, 1, 2)), pairing="halves")
    points = torch.stack([POSITIONS, POSITIONS + 1, POSITIONS + 5])
    wide = torch.zeros(1, dtype=torch.float64)
    cos, _ = RotaryTables(axial, HALVES)(wide, points)
    want = np.cos(points.numpy()[[0, 1, 2, 2] * 2].transpose(1, 2, 0) * np.tile(W, 2))
    assert np.abs(cos.numpy() - want).max() < 1e-9


def test_a_rotation_that_is_not_made_of_waves_is_asked_and_learns():
    class Learned(pe.Rotary):
        def init(self, rng, *, like=None):
            return {"w": np.ones(4, dtype=np.float32)}

        def cos_sin(self, positions, params=None, *, dtype=None):
            angles = positions[..., None] * params["w"].to(torch.float64)
            return angles.cos().to(dtype), angles.sin().to(dtype)

    tables = RotaryTables(Learned(), HALVES)
    cos, sin = tables(torch.zeros(1), POSITIONS)
    assert cos.shape == (2, 4, 8)
    assert torch.equal(sin[..., :4], sin[..., 4:])
    sin.sum().backward()
    assert tables.params["w"].grad.abs().max() > 0


def test_still_tables_turn_nothing():
    cos, sin = StillTables(pe.NoPE(), HALVES)(torch.zeros(1, dtype=torch.bfloat16), POSITIONS)
    assert cos.dtype == torch.bfloat16
    assert torch.equal(cos, torch.ones(2, 4, 8, dtype=torch.bfloat16))
    assert not sin.any()


def test_types_of_layers_and_positions_beside_the_tables():
    one, other = RotaryTables(pe.RoPE(8), HALVES), StillTables(pe.ALiBi(4), HALVES)
    module = SwappedRotary([one, other], {"full": 0, "sliding": 1}, carries=True)
    (cos, _), positions = module(torch.zeros(1), POSITIONS, "sliding")
    assert positions is POSITIONS
    assert bool((cos == 1).all())
    assert module.owner_of(pe.ALiBi(4)) is other
    with pytest.raises(ValueError, match="encoding must be one that was swapped in"):
        module.owner_of(pe.ALiBi(8))


def test_a_cast_moves_but_never_rounds():
    tables = RotaryTables(pe.RoPE(8), HALVES).to(torch.bfloat16)
    assert tables.frequencies.dtype == torch.float64
    assert not [*tables.buffers(), *tables.parameters()]
