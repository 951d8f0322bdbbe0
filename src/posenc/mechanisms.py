"""The four places where an encoding can act, and `logits`, the one function that tools consume.

An encoding is a frozen dataclass that derives from one of the four mechanisms and fills in its one
abstract method. That is all there is to an encoding of your own:

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

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np

from posenc import rules
from posenc.about import About, Traits
from posenc.arrays import (
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
from posenc.hints import hinted
from posenc.positions import ranked, shared_rows
from posenc.rotation import Pairing, Rotated, rotate, unscaled

Params = Mapping[str, Array]
"""Learned parameters by name, as `init` makes them."""


class Encoding(ABC):  # noqa: B024 (its mechanisms have the abstract methods)
    """A positional encoding: a value (equal fields mean equal encodings) that acts in one place."""

    axes: int | None = None
    """How many numbers make a position: None for a plain number, else the size of the last axis."""
    scaled: bool = True
    """Whether the products of queries and keys are divided by sqrt(dim); T5 does not."""
    causal_only: bool = False
    """Whether it is meant for keys at or behind their query only."""
    settled: bool = True
    """Whether it is the same in a text of any length, so that rotated keys may be cached."""
    about: About = About()
    """Its paper, the models that have it, and what no check can measure."""

    @property
    def traits(self) -> Traits:
        """What this encoding claims; nothing, unless it says so."""
        return Traits()

    fixed: tuple[str, ...] = ()
    """Which of the parameters that `init` draws are kept as they are, not trained."""

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Fresh parameters by name; none, unless the encoding has some."""
        rules.generator("rng", rng)
        return {}

    def at(self, length: int) -> Self:
        """This encoding for a text of `length` tokens: itself, unless it depends on that."""
        rules.whole("length", length, least=1)
        return self


EncodingT = TypeVar("EncodingT", bound=Encoding)


class Additive(Encoding):
    """Added to the token embeddings before the first layer: x + e(p)."""

    dim: int

    @abstractmethod
    def encode(self, positions: Any, params: Params | None = None, *, dtype: Dtype = None) -> Array:
        """e(p): positions (…, seq) -> (…, seq, dim), in float64, float32 or rounded to a half."""

    def add(
        self, x: Array, positions: Any, params: Params | None = None, *, scale: float = 1.0
    ) -> Array:
        """scale x + e(p) for x (…, seq, dim), in the dtype of x; 16-bit sums are rounded once."""
        positions = matched("x", x, positions, axes=self.axes)
        wide = working(namespace(x=x), x.dtype)
        encoded = _aligned(_made(self, self.encode, positions, positions, params, dtype=wide), x)
        if tuple(encoded.shape[-2:]) != tuple(x.shape[-2:]):
            raise ValueError(
                f"x must have the shape of its encoding, (…, seq, dim) = {tuple(encoded.shape)}; "
                f"got shape {tuple(x.shape)}"
            )
        wide_x = cast(x, wide) if scale == 1 else scale * cast(x, wide)
        return cast(wide_x + encoded, x.dtype)


class Rotary(Encoding):
    """Turns queries and keys: R(p) q, R(p) k.

    A subclass has `cos_sin`; if it also has a `dim`, x must be that wide, and where there are fewer
    angles than pairs only the `rotated` channels turn.
    """

    pairing: Pairing = "interleaved"
    rotated: Rotated = "leading"

    @abstractmethod
    def cos_sin(self, positions: Any, *, dtype: Dtype = None) -> tuple[Array, Array]:
        """Cosines and sines of the angles: positions (…, seq) -> two arrays (…, seq, pair)."""

    def key_cos_sin(self, positions: Any, *, dtype: Dtype = None) -> tuple[Array, Array]:
        """The same for keys, where they differ from queries (xPos)."""
        return self.cos_sin(positions, dtype=dtype)

    def rotate(self, x: Array, positions: Any, *, inverse: bool = False) -> Array:
        """R(p) x for x (…, seq, dim), or R(p)^-1 x, in the dtype of x."""
        return self._turned(x, positions, self.cos_sin, inverse=inverse)

    def rotate_keys(self, x: Array, positions: Any, *, inverse: bool = False) -> Array:
        """What `rotate` is to queries, for keys."""
        return self._turned(x, positions, self.key_cos_sin, inverse=inverse)

    def _turned(
        self, x: Array, positions: Any, tables: Callable[..., Any], *, inverse: bool
    ) -> Array:
        cos, sin, rotated = self.tables_for(x, positions, tables)
        if inverse and not self.traits.norm_preserving:
            cos, sin = unscaled(cos, sin)
        return rotate(x, cos, sin, pairing=self.pairing, rotated=rotated, inverse=inverse)

    def tables_for(
        self, x: Array, positions: Any, tables: Callable[..., Any]
    ) -> tuple[Array, Array, Rotated | None]:
        """Cosines and sines beside the heads of x, and which channels they turn."""
        positions = matched("x", x, positions, axes=self.axes)
        dim = getattr(self, "dim", None)
        if dim is not None and x.shape[-1] != dim:
            raise ValueError(f"x must be (…, seq, {dim}); got shape {tuple(x.shape)}")
        dtype = working(namespace(x=x), x.dtype)
        cos, sin = _made(self, tables, positions, positions, dtype=dtype)
        return _aligned(cos, x), _aligned(sin, x), None if dim is None else self.rotated


class Bias(Encoding):
    """Added to the attention logits: logits + b(p_q, p_k)."""

    @abstractmethod
    def bias(self, q_pos: Array, k_pos: Array, params: Params | None = None) -> Array:
        """b: positions (…, q) and (…, k) -> (…, head, q, k)."""

    def terms(
        self, q_pos: Array, k_pos: Array, params: Params | None = None, *, causal: bool = False
    ) -> tuple[Array, Array] | None:
        """The bias as sums of products, left (…, head, q, term) and right (…, head, k, term).

        That is up to what all keys of a query share, which no softmax sees. None where it is no
        such sum. With `causal`, only keys at or behind their query count.
        """
        return None


class Scores(Encoding):
    """Makes the logits itself, from queries, keys and positions; may have a say in the values."""

    @abstractmethod
    def scores(
        self, q: Array, k: Array, q_pos: Array, k_pos: Array, params: Params | None = None
    ) -> Array:
        """Logits: q (…, head, q, dim), k (…, head, k, dim) -> (…, head, q, k)."""

    def folded(
        self, q: Array, k: Array, q_pos: Array, k_pos: Array, params: Params | None = None
    ) -> tuple[Array, Array] | None:
        """Wider q and k whose products are the logits times sqrt(dim); None if there are none."""
        return None

    def mixed(
        self, weights: Array, v: Array, q_pos: Array, k_pos: Array, params: Params | None = None
    ) -> Array:
        """What attention gives out: weights (…, head, q, k) and values (…, head, k, dim)."""
        return weights @ v


@hinted("logits")
def logits(
    encoding: Encoding,
    q: Array,
    k: Array,
    q_pos: Any,
    k_pos: Any,
    params: Params | None = None,
) -> Array:
    """The attention logits that `encoding` makes of queries and keys: (…, head, q, k).

    q is (…, head, q, dim) and k is (…, head, k, dim), the head axis being optional for all but
    biases; heads of keys may be fewer, each for as many of the queries. Additive encodings act on
    what comes in, so here e(p) is added to q and k themselves, as if the projections were the
    identity. The products are divided by sqrt(dim), unless the encoding says that its are not.

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
    q_pos = matched("q", q, q_pos, axes=encoding.axes)
    k_pos = matched("k", k, k_pos, axes=encoding.axes)
    k = grouped("k", k, q)
    with unrounded(q):
        match encoding:
            case Additive():
                q, k = encoding.add(q, q_pos, params), encoding.add(k, k_pos, params)
                return cast(_products(q, k, scaled=encoding.scaled), q.dtype)
            case Rotary():
                rules.known_params(params)
                encoding = settled(encoding, q_pos, k_pos)
                q, k = encoding.rotate(q, q_pos), encoding.rotate_keys(k, k_pos)
                return cast(_products(q, k, scaled=encoding.scaled), q.dtype)
            case Bias():
                products = _products(q, k, scaled=encoding.scaled)
                biased = _biased(products, bias_of(encoding, q_pos, k_pos, params))
                return cast(biased, q.dtype)
            case Scores():
                scores = _made(encoding, encoding.scores, q_pos, q, k, q_pos, k_pos, params)
                return cast(scores, q.dtype)
            case _:
                raise TypeError(
                    "encoding must derive from Additive, Rotary, Bias or Scores; "
                    f"got {type(encoding).__name__}"
                )


def bias_of(
    encoding: Bias,
    q_pos: Array,
    k_pos: Array,
    params: Params | None = None,
    *,
    heads: int | None = None,
) -> Array:
    """`encoding.bias`, or a sentence if that has not the shape (…, head, q, k) of its positions."""
    made = _made(encoding, encoding.bias, q_pos, q_pos, k_pos, params)
    seq = -1 if encoding.axes is None else -2
    rows = shared_rows(q_pos, k_pos, axes=encoding.axes)
    heads = getattr(encoding, "heads", heads)
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


def _made(
    encoding: Encoding, method: Callable[..., Any], positions: Array, *given: Any, **options: Any
) -> Any:
    """What `method` of `encoding` returns, or a sentence if it knows another library only."""
    try:
        made = method(*given, **options)
    except TypeError as error:
        ours = type(encoding).__module__.startswith("posenc.")  # which says itself what is wrong
        if ours or isinstance(positions, np.ndarray):
            raise
        name = f"{method.__name__} of {type(encoding).__name__}"
        wanted = f"arrays and dtypes of {library(positions)}"
        raise TypeError(f"{name} must take {wanted}; {error}") from error
    for array in made if isinstance(made, tuple) else (made,):
        if is_array(array):
            same_library(f"{method.__name__} of {type(encoding).__name__}", array, positions)
    return made


def grouped(name: str, k: Array, q: Array) -> Array:
    """Keys or values with as many heads as the queries: each head is for a group of theirs."""
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
    """The dtype that was asked for, else that of fractional positions, else the library's own."""
    if dtype is not None:
        return float_dtype("dtype", dtype, positions)
    return default_float(positions) if is_integer(positions) else positions.dtype


def floating(name: str, x: Array) -> None:
    """Say that x must be (…, seq, dim) and floating."""
    if not is_floating(namespace(**{name: x}), x.dtype):
        raise TypeError(f"{name} must have a real floating dtype; got {x.dtype}")
    if x.ndim < 2:
        raise ValueError(f"{name} must be (…, seq, dim); got shape {tuple(x.shape)}")


def matched(name: str, x: Array, positions: Any, *, axes: int | None = None) -> Array:
    """The positions of x (…, seq, dim), as an array of its library; or a sentence why they are not.

    (seq,) serves every row of x alike; (batch, seq) has a row for each of the first axis of x.
    """
    floating(name, x)
    positions = ranked(positions, axes=axes, like=x)
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


def settled(encoding: EncodingT, *positions: Array) -> EncodingT:
    """`encoding` for the length that these positions span: 1 + the largest."""
    if encoding.settled:
        return encoding
    return encoding.at(spanned(*positions))


def spanned(*positions: Array) -> int:
    """The length of a text with these positions: 1 + the largest, or a sentence.

    >>> spanned(np.array([0, 4]), np.array([7.5]))
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


def _aligned(table: Array, x: Array) -> Array:
    """A table (batch, seq, channel) with axes for the heads of x (batch, head, seq, dim)."""
    if table.ndim < 3 or table.ndim >= x.ndim:
        return table
    xp = namespace(table=table)
    heads = (1,) * (x.ndim - table.ndim)
    return xp.reshape(table, (table.shape[0], *heads, *table.shape[1:]))


def _products(q: Array, k: Array, *, scaled: bool) -> Array:
    """q k^T in the working dtype, for what is added to it or cast: a half is rounded once."""
    xp = namespace(q=q, k=k)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must have one dim; got {q.shape[-1]} and {k.shape[-1]}")
    wide = working(xp, q.dtype)  # 16-bit products may overflow before they are divided
    products = cast(q, wide) @ xp.matrix_transpose(cast(k, wide))
    return products / math.sqrt(q.shape[-1]) if scaled else products


def _biased(products: Array, bias: Array) -> Array:
    if products.ndim > 2 and 1 != bias.shape[-3] != products.shape[-3]:
        raise ValueError(
            f"q and k must have the heads of the bias, {bias.shape[-3]}; got {products.shape[-3]}"
        )
    return products + bias
