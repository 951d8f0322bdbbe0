"""Keys that are in a cache, moved to other positions."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from posenc.core.arrays import (
    Array,
    ArrayT,
    Positions,
    cast,
    has_float64,
    is_array,
    is_integer,
    namespace,
    whole_dtype,
    working,
)
from posenc.core.encoding import Encoding, Params, suggest_making
from posenc.core.hints import hinted
from posenc.core.inputs import beside_heads, check_floating
from posenc.core.positions import check_numbers, convert_list, exact, finite
from posenc.core.rotary import Rotary
from posenc.core.rotation import rotate

Shift: TypeAlias = float | Positions[ArrayT]
"""A difference of positions: one for all tokens, for each row or for each token."""


@hinted("rotate_cached")
def rotate_cached(
    encoding: Encoding, keys: ArrayT, /, *, by: Shift[ArrayT], params: Params[ArrayT] = None
) -> ArrayT:
    """Rotated keys at positions p as they would be at p + by: R(by) R(p) k, rounded once.

    For keys out of a cache: what is left after a crop moves back, a prefix is used in another
    place, two caches become one. Queries and values do not change.

    encoding   a rotary encoding whose logits depend on the difference of positions, with or
               without a temperature
    keys       (…, seq, dim) as `rotate_keys` made them, of any floating dtype
    by         a number, whole or fractional, |by| < 2^24; or one for each token, (seq,) or
               (batch, seq); or one for each row, (batch, 1). On a grid a number moves along all
               axes, and arrays have a last axis of size `axes`
    params     learned parameters as from `init`; None if there are none

    Where the angles depend on the length of the text (dynamic NTK, LongRoPE), fix it first with
    `encoding.at(length)`, at the length for which the keys were rotated.

    >>> import numpy as np
    >>> import posenc as pe
    >>> rope, k = pe.RoPE(8), np.random.default_rng(0).normal(size=(3, 8))
    >>> cached = rope.rotate_keys(k, [100, 101, 102])
    >>> moved = pe.rotate_cached(rope, cached, by=-100)
    >>> np.allclose(moved, rope.rotate_keys(k, [0, 1, 2]))
    True
    """
    rotary = find_rotary(encoding)
    check_floating("keys", keys)
    if rotary.dim is not None and keys.shape[-1] != rotary.dim:
        raise ValueError(f"keys must be (…, seq, {rotary.dim}); got shape {tuple(keys.shape)}")
    shift = read_shift(by, keys, axes=rotary.axes)
    xp, dtype = namespace(keys=keys, by=shift), keys.dtype
    if dtype == xp.float32 and has_float64(keys):  # products and their sum are not rounded then
        keys = cast(keys, xp.float64)
    cos, sin = rotary.shift_cos_sin(shift, params, dtype=working(xp, keys.dtype))
    rows, seq, pairs = cos.shape[:-2], keys.shape[-2], cos.shape[-1]
    cos, sin = (
        beside_heads(xp.broadcast_to(part, (*rows, seq, pairs)), keys) for part in (cos, sin)
    )
    rotated = None if rotary.dim is None else rotary.rotated
    return cast(rotate(keys, cos, sin, pairing=rotary.pairing, rotated=rotated), dtype)


def find_rotary(encoding: Encoding) -> Rotary:
    """The rotation of keys in a cache; raise an error unless there is one, and it is settled."""
    if not isinstance(encoding, Encoding):
        raise TypeError(f"encoding must be an Encoding; got {encoding!r}{suggest_making(encoding)}")
    inner = encoding
    while inner.inner is not None:
        if type(inner).row_factors is Encoding.row_factors:
            raise TypeError(
                f"encoding must leave keys alone but for their rotation; {type(inner).__name__} "
                "does more than multiply queries"
            )
        inner = inner.inner
    name = type(inner).__name__
    if not isinstance(inner, Rotary):
        raise TypeError(
            f"encoding must rotate keys; {name} is {inner.mechanism}, and its cached keys are as "
            "projected"
        )
    if inner.needs:
        raise TypeError(f"encoding must not depend on the tokens; got {name}")
    if not inner.fits_any_length:
        raise ValueError(
            "encoding must be fixed with encoding.at(length), the length that the keys were "
            f"rotated for; the angles of {name} depend on it"
        )
    return inner


def read_shift(by: Shift[Array], keys: Array, *, axes: int | None) -> Array:
    """`by` as (1 or seq,) or (batch, 1 or seq), with a last axis on a grid, of keys' library."""
    number: Shift[Array] = by.item() if isinstance(by, np.generic) else by  # of no library
    array = number if is_array(number) else convert_list(number, keys, name="by")
    check_numbers("by", array)
    xp = namespace(keys=keys, by=array)
    finite(array, name="by")
    exact(array, name="by")
    if array.ndim == 0:
        array = xp.broadcast_to(array, (1,) if axes is None else (1, axes))
    elif axes is not None and array.ndim == 1:
        array = array[None, :]
    shape, beside = tuple(array.shape), tuple(keys.shape)
    sizes = shape if axes is None else shape[:-1]
    fits = len(sizes) in (1, 2) and sizes[-1] in (1, beside[-2])
    fits = fits and (axes is None or shape[-1] == axes)
    if not fits or (len(sizes) == 2 and (len(beside) < 3 or sizes[0] not in (1, beside[0]))):
        raise ValueError(_describe_shapes(by, beside, axes))
    return cast(array, whole_dtype(xp)) if is_integer(array) else array


def _describe_shapes(by: object, keys: Sequence[int], axes: int | None) -> str:
    """The sentence for a shift that does not fit the keys."""
    last = "" if axes is None else f", {axes}"
    one = "a number" if axes is None else f"a number, ({axes},)"
    shape = tuple(by.shape) if is_array(by) else by
    return (
        f"by must be {one}, (seq{last or ','}) or (batch, seq{last}), or (batch, 1{last}) for keys "
        f"(batch, …, seq, dim); got {shape!r} for keys {tuple(keys)}"
    )
