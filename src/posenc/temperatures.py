"""Temperatures: factors on queries that sharpen attention at far positions.

Each is a value that maps query positions to factors on their rows of logits. YaRN's temperature is
a constant on cosines and sines instead, and so is part of its scaling.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Self

import numpy as np

from posenc.core import rules
from posenc.core.about import Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Dtype,
    Positions,
    cast,
    clip,
    has_float64,
    host,
    namespace,
    working,
)
from posenc.core.encoding import Encoding, Parameter, Params
from posenc.core.inputs import at_length_of, result_dtype
from posenc.core.logits import logits
from posenc.core.mechanisms import Bias, Rotary, Scores
from posenc.core.positions import LIMIT, as_arrays, as_positions
from posenc.core.values import value
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import sentences


class Temperature(ABC):
    """A factor for each query position."""

    @abstractmethod
    def _factors(self, p: Array, xp: ModuleType) -> Array:
        """The factors at positions p, in the dtype of p."""

    def factors(self, positions: Positions[ArrayT], *, dtype: Dtype = None) -> ArrayT:
        """The factor of each query: (…, seq).

        positions   positions of queries, (seq,) or (batch, seq)
        dtype       floating dtype of the result; None: that of fractional positions, or the default
                    of the library
        """
        positions = as_positions(positions)
        return cast(self._factors(*_widen(positions)), result_dtype(positions, dtype))


@value
class Llama4Temperature(Temperature):
    """Llama 4, on layers without RoPE: 1 + scale ln(1 + floor((p + 1) / floor_scale)).

    floor_scale   positions per step of the factor, at least 1
    scale         growth with the logarithm of the step, at least 0

    >>> Llama4Temperature().factors([8190, 8191, 131_071]).round(4)
    array([1.    , 1.0693, 1.2833])
    """

    floor_scale: float = 8192.0
    scale: float = 0.1

    def __post_init__(self) -> None:
        rules.real("floor_scale", self.floor_scale, least=1)
        rules.real("scale", self.scale, least=0)

    def _factors(self, p: Array, xp: ModuleType) -> Array:
        return 1 + self.scale * xp.log1p(xp.floor((p + 1) / self.floor_scale))


@value
class MinistralTemperature(Temperature):
    """Ministral 3 and Mistral 4, on every layer: 1 + beta ln(1 + floor(p / original_length)).

    original_length   tokens in training; below it the factor is 1
    beta              growth with the logarithm of the length, at least 0

    >>> MinistralTemperature(original_length=8192).factors([8191, 8192]).round(4)
    array([1.    , 1.0693])
    """

    original_length: int
    beta: float = 0.1

    def __post_init__(self) -> None:
        rules.whole("original_length", self.original_length, least=1, most=2**40)
        rules.real("beta", self.beta, least=0)

    def _factors(self, p: Array, xp: ModuleType) -> Array:
        return 1 + self.beta * xp.log1p(xp.floor(p / self.original_length))


@value
class PowerTemperature(Temperature):
    """Beam, on layers without RoPE: (1 + (p + 1) / scale)^power.

    scale   positions over which the factor grows, at least 1
    power   growth with the position, at least 0

    >>> PowerTemperature().factors([0, 2047, 131_071]).round(4)
    array([1.    , 1.0718, 1.5181])
    """

    scale: float = 2048.0
    power: float = 0.1

    argument_help = sentences(
        scale=N_("The larger it is, the later the factor grows."),
        power=N_("How fast the factor grows with the position."),
    )

    def __post_init__(self) -> None:
        rules.real("scale", self.scale, least=1)
        rules.real("power", self.power, least=0, most=10)

    def _factors(self, p: Array, xp: ModuleType) -> Array:
        return xp.exp(self.power * xp.log1p((p + 1) / self.scale))


@value
class LogN(Temperature):
    """Su's log n: max(1, ln(p + 1) / ln(original_length)), which keeps the entropy constant.

    original_length   tokens in training, at least 2

    >>> LogN(1024).factors([0, 1023, 1048575]).round(3)
    array([1., 1., 2.])
    """

    original_length: int

    def __post_init__(self) -> None:
        rules.whole("original_length", self.original_length, least=2, most=2**40)

    def _factors(self, p: Array, xp: ModuleType) -> Array:
        return clip(xp.log1p(p) / math.log(self.original_length), least=1.0)


@value
class SSMax(Temperature):
    """Scalable softmax: s ln n, where n = p + 1 is the number of visible keys.

    Nakanishi (2025), "Scalable-Softmax Is Superior for Attention".

    s   the coefficient; the paper learns one for each head, about 0.43 after training

    >>> SSMax(0.43).factors([0, 999]).round(3)
    array([0.  , 2.97])
    """

    s: float = 0.43

    def __post_init__(self) -> None:
        rules.real("s", self.s)

    def _factors(self, p: Array, xp: ModuleType) -> Array:
        return self.s * xp.log1p(p)


TYPICAL = (Llama4Temperature(), MinistralTemperature(8192), PowerTemperature(), LogN(512), SSMax())
"""A temperature of each kind, for tools that offer a choice of them."""

FACTS = (
    "about",
    "axes",
    "causal_only",
    "dim",
    "feature_dim",
    "fits_any_length",
    "heads",
    "library",
    "needs",
    "scaled",
    "two_sided_hint",
)
"""Facts that a tempered encoding takes over from the one it wraps."""


@value
class Tempered(Scores):
    """An encoding whose logits are multiplied by a temperature at the position of the query.

    encoding      any encoding; its parameters, positions and effect on values stay the same
    temperature   the factors on rows of logits

    Only those traits are kept that survive such a factor; the logits are no longer relative.

    >>> import numpy as np
    >>> from posenc import RoPE
    >>> encoding = Tempered(RoPE(8), Llama4Temperature())
    >>> logits(encoding, np.ones((2, 8)), np.ones((2, 8)), [0, 8191], [0, 8191]).round(3)
    array([[ 2.828, -0.466],
           [-0.498,  3.024]])
    """

    encoding: Encoding
    temperature: Temperature

    def __post_init__(self) -> None:
        if not isinstance(self.encoding, Encoding):
            raise translatable(
                TypeError, "encoding must be an Encoding; got {encoding!r}", encoding=self.encoding
            )
        if not isinstance(self.temperature, Temperature):
            raise translatable(
                TypeError,
                "temperature must be a Temperature; got {temperature!r}",
                temperature=self.temperature,
            )
        for name in FACTS:
            object.__setattr__(self, name, getattr(self.encoding, name))

    @property
    def traits(self) -> Traits:
        """The traits that survive a factor on each row; order and decay need positive ones."""
        own = self.encoding.traits
        positive = bool((self.temperature.factors(np.array([1, LIMIT - 1])) > 0).all())
        return Traits(
            any_length=own.any_length,
            exact=own.exact,
            ordered=own.ordered and positive,
            decays=own.decays and positive,
        )

    @property
    def inner(self) -> Encoding:
        """The encoding whose logits are multiplied."""
        return self.encoding

    @property
    def limit(self) -> int | None:
        return self.encoding.limit

    @property
    def trained_length(self) -> int | None:
        return self.encoding.trained_length

    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of the wrapped encoding."""
        return self.encoding.parameters()

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        """Draw the parameters of the wrapped encoding."""
        return self.encoding.init(rng) if like is None else self.encoding.init(rng, like=like)

    def at(self, length: int) -> Self:
        """The encoding for a text of `length` tokens, with the same temperature."""
        return replace(self, encoding=self.encoding.at(length))

    def scores(
        self,
        q: ArrayT,
        k: ArrayT,
        q_pos: Array,
        k_pos: Array,
        params: Params[ArrayT] = None,
        **needed: Array,
    ) -> ArrayT:
        q_pos, k_pos = as_arrays(q_pos, k_pos, like=q)
        wide = working(namespace(q=q), q.dtype)  # a half is rounded once, by `logits`
        made = logits(self.encoding, cast(q, wide), cast(k, wide), q_pos, k_pos, params, **needed)
        return self.row_factors(made, q_pos) * made

    def fold(
        self, q: ArrayT, k: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> tuple[ArrayT, ArrayT] | None:
        """The encoding's own q and k, with the factors on q; None if it adds to the logits."""
        q_pos, k_pos = as_arrays(q_pos, k_pos, like=q)
        given = () if params is None else (params,)
        if self.needs:  # features or a mask cannot be folded into q and k
            return None
        if isinstance(self.encoding, Rotary):
            rotary = at_length_of(self.encoding, q_pos, k_pos)
            q, k = rotary.rotate(q, q_pos, *given), rotary.rotate_keys(k, k_pos, *given)
        elif isinstance(self.encoding, Scores):
            made = self.encoding.fold(q, k, q_pos, k_pos, params)
            if made is None:
                return None
            q, k = made
        elif isinstance(self.encoding, Bias):
            terms = self.encoding.terms(q_pos, k_pos, params)
            if terms is None or terms[0].shape[-1]:  # only an empty sum adds nothing
                return None
        else:
            return None
        return self.row_factors(q, q_pos) * q, k

    def mix(
        self, weights: Array, v: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> ArrayT:
        """The output of the wrapped encoding; a temperature does not affect values."""
        if isinstance(self.encoding, Scores):
            return self.encoding.mix(weights, v, q_pos, k_pos, params)
        self.encoding.read_params(params)
        return weights @ v

    @property
    def mixes_values(self) -> bool:
        """Whether the wrapped encoding changes the values."""
        return isinstance(self.encoding, Scores) and self.encoding.mixes_values

    def row_factors(self, x: Array, q_pos: Array) -> Array:
        """Factors that broadcast over x (…, q, channel); with several axes, of the first, time."""
        where = q_pos if self.axes is None else q_pos[..., 0]
        factors = self.temperature.factors(where, dtype=x.dtype)
        if factors.ndim == 2:  # (batch, q): broadcast over heads
            heads = (1,) * (x.ndim - 3)
            factors = namespace(x=x).reshape(factors, (factors.shape[0], *heads, -1))
        return factors[..., None]


def _widen(positions: Array) -> tuple[Array, ModuleType]:
    """Positions of queries in the widest float there is: a half cannot tell 8,190 from 8,192."""
    values = host(positions)
    if values is not None and values.size and values.min() < 0:
        raise ValueError(f"positions must not be negative for a temperature; got {values.min()}")
    xp = namespace(positions=positions)
    return cast(positions, xp.float64 if has_float64(positions) else xp.float32), xp
