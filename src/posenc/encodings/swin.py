"""The biases of Swin Transformer: a table of displacements (V1), a network of their log (V2)."""

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
    is_integer,
    namespace,
    sigmoid,
    working,
)
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.mechanisms import Bias
from posenc.core.positions import as_arrays, distances
from posenc.core.values import value
from posenc.encodings.tables import MOST_HEADS, look_up
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import sentences

Window = tuple[int, int]


@value
class SwinBias(Bias):
    """A learned bias for each displacement in a window: b_h = table[dy, dx, h], d = q - k.

    Liu et al. (2021), "Swin Transformer". Positions are rows and columns, as from `grid(height,
    width)`. The table has (2 height - 1)(2 width - 1) rows, dx varying fastest. A displacement that
    leaves the window raises an error.

    heads    number of attention heads, at least 1
    window   (height, width), each 1 .. 1,024
    std      standard deviation of the initial table, which is clipped to [-2, 2]

    >>> from posenc import grid
    >>> encoding = SwinBias(3, (7, 7))
    >>> params = encoding.init(np.random.default_rng(0))
    >>> encoding.bias(grid(7, 7), grid(7, 7), params).shape
    (3, 49, 49)
    """

    heads: int
    window: Window
    std: float = field(default=0.02, kw_only=True)
    axes = 2

    about = About(
        title=N_("Swin relative position bias"),
        summary=N_("a learned bias for each displacement in an image window, Liu et al. (2021)"),
        paper=(
            "Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted "
            "Windows, arXiv:2103.14030"
        ),
        year=2021,
        models=("Swin Transformer", "BEiT", "Donut"),
        weaknesses=(N_("another window needs another table"),),
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        object.__setattr__(self, "window", _sides("window", self.window))
        rules.real("std", self.std, least=0, most=1e6)

    @property
    def traits(self) -> Traits:
        return Traits(relative=True, bounded=True, ordered=True)

    def parameters(self) -> dict[str, Parameter]:
        return {"table": Parameter((self.rows, self.heads))}

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return (2 * self.window[0] - 1) * (2 * self.window[1] - 1)

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        table = rng.normal(scale=self.std, size=(self.rows, self.heads))
        return params_like({"table": np.clip(table, -2, 2)}, like)

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        table = self.read_params(params)["table"]
        dy, dx = _displacements(*as_arrays(q_pos, k_pos, like=table))
        for side, away in zip(self.window, (dy, dx), strict=True):
            _within(side, away)
        index = self.row_of(dy, dx)
        return look_up(table, _no_wrap(index, dy, dx, self.window, self.rows))

    def row_of(self, dy: Array, dx: Array) -> Array:
        """The row of the table for displacements within the window.

        dy, dx   whole rows and columns from key to query, of one shape

        >>> SwinBias(1, (7, 7)).row_of(np.array([-6, 0, 6]), np.array([-6, 0, 6]))
        array([  0,  84, 168])
        """
        height, width = self.window
        return (dy + height - 1) * (2 * width - 1) + dx + width - 1


@value
class SwinV2Bias(Bias):
    """A small network of the logarithm of the displacement: b_h = 16 sigmoid(W2 relu(W1 t + b1)).

    t = sign(d) log2(1 + 8 |d| / (side - 1)) / log2(8) for each axis, d = q - k. Liu et al. (2021),
    "Swin Transformer V2". That model uses cosine attention: it normalises q and k.

    heads               number of attention heads, at least 1
    window              (height, width), each 1 .. 1,024
    pretrained_window   (height, width) in training, which sets `side`; None: `window`
    hidden              hidden units of the network

    >>> from posenc import grid
    >>> encoding = SwinV2Bias(3, (16, 16), pretrained_window=(8, 8))
    >>> params = encoding.init(np.random.default_rng(0))
    >>> encoding.bias(grid(16, 16), grid(16, 16), params).shape
    (3, 256, 256)
    """

    heads: int
    window: Window
    pretrained_window: Window | None = field(default=None, kw_only=True)
    hidden: int = field(default=512, kw_only=True)
    axes = 2

    about = About(
        title=N_("Swin V2 continuous position bias"),
        summary=N_("a small network of the logarithm of the displacement, Liu et al. (2021)"),
        paper=(
            "Liu et al., Swin Transformer V2: Scaling Up Capacity and Resolution, arXiv:2111.09883"
        ),
        year=2021,
        models=("Swin Transformer V2",),
        strengths=(N_("carries over to larger windows"),),
    )

    argument_help = sentences(
        pretrained_window=N_("The window of training, whose scale a larger window keeps."),
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        object.__setattr__(self, "window", _sides("window", self.window))
        if self.pretrained_window is not None:
            sides = _sides("pretrained_window", self.pretrained_window)
            object.__setattr__(self, "pretrained_window", sides)
        rules.dim("hidden", self.hidden)

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, relative=True, bounded=True, exact=True, ordered=True)

    def parameters(self) -> dict[str, Parameter]:
        return {
            "w1": Parameter((self.hidden, 2)),
            "b1": Parameter((self.hidden,)),
            "w2": Parameter((self.heads, self.hidden)),
        }

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        """Draw weights from N(0, 0.02) and set b1 to 0, as in all linear layers of the model."""
        rules.generator("rng", rng)
        w1 = rng.normal(scale=0.02, size=(self.hidden, 2))
        w2 = rng.normal(scale=0.02, size=(self.heads, self.hidden))
        drawn = {"w1": w1, "b1": np.zeros(self.hidden), "w2": w2}
        return params_like(drawn, like)

    def coordinates(self, displacements: Array, side: int) -> Array:
        """t of displacements along one axis, in their dtype.

        displacements   query minus key, floating, any shape
        side            the size of the window of training along this axis

        >>> SwinV2Bias(1, (8, 8)).coordinates(np.array([0.0, 1.0, 3.0, -7.0]), 8).round(5)
        array([ 0.     ,  0.36651,  0.71561, -1.05664])
        """
        xp = namespace(positions=displacements)
        steps = 8 * abs(displacements) / max(side - 1, 1)
        return xp.sign(displacements) * xp.log2(1 + steps) / math.log2(8)

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        w1, b1, w2 = self.read_params(params).values()
        q_pos, k_pos = as_arrays(q_pos, k_pos, like=w1)
        xp = namespace(positions=q_pos, params=w1)
        wide = working(xp, w1.dtype)
        w1, b1, w2 = (cast(weights, wide) for weights in (w1, b1, w2))
        sides = self.pretrained_window or self.window
        away = _displacements(q_pos, k_pos)
        t = xp.stack(
            [self.coordinates(cast(d, wide), s) for d, s in zip(away, sides, strict=True)], axis=-1
        )
        with disable_autocast(t):
            hidden = clip(t @ xp.matrix_transpose(w1) + b1, least=0.0)
            bias = 16 * sigmoid(hidden @ xp.matrix_transpose(w2))
        return xp.moveaxis(bias, -1, -3)


def _sides(name: str, value: object) -> Window:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise translatable(
            TypeError,
            "{name} must be (height, width); got {name}={value!r}",
            name=name,
            value=value,
        )
    height, width = (rules.whole(f"each of {name}", side, least=1, most=2**10) for side in value)
    return height, width


def _displacements(q_pos: Array, k_pos: Array) -> tuple[Array, Array]:
    """Rows and columns from keys (…, k, 2) to queries (…, q, 2): two arrays (…, q, k)."""
    for name, points in (("q_pos", q_pos), ("k_pos", k_pos)):
        if points.ndim < 2 or points.shape[-1] != 2:
            raise ValueError(f"{name} must be (…, seq, 2); got shape {tuple(points.shape)}")
    dy, dx = (distances(q_pos[..., axis], k_pos[..., axis]) for axis in (0, 1))
    return dy, dx


def _within(side: int, away: Array) -> None:
    if not is_integer(away):
        raise TypeError(f"positions must be whole numbers to look up a bias; got {away.dtype}")
    values = host(away)
    if values is not None and values.size and abs(values).max() >= side:
        raise translatable(
            ValueError,
            "q_pos and k_pos must lie in one window, less than {side} apart; got {apart}",
            side=side,
            apart=abs(values).max(),
        )


def _no_wrap(index: Array, dy: Array, dx: Array, window: Window, rows: int) -> Array:
    """Make displacements outside the window index past the table: they fail or read NaN."""
    outside = (abs(dy) >= window[0]) | (abs(dx) >= window[1])
    return namespace(positions=index).where(outside, rows, index)
