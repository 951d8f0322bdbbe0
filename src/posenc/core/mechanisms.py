"""The four places where an encoding can act.

An encoding is a frozen dataclass that derives from one of the four mechanisms and implements its
one abstract method. An encoding of your own needs no more than this:

>>> from dataclasses import dataclass
>>> import numpy as np
>>> import posenc as pe
>>> @dataclass(frozen=True)
... class Recency(Bias):
...     heads: int
...
...     def bias(self, q_pos, k_pos, params=None):
...         return -abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 0.5
>>> q = k = np.zeros((1, 2, 4))
>>> pe.logits(Recency(heads=1), q, k, np.arange(2), np.arange(2))
array([[[ 0. , -0.5],
        [-0.5,  0. ]]])
"""

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

from posenc.core.arrays import (
    Array,
    ArrayT,
    Dtype,
    Positions,
    cast,
    default_float,
    namespace,
    working,
)
from posenc.core.encoding import Encoding, Params
from posenc.core.inputs import (
    beside_heads,
    call,
    positions_for,
)
from posenc.core.positions import as_arrays, distances, exact
from posenc.core.rotary import Rotary
from posenc.core.rotation import Waves
from posenc.core.values import value
from posenc.core.waves import Wavelike

if TYPE_CHECKING:
    from posenc.core.fused_torch import FusedAddition

__all__ = ["Additive", "Bias", "Rotary", "Scores", "Unbiased"]


class Additive(Wavelike):
    """Added to the token embeddings before the first layer: x + e(p)."""

    mechanism = "additive"
    dim: int
    layout: str = "interleaved"
    _methods = ("encode", "add", "add_encoded")

    @abstractmethod
    def encode(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> ArrayT:
        """The encoding e(p) of each position: (…, seq, dim).

        positions   (seq,) or (batch, seq), with a last axis of size `axes` on a grid; |p| < 2^24
        params      learned parameters as from `init`; None if there are none
        dtype       floating dtype of the result; None: that of fractional positions, or the default
                    of the library
        """

    def add(
        self,
        x: ArrayT,
        positions: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        scale: float = 1.0,
    ) -> ArrayT:
        """scale * x + e(p), in the dtype of x; 16-bit sums are rounded once.

        x           token embeddings, (…, seq, dim), floating
        positions   (seq,) or (batch, seq), with a last axis of size `axes` on a grid
        params      learned parameters as from `init`; None if there are none
        scale       multiplies x first; the original Transformer has sqrt(dim)
        """
        at: Array = positions_for("x", x, positions, axes=self.axes)
        numbers = isinstance(scale, int | float) and x.shape[-1] == self.dim
        fused: FusedAddition | None = self.fuse_for(x, at) if numbers else None
        if fused is not None:
            self.read_params(params)
            tensor: Array = x
            added: Array = fused.add(tensor, exact(at), factor=scale)
            return added
        return self.add_encoded(x, at, params, scale=scale)

    def add_encoded(
        self, x: Array, positions: Positions[Array], params: Params[Array], *, scale: float
    ) -> Array:
        """`add` by way of `encode`: the specification of what the kernels compute."""
        positions = positions_for("x", x, positions, axes=self.axes)
        wide = working(namespace(x=x), x.dtype)
        encoded = call(self, self.encode, positions, positions, params, dtype=wide)
        encoded = beside_heads(encoded, x)
        if tuple(encoded.shape[-2:]) != tuple(x.shape[-2:]):
            raise ValueError(
                f"x must have the shape of its encoding, (…, seq, dim) = {tuple(encoded.shape)}; "
                f"got shape {tuple(x.shape)}"
            )
        wide_x = cast(x, wide) if scale == 1 else scale * cast(x, wide)
        return cast(wide_x + encoded, x.dtype)

    def _fuse(self, waves: Waves) -> "FusedAddition":
        from posenc.core.fused_torch import FusedAddition

        return FusedAddition(waves, self.dim, concat=self.layout == "concat")


class Bias(Encoding):
    """Added to the attention logits: logits + b(p_q, p_k)."""

    mechanism = "bias"

    @abstractmethod
    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        """The bias b(p_q, p_k): (…, head, q, k).

        q_pos    positions of queries, (q,) or (batch, q)
        k_pos    positions of keys, (k,) or (batch, k)
        params   learned parameters as from `init`; None if there are none

        On a grid, positions have a last axis of size `axes`.
        """

    def relative_until(self, params: Params[Array] = None) -> float:
        """Up to which position of a query the bias depends on the distance of a key alone.

        params   learned parameters as from `init`; None if there are none

        Infinity for a bias that claims to be relative, else minus infinity, unless it knows better.
        """
        return math.inf if self.traits.relative else -math.inf

    def terms(
        self,
        q_pos: Positions[ArrayT],
        k_pos: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        causal: bool = False,
    ) -> tuple[ArrayT, ArrayT] | None:
        """Factors of the bias: left (…, head, q, term) and right (…, head, k, term).

        left @ right^T equals the bias up to a constant for each query, to which the softmax is
        invariant. None if the bias is not such a product.

        q_pos    positions of queries, (q,) or (batch, q)
        k_pos    positions of keys, (k,) or (batch, k)
        params   learned parameters as from `init`; None if there are none
        causal   whether only keys at or behind their query matter
        """
        return None


@value
class Unbiased(Bias):
    """A bias of 0: what is left of an encoding that has been put into queries and keys."""

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        self.read_params(params)
        away = distances(q_pos, k_pos)[..., None, :, :]
        return namespace(away=away).zeros_like(away, dtype=default_float(away))

    def terms(
        self,
        q_pos: Positions[ArrayT],
        k_pos: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        causal: bool = False,
    ) -> tuple[ArrayT, ArrayT]:
        """An empty sum: arrays with no terms."""
        self.read_params(params)
        left, right = (p[..., None, :, None][..., :0] for p in as_arrays(q_pos, k_pos))
        return cast(left, default_float(left)), cast(right, default_float(right))


class Scores(Encoding):
    """Computes the logits itself, from queries, keys and positions; may also change the values.

    An encoding that depends on the tokens themselves lists in `needs` what it takes as keyword
    arguments: `features`, a pair (of the queries, of the keys) of arrays (…, seq, feature_dim), and
    `mask`, (…, q, k) of bool, True where the query sees the key. Both broadcast over the heads of q
    and k: those of a batch are (batch, 1, seq, feature_dim) and (batch, heads or 1, q, k).
    """

    mechanism = "scores"

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        own_query_terms = cls.query_terms is not Scores.query_terms
        if own_query_terms and cls.key_terms is Scores.key_terms:
            raise TypeError(
                f"{cls.__name__} must define key_terms, as it defines query_terms: the logits "
                "need both factors of their product"
            )

    @abstractmethod
    def scores(
        self, q: ArrayT, k: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> ArrayT:
        """The attention logits, divided by sqrt(dim) if the encoding does so: (…, head, q, k).

        q              queries, (…, head, q, dim)
        k              keys, (…, head, k, dim)
        q_pos, k_pos   their positions, (q,) or (batch, q), and (k,) or (batch, k)
        params         learned parameters as from `init`; None if there are none
        """

    def fold(
        self, q: ArrayT, k: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> tuple[ArrayT, ArrayT] | None:
        """Extended q and k whose products are the logits times sqrt(dim); None if there are none.

        q              queries, (…, head, q, dim)
        k              keys, (…, head, k, dim)
        q_pos, k_pos   their positions, (q,) or (batch, q), and (k,) or (batch, k)
        params         learned parameters as from `init`; None if there are none

        Returns arrays (…, head, q, width) and (…, head, k, width) with any width >= dim.
        """
        return None

    def query_terms(
        self, q: ArrayT, q_pos: Array, params: Params[ArrayT] = None
    ) -> tuple[ArrayT, ArrayT] | None:
        """q' and left: q' k^T + left right^T are the logits times sqrt(dim); None if it has none.

        q        queries, (…, head, q, dim)
        q_pos    their positions, (q,) or (batch, q)
        params   learned parameters as from `init`; None if there are none

        Returns arrays (…, head, q, dim) and (…, head, q, term); right is what `key_terms` makes, of
        positions alone, so that it can be kept while a text grows.
        """
        return None

    def key_terms(self, k_pos: ArrayT, *, dtype: Dtype) -> ArrayT:
        """The other factor of what `query_terms` returns, the same for all heads: (…, k, term).

        A class defines both or neither; by default there are no terms.

        k_pos   positions of keys, (k,) or (batch, k)
        dtype   floating dtype of the result
        """
        return cast(k_pos[..., None][..., :0], dtype)

    def relative_terms(
        self, behind: ArrayT, params: Params[ArrayT] = None, *, dtype: Dtype
    ) -> tuple[ArrayT, ArrayT, ArrayT] | None:
        """u, v and right, where logits depend on the distance: (q + u) k^T + (q + v) right^T.

        behind   distances i - j, (distance,)
        params   learned parameters as from `init`; None if there are none
        dtype    floating dtype of the result

        The logits times sqrt(dim) of query i and key j are (q_i + u) k_j + (q_i + v) right_{i-j}.
        Returns arrays (head, 1, dim) twice and (head, distance, dim); None if there are none.
        """
        return None

    def mix(
        self, weights: Array, v: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> ArrayT:
        """The output of attention, by default weights @ v: (…, head, q, dim).

        weights        attention weights after the softmax, (…, head, q, k)
        v              values, (…, head, k, dim)
        q_pos, k_pos   positions, (q,) or (batch, q), and (k,) or (batch, k)
        params         learned parameters as from `init`; None if there are none
        """
        return weights @ v

    @property
    def mixes_values(self) -> bool:
        """Whether the output is more than weights @ v: by default, whether `mixed` is its own."""
        return type(self).mix is not Scores.mix
