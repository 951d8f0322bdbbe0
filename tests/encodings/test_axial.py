from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posenc as pe
from posenc.core.scaling import Plain
from tests.libraries import numpy_of
from tests.oracles import rotary as oracle


def tables(angles):
    angles = np.array([[float(a) for a in row] for row in angles])
    return np.cos(angles), np.sin(angles)


def close(ours, angles, bound=1.5e-7):
    for table, truth in zip(ours, tables(angles), strict=True):
        assert abs(numpy_of(table) - truth).max() <= bound


def test_split_equals_the_oracle(xp):
    points = np.array([[0, 0], [3, 7], [100, 2]], dtype=np.int32)
    rope = pe.AxialRoPE.split(16, axes=2)
    w = oracle.plain(8, 10_000.0)
    close(xp.call(lambda p: rope.cos_sin(p, dtype=xp.dtypes["float32"]), points),
          oracle.axial(points, (4, 4), (w, w), (0, 1)))  # fmt: skip


def test_three_axes_with_shares_and_order():
    points = np.array([[1, 2, 3], [50, 60, 70]])
    rope = pe.AxialRoPE.split(16, axes=3, order=(2, 0, 1), shares=(2, 3, 3))
    w = {2: oracle.plain(4, 1e4), 0: oracle.plain(6, 1e4), 1: oracle.plain(6, 1e4)}
    close(rope.cos_sin(points), oracle.axial(points, (3, 3, 2), (w[0], w[1], w[2]), (2, 0, 1)))


def test_rope_vit_puts_the_column_first():
    w = oracle.plain(8, 100.0)
    points = pe.grid(3, 4)
    close(pe.AxialRoPE.rope_vit(16).cos_sin(points), oracle.axial(points, (4, 4), (w, w), (1, 0)))


def test_pixtral_shares_one_series():
    w = oracle.plain(16, 1e4)
    points = pe.grid(3, 4)
    angles = oracle.axial(points, (4, 4), (w[0::2], w[1::2]), (0, 1))
    close(pe.AxialRoPE.pixtral(16).cos_sin(points), angles)


def test_dinov3_counts_periods_of_coordinates():
    points = np.array([[-0.75, 0.25], [0.5, 1.0]])
    w = [2 * np.pi / 100 ** (2 * k / 8) for k in range(4)]
    angles = oracle.axial(points, (4, 4), (w, w), (0, 1))
    close(pe.AxialRoPE.dinov3(16).cos_sin(points), angles, 1e-12)


@pytest.mark.parametrize("sections", [(2, 3, 3), (16, 24, 24)])
def test_chunked_mrope_equals_the_oracle(xp, sections):
    points = np.array([[0, 0, 0], [1, 2, 3], [900, 17, 4]], dtype=np.int32)
    rope = pe.AxialRoPE.mrope(2 * sum(sections), sections=sections, base=1e6)
    ours = xp.call(lambda p: rope.cos_sin(p, dtype=xp.dtypes["float32"]), points)
    close(ours, oracle.mrope_chunked(points, sections, 1e6))


@pytest.mark.parametrize("sections", [(4, 2, 2), (24, 20, 20), (11, 11, 10)])
def test_interleaved_mrope_equals_the_oracle(sections):
    points = np.array([[0, 0, 0], [1, 2, 3], [900, 17, 4]])
    rope = pe.AxialRoPE.mrope(2 * sum(sections), sections=sections, interleaved=True, base=5e6)
    close(rope.cos_sin(points), oracle.mrope_interleaved(points, sections, 5e6))


def test_mrope_with_equal_axes_is_rope(rng):
    x, p = rng.normal(size=(5, 32)), np.array([0, 1, 7, 300, 4000])
    for interleaved in (False, True):
        mrope = pe.AxialRoPE.mrope(32, sections=(6, 5, 5), interleaved=interleaved)
        rope = pe.RoPE(32, pairing="halves")
        assert np.array_equal(mrope.rotate(x, np.stack([p] * 3, axis=-1)), rope.rotate(x, p))


def test_mrope_scales_and_rotates_partially(rng):
    yarn = pe.YaRN(4.0, 64)
    mrope = pe.AxialRoPE.mrope(16, sections=(2, 1, 1), rotary_dim=8, scaling=yarn)
    rope = pe.RoPE(16, rotary_dim=8, pairing="halves", scaling=yarn)
    x, p = rng.normal(size=(3, 16)), np.arange(3) * 9
    assert np.allclose(mrope.rotate(x, np.stack([p] * 3, axis=-1)), rope.rotate(x, p), atol=1e-15)


@given(axes=st.integers(1, 4), pairs=st.integers(1, 4))
def test_every_axis_is_encoded_and_relative(axes, pairs):
    rope = pe.AxialRoPE.split(2 * axes * pairs, axes=axes)
    x = np.ones((1, rope.dim))
    start = rope.rotate(x, np.zeros((1, axes), dtype=int))
    for axis in range(axes):
        moved = rope.rotate(x, np.eye(axes, dtype=int)[axis][None])
        assert abs(moved - start).max() > 1e-3
    q, k = np.arange(1.0, rope.dim + 1)[None], np.linspace(-1, 1, rope.dim)[None]
    m, n, shift = np.arange(axes)[None] * 3, np.ones((1, axes), dtype=int), np.arange(axes) + 50
    here = rope.rotate(q, m) @ rope.rotate(k, n).T
    there = rope.rotate(q, m + shift) @ rope.rotate(k, n + shift).T
    assert np.allclose(here, there, atol=1e-9 * rope.dim)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: pe.AxialRoPE(8, pe.PairTable((0, 0, 1, 3), (1.0,) * 4)),
            "every axis from 0 on a pair that turns",
        ),
        (
            lambda: pe.AxialRoPE(4, pe.PairTable((0, 1), (1.0, 0.0))),
            "every axis from 0 on a pair that turns",
        ),
        (lambda: pe.PairTable((0,), (1.0, 1.0)), "axis for each of the 2 frequencies"),
        (
            lambda: pe.AxialRoPE(2, pe.PairTable((0, 1), (1.0, 1.0))),
            "axis_of_pair must have 1 entries, one for each pair that turns; got 2",
        ),
        (
            lambda: pe.AxialRoPE(16, pe.Split(shares=(2, 2))),
            "shares must be a tuple of whole numbers that add up to the 8 pairs; got (2, 2)",
        ),
        (lambda: pe.Split(order=(0, 2)), "each of order must be"),
        (lambda: pe.AxialRoPE(8, pe.Split(), rotary_dim=10), "rotary_dim must be"),
        (lambda: pe.AxialRoPE.split(10, axes=2), "dim must be a multiple of 2 * axes"),
        (lambda: pe.AxialRoPE.split(8, axes=2, shares=(4, 0)), "each of shares must be"),
        (lambda: pe.AxialRoPE.split(8, axes=2, order=(0,)), "order must be a tuple of 2"),
        (
            lambda: pe.AxialRoPE.mrope(8, sections=(2, 1, 1), scaling=pe.DynamicNTK(2.0, 16)),
            "scaling must be a Scaling that does not depend on the length, or be settled with",
        ),
        (lambda: pe.AxialRoPE.mrope(8, sections=(2.0, 1, 1)), "must be a tuple of whole numbers"),
        (lambda: pe.AxialRoPE.mrope(8, sections=(4, 0)), "must be a tuple of whole numbers"),
        (lambda: pe.AxialRoPE.pixtral(6), "dim must be a multiple of 4"),
        (
            lambda: pe.AxialRoPE.mrope(16, sections=(1, 2, 3)),
            "whole numbers that add up to the 8 pairs; got (1, 2, 3)",
        ),
        (
            lambda: pe.AxialRoPE.mrope(128, sections=(16, 24, 24), interleaved=True),
            "sections must fit when they take turns; (16, 24, 24) would become (22, 21, 21)",
        ),
        (
            lambda: pe.AxialRoPE.split(8).rotate(np.ones((3, 8)), range(3)),
            "positions must be (seq, 2) or (batch, seq, 2); got shape (3,)",
        ),
    ],
)
def test_messages(work, message):
    with pytest.raises(ValueError, match="^.*" + __import__("re").escape(message)):
        work()


def test_mrope_positions_of_text_image_and_video():
    points = pe.mrope_positions([2, (1, 2, 2), 1, (3, 1, 1), 1]).tolist()
    assert points == [
        [0, 0, 0], [1, 1, 1],
        [2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3],
        [4, 4, 4],
        [5, 5, 5], [6, 5, 5], [7, 5, 5],
        [8, 8, 8],
    ]  # fmt: skip


def test_what_follows_a_long_video_differs_between_libraries():
    largest = pe.mrope_positions([(5, 2, 2), 1])[-1].tolist()
    grid = pe.mrope_positions([(5, 2, 2), 1], following="grid")[-1].tolist()
    assert (largest, grid) == ([5, 5, 5], [2, 2, 2])


def test_frames_lie_a_time_step_apart(xp):
    points = pe.mrope_positions([(3, 1, 1)], time_step=25)
    assert points[:, 0].tolist() == [0, 25, 50]
    assert pe.mrope_positions([(2, 1, 1)], time_step=0.5)[1].tolist() == [0.5, 0, 0]
    assert numpy_of(pe.mrope_positions([1, (1, 1, 1)], like=xp.array(np.zeros(1)))).tolist() == [
        [0] * 3,
        [1] * 3,
    ]


def test_the_trained_length_is_that_of_the_scaling():
    scaling = pe.YaRN(4.0, 4096)
    assert pe.AxialRoPE.mrope(16, sections=(4, 2, 2), scaling=scaling).trained_length == 4096
    assert pe.AxialRoPE.mrope(16, sections=(4, 2, 2)).trained_length is None
    assert pe.AxialRoPE.split(16).trained_length is None


def test_a_scaling_of_the_layout_can_be_taken_off_and_is_checked():
    plain = pe.AxialRoPE.mrope(16, sections=(4, 2, 2))
    assert plain.without_scaling() is None
    assert not plain.searched
    assert pe.AxialRoPE.split(16).without_scaling() is None
    yarn = pe.AxialRoPE.mrope(16, sections=(4, 2, 2), scaling=pe.YaRN(4.0, 4096))
    assert yarn.without_scaling() == plain
    assert not yarn.searched
    assert pe.check(yarn)["stretches"].verdict == "holds"
    factors = tuple(np.geomspace(4, 1, 8).tolist())  # stretches fast pairs more than slow ones
    long = pe.LongRoPE(factors, factors, 4096).at(8192)
    found = pe.AxialRoPE.mrope(16, sections=(4, 2, 2), scaling=long)
    assert found.searched
    assert found.without_scaling() == plain
    assert pe.check(found)["stretches"].verdict == "not claimed: does not hold"


def test_stretching_is_judged_in_the_order_of_the_frequencies():
    """A layout of one's own may give each axis a scaled series of its own."""

    @dataclass(frozen=True)
    class Scaled(pe.AxisLayout):
        scaling: pe.Scaling | None

        def pairs(self, dim):
            w = (self.scaling or Plain()).frequencies(dim // 2, base=10_000.0)
            return np.repeat([0, 1], dim // 4), np.tile(w, 2)

    encoding = pe.AxialRoPE(64, Scaled(pe.YaRN(4.0, 4096)))
    assert pe.check(encoding)["stretches"].verdict == "holds"


def test_space_then_time_is_ernies_table():
    """ERNIE 4.5 VL: RoPE's frequencies, height and width by turns, then time."""
    w = tuple(pe.RoPE(16, base=5e5).frequencies().tolist())
    table = pe.AxialRoPE(16, pe.PairTable((1, 2, 1, 2, 1, 2, 0, 0), w))
    ours = pe.AxialRoPE(16, pe.SpaceThenTime((2, 3, 3), base=5e5))
    assert ours.axis_of_pair == table.axis_of_pair
    assert np.array_equal(ours.frequencies(), table.frequencies())
    assert repr(ours) == "AxialRoPE(16, SpaceThenTime((2, 3, 3), base=500000.0))"


@pytest.mark.parametrize("sections", [(2, 3), (2, 3, 5), [2, 3, 3], 8])
def test_space_then_time_needs_height_and_width_alike(sections):
    with pytest.raises(ValueError, match=r"^sections must "):
        pe.SpaceThenTime(sections)
