import numpy as np
import pytest

import posenc as pe
from tests import bounds
from tests.libraries import numpy_of
from tests.oracles import rotary as oracle
from tests.patient import check

POSITIONS = np.array([0, 1, 1022, 1023, 1024, 8190, 8191, 8192, 131_071, 1_048_575], dtype=np.int32)


@pytest.mark.parametrize(
    ("ours", "truth"),
    [
        (pe.Llama4Temperature(), oracle.llama4),
        (pe.Llama4Temperature(1024.0, 0.3), lambda p: oracle.llama4(p, 1024, 0.3)),
        (pe.MinistralTemperature(8192), lambda p: oracle.ministral(p, original_length=8192)),
        (pe.LogN(1024), lambda p: oracle.log_n(p, 1024)),
        (pe.SSMax(0.43), lambda p: oracle.ssmax(p + 1, 0.43)),
    ],
)
def test_factors_equal_the_oracle(xp, ours, truth):
    factors = xp.call(lambda p: ours.factors(p, dtype=xp.dtypes["float32"]), POSITIONS)
    expected = [float(truth(int(p))) for p in POSITIONS]
    # where there is no float64 (JAX): a sum, a logarithm to 4 u, a product or a division, a sum
    assert (np.abs(numpy_of(factors) - expected) <= bounds.gamma(8) * np.abs(expected)).all()


def test_llama4_and_ministral_disagree_by_one_token():
    assert (
        pe.Llama4Temperature().factors([8191])[0]
        > 1
        == pe.MinistralTemperature(8192).factors([8191])[0]
    )


def test_tempered_logits_are_multiplied_row_by_row(rng):
    q, k = rng.normal(size=(2, 2, 3, 4, 8))
    q_pos, k_pos = np.array([[0, 1, 2, 9000], [20_000, 5, 6, 7]]), np.arange(4)
    tempered = pe.Tempered(pe.RoPE(8), pe.Llama4Temperature())
    ours = pe.logits(tempered, q, k, q_pos, k_pos)
    plain = pe.logits(pe.RoPE(8), q, k, q_pos, k_pos)
    factors = pe.Llama4Temperature().factors(q_pos)
    assert np.allclose(ours, plain * factors[:, None, :, None])
    assert factors[1, 0] > factors[0, 3] > 1


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: pe.Tempered(pe.NoPE(), 2.0), "temperature must be a Temperature; got 2.0"),
        (
            lambda: pe.LogN(1),
            "original_length must be a whole number of at least 2 and at most 1,099,511,627,776; "
            "got original_length=1",
        ),
    ],
)
def test_messages(work, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        work()
    assert message in str(caught.value)


def test_nope_is_a_bias_of_zero(xp, rng):
    q, k = rng.normal(size=(2, 3, 4, 8)).astype("f")
    p = np.arange(4, dtype=np.int32)
    ours = xp.call(lambda q, k, p: pe.logits(pe.NoPE(), q, k, p, p), q, k, p)
    truth = q.astype(float) @ np.swapaxes(k, -1, -2) / np.sqrt(8)
    bound = bounds.products(q, k, more=3) / np.sqrt(8)  # the root, the division, a bias of 0
    assert (np.abs(numpy_of(ours) - truth) <= bound).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_logits_have_the_factors_of_exact_positions(xp, dtype):
    """A bfloat16 cannot tell 8,190 from 8,192, nor float16 hold 70,000."""
    if dtype not in xp.dtypes:
        return
    positions = np.array([4096, 8190, 8191, 12_000, 70_000], dtype=np.int32)
    for temperature in (pe.Llama4Temperature(), pe.MinistralTemperature(8192), pe.LogN(64)):
        half = xp.call(lambda p, t=temperature: t.factors(p, dtype=xp.dtypes[dtype]), positions)
        whole = temperature.factors(positions)
        # rounded to float32 as above, then to the half
        bound = bounds.gamma(8) + bounds.gamma(1, dtype)
        assert (np.abs(numpy_of(half) - whole) <= bound * np.abs(whole)).all()
    half = xp.call(lambda p: pe.Llama4Temperature().factors(p, dtype=xp.dtypes[dtype]), positions)
    assert numpy_of(half)[1] == 1 < numpy_of(half)[2]


def test_a_tempered_encoding_takes_the_positions_of_its_encoding(rng):
    q = rng.normal(size=(2, 3, 5, 8))
    tempered = pe.Tempered(pe.AxialRoPE.mrope(8, sections=(2, 1, 1)), pe.Llama4Temperature())
    points = pe.mrope_positions([5]) + 9000
    plain = pe.logits(tempered.encoding, q, q, points, points)
    factors = pe.Llama4Temperature().factors(points[:, 0])
    assert np.allclose(pe.logits(tempered, q, q, points, points), plain * factors[:, None])


@pytest.mark.parametrize(
    "encoding",
    [
        pe.Tempered(pe.ALiBi(2), pe.LogN(16)),
        pe.Tempered(pe.RoPE(8), pe.Llama4Temperature()),
        pe.Tempered(pe.RoPE(8), pe.SSMax(0.0)),
        pe.Tempered(pe.NoPE(), pe.SSMax()),
        pe.Tempered(pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 16)), pe.LogN(16)),
        pe.Tempered(
            pe.RoPE(8, scaling=pe.LongRoPE((1.0,) * 4, (2.0,) * 4, 16, factor=2.0)), pe.LogN(16)
        ),
    ],
    ids=str,
)
def test_a_tempered_encoding_claims_what_is_left_and_the_doctor_agrees(encoding):
    own, inner = encoding.traits, encoding.encoding.traits
    assert own.any_length
    assert own.exact
    assert not own.relative
    assert own.ordered == (inner.ordered and encoding.temperature != pe.SSMax(0.0))
    assert check(encoding).ok


def test_a_tempered_encoding_depends_on_the_length_as_its_own_does():
    rope = pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 16))
    tempered = pe.Tempered(rope, pe.LogN(16))
    assert not tempered.fits_any_length
    assert tempered.at(64) == pe.Tempered(rope.at(64), pe.LogN(16))
    assert tempered.at(64).fits_any_length
    assert pe.Tempered(pe.RoPE(8), pe.LogN(16)).fits_any_length
    assert pe.ALiBi(2).at(9) == pe.ALiBi(2)
