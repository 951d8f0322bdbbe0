"""ALiBi: attention with linear biases, causal and bidirectional."""

import math
from dataclasses import field
from typing import Literal

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Positions,
    cast,
    has_float64,
    namespace,
    send,
    sigmoid,
    working,
)
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.inputs import result_dtype
from posenc.core.mechanisms import Bias
from posenc.core.positions import as_arrays, distances
from posenc.core.values import value
from posenc.encodings.tables import MOST_HEADS
from posenc.i18n import N_
from posenc.i18n.arguments import sentences

Slopes = Literal["official", "paper"]
Future = Literal["mirrored", "offset"]


@value
class ALiBi(Bias):
    """A penalty that grows with distance, steeper in some heads: b_h(i, j) = -m_h |i - j|.

    Press et al. (2021), "Train Short, Test Long: Attention with Linear Biases Enables Input Length
    Extrapolation". If the number of heads n is a power of 2, m_h = 2^(-8h/n) for h = 1 .. n.

    heads     number of attention heads, at least 1
    slopes    the slopes where n is not a power of 2: "official", the authors' code, takes those of
              the power of 2 below n and every second one of the power above (BLOOM, MPT and most
              others); "paper" applies the formula as the paper states it
    future    the bias of keys ahead of their query, for bidirectional attention: "mirrored", the
              same as behind (Jina, data2vec 2.0); "offset", keys behind gain m_h / 2, so that the
              two sides differ (Ruoss et al., 2023)
    divisor   divides the whole bias; `ALiBi.falcon` sets it to sqrt(dim)

    The paper's attention is causal and has no keys ahead. `TwoSidedALiBi` learns one slope for each
    side.

    >>> ALiBi(2).bias(np.arange(3), np.arange(3))[0]
    array([[-0.    , -0.0625, -0.125 ],
           [-0.0625, -0.    , -0.0625],
           [-0.125 , -0.0625, -0.    ]])
    """

    heads: int
    slopes: Slopes = field(default="official", kw_only=True)
    future: Future = field(default="mirrored", kw_only=True)
    divisor: float = field(default=1.0, kw_only=True)
    _slopes: np.ndarray = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("attention with linear biases"),
        summary=N_(
            "a penalty proportional to the distance, Press et al. (2021); `future=` for both "
            "directions, `.falcon(heads, dim)`"
        ),
        paper=(
            "Press et al., Train Short, Test Long: Attention with Linear Biases Enables "
            "Input Length Extrapolation, arXiv:2108.12409"
        ),
        year=2021,
        models=("BLOOM", "MPT", "Falcon-RW", "Baichuan-13B", "Jina v2"),
        strengths=(N_("perplexity stays low on texts longer than those of training"),),
        weaknesses=(N_("steep heads do not see far"),),
    )

    argument_help = sentences(
        dim=N_("How many dimensions a head has: the bias is divided by their square root."),
        slopes=N_(
            "Which slopes to take if heads are no power of 2: the authors' code "
            "(official) or the paper."
        ),
        future=N_(
            "What keys ahead of the query get: the same as behind (mirrored) or half "
            "a slope less (offset)."
        ),
        divisor=N_("What the whole bias is divided by."),
    )

    def __post_init__(self) -> None:
        heads = rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        rules.one_of("slopes", self.slopes, ("official", "paper"))
        rules.one_of("future", self.future, ("mirrored", "offset"))
        divisor = rules.real("divisor", self.divisor, least=1e-3, most=1e6)
        below = 2 ** math.floor(math.log2(heads))
        if self.slopes == "paper" or below == heads:
            slopes = _geometric(heads)
        else:
            slopes = np.concatenate(
                [_geometric(below), _geometric(2 * below)[0::2][: heads - below]]
            )
        object.__setattr__(self, "_slopes", slopes / divisor)

    @classmethod
    def falcon(cls, heads: int, dim: int) -> "ALiBi":
        """The variant of Falcon, which divides q k^T + bias, not q k^T alone, by sqrt(dim).

        heads   number of attention heads
        dim     channels of one head

        >>> ALiBi.falcon(2, 64).head_slopes()
        array([0.0078125 , 0.00048828])
        """
        return cls(heads, divisor=math.sqrt(rules.dim("dim", dim)))

    @property
    def traits(self) -> Traits:
        return Traits(
            unique=True,
            any_length=True,
            relative=True,
            exact=True,
            ordered=True,
            decays=True,
            symmetric=self.future == "mirrored",
        )

    def head_slopes(self) -> np.ndarray:
        """The slope m_h / divisor of each head: (heads,).

        >>> ALiBi(6).head_slopes()
        array([0.25      , 0.0625    , 0.015625  , 0.00390625, 0.5       , 0.125     ])
        """
        return self._slopes.copy()

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        self.read_params(params)
        behind = distances(q_pos, k_pos)[..., None, :, :]
        dtype = result_dtype(behind, None)
        away = cast(abs(behind), dtype)
        if self.future == "offset":
            away = away - 0.5 * cast(behind > 0, dtype)
        slopes = namespace(away=away).reshape(send(-self._slopes, away, dtype=dtype), (-1, 1, 1))
        return slopes * away

    def terms(
        self,
        q_pos: Positions[ArrayT],
        k_pos: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        causal: bool = False,
    ) -> tuple[ArrayT, ArrayT] | None:
        """-m_h (i - j) = (-i) m_h + m_h j; None unless causal, since |i - j| is no such sum."""
        self.read_params(params)
        q_pos, k_pos = as_arrays(q_pos, k_pos)
        if not causal or self.future == "offset" or not has_float64(q_pos):
            return None
        xp = namespace(q_pos=q_pos, k_pos=k_pos)
        slopes = xp.reshape(send(self._slopes, q_pos), (-1, 1))
        i, j = (slopes * 0 + cast(p, xp.float64)[..., None, :] for p in (q_pos, k_pos))
        # i itself rather than i m_h: each product is then rounded once, alike for all keys
        return xp.stack([-i, slopes + 0 * i], axis=-1), xp.stack([slopes + 0 * j, j], axis=-1)


@value
class TwoSidedALiBi(Bias):
    """A learned slope for each side: b_h = -sigmoid(s_h) |i - j|, with s behind or s ahead.

    Ofir Press's proposal for encoders (2021, in the repository of the paper): the two sides get
    different slopes, so that left and right are distinguishable. `init` draws both s from N(-2, 1).

    heads   number of attention heads, at least 1

    >>> encoding = TwoSidedALiBi(1)
    >>> params = {"behind": np.array([0.0]), "ahead": np.array([-np.inf])}
    >>> encoding.bias(np.arange(2), np.arange(2), params)[0]
    array([[-0. , -0. ],
           [-0.5, -0. ]])
    """

    heads: int

    about = About(
        title=N_("two-sided linear biases"),
        summary=N_("ALiBi with a learned slope for each direction"),
        paper="Press, proposal for encoders, github.com/ofirpress/attention_with_linear_biases",
        year=2021,
        strengths=(N_("each side learns its own slope"),),
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)

    @property
    def traits(self) -> Traits:
        return Traits(
            unique=True, any_length=True, relative=True, exact=True, ordered=True, decays=True
        )

    def parameters(self) -> dict[str, Parameter]:
        return {"behind": Parameter((self.heads,)), "ahead": Parameter((self.heads,))}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        behind, ahead = rng.normal(loc=-2.0, size=(2, self.heads))
        return params_like({"behind": behind, "ahead": ahead}, like)

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        back, ahead = map(_slopes, self.read_params(params).values())
        behind = distances(q_pos, k_pos, like=back)[..., None, :, :]
        xp = namespace(positions=behind, params=back)
        return xp.where(behind >= 0, back, ahead) * -cast(abs(behind), back.dtype)


def _slopes(s: Array) -> Array:
    """sigmoid(s) of each head, to broadcast over queries and keys: (heads, 1, 1)."""
    xp = namespace(params=s)
    return xp.reshape(sigmoid(cast(s, working(xp, s.dtype))), (-1, 1, 1))


def _geometric(heads: int) -> np.ndarray:
    return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
