"""No global setting of a library may change a number: what comes in decides what goes out."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, RotateQK, attend

HEADS, DIM = 4, 8
BIASES = [
    pe.NoPE(),
    pe.ALiBi(HEADS),
    pe.ALiBi(HEADS, future="offset"),
    pe.TwoSidedALiBi(HEADS),
    pe.T5Bias(HEADS, bidirectional=True, std=1.0),
    pe.ClippedBias(HEADS, 7, std=1.0),
    pe.KERPLE(HEADS),
    pe.KERPLE(HEADS, kernel="power"),
    pe.FIRE(HEADS),
    pe.Sandwich(HEADS),
    pe.SwinBias(HEADS, (60, 60)),
    pe.SwinV2Bias(HEADS, (60, 60)),
]
SCORES = [pe.Shaw(DIM, 5), pe.TransformerXL(HEADS, DIM), pe.Tempered(pe.NoPE(), pe.SSMax())]
ROTARIES = [
    pe.RoPE(DIM),
    pe.RoPE(DIM, scaling=pe.YaRN(4.0, 512)),
    pe.RoPE(DIM, scaling=pe.DynamicNTK(2.0, 16)),
    pe.XPos(DIM),
    pe.AxialRoPE.split(DIM),
]
ADDITIVE = [
    pe.Sinusoidal(DIM),
    pe.Learned(5000, DIM),
    pe.AxialSinusoidal(DIM),
    pe.FourierFeatures(DIM, 2),
    pe.LearnedFourier(DIM, 2),
]


@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


SETTINGS = {
    "default dtype bfloat16": lambda: default_dtype(torch.bfloat16),
    "default dtype float16": lambda: default_dtype(torch.float16),
    "default dtype float64": lambda: default_dtype(torch.float64),
    "default device meta": lambda: torch.device("meta"),
    "autocast bfloat16": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast float16": lambda: torch.autocast("cpu", torch.float16),
    "deterministic": deterministic,
    "numpy raises": lambda: np.errstate(all="raise"),
    "numpy prints little": lambda: np.printoptions(precision=1, threshold=2, edgeitems=1),
}
EACH = pytest.mark.parametrize("setting", SETTINGS)


def tensors(encoding):
    drawn = encoding.init(np.random.default_rng(0))
    return {name: torch.from_numpy(x) for name, x in drawn.items()} or None


def positions(encoding, length=50):
    """Far and near ones; bfloat16 has 769 of the whole numbers below 4,096."""
    if encoding.axes == 2:
        return torch.from_numpy(pe.grid(5, length // 5))
    return 4001 - torch.arange(length).square()


def drawn(*shape):
    return torch.from_numpy(np.random.default_rng(1).normal(size=shape).astype(np.float32))


def arguments(encoding):
    """Positions, queries, keys and parameters, made before anything is set."""
    p = positions(encoding)
    if isinstance(encoding, pe.Tempered):
        p = p + 4096
    return p, *drawn(2, 1, HEADS, len(p), DIM), tensors(encoding)


def numbers(encoding, p, q, k, params):
    """Everything that an encoding gives out for whole positions."""
    made = {"logits": pe.logits(encoding, q, k, p, p, params)}
    if isinstance(encoding, pe.Bias):
        made["bias"] = encoding.bias(p, p, params)
        for side, part in enumerate(encoding.terms(p, p, params, causal=True) or ()):
            made[f"terms {side}"] = part
    elif isinstance(encoding, pe.Rotary):
        made["cos"], made["sin"] = encoding.at(4002).cos_sin(p)
        made["turned"] = encoding.at(4002).rotate(q.bfloat16(), p)
        turned = RotateQK(encoding.at(4002))(q, k, p)
        made |= {"q": turned[0], "k": turned[1]}
    elif isinstance(encoding, pe.Additive):
        made["encoded"] = encoding.encode(p, params)
    if not isinstance(encoding, pe.Additive):
        options = {"encoding": encoding, "params": params, "q_pos": p, "causal": True}
        for impl in ("auto", "dense", "blocked"):
            made[impl] = attend(q, k, q, impl=impl, **options)
        half = [x.bfloat16() for x in (q, k, q)]
        made["half"] = attend(*half, **options)
        if "folded" not in attend.explain(q, k, q, **options).unavailable:
            made["folded"] = attend(q, k, q, impl="folded", **options)
    return made


@pytest.mark.parametrize(
    "encoding",
    [*BIASES, *SCORES, *ROTARIES, *[e for e in ADDITIVE if not isinstance(e, pe.Learned)]],
    ids=str,
)
def test_no_setting_changes_a_number(encoding):
    given = arguments(encoding)
    expected = numbers(encoding, *given)
    for setting, made in SETTINGS.items():
        with made():
            ours = numbers(encoding, *given)
        for name, truth in expected.items():
            assert ours[name].dtype == truth.dtype, (setting, name)
            assert torch.equal(ours[name], truth), (setting, name)


def test_alibi_has_every_distance_under_a_half_as_the_default():
    p = torch.arange(4096)
    with default_dtype(torch.bfloat16):
        bias = pe.ALiBi(8).bias(p[-1:], p)
    assert bias.dtype == torch.float32
    assert len(bias[0].unique()) == 4096


@EACH
def test_positions_drawn_and_stretched_are_the_same(setting):
    p = torch.arange(4000, 4050)

    def made():
        rng = np.random.default_rng(0)
        return pe.cape(p, rng=rng, global_shift=5.0, local_shift=0.5, scale=1.5)

    expected = made()
    with SETTINGS[setting]():
        ours = made()
    assert ours.dtype == expected.dtype == torch.float32
    assert torch.equal(ours, expected)


@pytest.mark.parametrize("setting", [name for name in SETTINGS if "meta" not in name])
def test_what_is_drawn_and_kept_is_float32_and_parameters_follow_the_default(setting):
    """A parameter has the default dtype, as in torch.nn; the matrix of Fourier features has not."""
    x, points = torch.zeros(1, 5, DIM), torch.rand(5, 2, generator=torch.Generator().manual_seed(0))

    def made():
        torch.manual_seed(0)
        module = AddPositions(pe.FourierFeatures(DIM, 2))
        return module.matrix, module(x, points)

    expected = made()
    with SETTINGS[setting]():
        ours = made()
        learned = BiasLogits(pe.T5Bias(2)).params["table"].dtype
        assert learned == torch.get_default_dtype()
    assert all(torch.equal(a, b) for a, b in zip(ours, expected, strict=True))


def test_float64_in_jax_refines_and_does_not_change(rng):
    """With jax_enable_x64 results without a dtype are float64; rounded they are what they were."""
    import jax

    q = np.arange(0, 4000, 37)
    # float32 rounds distance, logarithm and product, and each partial sum of a sum of products
    roundings = {
        pe.ALiBi(4): 4,
        pe.Sandwich(4, features=16): 24 + 4,
        pe.KERPLE(4): 4,
        pe.T5Bias(4): 1,
    }
    for encoding, count in roundings.items():
        params = encoding.init(rng)

        def bias(encoding=encoding, params=params):
            given = {name: jax.numpy.asarray(x) for name, x in params.items()}
            positions = jax.numpy.asarray(q)
            return np.asarray(jax.jit(encoding.bias)(positions, positions, given))

        plain = bias()
        with jax.enable_x64(True):
            wide = bias()
        assert np.abs(plain - wide).max() <= count * 2.0**-24 * np.abs(wide).max()
