"""What the methods of encodings take, validated; and calls of methods that users wrote."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from posenc.core.arrays import (
    Array,
    ArrayT,
    Dtype,
    Positions,
    default_float,
    float_dtype,
    host,
    is_array,
    is_floating,
    is_integer,
    library,
    namespace,
    same_library,
)
from posenc.core.encoding import Encoding, EncodingT, Params
from posenc.core.positions import as_positions


def positions_for(
    name: str, x: ArrayT, positions: Positions[ArrayT], *, axes: int | None = None
) -> ArrayT:
    """The positions of x, as an array of its library; raise an error if the shapes disagree.

    name        the name of x in errors
    x           (…, seq, dim), floating
    positions   (seq,) for every row of x, or (batch, seq) with one row for each on its first axis
    axes        numbers in a position; None: positions are plain numbers
    """
    check_floating(name, x)
    positions = as_positions(positions, axes=axes, like=x)
    namespace(**{name: x, "positions": positions})
    lengths = tuple(positions.shape if axes is None else positions.shape[:-1])
    shape = tuple(x.shape)
    batch_fits = len(lengths) == 1 or (x.ndim > 2 and lengths[0] in (1, shape[0]))
    if lengths[-1] != shape[-2] or not batch_fits:
        swapped = len(shape) == 4 and lengths[-1] == shape[1]
        raise ValueError(
            f"{name} (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
            f"got shapes {shape} and {lengths}"
            + ("; if it is (batch, seq, heads, dim), give its transpose(1, 2)" if swapped else "")
        )
    return positions


def check_floating(name: str, x: Array) -> None:
    """Raise an error unless x is (…, seq, dim) and floating."""
    if not is_floating(namespace(**{name: x}), x.dtype):
        raise TypeError(f"{name} must have a real floating dtype; got {x.dtype}")
    if x.ndim < 2:
        raise ValueError(f"{name} must be (…, seq, dim); got shape {tuple(x.shape)}")


def repeat_heads(name: str, k: Array, q: Array) -> Array:
    """Repeat the heads of keys or values to match the queries (grouped-query attention)."""
    alike = q.dtype == k.dtype and q.ndim == k.ndim
    rows = q.ndim < 3 or tuple(q.shape[:-3]) == tuple(k.shape[:-3])
    heads = (1, 1) if q.ndim < 3 or k.ndim < 3 else (q.shape[-3], k.shape[-3])
    if not (alike and rows and heads[1] and heads[0] % heads[1] == 0):
        raise ValueError(
            f"q and {name} must agree in dtype and in all but their lengths, heads of q being a "
            f"multiple of those of {name}; "
            f"got {q.dtype} {tuple(q.shape)} and {k.dtype} {tuple(k.shape)}"
        )
    if heads[0] == heads[1]:
        return k
    return namespace(k=k).repeat(k, heads[0] // heads[1], axis=-3)


Features: TypeAlias = ArrayT | tuple[ArrayT, ArrayT]
"""Hidden states (…, seq, feature_dim) of the tokens, or a pair of them for queries and keys."""


def read_needs(
    encoding: Encoding, *, features: Features[Array] | None, mask: Array | None = None
) -> dict[str, Any]:
    """What `encoding` needs by name, features as a pair for queries and keys."""
    needed = check_needs(encoding, features=features, mask=mask)
    if features is not None and not isinstance(features, tuple):
        needed["features"] = (features, features)
    return needed


def check_needs(encoding: Encoding, **given: object) -> dict[str, object]:
    """The given `features` and `mask` by name; raise an error unless they match `encoding.needs`.

    >>> from posenc import RoPE
    >>> check_needs(RoPE(8), features=np.zeros((3, 4)))
    Traceback (most recent call last):
    ValueError: features must be left out for RoPE, which does not depend on the tokens
    """
    for name, array in given.items():
        if array is None and name in encoding.needs:
            raise ValueError(
                f"{name} must be given for {type(encoding).__name__}, which depends on the "
                f"tokens; got {name}=None"
            )
        if array is not None and name not in encoding.needs:
            raise ValueError(
                f"{name} must be left out for {type(encoding).__name__}, which does not depend on "
                "the tokens"
            )
    return {name: array for name, array in given.items() if array is not None}


def result_dtype(positions: Array, dtype: Dtype) -> Dtype:
    """`dtype` if given, else that of fractional positions, else the default of the library."""
    if dtype is not None:
        return float_dtype("dtype", dtype, positions)
    return default_float(positions) if is_integer(positions) else positions.dtype


def at_length_of(encoding: EncodingT, *positions: Array) -> EncodingT:
    """`encoding` at the length of text that these positions span, 1 + the largest."""
    if encoding.fits_any_length:
        return encoding
    return encoding.at(span(*positions))


def span(*positions: Array) -> int:
    """The length of a text with these positions: 1 + the largest.

    >>> span(np.array([0, 4]), np.array([7.5]))
    8
    """
    values = [host(array) for array in positions]
    if any(array is None for array in values):
        raise ValueError(
            "positions must be readable by the host to know how long the text is; "
            "fix the length first, with encoding.at(length)"
        )
    finite = [array for array in values if array is not None and array.size]
    largest = max((float(array.max()) for array in finite), default=0.0)
    if not math.isfinite(largest):
        raise ValueError(f"positions must be finite; got {largest}")
    return 1 + max(0, math.floor(largest))


def beside_heads(table: Array, x: Array) -> Array:
    """Insert axes into a table (batch, seq, channel) to broadcast over the heads of x."""
    if table.ndim < 3 or table.ndim >= x.ndim:
        return table
    xp = namespace(table=table)
    heads = (1,) * (x.ndim - table.ndim)
    return xp.reshape(table, (table.shape[0], *heads, *table.shape[1:]))


def call(
    encoding: Encoding,
    method: Callable[..., Any],
    positions: Array,
    *given: object,
    **options: object,
) -> Any:
    """Call `method` of `encoding`; name the array library if it fails on another one than NumPy."""
    try:
        made = method(*given, **options)
    except TypeError as error:
        ours = type(encoding).__module__.startswith("posenc.")  # whose own errors are clear
        if ours or isinstance(positions, np.ndarray):
            raise
        name = f"{method.__name__} of {type(encoding).__name__}"
        wanted = f"arrays and dtypes of {library(positions)}"
        raise TypeError(f"{name} must take {wanted}; {error}") from error
    for array in made if isinstance(made, tuple) else (made,):
        if is_array(array):
            same_library(f"{method.__name__} of {type(encoding).__name__}", array, positions)
    return made


def if_given(params: Params[ArrayT]) -> tuple[Params[ArrayT], ...]:
    """`params` as positional arguments, left out if None, for methods that do not take them."""
    return () if params is None else (params,)
