"""Wrong encodings. Each names the check that must reject it."""

import time
from dataclasses import dataclass, field, replace

import numpy as np

import posenc as pe
from posenc.core.rotation import cos_sin, rotate

CLAIMS = pe.RoPE(8).traits
TABLES: dict = {}
MUTANTS: dict[str, tuple[pe.Encoding, str]] = {}


def mutant(rejected_by: str, **fields):
    """An encoding of this class, under its name, and the check that must reject it."""

    def register(kind):
        MUTANTS[kind.__name__] = (kind(**fields), rejected_by)
        return kind

    return register


@dataclass(frozen=True)
class Turned(pe.Rotary):
    """A rotation to be spoiled; it claims what RoPE claims."""

    dim: int = 8
    pairing: str = "interleaved"

    @property
    def traits(self):
        return CLAIMS

    def w(self):
        return 10_000.0 ** (-2 * np.arange(self.dim // 2) / self.dim)

    def cos_sin(self, positions, *, dtype=None):
        return cos_sin(positions, self.w(), dtype=dtype)


@mutant("identity_at_zero")
class OffByOne(Turned):
    """Positions count from 1."""

    def cos_sin(self, positions, *, dtype=None):
        return cos_sin(positions + 1, self.w(), dtype=dtype)


@mutant("norm_preserving")
class MissingMinus(Turned):
    """x cos + y sin, y cos + x sin."""

    def rotate(self, x, positions, *, inverse=False):
        cos, sin = self.tables_for(x, positions)[:2]
        a, b = x[..., 0::2], x[..., 1::2]
        xp = np if isinstance(x, np.ndarray) else __import__("torch")
        return xp.stack([a * cos + b * sin, b * cos + a * sin], -1).reshape(x.shape)


@mutant("identity_at_zero")
class SwappedSineAndCosine(Turned):
    """sin where cos belongs."""

    def cos_sin(self, positions, *, dtype=None):
        return super().cos_sin(positions, dtype=dtype)[::-1]


@mutant("every_channel")
class OnePairLeftOut(Turned):
    """The last pair never turns."""

    def cos_sin(self, positions, *, dtype=None):
        return cos_sin(positions, self.w() * [1, 1, 1, 0], dtype=dtype)


@mutant("norm_preserving")
class LongKeys(Turned):
    """Keys grow by a third."""

    def rotate_keys(self, x, positions):
        return 1.3 * super().rotate_keys(x, positions)


@mutant("exact")
class WrapsAtAHundredThousand(Turned):
    """A round number, at which powers of ten cannot see it."""

    def cos_sin(self, positions, *, dtype=None):
        return super().cos_sin(positions % 100_000, dtype=dtype)


@mutant("unique")
class ClampedAtFiveThousand(Turned):
    """All beyond is the last row of a table."""

    def cos_sin(self, positions, *, dtype=None):
        return super().cos_sin(positions.clip(0, 5000), dtype=dtype)


@mutant("finite")
class HoleInTheTable(Turned):
    """NaN from 2,500 to 2,599."""

    def cos_sin(self, positions, *, dtype=None):
        cos, sin = super().cos_sin(positions, dtype=dtype)
        hole = (positions >= 2500) & (positions < 2600)
        cos[hole] = float("nan")
        return cos, sin


@mutant("stateless")
class CachedByItsEnds(Turned):
    """A cache keyed by length, first and last position."""

    def cos_sin(self, positions, *, dtype=None):
        key = len(positions), int(positions[0]), int(positions[-1]), str(dtype)
        made = super().cos_sin(positions, dtype=dtype)
        return TABLES.setdefault(key, made) if isinstance(positions, np.ndarray) else made


@mutant("relative")
class TiledCosine(Turned):
    """Tables laid out for halves, channels paired as neighbours."""

    def rotate(self, x, positions, *, inverse=False):
        cos, sin = self.tables_for(x, positions)[:2]
        xp = np if isinstance(x, np.ndarray) else __import__("torch")
        wide = [xp.concatenate([t, t], -1) for t in (cos, sin)]
        swapped = xp.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
        return x * wide[0] + swapped * wide[1]

    def rotate_keys(self, x, positions):
        return self.rotate(x, positions)


@mutant("relative")
class KeysTurnBackwards(Turned):
    """Keys by -p."""

    def key_cos_sin(self, positions, *, dtype=None):
        return self.cos_sin(-positions, dtype=dtype)


@mutant("composes")
class SquareRootPositions(Turned):
    """R(sqrt p): a rotation, but no group."""

    def cos_sin(self, positions, *, dtype=None):
        return cos_sin(positions**0.5, self.w(), dtype=dtype)


@mutant("unique")
class Periodic(Turned):
    """Frequencies that all divide a circle of 64."""

    def w(self):
        return 2 * np.pi / np.array([64, 32, 16, 8])


@mutant("unique")
class HalfPositions(Turned):
    """Positions in the dtype of x: bfloat16 has 769 of 4,096."""

    def rotate(self, x, positions, *, inverse=False):
        where = positions.to(x.dtype).float() if hasattr(x, "to") else positions.astype(x.dtype)
        cos, sin = self.cos_sin(
            where.astype(np.float64) if isinstance(where, np.ndarray) else where
        )
        cast = (lambda t: t.to(x.dtype)) if hasattr(x, "to") else (lambda t: t.astype(x.dtype))
        return rotate(x, cast(cos), cast(sin))


@mutant("exact")
class SingleAngles(Turned):
    """Angles in float32, as most libraries have them."""

    def cos_sin(self, positions, *, dtype=None):
        xp = np if isinstance(positions, np.ndarray) else __import__("torch")
        p = positions.astype("f") if isinstance(positions, np.ndarray) else positions.float()
        w = self.w().astype("f") if xp is np else xp.from_numpy(self.w()).float()
        angles = p[..., None] * w
        cos, sin = xp.cos(angles), xp.sin(angles)
        return (
            (cos.astype(dtype), sin.astype(dtype)) if xp is np else (cos.to(dtype), sin.to(dtype))
        )


@mutant("bounded")
class Growing(Turned):
    """A rotation that stretches by the position."""

    def cos_sin(self, positions, *, dtype=None):
        cos, sin = super().cos_sin(positions, dtype=dtype)
        return cos * (1 + positions[..., None] / 100), sin * (1 + positions[..., None] / 100)


@mutant("any_length")
class EndsAt512(Turned):
    """A table of 512 rows."""

    def cos_sin(self, positions, *, dtype=None):
        if positions.max() >= 512:
            raise IndexError("index 512 is out of bounds")
        return super().cos_sin(positions, dtype=dtype)


@mutant("unique")
class WrappedTable(Turned):
    """A table of 65,536 rows that starts again."""

    def cos_sin(self, positions, *, dtype=None):
        return super().cos_sin(positions % 65_536, dtype=dtype)


@mutant("independent")
class CentredOnLength(Turned):
    """xPos about the middle of the array."""

    def cos_sin(self, positions, *, dtype=None):
        return super().cos_sin(positions - len(positions) // 2, dtype=dtype)


@mutant("decodes")
class QueriesFromTheLast(Turned):
    """Queries turn by the distance to the longest text seen in the call."""

    def rotate(self, x, positions, *, inverse=False):
        return super().rotate(x, positions * (1 + (x.shape[-2] > 1)), inverse=inverse)


@mutant("stateless")
@dataclass(frozen=True)
class BaseMissingFromKey(Turned):
    """A cache keyed by the dim alone: another base gets the first one's table."""

    base: float = 10_000.0

    def cos_sin(self, positions, *, dtype=None):
        w = TABLES.setdefault(self.dim, self.base ** (-np.arange(self.dim // 2) / 4))
        return cos_sin(positions, w, dtype=dtype)


@mutant("stateless")
class Remembers(Turned):
    """Counts its calls."""

    def cos_sin(self, positions, *, dtype=None):
        TABLES["calls"] = TABLES.get("calls", 0) + (len(positions) == 1)
        return super().cos_sin(positions + TABLES["calls"], dtype=dtype)


@mutant("deterministic")
class Noisy(Turned):
    """Jitter that was meant for training."""

    def cos_sin(self, positions, *, dtype=None):
        noise = 1e-3 * np.random.default_rng().normal()
        return super().cos_sin(positions + noise, dtype=dtype)


@mutant("norm_preserving")
class NaNs(Turned):
    """Not a number."""

    def cos_sin(self, positions, *, dtype=None):
        cos, sin = super().cos_sin(positions, dtype=dtype)
        return cos * np.nan, sin


@mutant("deterministic")
class WrongShape(Turned):
    """A channel short."""

    def rotate(self, x, positions, *, inverse=False):
        return x[..., 1:]


@mutant("deterministic")
class Raises(Turned):
    """Crashes."""

    def rotate(self, x, positions, *, inverse=False):
        raise RuntimeError("segment of CUDA memory not found")


@mutant("layout")
@dataclass(frozen=True)
class PairingIgnored(Turned):
    """Says halves, turns neighbours."""

    def rotate(self, x, positions, *, inverse=False):
        return replace(self, pairing="interleaved")._plain(x, positions)

    def _plain(self, x, positions):
        return Turned.rotate(self, x, positions)

    def rotate_keys(self, x, positions):
        return self.rotate(x, positions)


@mutant("gradient")
class Detached(Turned):
    """Gradients that stop."""

    def rotate(self, x, positions, *, inverse=False):
        turned = super().rotate(x, positions)
        return x + (turned - x).detach() if hasattr(x, "detach") else turned


@mutant("symmetric")
class OneSided(Turned):
    """Keys a little behind."""

    def key_cos_sin(self, positions, *, dtype=None):
        return self.cos_sin(positions + 0.5, dtype=dtype)


@dataclass(frozen=True)
class Waves(pe.Additive):
    """A sinusoidal encoding to be spoiled."""

    dim: int = 8
    axes: int | None = field(default=None, kw_only=True)

    @property
    def traits(self):
        return pe.Sinusoidal(8).traits

    def encode(self, positions, params=None, *, dtype=None):
        return pe.Sinusoidal(self.dim).encode(positions, dtype=dtype)


@mutant("linear_shift")
class SineOnly(Waves):
    """Cosines left out."""

    def encode(self, positions, params=None, *, dtype=None):
        encoded = super().encode(positions, dtype=dtype)
        encoded[..., 1::2] = encoded[..., 0::2]
        return encoded


@mutant("linear_shift")
class Chirp(Waves):
    """Frequencies that drift with the position."""

    def encode(self, positions, params=None, *, dtype=None):
        return super().encode(positions * (1 + positions / 1e7), dtype=dtype)


@mutant("every_axis", axes=3)
class ThirdAxisLost(Waves):
    """8 channels for three axes: none for the last."""

    def encode(self, positions, params=None, *, dtype=None):
        xp = np if isinstance(positions, np.ndarray) else __import__("torch")
        parts = [pe.Sinusoidal(4).encode(positions[..., a], dtype=dtype) for a in range(2)]
        return xp.concatenate(parts, -1)


@mutant("unique", axes=2)
class OneTableForBothAxes(Waves):
    """e(h) + e(w): row and column may change places."""

    def encode(self, positions, params=None, *, dtype=None):
        return sum(pe.Sinusoidal(8).encode(positions[..., a], dtype=dtype) for a in range(2))


@mutant("bounded")
class PlainNumbers(Waves):
    """The position itself."""

    def encode(self, positions, params=None, *, dtype=None):
        return super().encode(positions, dtype=dtype) + 1e-3 * positions[..., None]


@mutant("ordered")
class Constant(Waves):
    """The same for all."""

    def encode(self, positions, params=None, *, dtype=None):
        return super().encode(positions * 0, dtype=dtype)


@dataclass(frozen=True)
class Penalty(pe.Bias):
    """A bias to be spoiled; it claims what ALiBi claims."""

    heads: int = 2

    @property
    def traits(self):
        return pe.ALiBi(2).traits

    def bias(self, q_pos, k_pos, params=None):
        return pe.ALiBi(self.heads).bias(q_pos, k_pos)


@mutant("decays")
class Reward(Penalty):
    """The sign is wrong: far keys count more."""

    def bias(self, q_pos, k_pos, params=None):
        return -super().bias(q_pos, k_pos)


@mutant("decays")
class OneHeadRewards(Penalty):
    """The sign of the gentler head is wrong, which the mean of both does not show."""

    def bias(self, q_pos, k_pos, params=None):
        made = super().bias(q_pos, k_pos)
        made[..., 1, :, :] *= -1
        return made


@mutant("decays")
class ComesBack(Penalty):
    """A penalty that starts again every 5,000 places."""

    def bias(self, q_pos, k_pos, params=None):
        return super().bias((q_pos - k_pos[0]) % 5000, k_pos * 0)


@mutant("unique")
class ClippedBuckets(Penalty):
    """All beyond 128 is one."""

    def bias(self, q_pos, k_pos, params=None):
        return super().bias(q_pos, k_pos).clip(-4, 0)


@mutant("unique")
class BfloatBias(Penalty):
    """BLOOM's, in bfloat16."""

    def bias(self, q_pos, k_pos, params=None):
        import torch

        made = super().bias(torch.as_tensor(q_pos), torch.as_tensor(k_pos))
        rounded = made.to(torch.bfloat16).float()
        return rounded.numpy() if isinstance(q_pos, np.ndarray) else rounded


@mutant("relative")
class KeysOnly(Penalty):
    """m j and no i, as if nothing were added to a row."""

    def bias(self, q_pos, k_pos, params=None):
        return super().bias(q_pos * 0, k_pos)


@mutant("symmetric")
class LooksBackOnly(Penalty):
    """No penalty ahead."""

    def bias(self, q_pos, k_pos, params=None):
        made = super().bias(q_pos, k_pos)
        return made * (pe.distances(q_pos, k_pos) >= 0)


@dataclass(frozen=True)
class InvertedRamp(pe.YaRN):
    """YaRN with its ramp upside down: fast pairs are stretched, slow ones kept."""

    def frequencies(self, dim, *, base):
        plain = pe.RoPE(dim, base=base).frequencies()
        kept = super().frequencies(dim, base=base) / plain
        return plain * (1 + 1 / self.factor - kept)


MUTANTS["InvertedRamp"] = (pe.RoPE(64, scaling=InvertedRamp(4.0, 4096)), "stretches")


def hanging() -> pe.Encoding:
    """An encoding that never answers."""

    class Hangs(Turned):
        def rotate(self, x, positions, *, inverse=False):
            time.sleep(86_400)

    return Hangs()
