"""Junk for every constructor and builder: a sentence or a right result, never anything else."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import posenc as pe
from posenc.core.needs import draw_needs
from posenc.encodings.registry import load_builtins
from posenc.names.expressions import makers

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**30, -(10**30), 2**63, 10**19, 10**400]),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=3),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.complex_numbers(),
    st.just(np.float64(3.0)),
    st.just(np.int32(4)),
    st.just(np.int8(100)),
    st.just(np.float32(0.1)),
    st.just(np.longdouble(2)),
    st.just(np.True_),
    st.just(np.str_("halves")),
    st.tuples(st.just(np.int32(1)), st.just(np.float64(0.5))),
    st.just(np.array([1, 2])),
    st.just(object()),
)
SMALL = st.one_of(st.integers(-1, 33), JUNK)
MANY = 300 if settings.get_current_profile_name() == "fuzz" else 100
"""Examples of each test: `make fuzz` draws others each time, and so more."""


def attempt(make):
    """What `make` makes, or None where it refused with a sentence."""
    try:
        return make()
    except (ValueError, TypeError) as error:
        if "must" not in str(error):
            pytest.fail(f"not one of our sentences: {error!r}")
        return None


def options_of(kind):
    """What each argument that is given by name is fed: small numbers where it is whole."""
    named = [field for field in dataclasses.fields(kind) if field.init and field.kw_only]
    return {field.name: SMALL if "int" in str(field.type) else JUNK for field in named}


BUILT = {kind: options_of(kind) for kind in load_builtins().values()}
VALUES = {  # scalings, layouts and temperatures: every field is fed junk
    kind: sum(field.init and not field.kw_only for field in dataclasses.fields(kind))
    for kind in makers().values()
    if kind not in BUILT
}


@pytest.mark.parametrize("encoding", BUILT, ids=lambda encoding: encoding.__name__)
@settings(max_examples=MANY, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_constructors_refuse_junk_with_a_sentence(encoding, data):
    first, second = data.draw(SMALL), data.draw(SMALL)
    options = {
        name: data.draw(junk) for name, junk in BUILT[encoding].items() if data.draw(st.booleans())
    }
    count = sum(field.init and not field.kw_only for field in dataclasses.fields(encoding))
    positional = (first, second)[:count]
    made = attempt(lambda: encoding(*positional, **options))
    if made is None or (made.axes or 0) > 100:
        return
    learned = sum(math.prod(each.shape) for each in made.parameters().values())
    if learned > 2**22 or (made.dim or 4) * (made.heads or 2) > 2**20:
        return  # a sound value, but too much memory to draw and to multiply
    assert hash(made) == hash(encoding(*positional, **options))
    assert_plain(made)
    params = made.init(np.random.default_rng(0))
    positions = np.zeros((3,) if made.axes is None else (3, made.axes), dtype=int)
    heads = made.heads or 2
    q = np.ones((heads, 3, made.dim or 4))
    needs = draw_needs(made, np.random.default_rng(0), 3)
    result, shape = pe.logits(made, q, q, positions, positions, params, **needs), (heads, 3, 3)
    assert result.shape == shape
    assert np.isfinite(result).all()


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
@settings(max_examples=MANY, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_values_refuse_junk_with_a_sentence(value, data):
    numbers = st.one_of(st.floats(0.5, 100.0), st.integers(1, 5000), JUNK)
    made = attempt(lambda: value(*[data.draw(numbers) for _ in range(VALUES[value])]))
    if made is not None:
        assert_plain(made)
    if isinstance(made, pe.Scaling):
        w = attempt(lambda: made.at(100).frequencies(8, base=10_000.0))
        assert w is None or (w.shape == (4,) and np.isfinite(w).all())
    if isinstance(made, pe.Temperature):
        factors = attempt(lambda: made.factors([0, 1, 16_777_215]))
        assert factors is None or factors.shape == (3,)


def assert_plain(made):
    """No field holds a NumPy scalar, by itself or in a tuple: numbers and words are Python's."""
    for field in dataclasses.fields(made):
        value = getattr(made, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            assert not isinstance(each, np.generic), (field.name, value)


def test_a_factor_of_thirty_digits_beside_32_bits():
    """Found at random: 10^30 - np.int32(4) is no number of 32 bits."""
    made = pe.Llama3(np.float64(3), np.int32(4), np.int32(4), 10**30)
    assert repr(made) == repr(pe.Llama3(3.0, 4, 4, 1e30))
    assert made == pe.Llama3(3, 4, 4.0, 1e30)
    assert np.isfinite(made.frequencies(8, base=10_000.0)).all()


def numpy_twins():
    """Values from Python's numbers, and the same from NumPy's."""
    i, f = np.int32, np.float64
    factors = (1.0, 2.0)
    return [
        (pe.Sinusoidal(8, base=100), pe.Sinusoidal(i(8), base=i(100))),
        (pe.RoPE(8, rotary_dim=4), pe.RoPE(i(8), rotary_dim=np.uint8(4))),
        (
            pe.AxialRoPE(4, pe.PairTable((0, 1), (1, 2.0))),
            pe.AxialRoPE(i(4), pe.PairTable((i(0), i(1)), (i(1), f(2)))),
        ),
        (pe.AxialSinusoidal(8, order=(1, 0)), pe.AxialSinusoidal(i(8), order=(i(1), i(0)))),
        (pe.AxialRoPE.split(8, shares=(1, 3)), pe.AxialRoPE.split(i(8), shares=(i(1), i(3)))),
        (
            pe.AxialRoPE.mrope(16, sections=(4, 2, 2)),
            pe.AxialRoPE.mrope(i(16), sections=(i(4), i(2), i(2))),
        ),
        (pe.SwinBias(2, (3, 4)), pe.SwinBias(i(2), (i(3), i(4)))),
        (pe.Shaw(8, 2, values=False), pe.Shaw(i(8), i(2), values=np.False_)),
        (pe.YaRN(4.0, 8192, mscale=1.0), pe.YaRN(f(4), np.uint16(8192), mscale=np.float32(1))),
        (
            pe.LongRoPE(factors, factors, 4096, factor=8),
            pe.LongRoPE(tuple(map(f, factors)), tuple(map(f, factors)), i(4096), factor=i(8)),
        ),
        (pe.MinistralTemperature(8192, 0.5), pe.MinistralTemperature(i(8192), f(0.5))),
    ]


@pytest.mark.parametrize(("plain", "of_numpy"), numpy_twins(), ids=lambda value: repr(value)[:24])
def test_numbers_of_numpy_make_the_same_value(plain, of_numpy):
    assert of_numpy == plain
    assert hash(of_numpy) == hash(plain)
    assert repr(of_numpy) == repr(plain)
    assert_plain(of_numpy)


@settings(max_examples=MANY, deadline=None)
@given(positions=st.one_of(JUNK, st.lists(JUNK, max_size=3)))
def test_encode_refuses_junk_positions_with_a_sentence(positions):
    encoded = attempt(lambda: pe.Sinusoidal(4).encode(positions))
    if encoded is not None:
        assert encoded.shape == (*np.shape(positions), 4)
        assert np.isfinite(encoded).all()


@settings(max_examples=MANY, deadline=None)
@given(x=JUNK, positions=JUNK, params=st.one_of(st.none(), st.just({}), JUNK))
def test_add_and_logits_refuse_junk_with_a_sentence(x, positions, params):
    assert attempt(lambda: pe.Sinusoidal(4).add(x, positions)) is None
    assert attempt(lambda: pe.logits(pe.Sinusoidal(4), x, x, positions, positions)) is None
    rows = np.zeros((2, 4))
    added = attempt(lambda: pe.Sinusoidal(4).add(rows, positions))
    assert added is None or added.shape == (2, 4)
    assert attempt(lambda: pe.Learned(3, 4).add(rows, [0, 1], params)) is None


@settings(max_examples=MANY, deadline=None)
@given(data=st.data())
def test_position_builders_refuse_junk_with_a_sentence(data):
    def junk():
        return data.draw(SMALL)

    rng = np.random.default_rng(0)
    a, b, c = junk(), junk(), junk()
    run = attempt(lambda: pe.consecutive(a, start=b))
    assert run is None or (run.shape == (a,) and run[:1].tolist() in ([], [b]))
    grid = attempt(lambda: pe.grid(a, b))
    assert grid is None or grid.shape == (int(a) * int(b), 2)
    pixels = attempt(lambda: pe.detr_grid(a, b))
    assert pixels is None or pixels.shape == (int(a) * int(b), 2)
    drawn = attempt(lambda: pe.randomised(a, limit=b, rng=rng))
    assert drawn is None or drawn.shape == (a,)
    joined = attempt(lambda: pe.packed([a, b]))
    assert joined is None or joined.shape == (int(a) + int(b),)
    attempt(lambda: pe.packed(a))
    attempt(lambda: pe.left_padded(a))
    attempt(lambda: pe.distances(a, b))
    attempt(lambda: pe.cape(a, rng=rng, scale=b, global_shift=c))
    attempt(lambda: pe.cape([0, 1], rng=rng, scale=b, local_shift=c))


@pytest.mark.parametrize("large", [10**19, 10**400], ids=["10^19", "10^400"])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("max_distance", lambda n: pe.T5Bias(8, max_distance=n)),
        ("original_length", pe.MinistralTemperature),
        ("original_length", pe.LogN),
        ("original_length", lambda n: pe.YaRN(2.0, n)),
        ("dim", pe.RoPE),
        ("heads", pe.ALiBi),
        ("heads", lambda n: pe.adapt.bias(lambda q, k: q, heads=n)),
        ("reach", lambda n: pe.Shaw(8, n)),
        ("each of shares", lambda n: pe.AxialRoPE.split(8, shares=(n, n))),
        ("each of axis_of_pair", lambda n: pe.PairTable((0, n), (1.0, 1.0))),
        ("length", lambda n: pe.RoPE(8).at(n)),
    ],
)
def test_whole_numbers_have_an_upper_bound(name, make, large):
    with pytest.raises(ValueError, match=f"^{name} must be a whole number of .* and at most ") as e:
        make(large)
    digits = str(large)
    quoted = digits if len(digits) <= 300 else f"{digits[:299]}…"
    assert str(e.value).endswith(f"; got {name}={quoted}")
