"""RoPE, the rotary encoding: on one axis, with any scaling; and xPos, which adds a decay to it."""

from dataclasses import field, replace
from typing import Self

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Dtype,
    Positions,
    cast,
    has_float64,
    host,
    namespace,
    send,
)
from posenc.core.encoding import Params
from posenc.core.frequencies import geometric, wavelengths
from posenc.core.inputs import result_dtype
from posenc.core.mechanisms import Rotary
from posenc.core.positions import LIMIT, as_positions
from posenc.core.rotation import Pairing, Rotated, Waves, cos_sin
from posenc.core.scaling import Plain, Scaling
from posenc.core.values import value
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import HEAD_DIM, sentences

PAIRINGS = ("interleaved", "halves")


@value
class RoPE(Rotary):
    """Rotary position embedding: rotates pair i of a query or key at position p by p w_i.

    w_i = base^(-2i/rotary_dim), so <R_m q, R_n k> depends on m - n only. Su et al. (2021),
    "RoFormer: Enhanced Transformer with Rotary Position Embedding".

    dim          channels of one head, even unless `rotary_dim` is given
    base         at least 1; the larger, the longer the wavelengths (theta in many configs)
    pairing      which channels form pair i: "interleaved", 2i and 2i + 1 (RoFormer, GPT-J and
                 Llama's weights as Meta released them), or "halves", i and i + rotary_dim/2
                 (GPT-NeoX and nearly all Hugging Face checkpoints, converted Llamas included)
    rotary_dim   how many channels are rotated, even, at most `dim`; None: all
    rotated      which channels those are: "leading" or "trailing"
    scaling      a `Scaling` for texts longer than in training, such as `YaRN`; None: none

    The two pairings permute the channels: weights trained with one give wrong results with the
    other, and no error.

    >>> rope = RoPE(8)
    >>> q, k = np.random.default_rng(0).normal(size=(2, 1, 8))
    >>> near = rope.rotate(q, [10]) @ rope.rotate(k, [3]).T
    >>> far = rope.rotate(q, [1_000_010]) @ rope.rotate(k, [1_000_003]).T
    >>> np.allclose(near, far)
    True
    """

    dim: int
    base: float = field(default=10_000.0, kw_only=True)
    pairing: Pairing = field(default="interleaved", kw_only=True)
    rotary_dim: int | None = field(default=None, kw_only=True)
    rotated: Rotated = field(default="leading", kw_only=True)
    scaling: Scaling | None = field(default=None, kw_only=True)
    fits_any_length: bool = field(init=False, repr=False, compare=False)
    _waves: Waves | None = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("rotary position embedding"),
        summary=N_(
            "rotates pairs of channels in proportion to the position, Su et al. (2021); "
            "`scaling=` position interpolation, NTK, YaRN, Llama 3, LongRoPE, p-RoPE"
        ),
        paper=(
            "Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, "
            "arXiv:2104.09864"
        ),
        year=2021,
        models=("RoFormer", "GPT-NeoX", "Llama", "Qwen", "Mistral", "ChatGLM"),
        weaknesses=(
            N_("perplexity grows on texts longer than those of training"),
            N_("two layouts of the channels are in use"),
        ),
        axial="axial-rope",
    )

    argument_help = sentences(
        dim=HEAD_DIM,
    )

    def __post_init__(self) -> None:
        rules.dim("dim", self.dim)
        rotary_dim = self.dim if self.rotary_dim is None else self.rotary_dim
        check_rotary_dim(
            rotary_dim, self.dim, name="dim" if self.rotary_dim is None else "rotary_dim"
        )
        rules.one_of("pairing", self.pairing, PAIRINGS)
        rules.one_of("rotated", self.rotated, ("leading", "trailing"))
        if self.scaling is not None and not isinstance(self.scaling, Scaling):
            raise translatable(
                TypeError,
                "scaling must be a Scaling or None; got scaling={scaling!r}",
                scaling=self.scaling,
            )
        scaling = self.scaling or Plain()
        rules.real("base", self.base, least=1)
        settled = scaling.fits_any_length
        # a scaling that depends on the length is validated at length 1: LongRoPE, for one, has the
        # same number of factors at every length
        tried = scaling if settled else scaling.at(1)
        w = tried.frequencies(rotary_dim, base=self.base)
        object.__setattr__(self, "rotary_dim", rotary_dim)
        object.__setattr__(self, "fits_any_length", settled)
        waves = Waves(w, scale=scaling.scale) if settled else None
        object.__setattr__(self, "_waves", waves)
        if scaling.about != About():
            object.__setattr__(self, "about", scaling.about)  # the scaling's paper describes both

    @property
    def traits(self) -> Traits:
        turning = self._waves is None or bool(self._waves.frequencies.any())
        return rotation_traits(self.attention_factor, turning=turning)

    @property
    def attention_factor(self) -> float:
        """Factor on cosines and sines: 1 unless the scaling sets one."""
        return 1.0 if self.scaling is None else self.scaling.scale

    def at(self, length: int) -> Self:
        """This encoding for a text of `length` tokens; itself unless its scaling depends on it.

        length   tokens in the whole text, cached ones included

        >>> from posenc import DynamicNTK
        >>> RoPE(8, scaling=DynamicNTK(2.0, 4096)).at(8192).scaling
        NTK(3.0)
        """
        scaling = (self.scaling or Plain()).at(length)
        return self if self.scaling is None else replace(self, scaling=scaling)

    def frequencies(self) -> np.ndarray:
        """w_i of each pair, in radians per position: (rotary_dim/2,)."""
        return self.waves().frequencies.copy()

    def wavelengths(self) -> np.ndarray:
        """Positions per turn of each pair, 2 pi / w_i; infinite for pairs that do not rotate.

        >>> RoPE(4).wavelengths().round(2)
        array([  6.28, 628.32])
        """
        return wavelengths(self.waves().frequencies)

    @property
    def trained_length(self) -> int | None:
        """The original length of the scaling, if it has one."""
        return None if self.scaling is None else self.scaling.original_length

    @property
    def searched(self) -> bool:
        """Whether its scaling's factors were found by search."""
        return self.scaling is not None and self.scaling.searched

    def without_scaling(self) -> "RoPE | None":
        return None if self.scaling is None else replace(self, scaling=None)

    def computed_defaults(self) -> dict[str, int]:
        """The value of `rotary_dim` if it is not given."""
        return {"rotary_dim": self.dim}

    def waves(self) -> Waves:
        if self._waves is None:
            assert self.scaling is not None
            raise rules.unsettled_error(self.scaling)
        return self._waves

    def cos_sin(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        return super().cos_sin(positions, params, dtype=dtype)


def rotation_traits(
    attention_factor: float, *, turning: bool = True, repeating: bool = False
) -> Traits:
    """Traits of a rotation; a factor on cosines and sines means that norms are not preserved."""
    return Traits(
        unique=turning and not repeating,
        any_length=True,
        relative=True,
        bounded=True,
        norm_preserving=attention_factor == 1.0,
        exact=True,
        ordered=turning,
        symmetric=True,
    )


def check_rotary_dim(rotary_dim: int, dim: int, *, name: str) -> int:
    """Return `rotary_dim` as an int; raise an error unless it is even and at most `dim`."""
    rotary_dim = rules.dim(name, rotary_dim)
    if rotary_dim % 2 or rotary_dim > rules.dim("dim", dim):
        template = N_("{name} must be a positive even number; got {name}={value}")
        if name != "dim":
            template = N_(
                "{name} must be a positive even number of at most dim={dim}; got {name}={value}"
            )
        raise translatable(ValueError, template, name=name, dim=dim, value=rotary_dim)
    return rotary_dim


@value
class XPos(Rotary):
    """xPos: RoPE whose logits also decay, by zeta_i^((m - n) / scale_base) for pair i.

    zeta_i = (2i/dim + gamma) / (1 + gamma). Queries are multiplied by zeta^((m - centre) /
    scale_base) and keys by its inverse. Sun et al. (2022), "A Length-Extrapolatable Transformer".
    For causal attention only: logits of keys ahead would grow instead.

    dim          channels of one head, even
    base         at least 1; the larger, the longer the wavelengths
    gamma        the smaller, the stronger the decay, above all of fast pairs
    scale_base   the distance at which pair i has decayed by the factor zeta_i
    centre       the position without decay; it keeps numbers small and cancels in the logits
    pairing      "interleaved" or "halves", as in `RoPE`

    The centre is fixed, so cached keys stay valid (other implementations use the middle of the
    current array). Positions too far from it for the decay to fit in float32 raise an error, or
    become NaN where the host cannot read them.

    >>> xpos, q = XPos(8), np.ones((1, 8))
    >>> [(xpos.rotate(q, [p]) @ xpos.rotate_keys(q, [p - 512]).T).item() for p in (600, 900)]
    [1.9240110..., 1.9240110...]
    """

    dim: int
    base: float = field(default=10_000.0, kw_only=True)
    gamma: float = field(default=0.4, kw_only=True)
    scale_base: float = field(default=512.0, kw_only=True)
    centre: float = field(default=0.0, kw_only=True)
    pairing: Pairing = field(default="interleaved", kw_only=True)
    _frequencies: np.ndarray = field(init=False, repr=False, compare=False)
    _rate: np.ndarray = field(init=False, repr=False, compare=False)
    _reach: float = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("extrapolatable position embedding"),
        summary=N_("RoPE with exponential decay, Sun et al. (2022)"),
        paper="Sun et al., A Length-Extrapolatable Transformer, arXiv:2212.10554",
        year=2022,
        models=("KOSMOS-1", "LongNet"),
        weaknesses=(N_("for causal attention only: logits of keys ahead would grow"),),
    )

    argument_help = sentences(
        dim=HEAD_DIM,
        gamma=N_("The smaller, the more logits decay with the distance, above all in fast pairs."),
        scale_base=N_(
            "The distance over which each pair decays by its factor; the larger, the slower."
        ),
        centre=N_("The position without decay: it keeps numbers small and cancels in the logits."),
    )

    def __post_init__(self) -> None:
        check_rotary_dim(self.dim, self.dim, name="dim")
        rules.one_of("pairing", self.pairing, PAIRINGS)
        rules.real("gamma", self.gamma, least=1e-6)
        rules.real("scale_base", self.scale_base, least=1e-6)
        rules.real("centre", self.centre, least=-LIMIT, most=LIMIT)
        rate = np.log(self.zeta()) / self.scale_base
        object.__setattr__(self, "_frequencies", geometric(self.dim, base=self.base))
        object.__setattr__(self, "_rate", rate)
        object.__setattr__(self, "_reach", float(80 / max(-rate[0], 1e-300)))

    @property
    def traits(self) -> Traits:
        return Traits(unique=True, relative=True, ordered=True, decays=True)

    def frequencies(self) -> np.ndarray:
        """w_i of each pair, in radians per position: (dim/2,)."""
        return self._frequencies.copy()

    def zeta(self) -> np.ndarray:
        """zeta_i of each pair: (dim/2,)."""
        return (np.arange(0, self.dim, 2) / self.dim + self.gamma) / (1 + self.gamma)

    def cos_sin(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        self.read_params(params)
        return self._decay_cos_sin(positions, dtype, sign=1)

    def key_cos_sin(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        self.read_params(params)
        return self._decay_cos_sin(positions, dtype, sign=-1)

    def _decay_cos_sin(
        self, positions: Positions[Array], dtype: Dtype, *, sign: int
    ) -> tuple[Array, Array]:
        positions = self._check_reach(as_positions(positions))
        dtype = result_dtype(positions, dtype)
        wide = namespace(positions=positions).float64 if has_float64(positions) else dtype
        cos, sin = cos_sin(positions, self._frequencies, dtype=wide)
        xp = namespace(positions=positions)
        away = cast(positions, wide) - self.centre
        if host(positions) is None:  # unchecked positions out of reach become NaN
            away = xp.where(abs(away) <= self._reach, away, xp.nan)
        decay = xp.exp(away[..., None] * (sign * send(self._rate, positions, dtype=wide)))
        return cast(cos * decay, dtype), cast(sin * decay, dtype)

    def _check_reach(self, positions: Array) -> Array:
        """Raise an error if the decay overflows float32 (where the host can read the positions)."""
        values = host(positions)
        if values is not None and values.size and np.abs(values - self.centre).max() > self._reach:
            raise translatable(
                ValueError,
                "positions must lie within {reach:,.0f} of centre={centre:g}, or the decay leaves "
                "float32; got positions from {least} to {most}",
                reach=self._reach,
                centre=self.centre,
                least=values.min(),
                most=values.max(),
            )
        return positions
