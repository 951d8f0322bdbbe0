"""Scalings: frequencies by their papers, and what depends on the length."""

import dataclasses

import numpy as np
import pytest

import posenc as pe
from tests.scaled import CASES, DIM


@CASES
def test_frequencies_equal_the_oracle(scaling, w, factor):
    rope = pe.RoPE(DIM, scaling=scaling)
    assert np.allclose(rope.frequencies(), [float(x) for x in w], rtol=4e-16 * 8, atol=0)
    assert rope.attention_factor == pytest.approx(float(factor), rel=1e-15)


@pytest.mark.parametrize(
    "scaling",
    [None, pe.YaRN(4.0, 64), pe.DynamicNTK(4.0, 64), pe.LongRoPE((1.0,) * 4, (2.0,) * 4, 64)],
)
@pytest.mark.parametrize("base", [0, -1, 0.5, float("nan"), float("inf"), "x", True])
def test_a_base_that_cannot_be_is_refused_with_any_scaling(scaling, base):
    with pytest.raises((ValueError, TypeError), match="base must be a finite number of at least 1"):
        pe.RoPE(8, base=base, scaling=scaling)


def test_a_scaling_that_depends_on_the_length_must_suit_when_it_is_made():
    with pytest.raises(ValueError, match="NTK needs two pairs"):
        pe.RoPE(2, scaling=pe.DynamicNTK(4.0, 64))
    with pytest.raises(ValueError, match="one factor for each of the 8 pairs; got 4"):
        pe.RoPE(16, scaling=pe.LongRoPE((1.0,) * 4, (2.0,) * 4, 64))


UNSETTLED = [pe.DynamicNTK(2.0, 16), pe.LongRoPE((1.0,) * 4, (1.0, 2.0, 3.0, 4.0), 16, factor=4.0)]


@pytest.mark.parametrize("scaling", UNSETTLED)
def test_a_scaling_that_depends_on_the_length_refuses_to_rotate_for_a_cache(scaling, rng):
    rope = pe.RoPE(8, scaling=scaling)
    sentence = (
        f"^scaling {type(scaling).__name__} depends on how long the text is, so rotated keys must "
        r"not be cached: keep keys unrotated and rotate with encoding.at\(length\)$"
    )
    for work in (
        lambda: rope.rotate(np.ones((1, 8)), [0]),
        lambda: rope.rotate_keys(np.ones((1, 8)), [0]),
        rope.frequencies,
        rope.wavelengths,
    ):
        with pytest.raises(ValueError, match=sentence):
            work()


@pytest.mark.parametrize("scaling", UNSETTLED)
def test_unrotated_keys_are_the_way_that_works(scaling, rng):
    """Prefill of 40 tokens equals decoding the last one over a cache of unrotated keys."""
    rope = pe.RoPE(8, scaling=scaling)
    q, k = rng.normal(size=(2, 40, 8))
    whole = pe.logits(rope, q, k, np.arange(40), np.arange(40))
    last = pe.logits(rope, q[39:], k, [39], np.arange(40))
    assert np.allclose(last, whole[39:])
    settled = rope.at(40)
    assert np.allclose(
        settled.rotate(q, range(40)) @ settled.rotate(k, range(40)).T / 8**0.5, whole
    )
    rotated_too_early = np.concat([rope.at(n + 1).rotate(k[n : n + 1], [n]) for n in range(40)])
    stale = settled.rotate(q[39:], [39]) @ rotated_too_early.T / 8**0.5
    assert abs(stale - last).max() > 0.01  # the fault that the refusal prevents


def test_reductions():
    def same(a, b, **kw):
        assert np.allclose(a, b, rtol=1e-14, atol=1e-15, **kw)

    base = pe.RoPE(16)
    same(pe.RoPE(16, scaling=pe.Proportional(1.0)).frequencies(), base.frequencies())
    assert not pe.RoPE(16, scaling=pe.Proportional(0.0)).frequencies().any()
    same(pe.RoPE(16, scaling=pe.Interpolation(1.0)).frequencies(), base.frequencies())
    same(pe.RoPE(16, scaling=pe.NTK(1.0)).frequencies(), base.frequencies())
    same(pe.RoPE(16, scaling=pe.YaRN(1.0, 64)).frequencies(), base.frequencies())
    x, p = np.random.default_rng(0).normal(size=(5, 16)), np.arange(5) * 7.0
    same(pe.RoPE(16, scaling=pe.Interpolation(4.0)).rotate(x, p), base.rotate(x, p / 4))
    llama = pe.RoPE(16, scaling=pe.Llama3(8.0, 64)).frequencies()
    parts = pe.RoPE(16, scaling=pe.YaRN(8.0, 64, 4.0, 1.0, ramp="rotations")).frequencies()
    same(llama, parts)
    ntk = pe.RoPE(16, scaling=pe.NTK(4.0)).frequencies()
    assert ntk[0] == 1
    assert ntk[-1] == pytest.approx(base.frequencies()[-1] / 4, rel=1e-14)


def test_a_changed_scaling_works_its_factor_out_anew():
    assert dataclasses.replace(pe.YaRN(4.0, 4096), factor=16.0) == pe.YaRN(16.0, 4096)
    assert dataclasses.replace(pe.YaRN(4.0, 4096), factor=16.0).scale == pe.YaRN(16.0, 4096).scale
    kept = dataclasses.replace(pe.YaRN(4.0, 4096, attention_factor=1.5), factor=16.0)
    assert kept.scale == 1.5
