"""Junk for every constructor and builder: a sentence or a right result, never anything else."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import posenc as pe

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**30, -(10**30), 2**63]),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=3),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.complex_numbers(),
    st.just(np.float64(3.0)),
    st.just(np.int32(4)),
    st.just(np.array([1, 2])),
    st.just(object()),
)
SMALL = st.one_of(st.integers(-1, 33), JUNK)


def attempt(make):
    """What `make` makes, or None where it refused with a sentence."""
    try:
        return make()
    except (ValueError, TypeError) as error:
        if "must" not in str(error):
            pytest.fail(f"not one of our sentences: {error!r}")
        return None


BUILT = {
    pe.Sinusoidal: {"base": JUNK, "layout": JUNK, "spacing": JUNK},
    pe.Learned: {"std": JUNK},
    pe.AxialSinusoidal: {"base": JUNK, "layout": JUNK, "order": JUNK},
    pe.FourierFeatures: {"sigma": JUNK, "order": JUNK, "centred": JUNK},
    pe.LearnedFourier: {"features": SMALL, "hidden": SMALL, "gamma": JUNK},
    pe.RoPE: {"base": JUNK, "pairing": JUNK, "rotary_dim": SMALL, "rotated": JUNK, "scaling": JUNK},
    pe.XPos: {"base": JUNK, "gamma": JUNK, "scale_base": JUNK, "centre": JUNK, "pairing": JUNK},
    pe.ALiBi: {"slopes": JUNK, "future": JUNK, "divisor": JUNK},
    pe.TwoSidedALiBi: {},
    pe.T5Bias: {
        "buckets": SMALL,
        "max_distance": SMALL,
        "bidirectional": JUNK,
        "std": JUNK,
        "scaled": JUNK,
    },
    pe.ClippedBias: {"std": JUNK},
    pe.KERPLE: {"kernel": JUNK},
    pe.FIRE: {"hidden": SMALL, "length": JUNK, "eps": JUNK},
    pe.Sandwich: {"dim": SMALL, "base": JUNK},
    pe.SwinBias: {"std": JUNK},
    pe.SwinV2Bias: {"pretrained_window": JUNK, "hidden": SMALL},
    pe.Shaw: {"values": JUNK},
    pe.TransformerXL: {"features": SMALL, "base": JUNK, "std": JUNK},
}
VALUES = {  # scalings, temperatures and schedules: every field is fed junk
    pe.Interpolation: 1,
    pe.NTK: 1,
    pe.DynamicNTK: 2,
    pe.YaRN: 4,
    pe.Llama3: 4,
    pe.LongRoPE: 3,
    pe.Proportional: 2,
    pe.Llama4Temperature: 2,
    pe.MinistralTemperature: 2,
    pe.LogN: 1,
    pe.SSMax: 1,
    pe.Tempered: 2,
    pe.Schedule: 1,
}


@pytest.mark.parametrize("encoding", BUILT, ids=lambda encoding: encoding.__name__)
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_constructors_refuse_junk_with_a_sentence(encoding, data):
    first, second = data.draw(SMALL), data.draw(SMALL)
    options = {
        name: data.draw(junk) for name, junk in BUILT[encoding].items() if data.draw(st.booleans())
    }
    count = sum(field.init and not field.kw_only for field in dataclasses.fields(encoding))
    positional = (first, second)[:count]
    made = attempt(lambda: encoding(*positional, **options))
    if made is None or getattr(made, "dim", 0) > 5000 or (made.axes or 0) > 100:
        return
    if isinstance(made, pe.Learned) and made.length > 5000:
        return
    assert hash(made) == hash(encoding(*positional, **options))
    params = made.init(np.random.default_rng(0))
    positions = np.zeros((3,) if made.axes is None else (3, made.axes), dtype=int)
    if isinstance(made, pe.Additive):
        result, shape = made.encode(positions, params), (3, made.dim)
    elif isinstance(made, pe.Rotary):
        result, shape = made.rotate(np.ones((3, made.dim)), positions), (3, made.dim)
    elif isinstance(made, pe.Scores):
        heads = getattr(made, "heads", 2)
        q = np.ones((heads, 3, made.dim))
        result, shape = made.scores(q, q, positions, positions, params), (heads, 3, 3)
    else:
        result, shape = made.bias(positions, positions, params), (made.heads, 3, 3)
    assert result.shape == shape
    assert np.isfinite(result).all()


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_values_refuse_junk_with_a_sentence(value, data):
    numbers = st.one_of(st.floats(0.5, 100.0), st.integers(1, 5000), JUNK)
    made = attempt(lambda: value(*[data.draw(numbers) for _ in range(VALUES[value])]))
    if isinstance(made, pe.Scaling):
        w = attempt(lambda: made.at(100).frequencies(8, base=10_000.0))
        assert w is None or (w.shape == (4,) and np.isfinite(w).all())


@settings(max_examples=300, deadline=None)
@given(positions=st.one_of(JUNK, st.lists(JUNK, max_size=3)))
def test_encode_refuses_junk_positions_with_a_sentence(positions):
    encoded = attempt(lambda: pe.Sinusoidal(4).encode(positions))
    if encoded is not None:
        assert encoded.shape == (*np.shape(positions), 4)
        assert np.isfinite(encoded).all()


@settings(max_examples=300, deadline=None)
@given(x=JUNK, positions=JUNK, params=st.one_of(st.none(), st.just({}), JUNK))
def test_add_and_logits_refuse_junk_with_a_sentence(x, positions, params):
    assert attempt(lambda: pe.Sinusoidal(4).add(x, positions)) is None
    assert attempt(lambda: pe.logits(pe.Sinusoidal(4), x, x, positions, positions)) is None
    rows = np.zeros((2, 4))
    added = attempt(lambda: pe.Sinusoidal(4).add(rows, positions))
    assert added is None or added.shape == (2, 4)
    assert attempt(lambda: pe.Learned(3, 4).add(rows, [0, 1], params)) is None


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_position_builders_refuse_junk_with_a_sentence(data):
    def junk():
        return data.draw(SMALL)

    rng = np.random.default_rng(0)
    a, b, c = junk(), junk(), junk()
    run = attempt(lambda: pe.consecutive(a, start=b))
    assert run is None or (run.shape == (a,) and run[:1].tolist() in ([], [b]))
    grid = attempt(lambda: pe.grid(a, b))
    assert grid is None or grid.shape == (a * b, 2)
    pixels = attempt(lambda: pe.detr_grid(a, b))
    assert pixels is None or pixels.shape == (a * b, 2)
    drawn = attempt(lambda: pe.randomised(a, limit=b, rng=rng))
    assert drawn is None or drawn.shape == (a,)
    joined = attempt(lambda: pe.packed([a, b]))
    assert joined is None or joined.shape == (a + b,)
    attempt(lambda: pe.packed(a))
    attempt(lambda: pe.left_padded(a))
    attempt(lambda: pe.distances(a, b))
    attempt(lambda: pe.cape(a, rng=rng, scale=b, global_shift=c))
    attempt(lambda: pe.cape([0, 1], rng=rng, scale=b, local_shift=c))
