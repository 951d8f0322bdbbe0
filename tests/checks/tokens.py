"""Encodings that depend on the tokens, and one that learns its rotation, on any library."""

from dataclasses import dataclass, field

import posenc as pe
from posenc.core.arrays import cast, namespace
from posenc.core.encoding import Parameter, params_like
from posenc.core.inputs import result_dtype


@dataclass(frozen=True)
class Forgetting(pe.Scores):
    """FoX: a key fades by the gates of the tokens after it, up to its query."""

    feature_dim: int = 4
    causal_only: bool = field(default=True, init=False)
    needs: frozenset[str] = field(default=frozenset({"features", "mask"}), init=False, repr=False)

    @property
    def traits(self):
        return pe.Traits(any_length=True, relative=True, ordered=True, decays=True)

    def parameters(self):
        return {"gate": Parameter((self.feature_dim,))}

    def init(self, rng, *, like=None):
        return params_like({"gate": rng.normal(size=self.feature_dim)}, like)

    def fade(self, of_k, q_pos, k_pos, params):
        """The sum of log gates over keys behind the query and ahead of the key: (…, q, k)."""
        xp = namespace(features=of_k)
        logs = -xp.log1p(xp.exp(-(of_k @ cast(self.read_params(params)["gate"], of_k.dtype))))
        third = k_pos[None, None, :]
        between = (third > k_pos[None, :, None]) & (third <= q_pos[:, None, None])
        return xp.sum(xp.where(between, logs, 0.0 * logs), axis=-1)

    def scores(self, q, k, q_pos, k_pos, params=None, *, features, mask):
        xp = namespace(q=q)
        products = q @ xp.matrix_transpose(k) / q.shape[-1] ** 0.5
        made = products + cast(self.fade(features[1], q_pos, k_pos, params), q.dtype)
        return xp.where(mask, made, -xp.inf)


@dataclass(frozen=True)
class CountsHidden(Forgetting):
    """A mutant: the gates of keys ahead of the query count too, so that decoding differs."""

    def fade(self, of_k, q_pos, k_pos, params):
        return super().fade(of_k, q_pos + 10**6, k_pos, params)


@dataclass(frozen=True)
class Turning(pe.Rotary):
    """A rotation whose frequencies are learned: 0.1 e^{a_i}."""

    dim: int = 4
    pairing: str = "interleaved"

    @property
    def traits(self):
        return pe.Traits(relative=True, norm_preserving=True, unique=True, ordered=True)

    def parameters(self):
        return {"a": Parameter((self.dim // 2,))}

    def init(self, rng, *, like=None):
        return params_like({"a": rng.normal(size=self.dim // 2)}, like)

    def angles(self, p, params):
        return p[..., None] * (
            0.1 * namespace(p=p).exp(cast(self.read_params(params)["a"], p.dtype))
        )

    def cos_sin(self, positions, params=None, *, dtype=None):
        xp = namespace(positions=positions)
        angles = self.angles(cast(positions, xp.float64), params)
        dtype = result_dtype(positions, dtype)
        return cast(xp.cos(angles), dtype), cast(xp.sin(angles), dtype)


@dataclass(frozen=True)
class Detached(Turning):
    """A mutant: the frequencies get no gradient."""

    def angles(self, p, params):
        a = params["a"]
        return super().angles(p, {"a": a.detach() if hasattr(a, "detach") else a})


@dataclass(frozen=True)
class Selective(Turning):
    """A rotation whose speed depends on the token: p w_i e^{features @ mix}."""

    feature_dim: int = 3
    needs: frozenset[str] = field(default=frozenset({"features"}), init=False, repr=False)

    @property
    def traits(self):
        return pe.Traits(norm_preserving=True, ordered=True)

    def cos_sin(self, positions, params=None, *, dtype=None, features):
        xp = namespace(positions=positions)
        angles = self.angles(cast(positions, xp.float64), params)
        angles = angles * xp.exp(cast(features, xp.float64)[..., :1])
        dtype = result_dtype(positions, dtype)
        return cast(xp.cos(angles), dtype), cast(xp.sin(angles), dtype)


@dataclass(frozen=True)
class Gated(pe.Bias):
    """A bias by distance whose slope is the key's own."""

    heads: int = 2
    feature_dim: int = 3
    needs: frozenset[str] = field(default=frozenset({"features"}), init=False, repr=False)

    @property
    def traits(self):
        return pe.Traits(any_length=True, relative=True, ordered=True)

    def bias(self, q_pos, k_pos, params=None, *, features):
        slopes = namespace(k=k_pos).matrix_transpose(features[1][..., : self.heads])[:, None, :]
        away = abs(q_pos[..., None, :, None] - k_pos[..., None, None, :])
        return -away * (1.0 + slopes**2)
