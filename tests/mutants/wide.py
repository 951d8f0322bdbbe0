"""Wrong scores that are so wide that checks ask for few positions: those must still suffice."""

from dataclasses import dataclass, replace

import numpy as np

import posenc as pe

WIDE: dict[str, tuple[pe.Encoding, str]] = {}
HEADS, DIM = 24, 16  # about the smallest that are very wide
CLAIMS = pe.TransformerXL(2, 4).traits
CALLS: dict = {"count": 0}


def wide(rejected_by: str, **claims):
    """An encoding of this class and the check that must reject it; `claims` are further ones."""

    def register(kind):
        kind.traits = replace(CLAIMS, **claims)
        WIDE[kind.__name__] = (dataclass(frozen=True)(kind)(HEADS, DIM), rejected_by)
        return kind

    return register


@wide("deterministic")
class Noisy(pe.TransformerXL):
    """Jitter that was meant for training."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        noise = 1e-3 * np.random.default_rng().normal()
        return super().scores(q, k, q_pos + noise, k_pos, params)


@wide("stateless")
class Remembers(pe.TransformerXL):
    """Counts its calls of one query."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        CALLS["count"] += q.shape[-2] == 1
        return super().scores(q, k, q_pos + CALLS["count"], k_pos, params)


@wide("independent")
class CentredOnLength(pe.TransformerXL):
    """Queries count from the middle of the array."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos - q.shape[-2] // 2, k_pos, params)


@wide("finite")
class HoleBeyondATable(pe.TransformerXL):
    """NaN beyond 50,000."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        made = super().scores(q, k, q_pos, k_pos, params)
        made[..., q_pos > 50_000, :] = float("nan")
        return made


@wide("decodes")
class KeysFromTheLast(pe.TransformerXL):
    """Keys count from the longest text seen in the call."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos, k_pos - k_pos[-1], params)


@wide("relative")
class KeysTurnBackwards(pe.TransformerXL):
    """Keys by -p."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos, -k_pos, params)


@wide("exact")
class WrapsAtAHundredThousand(pe.TransformerXL):
    """Far beyond where `relative` looks."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos % 100_000, k_pos % 99_999, params)


@wide("unique", unique=True)
class WrappedTable(pe.TransformerXL):
    """A table of 65,536 rows that starts again."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos % 65_536, k_pos, params)


@wide("unique", unique=True)
class ClampedAtFiveThousand(pe.TransformerXL):
    """All beyond is the last row of a table."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos.clip(0, 5000), k_pos, params)


@wide("bounded", bounded=True)
class Growing(pe.TransformerXL):
    """Scores that grow with the query's position."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos, k_pos, params) * (1 + q_pos[:, None] / 1000)


@wide("decays", decays=True)
class Reward(pe.TransformerXL):
    """Far keys count more."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos, k_pos, params) + pe.distances(q_pos, k_pos)


@wide("symmetric", symmetric=True)
class OneSided(pe.TransformerXL):
    """A little more for keys ahead."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        made = super().scores(q, k, q_pos, k_pos, params)
        return made + 0.1 * (pe.distances(q_pos, k_pos) < 0)


@wide("any_length")
class EndsAt512(pe.TransformerXL):
    """A table of 512 rows."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        if q_pos.max() >= 512:
            raise IndexError("index 512 is out of bounds")
        return super().scores(q, k, q_pos, k_pos, params)


@wide("gradient")
class Detached(pe.TransformerXL):
    """Gradients of the projection that stop."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        w = params["projection"]
        w = w.detach() if hasattr(w, "detach") else w
        return super().scores(q, k, q_pos, k_pos, {**params, "projection": w})


@wide("ordered")
class Constant(pe.TransformerXL):
    """The same for all."""

    def scores(self, q, k, q_pos, k_pos, params=None):
        return super().scores(q, k, q_pos * 0, k_pos * 0, params)
