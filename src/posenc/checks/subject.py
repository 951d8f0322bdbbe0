"""What is checked: any encoding, with parameters, through one set of questions.

A check asks a `Subject` for rows, rotations or logits in NumPy's float64 and never sees which
library or whose code they come from.
"""

import dataclasses
import importlib.util
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from posenc.core.arrays import is_torch
from posenc.core.mechanisms import Additive, Bias, Encoding, Rotary, Scores, logits

FARTHEST = 10**7 + 64
"""The farthest position that is asked for: ten million, and some neighbours."""


SIZES = ("dim", "heads", "axes", "length", "features", "hidden")
"""Fields that make arrays larger: no one keys a cache without them."""
LENGTH = 2**15
"""The length that an encoding is settled for if its angles depend on it."""


class Subject:
    """An encoding to be checked, and how far its positions go."""

    def __init__(self, encoding: Encoding, *, seed: int = 0):
        self.whole = encoding
        """As it was given: `encoding` is that for one length, where angles depend on the length."""
        self.encoding = encoding if encoding.fits_any_length else encoding.at(LENGTH)
        self.library = encoding.library or "numpy"
        self.params = encoding.init(np.random.default_rng(seed))
        self.refusal: str | None = None
        if self.library == "numpy" and not self._takes(0) and self._speaks_torch():
            self.library = "torch"  # a class that takes tensors only
        self.reach = self._probed()

    @cached_property
    def takes_tensors(self) -> bool:
        """Whether PyTorch's tensors go in: for bfloat16 and for gradients; imports PyTorch."""
        return self.library == "torch" or self._speaks_torch()

    @property
    def axes(self) -> int:
        """Numbers that make a position."""
        return self.encoding.axes or 1

    @property
    def dim(self) -> int:
        """Channels of a query or an embedding."""
        return self.encoding.dim or 8

    @property
    def heads(self) -> int:
        """Heads of queries."""
        return self.encoding.heads or 1

    @property
    def width(self) -> int:
        """Numbers that a position takes on the way: scores may project a head to all features."""
        wide = self.dim * self.heads
        return wide * wide if isinstance(self.encoding, Scores) and wide > 64 else wide

    @property
    def very_wide(self) -> bool:
        """Whether each position costs so much that checks ask for a few of every sort only."""
        return self.width > 2**17

    def points(self, places: Any) -> np.ndarray:
        """Positions at these places: themselves, or on several axes different mixtures of them."""
        p = np.asarray(places)
        if self.encoding.axes is None:
            return p
        others = [p] + [np.roll(p, axis) for axis in range(1, self.axes)]
        return np.stack(others, axis=-1)

    def rows(self, positions: np.ndarray, *, dtype: str | None = None) -> np.ndarray:
        """What is made of each position, as rows (n, channel): e(p), R(p) x, b(p, 0) or logits."""
        match self.encoding:
            case Additive():
                made = self._encoded(positions, dtype)
            case Rotary():
                x = np.tile(self.fixed(self.dim), (len(positions), 1))
                return self.rotated(x, positions, dtype=dtype)
            case Bias():
                made = self._biased(positions, np.zeros_like(positions[:1]))
                return made[:, :, 0].T
            case _:
                x = np.tile(self.fixed(self.dim), (self.heads, len(positions), 1))
                made = self.scored(x, x[:, :1], positions, np.zeros_like(positions[:1]))
                return made[:, :, 0].T
        return self._shaped("encode", made, (len(positions), self.dim))

    def rotated(
        self, x: np.ndarray, positions: np.ndarray, *, dtype: str | None = None, keys: bool = False
    ) -> np.ndarray:
        """R(p) x for rows x (n, dim)."""
        assert isinstance(self.encoding, Rotary)
        turn = self.encoding.rotate_keys if keys else self.encoding.rotate
        library = "torch" if dtype == "bfloat16" else self.library
        made = turn(_sent(x, library, dtype), _sent(positions, library))
        return self._shaped("rotate", made, x.shape)

    def scored(
        self,
        q: np.ndarray,
        k: np.ndarray,
        q_pos: np.ndarray,
        k_pos: np.ndarray,
        *,
        whole: bool = False,
    ) -> np.ndarray:
        """The logits (…, q, k) of queries and keys (…, n, dim); `whole`: for their own length."""
        params = {name: _sent(x, self.library) for name, x in self.params.items()} or None
        sent_q, sent_k = _sent(q, self.library), _sent(k, self.library)
        where_q, where_k = _sent(q_pos, self.library), _sent(k_pos, self.library)
        encoding = self.whole if whole else self.encoding
        made = _numpy(logits(encoding, sent_q, sent_k, where_q, where_k, params))
        if made.shape[-2:] != (q.shape[-2], k.shape[-2]):
            raise WrongShapeError(
                f"logits must be (…, {q.shape[-2]}, {k.shape[-2]}); got {made.shape}"
            )
        return made

    def queries(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Random rows, one set for each head where heads differ."""
        heads = (self.heads,) if isinstance(self.encoding, Bias | Scores) else ()
        return rng.normal(size=(*heads, count, self.dim))

    def fixed(self, count: int) -> np.ndarray:
        """The same uneven vector every time, of numbers that a half holds exactly."""
        return np.round(np.linspace(1, 2, count) * 128) / 128

    def others(self) -> list[tuple[str, Encoding]]:
        """Encodings of the same kind with another number in a field, and which."""
        foreign = self.encoding.library is not None  # whose fields its function does not read
        if foreign or not dataclasses.is_dataclass(self.encoding):
            return []
        found: list[tuple[str, Encoding]] = []
        for field in dataclasses.fields(self.encoding):
            value = getattr(self.encoding, field.name)
            number = isinstance(value, float | int) and not isinstance(value, bool)
            if field.init and number and value > 0 and field.name not in SIZES:
                try:
                    other = dataclasses.replace(self.encoding, **{field.name: 2 * value})
                    found.append((f"{field.name}={2 * value:g}", other))
                except (TypeError, ValueError):  # twice that is out of its bounds
                    continue
        return found

    def _encoded(self, positions: np.ndarray, dtype: str | None) -> Any:
        assert isinstance(self.encoding, Additive)
        library = "torch" if dtype == "bfloat16" else self.library
        params = {name: _sent(x, library) for name, x in self.params.items()} or None
        where = _sent(positions, library)
        return self.encoding.encode(where, params, dtype=_dtype(dtype, library))

    def _biased(self, q_pos: np.ndarray, k_pos: np.ndarray) -> np.ndarray:
        assert isinstance(self.encoding, Bias)
        params = {name: _sent(x, self.library) for name, x in self.params.items()} or None
        made = self.encoding.bias(_sent(q_pos, self.library), _sent(k_pos, self.library), params)
        made = _numpy(made)
        if made.ndim < 3 or made.shape[-2:] != (len(q_pos), len(k_pos)):
            raise WrongShapeError(
                f"bias must be (…, heads, {len(q_pos)}, {len(k_pos)}); got {made.shape}"
            )
        return made.reshape(-1, len(q_pos), len(k_pos))

    bias = _biased

    def _shaped(self, name: str, made: Any, shape: tuple[int, ...]) -> np.ndarray:
        values = _numpy(made)
        if values.shape != tuple(shape):
            raise WrongShapeError(f"{name} must give {tuple(shape)}; got {values.shape}")
        return values

    def _speaks_torch(self) -> bool:
        """Whether tensors go in and come out: NumPy's functions may take them and give arrays."""
        if importlib.util.find_spec("torch") is None:
            return False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # NumPy's functions take tensors under protest
                return is_torch(self._of_tensors())
        except Exception:  # whatever it raises, it does not take them
            return False

    def _of_tensors(self) -> Any:
        """What the encoding makes of tensors: one position, in bfloat16 where that can be asked."""
        p = _sent(self.points(np.arange(1)), "torch")
        params = {name: _sent(x, "torch") for name, x in self.params.items()} or None
        x = _sent(np.ones((self.heads, 1, self.dim)), "torch", "bfloat16")
        match self.encoding:
            case Additive() as encoding:
                return encoding.encode(p, params, dtype=x.dtype)
            case Rotary() as encoding:
                return encoding.rotate(x[0], p)
            case Bias() as encoding:
                return encoding.bias(p, p, params)
            case encoding:
                return logits(encoding, x, x, p, p, params)

    def _probed(self) -> int:
        """The farthest place up to FARTHEST that is taken, by halving."""
        if self._takes(FARTHEST):
            return FARTHEST
        low, high = 0, FARTHEST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._takes(middle) else (low, middle)
        return low

    def _takes(self, place: int) -> bool:
        return self.accepts(np.full(self.axes, place))

    def accepts(self, point: np.ndarray) -> bool:
        """Whether a position, a number for each axis, is taken."""
        here = point if self.encoding.axes is None else point[None]
        try:
            self.rows(here)
        except BaseException as error:  # whatever a foreign function raises is its refusal
            self.refusal = f"{type(error).__name__}: {error}"
            return False
        return True


class WrongShapeError(Exception):
    """What came out has not the shape that it must have."""


def _dtype(name: str | None, library: str) -> Any:
    if name is None:
        return None
    if library == "torch":
        import torch

        return getattr(torch, name)
    return getattr(np, name)


def _sent(values: np.ndarray, library: str, dtype: str | None = None) -> Any:
    if library == "torch":
        import torch

        floating = values.dtype.kind == "f"
        wanted = getattr(torch, dtype) if dtype else (torch.float32 if floating else None)
        return torch.from_numpy(values.copy()).to(wanted)
    # a copy: what comes in must not be changed, and if it is, only there
    return values.copy() if dtype is None else values.astype(dtype)


def _numpy(made: Any) -> np.ndarray:
    if hasattr(made, "detach"):
        made = made.detach().cpu()
        made = made.double() if made.is_floating_point() else made
    values = np.asarray(made)
    if values.dtype.kind not in "fiub":
        raise WrongShapeError(f"numbers must come out; got {values.dtype}")
    return values.astype(np.float64)
