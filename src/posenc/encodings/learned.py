"""The learned encoding: a table with one row per position, and ways to resize it."""

from dataclasses import field

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Dtype,
    Positions,
    cast,
    float_dtype,
    host,
    is_integer,
    namespace,
    send,
    whole_dtype,
    working,
)
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.mechanisms import Additive
from posenc.core.positions import LIMIT, as_positions
from posenc.core.values import value
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import sentences


@value
class Learned(Additive):
    """A table with one trained row for each position: e(p) = table[p].

    Gehring et al. (2017), "Convolutional Sequence to Sequence Learning". Positions must be whole
    numbers from 0 to length - 1; any other raises an error.

    length   rows of the table, 1 .. 2^24
    dim      channels of the embedding
    std      standard deviation of the initial rows; BERT and GPT-2 use 0.02

    >>> pe = Learned(512, 4)
    >>> params = pe.init(np.random.default_rng(0))
    >>> pe.encode([0, 511], params).shape
    (2, 4)
    >>> pe.encode([512], params)
    Traceback (most recent call last):
    ValueError: positions must lie in the table, 0 .. 511; got position 512
    """

    length: int
    dim: int
    std: float = field(default=0.02, kw_only=True)

    about = About(
        title=N_("learned position embedding"),
        summary=N_("a learned vector for each position; `resize`, and `resize_grid` for images"),
        paper="Gehring et al., Convolutional Sequence to Sequence Learning, arXiv:1705.03122",
        year=2017,
        models=("BERT", "GPT-2", "ViT", "BART", "OPT"),
        strengths=(N_("can learn any pattern of positions"),),
        weaknesses=(N_("rows for positions that training seldom saw stay untrained"),),
    )

    argument_help = sentences(
        length=N_("The number of rows in the table, one for each position."),
    )

    def __post_init__(self) -> None:
        rules.whole("length", self.length, least=1, most=LIMIT)
        rules.dim("dim", self.dim)
        rules.real("std", self.std, least=0, most=1e6)

    @property
    def traits(self) -> Traits:
        return Traits(unique=True, bounded=True, ordered=True)

    @property
    def limit(self) -> int:
        """Rows of the table; positions beyond them have no encoding."""
        return self.length

    def parameters(self) -> dict[str, Parameter]:
        return {"table": Parameter((self.length, self.dim))}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        return params_like(
            {"table": rng.normal(scale=self.std, size=(self.length, self.dim))}, like
        )

    def encode(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> ArrayT:
        table = self.read_params(params)["table"]
        positions = as_positions(positions, like=table)
        xp = namespace(positions=positions, params=table)
        if not is_integer(positions):
            raise TypeError(
                f"positions must be whole numbers to index a table; got {positions.dtype}"
            )
        values = host(positions)
        if values is not None and values.size and (values.min() < 0 or values.max() >= self.length):
            worst = values.max() if values.max() >= self.length else values.min()
            raise translatable(
                ValueError,
                "positions must lie in the table, 0 .. {last}; got position {worst}",
                last=self.length - 1,
                worst=worst,
            )
        # Where the host cannot read values, a negative index must fail like a large one, not wrap.
        whole = cast(positions, whole_dtype(xp))
        index = xp.reshape(xp.where(whole < 0, self.length, whole), (-1,))
        rows = xp.reshape(xp.take(table, index, axis=0), (*whole.shape, self.dim))
        return rows if dtype is None else cast(rows, float_dtype("dtype", dtype, rows))

    def resize(self, params: Params[Array], new_length: int) -> dict[str, Array]:
        """Parameters for `Learned(new_length, dim)`, by linear interpolation of the rows.

        params       "table", (length, dim)
        new_length   rows of the new table, 1 .. 2^24; the outer edges of both tables coincide

        >>> pe = Learned(2, 1)
        >>> pe.resize({"table": np.array([[0.0], [1.0]])}, 4)["table"].ravel()
        array([0.  , 0.25, 0.75, 1.  ])
        """
        table = self.read_params(params)["table"]
        new_length = rules.whole("new_length", new_length, least=1, most=LIMIT)
        return {"table": _multiply(interpolation(self.length, new_length, kernel="linear"), table)}

    def resize_grid(
        self,
        params: Params[Array],
        old: tuple[int, int],
        new: tuple[int, int],
        *,
        antialias: bool,
        prefix: int = 0,
    ) -> dict[str, Array]:
        """Parameters for an image of another size, by bicubic interpolation of the grid of rows.

        params      "table", (prefix + height * width, dim)
        old, new    (height, width) of the grid before and after
        antialias   True as in timm, False as in MAE and DeiT; the two give different tables
        prefix      leading rows that are kept as they are: class and register tokens

        >>> pe = Learned(1 + 4 * 4, 8)
        >>> params = pe.init(np.random.default_rng(0))
        >>> pe.resize_grid(params, (4, 4), (7, 7), antialias=True, prefix=1)["table"].shape
        (50, 8)
        """
        table = self.read_params(params)["table"]
        prefix = rules.whole("prefix", prefix, least=0, most=LIMIT)
        rules.flag("antialias", antialias)
        (old_height, old_width), (height, width) = _size("old", old), _size("new", new)
        if prefix + old_height * old_width != self.length:
            raise ValueError(
                f"prefix + old height * width must be length={self.length}; "
                f"got prefix={prefix}, old={old!r}"
            )
        xp = namespace(table=table)
        rows = interpolation(old_height, height, kernel="cubic", antialias=antialias)
        columns = interpolation(old_width, width, kernel="cubic", antialias=antialias)
        # Two small matrices, one for each axis, instead of their Kronecker product.
        resized = _multiply(rows, xp.reshape(table[prefix:, :], (old_height, -1)))
        resized = xp.reshape(resized, (height, old_width, self.dim))
        resized = xp.reshape(xp.permute_dims(resized, (1, 0, 2)), (old_width, -1))
        resized = xp.reshape(_multiply(columns, resized), (width, height, self.dim))
        resized = xp.reshape(xp.permute_dims(resized, (1, 0, 2)), (height * width, self.dim))
        return {"table": xp.concat([table[:prefix, :], resized], axis=0)}


def interpolation(old: int, new: int, *, kernel: str, antialias: bool = False) -> np.ndarray:
    """The matrix (new, old) that resamples `old` samples to `new`, aligned at the outer edges.

    old, new    numbers of samples; sample j of n lies at (j + 1/2) / n of the whole range
    kernel      "linear", a triangle, or "cubic", that of Keys with a = -3/4 (PyTorch, OpenCV) or,
                with antialias, a = -1/2 (PyTorch, Pillow)
    antialias   widen the kernel when downsampling and drop taps outside the range; otherwise the
                edge samples are repeated

    >>> interpolation(2, 4, kernel="linear")
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75],
           [0.  , 1.  ]])
    """
    scale = old / new
    stretch = max(scale, 1.0) if antialias else 1.0
    centre = (np.arange(new) + 0.5) * scale - 0.5
    reach = int(np.ceil(2 * stretch)) + 1
    taps = np.floor(centre)[:, None].astype(int) + np.arange(-reach, reach + 1)
    distance = np.abs(centre[:, None] - taps) / stretch
    weights = np.clip(1 - distance, 0, None) if kernel == "linear" else _keys(distance, antialias)
    if antialias:
        weights = np.where((taps >= 0) & (taps < old), weights, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((new, old))
    np.add.at(matrix, (np.arange(new)[:, None], np.clip(taps, 0, old - 1)), weights)
    return matrix


def _keys(distance: np.ndarray, antialias: bool) -> np.ndarray:
    """Keys' cubic convolution kernel (1981), which vanishes at distances of 2 and more."""
    a, x = (-0.5 if antialias else -0.75), distance
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _multiply(matrix: np.ndarray, rows: Array) -> Array:
    """`matrix @ rows`, computed in at least float32 and cast back."""
    xp = namespace(rows=rows)
    wide = working(xp, rows.dtype)
    mixed = send(matrix, rows, dtype=wide) @ cast(rows, wide)
    return cast(mixed, rows.dtype)


def _size(name: str, size: object) -> tuple[int, int]:
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise TypeError(f"{name} must be (height, width); got {name}={size!r}")
    height, width = (rules.whole(f"each of {name}", side, least=1, most=2**12) for side in size)
    return height, width
