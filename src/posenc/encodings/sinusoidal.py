"""The sinusoidal encoding of the first Transformer, on one axis and on several."""

import math
from dataclasses import field, replace
from typing import Any, Literal, overload

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Dtype,
    Positions,
    cast,
    host,
    is_array,
    is_half,
    namespace,
)
from posenc.core.encoding import Params
from posenc.core.frequencies import geometric, geometric_to_base
from posenc.core.inputs import result_dtype
from posenc.core.mechanisms import Additive
from posenc.core.positions import as_positions
from posenc.core.rotation import Waves, sin_cos
from posenc.core.values import value
from posenc.encodings import phases
from posenc.encodings.phases import Located
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import sentences

Layout = Literal["interleaved", "concat"]
Spacing = Literal["paper", "t2t"]


@value
class Sinusoidal(Additive):
    """Sines and cosines of geometrically spaced wavelengths, added to the embeddings.

    e(p)[2i] = sin(p w_i), e(p)[2i+1] = cos(p w_i), w_i = base^(-2i/dim): Vaswani et al. (2017),
    "Attention Is All You Need".

    dim       channels of the embedding; if odd, the last sine has no cosine (tensor2tensor has a
              zero there)
    base      at least 1; the larger, the longer the wavelengths
    layout    "interleaved", sin and cos alternate, or "concat", all sines before all cosines
    spacing   "paper", or "t2t": frequencies from 1 to 1/base inclusive (tensor2tensor, fairseq)

    >>> Sinusoidal(4).encode([0, 1]).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """

    dim: int
    base: float = field(default=10_000.0, kw_only=True)
    layout: Layout = field(default="interleaved", kw_only=True)
    spacing: Spacing = field(default="paper", kw_only=True)
    _frequencies: np.ndarray = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("sinusoidal position encoding"),
        summary=N_(
            'sines and cosines, Vaswani et al. (2017); `layout="concat"` and `spacing="t2t"` '
            "as in tensor2tensor"
        ),
        paper="Vaswani et al., Attention Is All You Need, arXiv:1706.03762",
        year=2017,
        models=("Transformer", "MarianMT", "M2M100", "Whisper", "MusicGen"),
        weaknesses=(N_("perplexity grows on texts longer than those of training"),),
        axial="axial-sinusoidal",
    )

    argument_help = sentences(
        spacing=N_(
            "How frequencies are spaced: as in the paper, or from 1 down to 1/base "
            "as in tensor2tensor (t2t)."
        ),
    )

    def __post_init__(self) -> None:
        rules.one_of("layout", self.layout, ("interleaved", "concat"))
        rules.one_of("spacing", self.spacing, ("paper", "t2t"))
        spaced = geometric if self.spacing == "paper" else geometric_to_base
        object.__setattr__(self, "_frequencies", spaced(self.dim, base=self.base))

    @property
    def traits(self) -> Traits:
        return Traits(
            unique=True,
            any_length=True,
            bounded=True,
            linear_shift=self.dim % 2 == 0,
            exact=True,
            ordered=True,
        )

    def encode(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> ArrayT:
        self.read_params(params)
        positions = as_positions(positions)
        xp = namespace(positions=positions)
        pairs = sin_cos(positions, self._frequencies, dtype=result_dtype(positions, dtype))
        if self.layout == "interleaved":
            channels = xp.reshape(pairs, (*pairs.shape[:-2], 2 * pairs.shape[-2]))
        else:
            channels = xp.concat([pairs[..., 0], pairs[..., 1]], axis=-1)
        return channels[..., : self.dim]

    def waves(self) -> Waves:
        return Waves(self._frequencies)

    def other_layout(self) -> "tuple[Sinusoidal, np.ndarray] | None":
        """The other `layout`, where every sine has its cosine."""
        if self.dim % 2:
            return None
        evens_first = np.arange(self.dim).reshape(-1, 2).T.ravel()
        if self.layout == "interleaved":
            return replace(self, layout="concat"), evens_first
        return replace(self, layout="interleaved"), np.argsort(evens_first)

    def frequencies(self) -> np.ndarray:
        """w_i of each sine, in radians per position: (ceil(dim/2),)."""
        return self._frequencies.copy()

    def wavelengths(self) -> np.ndarray:
        """Positions per turn of each channel, 2 pi / w: (dim,).

        >>> Sinusoidal(4).wavelengths().round(2)
        array([  6.28,   6.28, 628.32, 628.32])
        """
        return (2 * np.pi / self._frequencies)[self._pair_of_channel()]

    def shift(self, k: float) -> np.ndarray:
        """The matrix M (dim, dim) with e(p + k) = M e(p) at every p: one rotation for each pair.

        k   the shift in positions, whole or fractional; `dim` must be even

        >>> pe = Sinusoidal(8)
        >>> np.allclose(pe.shift(5) @ pe.encode([2])[0], pe.encode([7])[0])
        True
        """
        k = rules.real("k", k)
        if self.dim % 2:
            raise ValueError(
                f"shift needs an even dim, because every sine needs its cosine; got dim={self.dim}"
            )
        sine = np.flatnonzero(self.is_sine())
        cosine = np.flatnonzero(~self.is_sine())
        (sin_k, cos_k) = np.moveaxis(
            sin_cos(np.array([k]), self._frequencies, dtype=np.float64), -1, 0
        )
        matrix = np.zeros((self.dim, self.dim))
        matrix[sine, sine] = matrix[cosine, cosine] = cos_k
        matrix[sine, cosine] = sin_k
        matrix[cosine, sine] = -sin_k
        return matrix

    @overload
    def locate(
        self, vector: object, candidates: object = None, *, with_distance: Literal[False] = False
    ) -> np.ndarray: ...
    @overload
    def locate(
        self, vector: object, candidates: object = None, *, with_distance: Literal[True]
    ) -> Located: ...
    def locate(
        self, vector: object, candidates: object = None, *, with_distance: bool = False
    ) -> np.ndarray | Located:
        """The position whose encoding is nearest to each vector, which may be noisy: (…).

        vector          encodings, (…, dim)
        candidates      positions to choose from, (seq,); None: all from 0 to 2^24 - 1
        with_distance   return `Located(positions, distance, next_distance)`, which says how far
                        each vector lies from the encoding found and from the next best

        If noise leaves several positions possible, whole turns of the slowest wave apart, the
        lowest is returned. A vector farther than sqrt(dim) / 2 from every encoding (noise of 0.5
        in each channel) raises an error, unless `with_distance` is set. Without candidates, a
        vector takes milliseconds, or tens of them where no wave is slow (bases below 300).

        >>> pe = Sinusoidal(64)
        >>> noise = np.random.default_rng(0).normal(scale=0.3, size=(2, 64))
        >>> pe.locate(pe.encode([42, 12_345_678]) + noise)
        array([      42, 12345678])
        >>> float(pe.locate(np.zeros(64), with_distance=True).distance.round(2))
        5.66
        """
        vectors = self._vectors(vector)
        rules.flag("with_distance", with_distance)
        flat = vectors.reshape(-1, self.dim)
        found = self._from_phases(flat) if candidates is None else self._search(flat, candidates)
        located = Located(*(part.reshape(vectors.shape[:-1]) for part in found))
        if not with_distance and (located.distance > math.sqrt(self.dim) / 2).any():
            worst = float(located.distance.max())
            raise ValueError(
                f"vector must lie within sqrt(dim) / 2 = {math.sqrt(self.dim) / 2:.3g} of the "
                f"encoding of a position, or with_distance=True be given; got one {worst:.3g} away"
            )
        return located if with_distance else located.positions

    def _vectors(self, vector: object) -> np.ndarray:
        """Vectors (…, dim) in float64; raise an error if they are not that."""
        if is_array(vector) and is_half(vector.dtype):
            vector = cast(vector, namespace(vector=vector).float32)  # NumPy has no bfloat16
        seen = host(vector) if is_array(vector) else vector
        try:
            vectors = np.asarray(seen, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"vector must be numbers that the host reads; got {vector!r}"
            ) from error
        if vectors.ndim < 1 or vectors.shape[-1] != self.dim:
            raise ValueError(f"vector must be (…, {self.dim}); got shape {vectors.shape}")
        if not np.all(np.isfinite(vectors)):
            raise ValueError(f"vector must be finite; got {vectors[~np.isfinite(vectors)][0]}")
        return vectors

    def _from_phases(self, vectors: np.ndarray) -> Located:
        """The positions of vectors (n, dim) among all below 2^24."""
        positions, distance, following = (np.zeros(len(vectors)) for _ in range(3))
        for i, v in enumerate(vectors):
            whole = self._find_likely(v)
            squares = np.sum((self.encode(whole, dtype=np.float64) - v) ** 2, axis=-1)
            positions[i], distance[i], following[i] = phases.choose(
                whole, squares, dim=self.dim, slowest=self._frequencies[-1]
            )
        return Located(positions.astype(np.int64), distance, following)

    def _find_likely(self, v: np.ndarray) -> np.ndarray:
        """Candidate positions below 2^24, in order, for a vector (dim,)."""
        sines, cosines, w = v[self.is_sine()], v[~self.is_sine()], self._frequencies
        if self.dim == 1:  # one sine leaves two possible angles
            s = np.clip(sines, -1, 1)
            angles = [x + 1j * s for x in (np.sqrt(1 - s**2), -np.sqrt(1 - s**2))]
            return np.unique(np.concatenate([phases.follow(z, w) for z in angles]))
        pairs = cosines + 1j * sines[: len(cosines)]
        z, waves = phases.merge(pairs, w[: len(cosines)])
        if phases.can_follow(waves) and (self.dim % 2 == 0 or len(waves) > 1):
            return phases.follow(z, waves)
        if self.dim % 2:  # (s - sin a)^2 = s^2 + 1/2 - 2 (s sin a + cos(2a) / 4)
            pairs = np.concatenate([pairs, 1j * sines[-1:], [0.25]])
            w = np.concatenate([w, 2 * w[-1:]])
        return phases.scan(v, *phases.merge(pairs, w))

    def _search(self, vectors: np.ndarray, candidates: Any) -> Located:
        """The positions of vectors (n, dim) among these candidates."""
        candidates = as_positions(candidates)
        if candidates.ndim != 1 or not len(candidates):
            raise ValueError(
                f"candidates must be (seq,) and not empty; got shape {tuple(candidates.shape)}"
            )
        candidates = np.asarray(host(candidates))
        squares = np.full((len(vectors), 2), np.inf)  # of the best and the next best so far
        found = np.zeros(len(vectors), dtype=candidates.dtype)
        for block in np.split(candidates, range(4096, len(candidates), 4096)):
            table = self.encode(block, dtype=np.float64)
            off = np.sum(table**2, axis=-1) - 2 * vectors @ table.T
            off = np.maximum(off + np.sum(vectors**2, axis=-1, keepdims=True), 0.0)
            found = np.where(off.min(axis=-1) < squares[:, 0], block[off.argmin(axis=-1)], found)
            squares = np.sort(np.concatenate([squares, off], axis=-1), axis=-1)[:, :2]
        return Located(found, np.sqrt(squares[:, 0]), np.sqrt(squares[:, 1]))

    def _pair_of_channel(self) -> np.ndarray:
        pairs, channel = len(self._frequencies), np.arange(self.dim)
        return channel // 2 if self.layout == "interleaved" else channel % pairs

    def is_sine(self) -> np.ndarray:
        """Which channels are sines: (dim,), bool."""
        pairs, channel = len(self._frequencies), np.arange(self.dim)
        return channel % 2 == 0 if self.layout == "interleaved" else channel < pairs


@value
class AxialSinusoidal(Additive):
    """A sinusoidal encoding of each axis of a grid, side by side in the channels.

    e(p) = [s_1(p[order_1]) | s_2(p[order_2]) | …] for positions (…, seq, axis).

    dim      channels of the embedding, even and at least 2 axes; shared out in pairs as evenly as
             possible, the first blocks getting any that are left over
    axes     axes of the grid
    base     at least 1; the larger, the longer the wavelengths
    layout   within each block: "interleaved", sin and cos alternate, or "concat", sines first
    order    the axis that each block encodes, such as (1, 0) for columns first; None: 0, 1, …

    >>> AxialSinusoidal(8, axes=2).encode([[0, 1]]).round(3).tolist()
    [[0.0, 1.0, 0.0, 1.0, 0.841, 0.54, 0.01, 1.0]]
    """

    dim: int
    axes: int = 2
    base: float = field(default=10_000.0, kw_only=True)
    layout: Layout = field(default="interleaved", kw_only=True)
    order: tuple[int, ...] | None = field(default=None, kw_only=True)
    _blocks: tuple[tuple[int, Sinusoidal], ...] = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("axial sinusoidal encoding"),
        summary=N_(
            "a sinusoidal encoding of each axis; `.mae(dim)` for `grid(h, w)`, `.detr(dim)` "
            "for `detr_grid(h, w)`"
        ),
        paper="Carion et al., End-to-End Object Detection with Transformers, arXiv:2005.12872",
        year=2020,
        models=("DETR", "MoCo v3", "MAE", "SAM 2"),
    )

    def __post_init__(self) -> None:
        axes = rules.dim("axes", self.axes)
        dim = rules.dim("dim", self.dim)
        if dim % 2 or dim < 2 * axes:
            raise translatable(
                ValueError,
                "dim must be even and at least 2 * axes, so that every axis gets a sine and a "
                "cosine; got dim={dim}, axes={axes}",
                dim=dim,
                axes=axes,
            )
        order = tuple(range(axes)) if self.order is None else self.order
        if not isinstance(order, tuple) or sorted(map(repr, order)) != sorted(
            map(repr, range(axes))
        ):
            raise translatable(
                ValueError,
                "order must name each axis 0 .. {last} once; got order={order!r}",
                last=axes - 1,
                order=order,
            )
        share, extra = divmod(dim // 2, axes)
        blocks = tuple(
            (axis, Sinusoidal(2 * (share + (i < extra)), base=self.base, layout=self.layout))
            for i, axis in enumerate(order)
        )
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "_blocks", blocks)

    @classmethod
    def mae(cls, dim: int) -> "AxialSinusoidal":
        """The image encoding of MAE and MoCo v3, for `grid(height, width)`: columns come first.

        He et al. (2021), "Masked Autoencoders Are Scalable Vision Learners", util/pos_embed.py,
        whose first half is named emb_h but encodes the columns. The class token's encoding is 0.

        dim   channels of the embedding, a multiple of 4
        """
        return cls(_check_quarters(dim), 2, layout="concat", order=(1, 0))

    @classmethod
    def detr(cls, dim: int) -> "AxialSinusoidal":
        """The image encoding of DETR, for `detr_grid(height, width)`: rows come first.

        Carion et al. (2020), "End-to-End Object Detection with Transformers".

        dim   channels of the embedding, a multiple of 4
        """
        return cls(_check_quarters(dim), 2)

    @property
    def traits(self) -> Traits:
        return Traits(
            unique=True,
            any_length=True,
            bounded=True,
            linear_shift=True,
            exact=True,
            ordered=True,
        )

    def computed_defaults(self) -> dict[str, tuple[int, ...]]:
        """The value of `order` if it is not given."""
        return {"order": tuple(range(self.axes))}

    def blocks(self) -> tuple[tuple[int, Sinusoidal], ...]:
        """The axis and the encoding of each block of channels, in order."""
        return self._blocks

    def encode(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> ArrayT:
        self.read_params(params)
        points: Array = as_positions(positions, axes=self.axes)
        parts = [block.encode(points[..., axis], dtype=dtype) for axis, block in self._blocks]
        return namespace(points=points).concat(parts, axis=-1)


def _check_quarters(dim: int) -> int:
    dim = rules.dim("dim", dim)
    if dim % 4:
        raise translatable(
            ValueError,
            "dim must be a multiple of 4, two pairs for each axis; got dim={dim}",
            dim=dim,
        )
    return dim
