"""An encoding with its parameters, evaluated in NumPy's float64.

A view asks for the mechanism of an encoding, never for its class, so a reader's own class is drawn
like the built-in ones.
"""

import math
from dataclasses import dataclass

import numpy as np

from posenc.core.arrays import Array
from posenc.core.encoding import Encoding, Params, unwrap
from posenc.core.logits import compute_bias, logits
from posenc.core.mechanisms import Additive, Bias, Rotary
from posenc.core.needs import draw_needs
from posenc.i18n import Note
from posenc.views.naming import short_name

WIDTH = 64
"""Channels of queries and keys, for encodings that take any number."""


def count_channels(encoding: Encoding) -> int:
    """Count the columns of an image of all channels: dimensions or pairs; 0 if it has neither."""
    encoding = unwrap(encoding)
    if isinstance(encoding, Rotary):
        origin = np.zeros(1) if encoding.axes is None else np.zeros((1, encoding.axes))
        params = draw_params(encoding, 0)
        given = () if params is None else (params,)
        needed = draw_needs(encoding, np.random.default_rng(0), 1)
        cos, _ = encoding.at(1).cos_sin(origin, *given, **needed)
        return int(cos.shape[-1])
    return encoding.dim if isinstance(encoding, Additive) else 0


def draw_params(encoding: Encoding, seed: int) -> Params:
    """Draw parameters; None if nothing is learned."""
    return encoding.init(np.random.default_rng(seed)) or None


@dataclass(frozen=True, eq=False)  # parameters are arrays: compare by identity
class Subject:
    """An encoding to be shown.

    params   its parameters; None if it has none
    trained  the length that it was trained on, if known
    notes    notes of the config.json that it comes from
    part     the part of that model that uses it, if parts differ: the encoder, the local layers
    """

    encoding: Encoding
    params: Params = None
    trained: int | None = None
    notes: tuple[Note, ...] = ()
    part: Note | None = None

    @property
    def name(self) -> str:
        """The expression that makes it, abbreviated."""
        return short_name(self.encoding)

    @property
    def unwrapped(self) -> Encoding:
        """The encoding without a temperature."""
        return unwrap(self.encoding)

    @property
    def is_additive(self) -> bool:
        """Whether the encoding is added to embeddings."""
        return isinstance(self.unwrapped, Additive)

    @property
    def heads(self) -> int:
        """Heads of queries and keys; 1 if all heads are alike."""
        return self.encoding.heads or 1

    @property
    def dim(self) -> int:
        """Channels of a query, a key or an embedding."""
        dim = self.unwrapped.dim
        if dim is None and isinstance(self.unwrapped, Rotary):
            return 2 * self.factors(np.arange(1)).shape[-1]
        return dim or WIDTH

    @property
    def varies_with_length(self) -> bool:
        """Whether its angles depend on the length of the text."""
        return isinstance(self.unwrapped, Rotary) and not self.unwrapped.fits_any_length

    def as_points(self, positions: np.ndarray) -> np.ndarray:
        """Add the axis of coordinates to plain positions, for an encoding with one axis."""
        lone = self.unwrapped.axes == 1 and positions.ndim == 1
        return positions[:, None] if lone else positions

    def encode(self, positions: np.ndarray) -> np.ndarray:
        """Return e(p): (seq, dim)."""
        assert isinstance(self.unwrapped, Additive)
        return _as_float64(self.unwrapped.encode(self.as_points(positions), self.params))

    def factors(self, positions: np.ndarray, *, keys: bool = False) -> np.ndarray:
        """Return the complex factor cos + i sin of each pair of a query, or a key: (seq, pair)."""
        assert isinstance(self.unwrapped, Rotary)
        rotary = self.unwrapped
        if self.varies_with_length:
            rotary = rotary.at(1 + max(0, math.floor(positions.max(initial=0))))
        tables = rotary.key_cos_sin if keys else rotary.cos_sin
        params = () if self.params is None else (self.params,)
        cos, sin = tables(self.as_points(positions), *params, dtype=np.float64)
        return _as_float64(cos) + 1j * _as_float64(sin)

    def channels(self, positions: np.ndarray) -> np.ndarray:
        """Return e(p), or the angle of each pair from -pi to pi: (seq, channel)."""
        if self.is_additive:
            return self.encode(positions)
        return np.angle(self.factors(positions))

    def rotate(self, x: np.ndarray, position: int, *, keys: bool = False) -> np.ndarray:
        """Rotate a query, or a key, by its position: (dim,)."""
        assert isinstance(self.unwrapped, Rotary)
        rotate = self.unwrapped.rotate_keys if keys else self.unwrapped.rotate
        points = self.as_points(np.array([position]))
        return _as_float64(rotate(x[None], points, self.params))[0]

    def bias(self, q_pos: np.ndarray, k_pos: np.ndarray) -> np.ndarray:
        """Return b: (head, q, k); NaN for keys ahead of their query, if it is causal only."""
        assert isinstance(self.unwrapped, Bias)
        q_pos, k_pos = self.as_points(q_pos), self.as_points(k_pos)
        values = _as_float64(compute_bias(self.unwrapped, q_pos, k_pos, self.params))
        if not self.encoding.causal_only or q_pos.ndim > 1:
            return values
        return np.where(k_pos[None, :] > q_pos[:, None], np.nan, values)

    def logits(
        self,
        q: np.ndarray,
        k: np.ndarray,
        q_pos: np.ndarray,
        k_pos: np.ndarray,
        **needed: Array,
    ) -> np.ndarray:
        """Return the attention logits: (head, q, k), or (q, k) without heads.

        needed  the features and the mask, if the encoding needs them
        """
        q_pos, k_pos = self.as_points(q_pos), self.as_points(k_pos)
        return _as_float64(logits(self.encoding, q, k, q_pos, k_pos, self.params, **needed))

    def mean_product(self, q_pos: np.ndarray, k_pos: np.ndarray) -> np.ndarray:
        """Return the mean product of a query and a key of ones at these positions: (q, k).

        Of a plain rotation that is the mean of cos((m - n) w_i) over the pairs.
        """
        ones = np.ones(self.dim)
        return self.products(ones, ones, q_pos, k_pos) / self.dim

    def products(
        self, q: np.ndarray, k: np.ndarray, q_pos: np.ndarray, k_pos: np.ndarray
    ) -> np.ndarray:
        """Return the products of one query and one key at every pair of positions: (q, k).

        They are neither divided by sqrt(dim) nor changed by a temperature.
        """
        queries, keys = (np.tile(x, (len(at), 1)) for x, at in ((q, q_pos), (k, k_pos)))
        scores = Subject(self.unwrapped, self.params).logits(queries, keys, q_pos, k_pos)
        return scores * math.sqrt(self.dim) if self.unwrapped.scaled else scores


def _as_float64(values: object) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)
