"""ALiBi: slopes, and a bias that is exact at any distance."""

import re

import numpy as np
import pytest
import torch

import posenc as pe
from tests.libraries import numpy_of
from tests.oracles import bias as oracle

Q, K = np.array([0, 5, 40, 300], dtype=np.int32), np.array([0, 1, 7, 39, 41, 900], dtype=np.int32)


@pytest.mark.parametrize("rule", ["official", "paper"])
@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12, 71])
def test_alibi_slopes_equal_the_oracle(heads, rule):
    slopes = pe.ALiBi(heads, slopes=rule).head_slopes()
    assert slopes.tolist() == pytest.approx(oracle.alibi_slopes(heads, rule=rule), rel=1e-15)


def test_alibi_slopes_of_twelve_heads_are_those_of_the_code_not_of_the_sentence():
    official = pe.ALiBi(12).head_slopes()[8:]
    assert official.round(4).tolist() == [0.7071, 0.3536, 0.1768, 0.0884]
    assert pe.ALiBi(12, slopes="paper").head_slopes()[0].round(2) == 0.63


def test_alibi_bias_is_minus_slope_times_distance(xp):
    ours = numpy_of(xp.call(pe.ALiBi(3).bias, Q, K))
    slopes = np.array(oracle.alibi_slopes(3, rule="official"))
    expected = -slopes[:, None, None] * abs(Q[:, None] - K[None, :])
    assert np.allclose(ours, expected, rtol=1e-6)


def test_an_encoding_may_be_made_inside_a_compiled_function():
    def biased(p):
        return pe.ALiBi(2).bias(p, p)

    p = torch.arange(5)
    made = torch.compile(biased, fullgraph=True, backend="eager")(p)
    assert torch.equal(made, biased(p))


@pytest.mark.parametrize(("dtype", "big"), [(torch.bfloat16, 16.0), (torch.float16, 64.0)])
def test_logits_of_a_half_are_rounded_once(dtype, big):
    """q k^T = 2 b^2 + 2 is no number of the half; the bias takes it back to where there is one."""
    q = torch.tensor([[[big, 1.0, 0.0, 0.0]]], dtype=dtype)
    k = torch.tensor([[[2 * big, 2.0, 0.0, 0.0]]], dtype=dtype)
    away = int(big**2 / pe.ALiBi(1).head_slopes()[0])
    assert pe.logits(pe.ALiBi(1), q, k, [away], [0]).item() == 1


def test_extreme_slopes_have_gradients():
    s = torch.tensor([-100.0, 100.0], requires_grad=True)
    p = torch.arange(5)
    pe.TwoSidedALiBi(2).bias(p, p, {"behind": s, "ahead": s}).sum().backward()
    assert torch.isfinite(s.grad).all()


def test_alibi_neighbours_differ_by_the_slope_at_any_distance():
    """BLOOM's, in bfloat16, differ by 0 or 16 slopes; ours are float32 whatever the model is."""
    p = torch.arange(65_537)
    for heads in (8, 12):
        bias = pe.ALiBi(heads).bias(p[-1:], p).double()[:, 0]
        steps, slopes = bias.diff(), torch.from_numpy(pe.ALiBi(heads).head_slopes())[:, None]
        assert (steps / slopes - 1).abs().max() < 6e-3  # an ulp of float32 there
        powers = slopes.log2() == slopes.log2().round()
        assert torch.equal(steps[powers[:, 0]], slopes[powers[:, 0]].expand(-1, 65_536))
    bloom = (torch.arange(4096) * torch.tensor(0.0625)).to(torch.bfloat16).float().diff() / 0.0625
    assert set(bloom[-256:].tolist()) == {0.0, 16.0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"heads": 0},
            "heads must be a whole number of at least 1 and at most 4,096; got heads=0",
        ),
        (
            {"heads": 8, "slopes": "steep"},
            "slopes must be 'official' or 'paper'; got slopes='steep'",
        ),
    ],
)
def test_messages(given, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pe.ALiBi(**given)


def test_initial_slopes_of_two_sides_are_those_of_the_code(rng):
    sides = pe.TwoSidedALiBi(4000).init(rng)
    assert abs(sides["behind"].mean() + 2) < 0.1
    assert abs(sides["ahead"].std() - 1) < 0.1
