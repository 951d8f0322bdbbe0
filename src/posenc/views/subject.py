"""What is looked at: an encoding with its parameters, asked for numbers in NumPy's float64.

A view never asks which encoding it is, only which mechanism, so a class of the reader's own is
drawn as ours are.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core.mechanisms import Additive, Bias, Encoding, Params, Rotary, compute_bias, logits
from posenc.i18n import Note
from posenc.temperatures import Tempered
from posenc.views.naming import short


def acting(encoding: Encoding) -> Encoding:
    """The encoding itself, where a temperature is put upon it."""
    return encoding.encoding if isinstance(encoding, Tempered) else encoding


def count_channels(encoding: Encoding) -> int:
    """Columns of a picture of all channels: dimensions, or pairs of a rotation; else 0."""
    if isinstance(encoding, Rotary):
        origin = np.zeros(1) if encoding.axes is None else np.zeros((1, encoding.axes))
        cos, _ = encoding.at(1).cos_sin(origin)
        return int(cos.shape[-1])
    return encoding.dim if isinstance(encoding, Additive) else 0


@dataclass(frozen=True, eq=False)  # parameters are arrays: a subject equals itself only
class Subject:
    """An encoding, its parameters, and the length that it was trained on, where that is known."""

    encoding: Encoding
    params: Params | None = None
    trained: int | None = None
    notes: tuple[Note, ...] = ()
    """What the config.json that it is out of leaves to be said."""
    part: Note | None = None
    """Which part of that model has it, where parts differ: the encoder, the local layers."""

    @property
    def name(self) -> str:
        """What one would type to make it."""
        return short(self.encoding)

    @property
    def acting(self) -> Encoding:
        """The encoding itself, where a temperature is put upon it."""
        return acting(self.encoding)

    @property
    def heads(self) -> int:
        """Heads of queries and keys."""
        return getattr(self.encoding, "heads", None) or 1

    @property
    def dim(self) -> int:
        """Channels of a query or an embedding."""
        dim = getattr(self.acting, "dim", None)
        if dim is None and isinstance(self.acting, Rotary):
            return 2 * self.turned(np.arange(1)).shape[-1]
        return dim or 64

    @property
    def rows(self) -> int | None:
        """Rows of the table that it adds, where it has one: no position beyond has an encoding."""
        rows = getattr(self.acting, "length", None)
        return rows if isinstance(self.acting, Additive) and isinstance(rows, int) else None

    def points(self, positions: np.ndarray) -> np.ndarray:
        """Positions as the encoding takes them: with an axis for their one number, if it wants."""
        lone = self.acting.axes == 1 and positions.ndim == 1
        return positions[:, None] if lone else positions

    def encoded(self, positions: np.ndarray) -> np.ndarray:
        """e(p): (seq, dim)."""
        assert isinstance(self.acting, Additive)
        return _float64(self.acting.encode(self.points(positions), self.params))

    def turned(self, positions: np.ndarray) -> np.ndarray:
        """What pair i of a query is multiplied by, as complex numbers c + i s: (seq, pair)."""
        return self._complex(positions, "cos_sin")

    def turned_keys(self, positions: np.ndarray) -> np.ndarray:
        """The same for keys, where they differ."""
        return self._complex(positions, "key_cos_sin")

    def _complex(self, positions: np.ndarray, tables: str) -> np.ndarray:
        assert isinstance(self.acting, Rotary)
        rotary = self.acting.at(self.spanned(positions)) if self.unsettled else self.acting
        cos, sin = getattr(rotary, tables)(self.points(positions), dtype=np.float64)
        return _float64(cos) + 1j * _float64(sin)

    @property
    def unsettled(self) -> bool:
        """Whether its angles depend on how long the text is."""
        return isinstance(self.acting, Rotary) and not self.acting.fits_any_length

    @staticmethod
    def spanned(positions: np.ndarray) -> int:
        """The length of a text with these positions."""
        return 1 + max(0, math.floor(positions.max(initial=0)))

    def rotated(self, x: np.ndarray, position: int, *, keys: bool = False) -> np.ndarray:
        """A query, or a key, as it is at a position: (dim,)."""
        assert isinstance(self.acting, Rotary)
        turn = self.acting.rotate_keys if keys else self.acting.rotate
        return _float64(turn(x[None], self.points(np.array([position]))))[0]

    def biases(self, q_pos: np.ndarray, k_pos: np.ndarray) -> np.ndarray:
        """b: (head, q, k); NaN for keys ahead where the encoding looks back only."""
        assert isinstance(self.acting, Bias)
        q_pos, k_pos = self.points(q_pos), self.points(k_pos)
        made = _float64(compute_bias(self.acting, q_pos, k_pos, self.params))
        return np.where(self.ahead(q_pos, k_pos), np.nan, made)

    def ahead(self, q_pos: np.ndarray, k_pos: np.ndarray) -> np.ndarray:
        """Which keys (q, k) the encoding is not meant for: those ahead, if it looks back only."""
        if not self.encoding.causal_only or q_pos.ndim > 1:
            return np.zeros((len(q_pos), len(k_pos)), dtype=bool)
        return k_pos[None, :] > q_pos[:, None]

    def logits(
        self, q: np.ndarray, k: np.ndarray, q_pos: np.ndarray, k_pos: np.ndarray
    ) -> np.ndarray:
        """What attention makes of queries and keys: (head, q, k), or (q, k) without heads."""
        q_pos, k_pos = self.points(q_pos), self.points(k_pos)
        return _float64(logits(self.encoding, q, k, q_pos, k_pos, self.params))

    def aligned(self, q_pos: np.ndarray, k_pos: np.ndarray) -> np.ndarray:
        """The mean product of rotated queries and keys that are equal, (q, k).

        Of a plain rotation that is the mean of cos((m - n) w_i) over the pairs.
        """
        ones = np.ones(self.dim)
        return self.products(ones, ones, q_pos, k_pos) / self.dim

    def products(
        self, q: np.ndarray, k: np.ndarray, q_pos: np.ndarray, k_pos: np.ndarray
    ) -> np.ndarray:
        """The products of one query and one key put at these positions, (q, k).

        They are neither divided by a root nor changed by a temperature.
        """
        queries, keys = (np.tile(x, (len(at), 1)) for x, at in ((q, q_pos), (k, k_pos)))
        made = Subject(self.acting, self.params).logits(queries, keys, q_pos, k_pos)
        return made * math.sqrt(self.dim) if self.acting.scaled else made


def _float64(made: Any) -> np.ndarray:
    return np.asarray(made, dtype=np.float64)
