"""ALiBi: attention with linear biases."""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from posenc import rules
from posenc.arrays import Array, cast, default_float, namespace, send
from posenc.mechanisms import Bias, Params, Traits
from posenc.positions import distances

Slopes = Literal["official", "paper"]


@dataclass(frozen=True)
class ALiBi(Bias):
    """A penalty that grows with distance, steeper in some heads: b_h(i, j) = -m_h |i - j|.

    Press et al. (2021), "Train Short, Test Long: Attention with Linear Biases Enables Input Length
    Extrapolation". For n heads, a power of 2, m_h = 2^(-8h/n), h = 1 .. n. For other n the paper's
    sentence says the same (`slopes="paper"`), its code takes the slopes of the power of 2 below and
    every second one of the power above (`slopes="official"`: BLOOM, MPT and all that follow it).

    >>> ALiBi(2).bias(np.arange(3), np.arange(3))[0]
    array([[-0.    , -0.0625, -0.125 ],
           [-0.0625, -0.    , -0.0625],
           [-0.125 , -0.0625, -0.    ]])
    """

    heads: int
    slopes: Slopes = field(default="official", kw_only=True)
    _slopes: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        heads = rules.whole("heads", self.heads, least=1, most=4096)
        rules.one_of("slopes", self.slopes, ("official", "paper"))
        below = 2 ** math.floor(math.log2(heads))
        if self.slopes == "paper" or below == heads:
            slopes = _geometric(heads)
        else:
            slopes = np.concatenate(
                [_geometric(below), _geometric(2 * below)[0::2][: heads - below]]
            )
        object.__setattr__(self, "_slopes", slopes)

    @property
    def traits(self) -> Traits:
        return Traits(extrapolates=True, relative=True)

    def head_slopes(self) -> np.ndarray:
        """m_h of each head: (heads,).

        >>> ALiBi(6).head_slopes()
        array([0.25      , 0.0625    , 0.015625  , 0.00390625, 0.5       , 0.125     ])
        """
        return self._slopes.copy()

    def bias(self, q_pos: Array, k_pos: Array, params: Params | None = None) -> Array:
        away = abs(distances(q_pos, k_pos))[..., None, :, :]
        dtype = default_float(away)
        slopes = namespace(away=away).reshape(send(-self._slopes, away, dtype=dtype), (-1, 1, 1))
        return slopes * cast(away, dtype)


def _geometric(heads: int) -> np.ndarray:
    return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
