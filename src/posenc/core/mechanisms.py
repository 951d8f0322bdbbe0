"""The four places where an encoding can act.

An encoding is a frozen dataclass that derives from one of the four mechanisms and implements its
one abstract method. An encoding of your own needs no more than this:

>>> from dataclasses import dataclass
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

import dataclasses
import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.core import rules
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
    check_needs,
    if_given,
    positions_for,
    result_dtype,
)
from posenc.core.positions import as_arrays, as_positions, distances, exact
from posenc.core.rotation import Pairing, Rotated, Waves, rotate, rotate_pairs, unscale
from posenc.core.values import UNSTATED, value
from posenc.core.waves import Wavelike

if TYPE_CHECKING:
    from posenc.core.fused_torch import FusedAddition, FusedRotation


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


class Rotary(Wavelike):
    """Rotates queries and keys: R(p) q, R(p) k.

    A subclass implements `cos_sin`. If it also states a `dim`, x must have that many channels, and
    with fewer angles than pairs only the `rotated` channels are rotated.
    """

    mechanism = "rotary"
    pairing: Pairing = "interleaved"
    rotated: Rotated = "leading"
    rotary_dim: int | None = UNSTATED
    """Number of channels that are rotated; None: all."""

    _methods = ("cos_sin", "key_cos_sin", "rotate", "rotate_keys", "_rotate", "tables_for")

    @abstractmethod
    def cos_sin(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        """Cosines and sines of the angles: two arrays (…, seq, pair).

        positions   (seq,) or (batch, seq), with a last axis of size `axes` on a grid; |p| < 2^24
        params      learned parameters as from `init`; None if there are none
        dtype       floating dtype of the result; None: that of fractional positions, or the default
                    of the library
        """
        self.read_params(params)
        waves, positions = self.waves(), as_positions(positions, axes=self.axes)
        assert waves is not None, f"{type(self).__name__} must define cos_sin or waves"
        return waves.cos_sin(positions, dtype=result_dtype(positions, dtype))

    def key_cos_sin(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        """`cos_sin` for keys, with the same arguments; differs in xPos."""
        return self.cos_sin(positions, *if_given(params), dtype=dtype)

    def rotate(
        self,
        x: ArrayT,
        positions: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        inverse: bool = False,
        features: ArrayT | None = None,
    ) -> ArrayT:
        """Rotate each pair of channels of `x` by its angle at `positions`: R(p) x.

        x          (…, seq, dim), of any floating dtype, which is that of the result
        positions  (seq,) or (batch, seq); whole or fractional, |p| < 2^24
        params     learned parameters as from `init`; None if there are none
        inverse    rotate back: R(p)^-1 x
        features   (…, seq, feature_dim), for an encoding that `needs` them
        """
        return self._rotate(x, positions, params, features, inverse=inverse, keys=False)

    def rotate_keys(
        self,
        x: ArrayT,
        positions: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        inverse: bool = False,
        features: ArrayT | None = None,
    ) -> ArrayT:
        """`rotate` for keys, which differ from queries in some encodings (xPos).

        x          keys, (…, seq, dim); the other arguments are those of `rotate`
        """
        return self._rotate(x, positions, params, features, inverse=inverse, keys=True)

    @property
    def searched(self) -> bool:
        """Whether its frequencies were found by search, so that they need not follow a rule."""
        return False

    def without_scaling(self) -> "Rotary | None":
        """The same encoding before a scaling stretched its waves; None if it has no scaling."""
        return None

    def other_layout(self) -> tuple[Encoding, np.ndarray] | None:
        """The other `pairing`, where that is a field and every channel turns.

        >>> from posenc import RoPE
        >>> RoPE(4).other_layout()
        (RoPE(4, pairing='halves'), array([0, 2, 1, 3]))
        """
        dim = self.dim or 0
        if dim % 2 or self.rotary_dim not in (None, dim) or "pairing" not in _init_fields(self):
            return None
        evens_first = np.arange(dim).reshape(-1, 2).T.ravel()
        if self.pairing == "interleaved":
            return _replace(self, pairing="halves"), evens_first
        return _replace(self, pairing="interleaved"), np.argsort(evens_first)

    def _rotate(
        self,
        x: Array,
        positions: Array,
        params: Params[Array],
        features: Array | None,
        *,
        inverse: bool,
        keys: bool,
    ) -> Array:
        rules.flag("inverse", inverse)
        positions, needed = self.check_call(x, positions, params, features)
        fused: FusedRotation | None = self.fuse_for(x, positions)
        if fused is not None:
            return fused.rotate(x, exact(positions), inverse=inverse)
        cos, sin = self._tables(x, positions, params, keys=keys, **needed)
        if inverse and not self.traits.norm_preserving:
            cos, sin = unscale(cos, sin)
        apply = rotate_pairs if self._is_waves else rotate  # which validates tables
        rotated = None if self.dim is None else self.rotated
        return apply(x, cos, sin, pairing=self.pairing, rotated=rotated, inverse=inverse)

    def _fuse(self, waves: Waves) -> "FusedRotation | None":
        if self.dim is None:
            return None
        from posenc.core.fused_torch import FusedRotation

        return FusedRotation(waves, self.dim, pairing=self.pairing, rotated=self.rotated)

    def tables_for(
        self,
        x: ArrayT,
        positions: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        keys: bool = False,
        features: ArrayT | None = None,
    ) -> tuple[ArrayT, ArrayT, Rotated | None]:
        """Cosines and sines that broadcast over the heads of x, and which channels they rotate.

        x           queries or keys, (…, seq, dim)
        positions   (seq,) or (batch, seq)
        params      learned parameters as from `init`; None if there are none
        keys        whether x are keys
        features    (…, seq, feature_dim), for an encoding that `needs` them
        """
        positions, needed = self.check_call(x, positions, params, features)
        tables = self._tables(x, positions, params, keys=keys, **needed)
        return *tables, None if self.dim is None else self.rotated

    def check_call(
        self,
        x: Array,
        positions: Positions[Array],
        params: Params[Array] = None,
        features: Array | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """The positions as an array, and features by name; raise an error if they do not fit x."""
        positions = positions_for("x", x, positions, axes=self.axes)
        if self.dim is not None and x.shape[-1] != self.dim:
            raise ValueError(f"x must be (…, seq, {self.dim}); got shape {tuple(x.shape)}")
        if params is not None and not self.parameters():
            self.read_params(params)  # raises
        needs = self.needs or features is not None
        return positions, check_needs(self, features=features) if needs else {}

    def _tables(
        self, x: Array, positions: Array, params: Params[Array], *, keys: bool, **needed: object
    ) -> tuple[Array, Array]:
        """Cosines and sines at validated positions, beside the heads of x."""
        dtype = working(namespace(x=x), x.dtype)
        waves = self.waves() if self._is_waves else None
        if waves is not None:
            cos, sin = waves.cos_sin(positions, dtype=dtype)
        else:
            differ = type(self).key_cos_sin is not Rotary.key_cos_sin  # which takes no features
            tables = self.key_cos_sin if keys and differ else self.cos_sin
            given = if_given(params)
            cos, sin = call(self, tables, positions, positions, *given, dtype=dtype, **needed)
        return beside_heads(cos, x), beside_heads(sin, x)


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
        self, q: ArrayT, behind: Array, params: Params[ArrayT] = None
    ) -> tuple[ArrayT, ArrayT, ArrayT] | None:
        """q', left and right: q' k^T plus left times a row of right, that of the distance.

        q        queries, (…, head, q, dim)
        behind   distances i - j, (distance,)
        params   learned parameters as from `init`; None if there are none

        The logits times sqrt(dim) of query i and key j are q'_i k_j + left_i right_{i-j}. Returns
        arrays (…, head, q, dim), (…, head, q, term) and (head, distance, term); None if there are
        none.
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


def _init_fields(encoding: object) -> set[str]:
    """The names of the fields that its constructor takes, if it is a dataclass."""
    fields = dataclasses.fields(encoding) if dataclasses.is_dataclass(encoding) else ()
    return {field.name for field in fields if field.init}


def _replace(encoding: Any, **changes: Any) -> Any:
    return dataclasses.replace(encoding, **changes)
