"""Every claim of every built-in encoding is measured; an encoding without an example fails."""

import numpy as np
import pytest

import posenc as pe

EXAMPLES = {
    pe.Sinusoidal: pe.Sinusoidal(8),
    pe.Learned: pe.Learned(2000, 8),
    pe.AxialSinusoidal: pe.AxialSinusoidal(8, 2),
    pe.FourierFeatures: pe.FourierFeatures(8, 2, sigma=0.1),
    pe.LearnedFourier: pe.LearnedFourier(8, 2),
    pe.RoPE: pe.RoPE(8),
    pe.AxialRoPE: pe.AxialRoPE.split(8),
    pe.XPos: pe.XPos(8),
    pe.ALiBi: pe.ALiBi(3),
    pe.TwoSidedALiBi: pe.TwoSidedALiBi(3),
    pe.T5Bias: pe.T5Bias(3),
    pe.ClippedBias: pe.ClippedBias(3, 20),
    pe.KERPLE: pe.KERPLE(3),
    pe.FIRE: pe.FIRE(3),
    pe.Sandwich: pe.Sandwich(3),
    pe.SwinBias: pe.SwinBias(3, (20, 20)),
    pe.SwinV2Bias: pe.SwinV2Bias(3, (20, 20)),
    pe.Shaw: pe.Shaw(8, 4),
    pe.TransformerXL: pe.TransformerXL(3, 8),
    pe.NoPE: pe.NoPE(),
}


def positions(encoding, rng, n=300, far=1000):
    if isinstance(encoding, pe.SwinBias):  # has a bias within its window only
        return pe.grid(*encoding.window)[rng.permutation(400)[:n]]
    whole = rng.choice(far, n, replace=False)
    return whole if encoding.axes is None else np.stack([whole, rng.permutation(whole)], axis=-1)


def acting(encoding, params):
    """What the encoding makes of each position, as rows: e(p), R(p) x, or b(p, 0)."""
    fixed = np.linspace(1, 2, getattr(encoding, "dim", 1))

    def encode(p):
        match encoding:
            case pe.Additive():
                return encoding.encode(p, params)
            case pe.Rotary():
                return encoding.rotate(np.tile(fixed, (len(p), 1)), p)
            case pe.Bias():
                return encoding.bias(p, p[:1], params)[:, :, 0].T
            case pe.Scores():
                x = np.tile(fixed, (getattr(encoding, "heads", 1), len(p), 1))
                return encoding.scores(x, x[:, :1], p, p[:1], params)[:, :, 0].T

    return lambda p: np.asarray(encode(p), dtype=np.float64)


def unique(encoding, encode, rng):
    encoded = encode(positions(encoding, rng))
    away = np.linalg.norm(encoded[:, None] - encoded[None], axis=-1)
    return away[~np.eye(len(away), dtype=bool)].min() > 1e-4


def extrapolates(encoding, encode, rng):
    return np.isfinite(encode(positions(encoding, rng) + 10**6)).all()


def bounded(encoding, encode, rng):
    spans = [abs(encode(positions(encoding, rng, far=far))).max() for far in (300, 2000)]
    if encoding.traits.extrapolates:
        spans.append(abs(encode(positions(encoding, rng) + 10**6)).max())
    return max(spans) <= 1.5 * spans[0]


def linear_shift(encoding, encode, rng):
    here = positions(encoding, rng)
    matrix, *_ = np.linalg.lstsq(encode(here), encode(here + 7), rcond=None)
    there = positions(encoding, rng) + 500
    return np.allclose(encode(there) @ matrix, encode(there + 7), atol=1e-6)


def relative(encoding, encode, rng):
    heads = (encoding.heads,) if isinstance(encoding, pe.TransformerXL) else ()
    q, k = rng.normal(size=(2, *heads, 300, getattr(encoding, "dim", 8)))
    here = positions(encoding, rng)
    params = encoding.init(rng)
    near, far = (pe.logits(encoding, q, k, p, p, params) for p in (here, here + 700))
    return np.allclose(near, far, rtol=1e-6, atol=1e-6)


def norm_preserving(encoding, encode, rng):
    lengths = np.linalg.norm(encode(positions(encoding, rng)), axis=-1)
    return np.allclose(lengths, lengths[0], rtol=1e-12)


CHECKS = unique, extrapolates, bounded, linear_shift, relative, norm_preserving
MEASURED = {check.__name__: check for check in CHECKS}


def holds(encoding, claim):
    rng = np.random.default_rng(0)
    params = encoding.init(rng)
    return MEASURED[claim](encoding, acting(encoding, params), rng)


@pytest.mark.parametrize("kind", [kind for _, kind in pe.encodings.BUILTIN])
def test_every_claim_holds(kind):
    encoding = EXAMPLES[kind]
    for claim in encoding.traits.claims():
        assert holds(encoding, claim), claim


@pytest.mark.parametrize("claim", MEASURED)
def test_every_measurement_can_say_no(claim):
    """A wrong encoding for each claim."""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Wrong(pe.Additive):
        dim: int = 2

        @property
        def traits(self):
            return pe.Traits(extrapolates=True)

        def encode(self, positions, params=None, *, dtype=None):
            p = np.asarray(positions, dtype=float)[..., None]
            return {
                "unique": np.concat([np.sin(np.pi * p), np.cos(np.pi * p)], axis=-1),
                "extrapolates": np.concat([p, np.where(p > 10**5, np.nan, p)], axis=-1),
                "bounded": np.concat([p, np.ones_like(p)], axis=-1),
                "linear_shift": np.concat([np.sin(p**2), np.cos(p**2)], axis=-1),
                "relative": np.concat([np.sin(p), np.cos(p)], axis=-1),
                "norm_preserving": np.concat([np.sin(p), np.sin(p)], axis=-1),
            }[claim]

    assert not holds(Wrong(), claim)


def test_every_built_in_stands_in_the_readme():
    from tests.test_project import ROOT

    for name in ("README.md", "README.ja.md", "README.zh-Hans.md", "README.zh-Hant.md"):
        text = (ROOT / name).read_text()
        for _, kind in pe.encodings.BUILTIN:
            assert f"`{kind.__name__}(" in text, (name, kind)
