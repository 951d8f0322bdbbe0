"""The encoding under test, with parameters and token features, behind one interface.

A check asks a `Subject` for rows, rotations or logits, which come as NumPy arrays in float64, and
never sees which library or whose code computes them.
"""

import dataclasses
import importlib
import importlib.util
import warnings
from functools import cached_property

import numpy as np

from posenc.core.arrays import Array, Dtype, is_torch
from posenc.core.encoding import Encoding
from posenc.core.logits import logits
from posenc.core.mechanisms import Additive, Bias, Rotary, Scores

FARTHEST = 10**7 + 64
"""The farthest position that is tried: ten million, and some neighbours."""
SIZES = ("dim", "heads", "axes", "length", "features", "feature_dim", "hidden")
"""Fields that change the shape of arrays, which no cache can mistake."""
LENGTH = 2**15
"""The text length for which an encoding is checked if its angles depend on the length."""
FEATURES = 8
"""Channels of token features, unless the encoding states how many it takes."""


Tokens = tuple[np.ndarray, np.ndarray]
"""Whose features queries and keys have: the positions at which these tokens are at home."""


class Subject:
    """An encoding under test, and how far its positions go."""

    def __init__(self, encoding: Encoding, *, seed: int = 0):
        self.seed = seed
        self.whole = encoding
        """As given; `encoding` is fixed to one length where angles depend on the length."""
        self.encoding = encoding if encoding.fits_any_length else encoding.at(LENGTH)
        self.library = encoding.library or "numpy"
        self.params = encoding.init(np.random.default_rng(seed))
        self.refusal: str | None = None
        if self.library == "numpy" and not self._accepts_place(0) and self._returns_tensors():
            self.library = "torch"  # a class that takes tensors only
        self.reach = self._find_reach()

    @cached_property
    def takes_tensors(self) -> bool:
        """Whether it computes with PyTorch tensors (bfloat16, gradients); imports PyTorch."""
        return self.library == "torch" or self._returns_tensors()

    @property
    def axes(self) -> int:
        """Numbers in a position."""
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
        """Numbers computed for one position: scores may project each head to all features."""
        wide = self.dim * self.heads
        return wide * wide if isinstance(self.encoding, Scores) and wide > 64 else wide

    @property
    def very_wide(self) -> bool:
        """Whether a position costs so much that checks sample only a few of every sort."""
        return self.width > 2**17

    def points(self, places: object) -> np.ndarray:
        """Positions at these places: the places, or on several axes different mixtures of them."""
        p = np.asarray(places)
        if self.encoding.axes is None:
            return p
        others = [p] + [np.roll(p, axis) for axis in range(1, self.axes)]
        return np.stack(others, axis=-1)

    def rows(self, positions: np.ndarray, *, dtype: str | None = None) -> np.ndarray:
        """What each position is given, as rows (n, channel): e(p), R(p) x, b(p, 0) or logits.

        The token is the same at every position: a fixed x, and fixed features where needed.
        """
        origin = np.zeros_like(positions[:1])
        token, every = origin, np.zeros_like(positions)
        match self.encoding:
            case Additive():
                return self._encode(positions, dtype)
            case Rotary():
                x = np.tile(self.make_vector(self.dim), (len(positions), 1))
                return self.rotate(x, positions, dtype=dtype, tokens=every)
            case Bias():
                return self.bias(positions, origin, tokens=(every, token))[:, :, 0].T
            case _:
                x = np.tile(self.make_vector(self.dim), (self.heads, len(positions), 1))
                made = self.score(x, x[:, :1], positions, origin, tokens=(every, token))
                return made[:, :, 0].T

    def rotate(
        self,
        x: np.ndarray,
        positions: np.ndarray,
        *,
        dtype: str | None = None,
        keys: bool = False,
        tokens: np.ndarray | None = None,
    ) -> np.ndarray:
        """R(p) x for rows x (n, dim), with the features of `tokens` (those at the positions)."""
        assert isinstance(self.encoding, Rotary)
        rotate = self.encoding.rotate_keys if keys else self.encoding.rotate
        library = "torch" if dtype == "bfloat16" else self.library
        needed: dict[str, Array] = {}
        if "features" in self.encoding.needs:
            features = self.features(positions if tokens is None else tokens)
            needed["features"] = send(features, library, dtype)
        sent = send(x, library, dtype), send(positions, library)
        return _require_shape(
            "rotate", rotate(*sent, *self._own_params(library), **needed), x.shape
        )

    def score(
        self,
        q: np.ndarray,
        k: np.ndarray,
        q_pos: np.ndarray,
        k_pos: np.ndarray,
        *,
        whole: bool = False,
        tokens: Tokens | None = None,
    ) -> np.ndarray:
        """The logits (…, q, k) of queries and keys (…, n, dim).

        whole   for the length that the positions span, not for one fixed length
        tokens  whose features they have, where needed: a pair of positions, q_pos and k_pos unless
                given. Tokens that move to other positions keep their features.
        """
        encoding, needed = (
            self.whole if whole else self.encoding,
            self.build_needs(q_pos, k_pos, tokens),
        )
        sent = [send(each, self.library) for each in (q, k, q_pos, k_pos)]
        made = to_numpy(logits(encoding, *sent, params=self._send_params(self.library), **needed))
        if made.shape[-2:] != (q.shape[-2], k.shape[-2]):
            raise WrongShapeError(
                f"logits must be (…, {q.shape[-2]}, {k.shape[-2]}); got {made.shape}"
            )
        return np.where(self.build_mask(q_pos, k_pos), made, -np.inf)

    def bias(
        self, q_pos: np.ndarray, k_pos: np.ndarray, *, tokens: Tokens | None = None
    ) -> np.ndarray:
        """b(p_q, p_k) as (head, q, k)."""
        assert isinstance(self.encoding, Bias)
        params, needed = self._send_params(self.library), self.build_needs(q_pos, k_pos, tokens)
        where_q, where_k = send(q_pos, self.library), send(k_pos, self.library)
        made = to_numpy(self.encoding.bias(where_q, where_k, params, **needed))
        if made.ndim < 3 or made.shape[-2:] != (len(q_pos), len(k_pos)):
            raise WrongShapeError(
                f"bias must be (…, heads, {len(q_pos)}, {len(k_pos)}); got {made.shape}"
            )
        return made.reshape(-1, len(q_pos), len(k_pos))

    def features(self, tokens: np.ndarray) -> np.ndarray:
        """Features (n, feature_dim) of the tokens at these positions: waves that the seed draws.

        A token has the same features in every call, and numbers that a half holds exactly.
        """
        rng = np.random.default_rng([self.seed, *b"features"])
        points = np.asarray(tokens, dtype=np.float64).reshape(len(tokens), -1)
        count = self.encoding.feature_dim or FEATURES
        rates = rng.uniform(0.1, 3.0, size=(points.shape[1], count))
        waves = np.sin(points @ rates + rng.uniform(0, 2 * np.pi, size=count))
        return np.round(waves * 128) / 128

    def build_needs(
        self,
        q_pos: np.ndarray,
        k_pos: np.ndarray,
        tokens: Tokens | None = None,
        *,
        library: str | None = None,
        dtype: str | None = None,
    ) -> dict[str, Array]:
        """The arguments that the encoding `needs`: features of queries and keys, and the mask."""
        library, made = library or self.library, dict[str, Array]()
        if "features" in self.encoding.needs:
            both = (self.features(each) for each in tokens or (q_pos, k_pos))
            made["features"] = tuple(send(each, library, dtype) for each in both)
        if "mask" in self.encoding.needs:
            made["mask"] = send(self.build_mask(q_pos, k_pos), library)
        return made

    def build_mask(self, q_pos: np.ndarray, k_pos: np.ndarray) -> np.ndarray:
        """Which pairs (q, k) count: all, unless the encoding takes a mask and is `causal_only`."""
        if "mask" not in self.encoding.needs or not self.encoding.causal_only:
            return np.ones((len(q_pos), len(k_pos)), dtype=bool)
        q, k = (p if self.encoding.axes is None else p[:, 0] for p in (q_pos, k_pos))
        return q[:, None] >= k

    def queries(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Random rows, one set for each head where heads differ."""
        heads = (self.heads,) if isinstance(self.encoding, Bias | Scores) else ()
        return rng.normal(size=(*heads, count, self.dim))

    def make_vector(self, count: int) -> np.ndarray:
        """The same uneven vector every time, of numbers that 16 bits hold exactly."""
        return np.round(np.linspace(1, 2, count) * 128) / 128

    def list_variants(self) -> list[tuple[str, Encoding]]:
        """Encodings that differ from this one in a number, each with the field that differs."""
        foreign = self.encoding.library is not None  # its function does not read our fields
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
                except (TypeError, ValueError):  # out of bounds
                    continue
        return found

    def accepts(self, point: np.ndarray) -> bool:
        """Whether it takes a position, a number for each axis."""
        here = point if self.encoding.axes is None else point[None]
        try:
            self.rows(here)
        except BaseException as error:  # whatever a foreign function raises is its refusal
            self.refusal = f"{type(error).__name__}: {error}"
            return False
        return True

    def _encode(self, positions: np.ndarray, dtype: str | None) -> np.ndarray:
        assert isinstance(self.encoding, Additive)
        library = "torch" if dtype == "bfloat16" else self.library
        params, where = self._send_params(library), send(positions, library)
        made = self.encoding.encode(where, params, dtype=_dtype(dtype, library))
        return _require_shape("encode", made, (len(positions), self.dim))

    def _send_params(self, library: str) -> dict[str, Array] | None:
        return {name: send(x, library) for name, x in self.params.items()} or None

    def _own_params(self, library: str) -> tuple[dict[str, Array], ...]:
        """The parameters as an argument, if there are any: rotations of one's own may take none."""
        params = self._send_params(library)
        return () if params is None else (params,)

    def _returns_tensors(self) -> bool:
        """Whether it returns tensors for tensors: NumPy's functions may accept them too."""
        if importlib.util.find_spec("torch") is None:
            return False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # NumPy warns when it converts tensors
                return is_torch(self._compute_with_tensors())
        except Exception:  # it does not take them
            return False

    def _compute_with_tensors(self) -> object:
        """The result for one position as a tensor, in bfloat16 where the dtype can be chosen."""
        p = self.points(np.arange(1))
        params, where = self._send_params("torch"), send(p, "torch")
        x = send(np.ones((self.heads, 1, self.dim)), "torch", "bfloat16")
        needed = self.build_needs(p, p, library="torch", dtype="bfloat16")
        match self.encoding:
            case Additive() as encoding:
                return encoding.encode(where, params, dtype=x.dtype)
            case Rotary() as encoding:
                own = {name: both[0] for name, both in needed.items() if name == "features"}
                return encoding.rotate(x[0], where, *self._own_params("torch"), **own)
            case Bias() as encoding:
                return encoding.bias(where, where, params, **needed)
            case encoding:
                return logits(encoding, x, x, where, where, params, **needed)

    def _find_reach(self) -> int:
        """The farthest place up to FARTHEST that it accepts, by bisection."""
        if self._accepts_place(FARTHEST):
            return FARTHEST
        low, high = 0, FARTHEST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._accepts_place(middle) else (low, middle)
        return low

    def _accepts_place(self, place: int) -> bool:
        return self.accepts(np.full(self.axes, place))


class WrongShapeError(Exception):
    """The result does not have the shape that it must have."""


def _require_shape(name: str, made: object, shape: tuple[int, ...]) -> np.ndarray:
    values = to_numpy(made)
    if values.shape != tuple(shape):
        raise WrongShapeError(f"{name} must give {tuple(shape)}; got {values.shape}")
    return values


def _dtype(name: str | None, library: str) -> Dtype:
    return None if name is None else getattr(importlib.import_module(library), name)


def send(values: np.ndarray, library: str, dtype: str | None = None) -> Array:
    """A copy as an array of `library`, in `dtype`; tensors are float32 unless told otherwise."""
    if library == "torch":
        import torch

        usual = "float32" if values.dtype.kind == "f" else None
        return torch.from_numpy(values.copy()).to(_dtype(dtype or usual, library))
    # a copy: an encoding that changes its inputs must not change ours
    return values.copy() if dtype is None else values.astype(dtype)


def to_numpy(made: Array) -> np.ndarray:
    """A result of any library as a NumPy array in float64."""
    if is_torch(made):
        made = made.detach().cpu()
        made = made.double() if made.is_floating_point() else made
    values = np.asarray(made)
    if values.dtype.kind not in "fiub":
        raise WrongShapeError(f"the result must be numbers; got {values.dtype}")
    return values.astype(np.float64)
