"""FIRE: a small network applied to the distance divided by the length of the text so far."""

import math
from dataclasses import field

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Positions,
    cast,
    clip,
    disable_autocast,
    host,
    is_array,
    is_plain_tensor,
    namespace,
    working,
)
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.mechanisms import Bias
from posenc.core.positions import LIMIT, as_arrays, distances
from posenc.core.values import value
from posenc.encodings.tables import MOST_HEADS
from posenc.i18n import N_
from posenc.i18n.arguments import sentences


@value
class FIRE(Bias):
    """b(i, j) = f(phi(i - j) / phi(max(i, L))), phi(x) = log(1 + |c x|), f a small network.

    Li et al. (2023), "Functional Interpolation for Relative Positions Improves Long Context
    Transformers". For queries beyond L, distances are compressed into the range seen in training.
    c is learned, from 0.1; so is L = multiplier * length. f is linear, ReLU, linear (1 -> hidden ->
    heads) with PyTorch's default initialisation. As in the authors' listing, positions start at 0
    and phi is even, although the encoding is meant for keys at or behind their query.

    heads    number of attention heads, at least 1
    hidden   hidden units of f
    length   initial value of L, in positions
    eps      added to the denominator

    >>> encoding = FIRE(8)
    >>> encoding.ratios(np.array([100]), np.array([100, 99, 90, 0]), 0.1, 1.0).round(5)
    array([[0.     , 0.0241 , 0.17525, 0.60628]])
    """

    heads: int
    hidden: int = field(default=32, kw_only=True)
    length: float = field(default=512.0, kw_only=True)
    eps: float = field(default=1e-6, kw_only=True)
    causal_only = True

    about = About(
        title=N_("functional interpolation of relative positions"),
        summary=N_(
            "a small network of the distance relative to the length so far, Li et al. (2023)"
        ),
        paper=(
            "Li et al., Functional Interpolation for Relative Positions Improves Long "
            "Context Transformers, arXiv:2310.04418"
        ),
        year=2023,
        strengths=(N_("squeezes longer distances into those seen in training"),),
    )

    argument_help = sentences(
        length=N_("How long a text may get before distances are scaled down; training adjusts it."),
        eps=N_("A small number added to the denominator, so that nothing is divided by 0."),
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        rules.dim("hidden", self.hidden)
        rules.real("length", self.length, least=1, most=LIMIT)
        rules.real("eps", self.eps, least=0, most=1)

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, bounded=True, ordered=True)

    @property
    def trained_length(self) -> int:
        """The initial L, beyond which distances are compressed."""
        return int(self.length)

    def parameters(self) -> dict[str, Parameter]:
        shapes: dict[str, tuple[int, ...]] = {
            "c": (),
            "multiplier": (),
            "w1": (self.hidden, 1),
            "b1": (self.hidden,),
            "w2": (self.heads, self.hidden),
            "b2": (self.heads,),
        }
        return {name: Parameter(shape) for name, shape in shapes.items()}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        inner = 1 / np.sqrt(self.hidden)
        drawn = {
            "c": np.array(0.1),
            "multiplier": np.array(1.0),
            "w1": rng.uniform(-1, 1, (self.hidden, 1)),
            "b1": rng.uniform(-1, 1, self.hidden),
            "w2": rng.uniform(-inner, inner, (self.heads, self.hidden)),
            "b2": rng.uniform(-inner, inner, self.heads),
        }
        return params_like(drawn, like)

    def ratios(self, q_pos: Array, k_pos: Array, c: Array, multiplier: Array) -> Array:
        """phi(i - j) / phi(max(i, L)), the input of f: (…, q, k).

        q_pos, k_pos    positions, (…, q) and (…, k)
        c, multiplier   the learned scalars, as in `init`
        """
        q_pos, k_pos = as_arrays(q_pos, k_pos)
        behind = distances(q_pos, k_pos)
        xp = namespace(positions=behind)
        dtype = c.dtype if is_array(c) else xp.float64
        i, longest = cast(q_pos, dtype)[..., None], self.threshold(multiplier)
        least = xp.where(i > longest, i, longest)
        return xp.log1p(abs(c * cast(behind, dtype))) / (xp.log1p(abs(c * least)) + self.eps)

    def threshold(self, multiplier: Array) -> Array:
        """L, the length of text up to which distances are not compressed.

        multiplier   the learned scalar, 1 at first

        >>> FIRE(8).threshold(0.5)
        256.0
        """
        return abs(multiplier * self.length)

    def relative_until(self, params: Params[Array] = None) -> float:
        """L: up to there all distances are divided alike."""
        multiplier = host(self.read_params(params)["multiplier"])
        return -math.inf if multiplier is None else float(self.threshold(multiplier))

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        given = self.read_params(params)
        q_pos, k_pos = as_arrays(q_pos, k_pos, like=given["w1"])
        for weights in given.values():
            namespace(positions=q_pos, params=weights)
        xp = namespace(positions=q_pos)
        wide = working(xp, given["w1"].dtype)
        c, multiplier, w1, b1, w2, b2 = (cast(weights, wide) for weights in given.values())
        x = self.ratios(q_pos, k_pos, c, multiplier)
        shape = tuple(x.shape)
        x = xp.reshape(x, (*shape[:-2], shape[-2] * shape[-1]))
        with disable_autocast(x):
            made = apply_network(x, w1, b1, w2, b2)
        return xp.reshape(made, (*shape[:-2], self.heads, *shape[-2:]))


def apply_network(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    """f of each number of x (…, n), w2 relu(w1 x + b1) + b2: (…, heads, n).

    w1, b1   (hidden, 1) and (hidden,)
    w2, b2   (heads, hidden) and (heads,)
    """
    if is_plain_tensor(x, w1, b1, w2, b2) and x.device.type == "cpu":
        from posenc.core.network_torch import apply_network as apply_in_parts

        return apply_in_parts(x, w1, b1, w2, b2)
    # numbers stay on the last axis, where elementwise arithmetic is fastest
    hidden = clip(w1 * x[..., None, :] + b1[:, None], least=0.0)
    return w2 @ hidden + b2[:, None]
