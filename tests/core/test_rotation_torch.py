"""The rotation of tensors without temporaries, against its specification in rotation.py."""

import pytest
import torch

from posenc.core import rotation_torch
from posenc.core.rotation import _turn

PAIRINGS = pytest.mark.parametrize("pairing", ["interleaved", "halves"])


def tables(pairs, length=6, seed=0):
    angles = torch.rand(length, pairs, generator=torch.Generator().manual_seed(seed)).double() * 7
    return angles.cos(), angles.sin()


def drawn(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


@PAIRINGS
@pytest.mark.parametrize("trailing", [False, True])
@pytest.mark.parametrize("pairs", [2, 4])
def test_it_is_the_specification(pairing, trailing, pairs):
    """A product of complex numbers may round once more than two products and a sum."""
    x, (cos, sin) = drawn(3, 6, 8), tables(pairs)
    ours = rotation_torch.turn(x, cos, sin, pairing=pairing, trailing=trailing)
    truth = _turn(x, cos, sin, pairing=pairing, trailing=trailing)
    assert (ours - truth).abs().max() <= 4 * torch.finfo(torch.float64).eps * x.abs().max()
    kept = slice(0, 8 - 2 * pairs) if trailing else slice(2 * pairs, 8)
    assert torch.equal(ours[..., kept], x[..., kept])


@PAIRINGS
def test_in_place_is_the_same_and_overwrites(pairing):
    x, (cos, sin) = drawn(3, 6, 8), tables(4)
    expected = rotation_torch.turn(x, cos, sin, pairing=pairing, trailing=False)
    made = rotation_torch.turn_in_place(x, cos, sin, pairing=pairing, trailing=False)
    assert made is x
    assert torch.allclose(x, expected, rtol=0, atol=1e-15)


@PAIRINGS
@pytest.mark.parametrize("piece", [1, 2**18])
def test_halves_are_turned_wide_in_pieces_of_any_size(pairing, piece, monkeypatch):
    monkeypatch.setattr(rotation_torch, "PIECE", piece)
    x, (cos, sin) = drawn(3, 6, 8, dtype=torch.bfloat16), tables(4)
    ours = rotation_torch.turn(x, cos.float(), sin.float(), pairing=pairing, trailing=False)
    wide = _turn(x.float(), cos.float(), sin.float(), pairing=pairing, trailing=False)
    assert ours.dtype == torch.bfloat16
    assert (ours.float() - wide).abs().max() <= 2**-8 * wide.abs().max()


@PAIRINGS
def test_few_vectors_by_tables_of_every_channel(pairing):
    x, (cos, sin) = drawn(6, 8), tables(4)
    tables_of = {
        "interleaved": (torch.complex(cos, sin),),
        "halves": (torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)),
    }
    ours = rotation_torch.turn_few(x, tables_of[pairing])
    truth = _turn(x, cos, sin, pairing=pairing, trailing=False)
    assert torch.allclose(ours, truth, rtol=0, atol=1e-14)


@PAIRINGS
def test_the_gradient_turns_back(pairing):
    x, (cos, sin) = drawn(2, 6, 8).requires_grad_(), tables(3)
    turn = lambda x: rotation_torch.turn(x, cos, sin, pairing=pairing, trailing=True)  # noqa: E731
    assert torch.autograd.gradcheck(turn, (x,))


def test_few_vectors_may_lie_anywhere():
    """One vector of a wider tensor: axes of one number have odd strides, or it begins at one."""
    cos, sin = tables(4, length=1)
    wider, gaps = drawn(1, 1, 1, 9), drawn(2, 3, 1, 16)
    for x in (wider[..., :8], wider[..., 1:], gaps[..., ::2]):
        ours = rotation_torch.turn_few(x, (torch.complex(cos, sin),))
        truth = _turn(x, cos, sin, pairing="interleaved", trailing=False)
        assert torch.allclose(ours, truth, rtol=0, atol=1e-14)
