"""Pins the oracles of bias.py and scores.py to facts that do not come from them."""

import math

import numpy as np
import pytest

from . import bias, scores

log = math.log


def close(actual, expected, tolerance=1e-14):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


# Fixed ----------------------------------------------------------------------------------------


def test_slopes_of_twelve_heads_golden():
    official = [0.5**h for h in range(1, 9)] + [0.7071, 0.3536, 0.1768, 0.0884]
    close(bias.alibi_slopes(12, rule="official"), official, 5e-5)
    paper = bias.alibi_slopes(12, rule="paper")
    close([paper[0], paper[1], paper[2], paper[11]], [0.63, 0.397, 0.25, 0.0039], 5e-4)


def test_alibi_by_hand():
    # Eight heads have slopes 1/2, 1/4, .. 1/256; the query is at 2, the keys behind, at and ahead.
    close(bias.alibi(8, [2], [0, 2, 5])[[0, 7], 0], [[-1, 0, -1.5], [-2 / 256, 0, -3 / 256]])
    close(bias.alibi(8, [2], [0, 2, 5], future="offset")[0, 0], [-0.75, 0, -1.5])
    close(bias.alibi(8, [2], [0, 2, 5], divisor=8)[1, 0], [-1 / 16, 0, -3 / 32])
    close(bias.alibi(12, [1], [0], rule="paper")[0], -(2 ** (-2 / 3)))


def test_sandwich_by_hand():
    ours = bias.sandwich(2, [5], [5, 2, 8], dim=4)
    close(ours[:, 0, 0], [2 / 4, 2 / 8])
    near = math.cos(3 / 100) + math.cos(3 / 10000)  # k = 1, 2: no wave of frequency 1
    close(ours[:, 0, 1:], [[near / 4] * 2, [near / 8] * 2])
    close(bias.sandwich(8, [0], [0])[:, 0, 0], [64 / h for h in range(1, 9)])


# Learned slopes and kernels -------------------------------------------------------------------


def test_two_sided_alibi_by_hand():
    # sigmoid(0) = 1/2, sigmoid(log 3) = 3/4, sigmoid(-log 3) = 1/4.
    ours = bias.two_sided_alibi([0, log(3)], [log(3), -log(3)], [2], [0, 2, 3])
    close(ours[:, 0], [[-1, 0, -0.75], [-1.5, 0, -0.25]])


def test_kerple_power_of_one_is_alibi():
    # The first five slopes of eight heads are above the clamp of 0.01.
    slopes, q, k = bias.alibi_slopes(8, rule="paper")[:5], [0, 7, 300], [3, 7, 1000]
    close(bias.kerple("power", slopes, [1] * 5, q, k), bias.alibi(8, q, k)[:5])


def test_kerple_by_hand():
    close(bias.kerple("log", [2], [3], [1], [0, 1, 4])[0, 0], [-2 * log(4), 0, -2 * log(10)])
    close(bias.kerple("power", [3], [0.5], [4], [0, 4, 20])[0, 0], [-6, 0, -12])


def test_kerple_clamps():
    close(bias.kerple("power", [-5, 1], [1, 3], [0], [10])[:, 0, 0], [-0.01 * 10, -100])
    close(bias.kerple("power", [1], [-1], [0], [10]), -(10**0.01))
    close(bias.kerple("log", [0, 1], [1, 0], [0], [9])[:, 0, 0], [-0.01 * log(10), -log(1.09)])
    close(bias.kerple("log", [1], [3], [0], [1]), -log(4))  # only an exponent stops at 2


def test_kerple_limits():
    # Far away the log kernel falls by r1 log 2 when the distance doubles; near, by r1 r2 a step.
    far = bias.kerple("log", [1.5], [0.7], [0], [1e9, 2e9])[0, 0]
    close(far[0] - far[1], 1.5 * log(2), 1e-8)
    close(bias.kerple("log", [50], [0.02], [0], [1e-6]), -1e-6, 1e-13)


def test_fire_ratios_golden():
    short = [bias.fire_ratio(0.1, 1, 100, 100 - d) for d in (0, 1, 10, 100)]
    close(short, [0, 0.0241, 0.17525, 0.60628], 6e-6)
    long = [bias.fire_ratio(0.1, 1, 2000, 2000 - d) for d in (1, 10, 100, 2000)]
    close(long, [0.01797, 0.1307, 0.45215, 1], 6e-6)


def test_fire_limits():
    # eps = 1e-6 over log(201) at the first key; without it the ratio is 1.
    close(1 - bias.fire_ratio(0.1, 1, 2000, 0), 1e-6 / log(201), 1e-12)
    assert bias.fire_ratio(0.1, 1, 2000, 0, eps=0) == 1
    # As c falls the logarithm becomes a line. The signs of c, multiplier and i - j do not count.
    close(bias.fire_ratio(1e-12, 1, 100, 60, eps=0), 40 / 512, 1e-9)
    close(bias.fire_ratio(1e-12, 0.5, 100, 60, length=100, eps=0), 40 / 100, 1e-9)
    same = [(0.1, 2, 100, 60), (-0.1, 2, 100, 60), (0.1, -2, 100, 60), (0.1, 2, 100, 140)]
    assert len({bias.fire_ratio(*case) for case in same}) == 1


def test_fire_by_hand():
    # c = 1, L = 3 and eps = 0: the ratio at i = 3 is log(1 + d) / log(4): 0, 1/2, 1 at d = 0, 1, 3.
    params = {"c": 1, "multiplier": 0.5, "w1": np.array([[2.0], [-4.0]]), "b1": [-0.5, 1]}
    params |= {"w2": np.array([[1.0, 10.0], [3.0, 0.0]]), "b2": [0.25, 0]}
    ours = bias.fire(params, [3], [3, 2, 0], length=6, eps=0)
    close(ours[:, 0], [[10 + 0.25, 0.5 + 0.25, 1.5 + 0.25], [0, 1.5, 4.5]])
    assert bias.fire(params, [3], [0], length=6)[1, 0, 0] < 4.5 - 1e-6  # the default eps


# Tables ---------------------------------------------------------------------------------------


def test_t5_bucket_starts_golden():
    causal = [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    both = [8, 12, 16, 23, 32, 46, 64, 91]
    for starts, bidirectional in ((causal, False), (both, True)):
        rule = {"buckets": 32, "max_distance": 128, "bidirectional": bidirectional}
        first = len(starts)
        for n, start in enumerate(starts):
            assert bias.t5_bucket(start, **rule) == first + n
            assert bias.t5_bucket(start - 1, **rule) == first + n - 1
        assert bias.t5_bucket(0, **rule) == 0
        assert bias.t5_bucket(-starts[-1], **rule) == (31 if bidirectional else 0)


def test_t5_and_clipped_rows_by_hand():
    table = np.arange(10.0).reshape(5, 2)
    close(bias.clipped(table, [4], [0, 3, 4, 5, 9])[:, 0], [[8, 6, 4, 2, 0], [9, 7, 5, 3, 1]])
    rule = {"buckets": 4, "max_distance": 8, "bidirectional": False}
    close(bias.bias(table, [4], [9, 4, 3, 2, 0], **rule)[0, 0], [0, 0, 2, 4, 6])


def test_swin_rows_by_hand():
    # Row 4 is the query itself, a step down is 3 rows, one to the right 1. Then an oblong window.
    square, points = np.arange(9.0)[:, None], [(0, 0), (0, 1), (1, 0), (1, 1)]
    expected = [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]
    close(bias.swin(square, (2, 2), points, points)[0], expected)
    oblong = np.arange(30.0).reshape(15, 2)  # (2 * 2 - 1) * (2 * 3 - 1) rows
    close(bias.swin(oblong, (2, 3), [(1, 0)], [(0, 2), (1, 2)])[:, 0], [[20, 10], [21, 11]])


def test_swin_v2_coordinates_golden():
    golden = [0, 0.36651, 0.71561, 1.05664]
    close([bias.swin_v2_coordinate(d, 8) for d in (0, 1, 3, 7)], golden, 6e-6)
    close([bias.swin_v2_coordinate(-d, 8) for d in (0, 1, 3, 7)], np.negative(golden), 6e-6)
    close(bias.swin_v2_coordinate(15, 8), 1.394, 5e-4)  # a window of 16 from one of 8
    close(bias.swin_v2_coordinate(7, 1), log(57) / log(8))


def test_swin_v2_by_hand():
    # 8 |d| / (W - 1) is 0, 7 or 63 below, so that t is 0, 1 or 2 with its sign.
    w1, b1, w2 = np.array([[1.0, 0], [0, -1], [0, 0]]), [0, 0.5, 1], np.array([[1.0, 2, 0.25]])
    ours = bias.swin_v2(w1, b1, w2, (9, 9), None, [(7, 7)], [(7, 7), (0, 7), (7, 0), (7, 14)])
    close(np.log(ours / (16 - ours))[0, 0], [1.25, 2.25, 0.25, 3.25], 1e-12)
    ours = bias.swin_v2(w1, b1, w2, (64, 64), (9, 3), [(63, 0)], [(0, 0), (63, 0.75), (56, 1.75)])
    close(np.log(ours / (16 - ours))[0, 0], [3.25, 1.25 + 2 * log(4) / log(8), 4.25], 1e-12)


# Scores ---------------------------------------------------------------------------------------


def draw(rng, *shapes):
    return [rng.standard_normal(shape) for shape in shapes]


def test_shaw_with_zero_tables_is_plain(rng):
    q, k, w, v = draw(rng, (2, 3, 4), (2, 5, 4), (2, 3, 5), (2, 5, 4))
    where = (range(3), range(5))
    close(scores.shaw_logits(q, k, np.zeros((7, 4)), *where), q @ k.swapaxes(1, 2) / 2)
    close(scores.shaw_output(w, v, np.zeros((7, 4)), *where), w @ v)


def test_shaw_by_hand():
    # The row is j - i, clipped to 1: 0 for a key behind, 2 for a key ahead.
    table = np.array([[1.0, 0, 0, 0], [20, 0, 0, 0], [300, 0, 0, 0]])
    q, k = np.array([[[2.0, 0, 0, 0]]]), np.array([[[5.0, 9, 9, 9]] * 4])
    close(scores.shaw_logits(q, k, table, [4], [0, 4, 5, 9])[0, 0], [6, 25, 305, 305])
    weights = np.array([[[0.5, 0.25, 0.125, 0.125]]])
    ours = scores.shaw_output(weights, k, table, [4], [0, 4, 5, 9])
    close(ours[0, 0], [5 + 0.5 + 5 + 75, 9, 9, 9])


def test_transformer_xl_has_four_terms(rng):
    q, k, u, v, w = draw(rng, (2, 3, 4), (2, 5, 4), (2, 4), (2, 4), (2, 4, 6))
    angles = np.subtract.outer([9, 2, 0], [0, 1, 2, 3, 9])[..., None] / 100 ** (np.arange(3) / 3)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], -1)
    terms = np.einsum("hqd,hkd->hqk", q, k) + np.einsum("hqd,hde,qke->hqk", q, w, waves)
    terms += np.einsum("hd,hkd->hk", u, k)[:, None] + np.einsum("hd,hde,qke->hqk", v, w, waves)
    ours = scores.transformer_xl_logits(q, k, u, v, w, [9, 2, 0], [0, 1, 2, 3, 9], base=100)
    close(ours, terms / 2)


def test_transformer_xl_beyond_the_diagonal_is_not_the_shifted_garbage():
    def shift(x):  # Transformer-XL's _rel_shift: right on and below the diagonal alone
        padded = np.concatenate([np.zeros((5, 1)), x], 1)
        return padded.reshape(6, 5)[1:].reshape(5, 5)

    distances = np.tile([4.0, 3, 2, 1, 0], (5, 1))
    assert shift(distances)[0].tolist() == [0, 0, 4, 3, 2]
    zero, one, sine = np.zeros((1, 5, 1)), np.ones((1, 1)), np.array([[[1.0, 0]]])
    ours = scores.transformer_xl_logits(zero, zero, one, one, sine, range(5), range(5))[0]
    close(ours, np.sin(np.subtract.outer(range(5), range(5))))
    wrong = abs(ours - shift(np.sin(distances))) > 0.05
    assert wrong.tolist() == np.triu(np.ones((5, 5)), 1).astype(bool).tolist()


def test_attention_by_hand():
    v = np.array([[[4.0, 0], [8, 1], [100, 2]]])
    logits = np.array([[[0, log(3), 50], [-1000, -1000, 0], [1000, 999, 1000 + log(3)]]])
    visible = np.array([[True, True, False], [False] * 3, [True, False, True]])
    close(scores.attention(logits, v, visible)[0], [[7, 0.75], [0, 0], [76, 1.5]], 1e-12)
    close(scores.attention(np.zeros((1, 1, 3)), v)[0, 0], [112 / 3, 1], 1e-13)


def test_gradient_is_the_derivative(rng):
    x, cotangent = draw(rng, (2, 3), (2, 3))
    before = x.copy()
    close(scores.gradient(lambda a: a**3, x, cotangent), 3 * x**2 * cotangent, 1e-8)
    assert x.tolist() == before.tolist()
    close(scores.gradient(lambda a: a.T @ a, x, np.eye(3)), 2 * x, 1e-8)
    ours = scores.gradient(lambda r: bias.kerple("log", [2], r, [0], [5]), np.array([0.5]), [[[7]]])
    close(ours, [7 * -2 * 5 / (1 + 0.5 * 5)], 1e-7)


def test_gradient_refuses_what_would_mislead():
    with pytest.raises(TypeError, match="float64, not float32"):
        scores.gradient(np.sin, np.ones(2, np.float32), np.ones(2))
    with pytest.raises(ValueError, match="cotangent must be"):
        scores.gradient(np.sin, np.ones(2), np.ones(1))
