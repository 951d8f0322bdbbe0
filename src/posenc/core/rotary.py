"""Encodings that rotate queries and keys."""

import dataclasses
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
    has_float64,
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
from posenc.core.positions import as_positions, exact
from posenc.core.rotation import Pairing, Rotated, Waves, rotate, rotate_pairs, unscale
from posenc.core.values import UNSTATED
from posenc.core.waves import Wavelike

if TYPE_CHECKING:
    from posenc.core.fused_torch import FusedRotation


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

    def shift_cos_sin(
        self, by: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        """Cosines and sines that turn keys at any p into those at p + by: two arrays (…, pair).

        K(p + by) = T K(p) with T = K(by) K(0)^-1, if logits depend on the difference of positions
        alone. A factor on all keys cancels; the decay of xPos does not.

        by       differences of positions, (seq,) or (batch, seq), with a last axis of size `axes`
                 on a grid
        params   learned parameters as from `init`; None if there are none
        dtype    floating dtype of the result; None: as in `cos_sin`
        """
        by = as_positions(by, axes=self.axes)
        dtype = result_dtype(by, dtype)
        waves = self.waves() if self._is_waves else None
        if waves is not None:
            self.read_params(params)
            return dataclasses.replace(waves, scale=1.0).cos_sin(by, dtype=dtype)
        if not self.traits.relative:
            raise TypeError(
                "encoding must compose, R(p + by) = R(by) R(p), to turn keys that are rotated "
                f"already; {type(self).__name__} does not state that it is relative"
            )
        xp = namespace(by=by)
        wide = xp.float64 if has_float64(by) else dtype
        given = if_given(params)
        cos, sin = call(self, self.key_cos_sin, by, by, *given, dtype=wide)
        start = call(self, self.key_cos_sin, by, xp.zeros_like(by), *given, dtype=wide)
        back_cos, back_sin = unscale(*start)
        turned = cos * back_cos + sin * back_sin, sin * back_cos - cos * back_sin
        return cast(turned[0], dtype), cast(turned[1], dtype)

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
    ) -> tuple[Array, dict[str, object]]:
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


def _init_fields(encoding: object) -> set[str]:
    """The names of the fields that its constructor takes, if it is a dataclass."""
    fields = dataclasses.fields(encoding) if dataclasses.is_dataclass(encoding) else ()
    return {field.name for field in fields if field.init}


def _replace(encoding: Any, **changes: Any) -> Any:
    return dataclasses.replace(encoding, **changes)
