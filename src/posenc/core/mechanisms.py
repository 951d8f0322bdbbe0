"""The four places where an encoding can act, and `logits`, the function that all tools build on.

An encoding is a frozen dataclass that derives from one of the four mechanisms and implements its
one abstract method. An encoding of your own needs no more than this:

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Recency(Bias):
...     heads: int
...
...     def bias(self, q_pos, k_pos, params=None):
...         return -abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 0.5
>>> q = k = np.zeros((1, 2, 4))
>>> logits(Recency(heads=1), q, k, np.arange(2), np.arange(2))
array([[[ 0. , -0.5],
        [-0.5,  0. ]]])
"""

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.arrays import (
    Array,
    Dtype,
    cast,
    default_float,
    float_dtype,
    host,
    is_array,
    is_floating,
    is_integer,
    library,
    namespace,
    same_library,
    unrounded,
    working,
)
from posenc.core.encoding import Encoding, EncodingT, Params, unwrap
from posenc.core.hints import hinted
from posenc.core.positions import as_arrays, as_positions, distances, shared_rows
from posenc.core.rotation import Pairing, Rotated, rotate, rotate_pairs, unscaled
from posenc.core.values import UNSTATED, value


class Additive(Encoding):
    """Added to the token embeddings before the first layer: x + e(p)."""

    dim: int

    @abstractmethod
    def encode(self, positions: Any, params: Params | None = None, *, dtype: Dtype = None) -> Array:
        """The encoding e(p) of each position: (…, seq, dim).

        positions   (seq,) or (batch, seq), with a last axis of size `axes` on a grid; |p| < 2^24
        params      learned parameters as from `init`; None if there are none
        dtype       floating dtype of the result; None: that of fractional positions, or the default
                    of the library
        """

    def add(
        self, x: Array, positions: Any, params: Params | None = None, *, scale: float = 1.0
    ) -> Array:
        """scale * x + e(p), in the dtype of x; 16-bit sums are rounded once.

        x           token embeddings, (…, seq, dim), floating
        positions   (seq,) or (batch, seq), with a last axis of size `axes` on a grid
        params      learned parameters as from `init`; None if there are none
        scale       multiplies x first; the original Transformer has sqrt(dim)
        """
        positions = positions_for("x", x, positions, axes=self.axes)
        wide = working(namespace(x=x), x.dtype)
        encoded = _call(self, self.encode, positions, positions, params, dtype=wide)
        encoded = _beside_heads(encoded, x)
        if tuple(encoded.shape[-2:]) != tuple(x.shape[-2:]):
            raise ValueError(
                f"x must have the shape of its encoding, (…, seq, dim) = {tuple(encoded.shape)}; "
                f"got shape {tuple(x.shape)}"
            )
        wide_x = cast(x, wide) if scale == 1 else scale * cast(x, wide)
        return cast(wide_x + encoded, x.dtype)


class Rotary(Encoding):
    """Rotates queries and keys: R(p) q, R(p) k.

    A subclass implements `cos_sin`. If it also states a `dim`, x must have that many channels, and
    with fewer angles than pairs only the `rotated` channels are rotated.
    """

    pairing: Pairing = "interleaved"
    rotated: Rotated = "leading"
    rotary_dim: int | None = UNSTATED
    """Number of channels that are rotated; None: all."""

    @abstractmethod
    def cos_sin(
        self, positions: Any, params: Params | None = None, *, dtype: Dtype = None
    ) -> tuple[Array, Array]:
        """Cosines and sines of the angles: two arrays (…, seq, pair).

        positions   (seq,) or (batch, seq), with a last axis of size `axes` on a grid; |p| < 2^24
        params      learned parameters as from `init`; None if there are none
        dtype       floating dtype of the result; None: that of fractional positions, or the default
                    of the library
        """

    def key_cos_sin(
        self, positions: Any, params: Params | None = None, *, dtype: Dtype = None
    ) -> tuple[Array, Array]:
        """`cos_sin` for keys, with the same arguments; differs in xPos."""
        return self.cos_sin(positions, *_given(params), dtype=dtype)

    def rotate(
        self,
        x: Array,
        positions: Any,
        params: Params | None = None,
        *,
        inverse: bool = False,
        features: Array | None = None,
    ) -> Array:
        """Rotate each pair of channels of `x` by its angle at `positions`: R(p) x.

        x          (…, seq, dim), of any floating dtype, which is that of the result
        positions  (seq,) or (batch, seq); whole or fractional, |p| < 2^24
        params     learned parameters as from `init`; None if there are none
        inverse    rotate back: R(p)^-1 x
        features   (…, seq, feature_dim), for an encoding that `needs` them
        """
        tables = self.tables_for(x, positions, params, features=features)
        return self._rotate(x, *tables, inverse=inverse)

    def rotate_keys(
        self,
        x: Array,
        positions: Any,
        params: Params | None = None,
        *,
        inverse: bool = False,
        features: Array | None = None,
    ) -> Array:
        """`rotate` for keys, which differ from queries in some encodings (xPos).

        x          keys, (…, seq, dim); the other arguments are those of `rotate`
        """
        tables = self.tables_for(x, positions, params, keys=True, features=features)
        return self._rotate(x, *tables, inverse=inverse)

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
        self, x: Array, cos: Array, sin: Array, rotated: Rotated | None, *, inverse: bool
    ) -> Array:
        rules.flag("inverse", inverse)
        if inverse and not self.traits.norm_preserving:
            cos, sin = unscaled(cos, sin)
        trusted = type(self)._tables is not Rotary._tables
        apply = rotate_pairs if trusted else rotate  # which validates tables
        return apply(x, cos, sin, pairing=self.pairing, rotated=rotated, inverse=inverse)

    def tables_for(
        self,
        x: Array,
        positions: Any,
        params: Params | None = None,
        *,
        keys: bool = False,
        features: Array | None = None,
    ) -> tuple[Array, Array, Rotated | None]:
        """Cosines and sines that broadcast over the heads of x, and which channels they rotate.

        x           queries or keys, (…, seq, dim)
        positions   (seq,) or (batch, seq)
        params      learned parameters as from `init`; None if there are none
        keys        whether x are keys
        features    (…, seq, feature_dim), for an encoding that `needs` them
        """
        positions = positions_for("x", x, positions, axes=self.axes)
        if self.dim is not None and x.shape[-1] != self.dim:
            raise ValueError(f"x must be (…, seq, {self.dim}); got shape {tuple(x.shape)}")
        xp = namespace(x=x)
        needs = self.needs or features is not None
        needed = check_needs(self, features=features) if needs else {}
        if params is not None and not self.parameters():
            self.read_params(params)  # raises
        dtype = working(xp, x.dtype)
        cos, sin = self._tables(positions, params, dtype=dtype, keys=keys, **needed)
        whole = None if self.dim is None else self.rotated
        return _beside_heads(cos, x), _beside_heads(sin, x), whole

    def _tables(
        self, positions: Array, params: Params | None, *, dtype: Dtype, keys: bool, **needed: Any
    ) -> tuple[Array, Array]:
        """Cosines and sines at validated positions.

        An encoding whose `cos_sin` would validate them again overrides this too.
        """
        differ = type(self).key_cos_sin is not Rotary.key_cos_sin  # which takes no features
        tables = self.key_cos_sin if keys and differ else self.cos_sin
        return _call(self, tables, positions, positions, *_given(params), dtype=dtype, **needed)

    def __init_subclass__(cls, **options: Any) -> None:
        """Undo an inherited `_tables` in a class that overrides only `cos_sin`."""
        super().__init_subclass__(**options)
        own = vars(cls)
        if "_tables" not in own and ("cos_sin" in own or "key_cos_sin" in own):
            cls._tables = Rotary._tables


class Bias(Encoding):
    """Added to the attention logits: logits + b(p_q, p_k)."""

    @abstractmethod
    def bias(self, q_pos: Array, k_pos: Array, params: Params | None = None) -> Array:
        """The bias b(p_q, p_k): (…, head, q, k).

        q_pos    positions of queries, (q,) or (batch, q)
        k_pos    positions of keys, (k,) or (batch, k)
        params   learned parameters as from `init`; None if there are none

        On a grid, positions have a last axis of size `axes`.
        """

    def terms(
        self, q_pos: Array, k_pos: Array, params: Params | None = None, *, causal: bool = False
    ) -> tuple[Array, Array] | None:
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

    def bias(self, q_pos: Array, k_pos: Array, params: Params | None = None) -> Array:
        self.read_params(params)
        away = distances(q_pos, k_pos)[..., None, :, :]
        return namespace(away=away).zeros_like(away, dtype=default_float(away))

    def terms(
        self, q_pos: Array, k_pos: Array, params: Params | None = None, *, causal: bool = False
    ) -> tuple[Array, Array]:
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

    @abstractmethod
    def scores(
        self, q: Array, k: Array, q_pos: Array, k_pos: Array, params: Params | None = None
    ) -> Array:
        """The attention logits, divided by sqrt(dim) if the encoding does so: (…, head, q, k).

        q              queries, (…, head, q, dim)
        k              keys, (…, head, k, dim)
        q_pos, k_pos   their positions, (q,) or (batch, q), and (k,) or (batch, k)
        params         learned parameters as from `init`; None if there are none
        """

    def folded(
        self, q: Array, k: Array, q_pos: Array, k_pos: Array, params: Params | None = None
    ) -> tuple[Array, Array] | None:
        """Extended q and k whose products are the logits times sqrt(dim); None if there are none.

        q              queries, (…, head, q, dim)
        k              keys, (…, head, k, dim)
        q_pos, k_pos   their positions, (q,) or (batch, q), and (k,) or (batch, k)
        params         learned parameters as from `init`; None if there are none

        Returns arrays (…, head, q, width) and (…, head, k, width) with any width >= dim.
        """
        return None

    def mixed(
        self, weights: Array, v: Array, q_pos: Array, k_pos: Array, params: Params | None = None
    ) -> Array:
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
        return type(self).mixed is not Scores.mixed


def _init_fields(encoding: Any) -> set[str]:
    """The names of the fields that its constructor takes, if it is a dataclass."""
    fields = dataclasses.fields(encoding) if dataclasses.is_dataclass(encoding) else ()
    return {field.name for field in fields if field.init}


def _replace(encoding: Any, **changes: Any) -> Any:
    return dataclasses.replace(encoding, **changes)


def _given(params: Params | None) -> tuple[Params, ...]:
    """`params` as positional arguments, left out if None, for methods that do not take them."""
    return () if params is None else (params,)


def check_needs(encoding: Encoding, **given: Any) -> dict[str, Any]:
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


def _both_features(encoding: Encoding, features: Any, q: Array, k: Array) -> tuple[Array, Array]:
    """Features of queries and of keys; of scores, they broadcast over the heads of q and k."""
    both = features if isinstance(features, tuple) else (features, features)
    if len(both) != 2:
        raise ValueError(f"features must be an array, or a pair (q, k) of them; got {len(both)}")
    made: list[Array] = []
    for name, x, beside in zip(("q", "k"), both, (q, k), strict=True):
        floating(f"features of {name}", x)
        namespace(**{name: beside, f"features of {name}": x})
        shape = (beside.shape[-2], encoding.feature_dim or x.shape[-1])
        if tuple(x.shape[-2:]) != shape:
            raise ValueError(
                f"features of {name} must be (…, {shape[0]}, {shape[1]}); "
                f"got shape {tuple(x.shape)}"
            )
        made.append(_beside_heads(x, beside) if isinstance(unwrap(encoding), Scores) else x)
    return made[0], made[1]


@hinted("logits")
def logits(
    encoding: Encoding,
    q: Array,
    k: Array,
    q_pos: Any,
    k_pos: Any,
    params: Params | None = None,
    *,
    features: Any = None,
    mask: Array | None = None,
) -> Array:
    """The attention logits of queries and keys under `encoding`: (…, head, q, k).

    encoding   any of the four mechanisms
    q          queries, (…, head, q, dim); the head axis is optional for all but biases
    k          keys, (…, head, k, dim); may have fewer heads, each shared by a group of queries'
    q_pos      positions of queries, (q,) or (batch, q), with a last axis of size `axes` on a grid
    k_pos      positions of keys, (k,) or (batch, k), likewise
    params     learned parameters as from `encoding.init`; None if there are none
    features   hidden states (seq, feature_dim) or (batch, seq, feature_dim), or a pair of them if
               those of queries and keys differ; for encodings that list "features" in `needs`
    mask       (q, k), (batch, q, k) or (batch, heads or 1, q, k) of bool, True where the query sees
               the key; for encodings that list "mask"

    An additive encoding is added to q and k themselves, as if the projections were the identity.
    Products are divided by sqrt(dim) unless `encoding.scaled` is False.

    >>> rng = np.random.default_rng(0)
    >>> q, k = rng.normal(size=(2, 5, 8))
    >>> from posenc import Sinusoidal
    >>> logits(Sinusoidal(8), q, k, range(5), range(5)).shape
    (5, 5)
    """
    if not isinstance(encoding, Encoding):
        raise TypeError(
            f"encoding must be an Encoding (Additive, Rotary, Bias, Scores); got {encoding!r}"
        )
    namespace(q=q, k=k)
    q_pos = positions_for("q", q, q_pos, axes=encoding.axes)
    k_pos = positions_for("k", k, k_pos, axes=encoding.axes)
    k = repeat_heads("k", k, q)
    needed = check_needs(encoding, features=features, mask=mask)
    if "features" in needed:
        needed["features"] = _both_features(encoding, features, q, k)
        if isinstance(encoding, Bias) and needed["features"][0].ndim == 3:
            # a bias has a row for each row of its positions
            q_pos, k_pos = (_in_rows(p, q.shape[0], encoding.axes) for p in (q_pos, k_pos))
    if "mask" in needed:
        needed["mask"] = _beside_heads(mask, q)
    with unrounded(q):
        match encoding:
            case Additive():
                q, k = encoding.add(q, q_pos, params), encoding.add(k, k_pos, params)
                return cast(_products(q, k, scaled=encoding.scaled), q.dtype)
            case Rotary():
                q, k = rotate_both(encoding, q, k, q_pos, k_pos, params, **needed)
                return cast(_products(q, k, scaled=encoding.scaled), q.dtype)
            case Bias():
                products = _products(q, k, scaled=encoding.scaled)
                bias = compute_bias(encoding, q_pos, k_pos, params, **needed)
                return cast(_add_bias(products, bias), q.dtype)
            case Scores():
                scores = _call(
                    encoding, encoding.scores, q_pos, q, k, q_pos, k_pos, params, **needed
                )
                return cast(scores, q.dtype)
            case _:
                raise TypeError(
                    "encoding must derive from Additive, Rotary, Bias or Scores; "
                    f"got {type(encoding).__name__}"
                )


def rotate_both(
    encoding: Rotary,
    q: Array,
    k: Array,
    q_pos: Array,
    k_pos: Array,
    params: Params | None,
    features: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """R(p) q and R(p) k of a whole text; `params` is passed on only if given."""
    rotary, given = at_length_of(encoding, q_pos, k_pos), _given(params)
    if features is None:
        return rotary.rotate(q, q_pos, *given), rotary.rotate_keys(k, k_pos, *given)
    return (
        rotary.rotate(q, q_pos, *given, features=features[0]),
        rotary.rotate_keys(k, k_pos, *given, features=features[1]),
    )


def compute_bias(
    encoding: Bias,
    q_pos: Array,
    k_pos: Array,
    params: Params | None = None,
    *,
    heads: int | None = None,
    **needed: Any,
) -> Array:
    """`encoding.bias`; raise an error unless its shape is (…, head, q, k)."""
    made = _call(encoding, encoding.bias, q_pos, q_pos, k_pos, params, **needed)
    seq = -1 if encoding.axes is None else -2
    rows = shared_rows(q_pos, k_pos, axes=encoding.axes)
    heads = encoding.heads or heads
    shape = tuple(made.shape) if is_array(made) else None
    if shape is not None and len(shape) == len(rows) + 3:
        fits = shape[:-3] in (rows, (1,) * len(rows)) and (heads is None or shape[-3] in (1, heads))
        if fits and shape[-2:] == (q_pos.shape[seq], k_pos.shape[seq]):
            return made
    wanted = (*rows, heads or "heads", q_pos.shape[seq], k_pos.shape[seq])
    listed = ", ".join(map(str, wanted))
    raise ValueError(
        f"bias of {type(encoding).__name__} must be an array ({listed}); "
        f"got {type(made).__name__ if shape is None else f'shape {shape}'}"
    )


def _call(
    encoding: Encoding, method: Callable[..., Any], positions: Array, *given: Any, **options: Any
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


def result_dtype(positions: Array, dtype: Dtype) -> Dtype:
    """`dtype` if given, else that of fractional positions, else the default of the library."""
    if dtype is not None:
        return float_dtype("dtype", dtype, positions)
    return default_float(positions) if is_integer(positions) else positions.dtype


def floating(name: str, x: Array) -> None:
    """Raise an error unless x is (…, seq, dim) and floating."""
    if not is_floating(namespace(**{name: x}), x.dtype):
        raise TypeError(f"{name} must have a real floating dtype; got {x.dtype}")
    if x.ndim < 2:
        raise ValueError(f"{name} must be (…, seq, dim); got shape {tuple(x.shape)}")


def positions_for(name: str, x: Array, positions: Any, *, axes: int | None = None) -> Array:
    """The positions of x, as an array of its library; raise an error if the shapes disagree.

    name        the name of x in errors
    x           (…, seq, dim), floating
    positions   (seq,) for every row of x, or (batch, seq) with one row for each on its first axis
    axes        numbers in a position; None: positions are plain numbers
    """
    floating(name, x)
    positions = as_positions(positions, axes=axes, like=x)
    namespace(**{name: x, "positions": positions})
    lengths = tuple(positions.shape if axes is None else positions.shape[:-1])
    shape = tuple(x.shape)
    batch_fits = len(lengths) == 1 or (x.ndim > 2 and lengths[0] in (1, shape[0]))
    if lengths[-1] != shape[-2] or not batch_fits:
        raise ValueError(
            f"{name} (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
            f"got shapes {shape} and {lengths}"
        )
    return positions


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
            "settle the encoding beforehand with encoding.at(length)"
        )
    finite = [array for array in values if array is not None and array.size]
    largest = max((float(array.max()) for array in finite), default=0.0)
    if not math.isfinite(largest):
        raise ValueError(f"positions must be finite; got {largest}")
    return 1 + max(0, math.floor(largest))


def _beside_heads(table: Array, x: Array) -> Array:
    """Insert axes into a table (batch, seq, channel) to broadcast over the heads of x."""
    if table.ndim < 3 or table.ndim >= x.ndim:
        return table
    xp = namespace(table=table)
    heads = (1,) * (x.ndim - table.ndim)
    return xp.reshape(table, (table.shape[0], *heads, *table.shape[1:]))


def _in_rows(positions: Array, batch: int, axes: int | None) -> Array:
    """Positions with a row for each text of a batch: (batch, seq), or (batch, seq, axis)."""
    own = tuple(positions.shape[-1:] if axes is None else positions.shape[-2:])
    return namespace(positions=positions).broadcast_to(positions, (batch, *own))


def _products(q: Array, k: Array, *, scaled: bool) -> Array:
    """q k^T in the working dtype, so that 16-bit results are rounded only once, at the end."""
    xp = namespace(q=q, k=k)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must have one dim; got {q.shape[-1]} and {k.shape[-1]}")
    wide = working(xp, q.dtype)  # 16-bit products may overflow before they are divided
    products = cast(q, wide) @ xp.matrix_transpose(cast(k, wide))
    return products / math.sqrt(q.shape[-1]) if scaled else products


def _add_bias(products: Array, bias: Array) -> Array:
    if products.ndim > 2 and 1 != bias.shape[-3] != products.shape[-3]:
        raise ValueError(
            f"q and k must have the heads of the bias, {bias.shape[-3]}; got {products.shape[-3]}"
        )
    return products + bias
