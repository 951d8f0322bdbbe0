"""RoPE on several axes: images, video, and M-RoPE's mixture of text and both."""

from dataclasses import field
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import Array, Dtype, namespace, send
from posenc.core.encoding import SIZES, Params
from posenc.core.frequencies import geometric
from posenc.core.mechanisms import Rotary, result_dtype
from posenc.core.positions import as_positions
from posenc.core.rotation import Pairing, Rotated, cos_sin
from posenc.core.values import value
from posenc.encodings.rope import PAIRINGS, check_rotary_dim, rotation_traits
from posenc.i18n import later, said
from posenc.i18n.arguments import HEAD_DIM, sentences
from posenc.scalings import Plain, Scaling


@value
class AxialRoPE(Rotary):
    """RoPE of points: pair i follows one axis and turns by p[axis_of_pair[i]] * w_i.

    `frequencies` are w_i in radians per unit of the axis. Every axis must turn some pair. There may
    be fewer pairs than dim/2: then only the leading (or trailing) channels turn. The classmethods
    make the conventions that models use; they differ in order, frequencies and pairing only.

    >>> rope = AxialRoPE.split(8, axes=2)
    >>> rope.axis_of_pair, rope.frequencies
    ((0, 0, 1, 1), (1.0, 0.01, 1.0, 0.01))
    """

    dim: int
    axis_of_pair: tuple[int, ...]
    frequencies: tuple[float, ...] = field()  # pyright: ignore[reportIncompatibleMethodOverride]
    pairing: Pairing = field(default="interleaved", kw_only=True)
    rotated: Rotated = field(default="leading", kw_only=True)
    attention_factor: float = field(default=1.0, kw_only=True)
    axes: int = field(init=False, repr=False)
    _parts: tuple[np.ndarray, ...] = field(init=False, repr=False, compare=False)
    _order: np.ndarray = field(init=False, repr=False, compare=False)

    about = About(
        title=later("axial rotary position embedding"),
        paper="Heo et al., Rotary Position Embedding for Vision Transformer, arXiv:2403.13298",
        year=2024,
        models=("EVA-02", "Qwen2-VL", "Pixtral", "SAM 2", "DINOv3"),
        weaknesses=(later("models disagree about the order of axes and frequencies"),),
    )

    argument_help = sentences(
        dim=HEAD_DIM,
        axis_of_pair=later("Which axis each pair follows, counted from 0."),
        frequencies=later("By how many radians each pair turns per unit of its axis."),
        shares=later("How many pairs each axis has; equally many unless given."),
        sections=later("How many pairs follow time, height and width."),
        interleaved=later(
            "Whether the axes take turns, pair by pair; otherwise each has a block of pairs."
        ),
    )

    def __post_init__(self) -> None:
        rules.dim("dim", self.dim)
        if not isinstance(self.frequencies, tuple) or not self.frequencies:
            raise said(
                TypeError,
                "frequencies must be a tuple; got frequencies={frequencies!r}",
                frequencies=self.frequencies,
            )
        check_rotary_dim(2 * len(self.frequencies), self.dim, name="2 * len(frequencies)")
        rules.one_of("pairing", self.pairing, PAIRINGS)
        rules.one_of("rotated", self.rotated, ("leading", "trailing"))
        rules.real("attention_factor", self.attention_factor, least=0)
        for w in self.frequencies:
            rules.real("each of frequencies", w)
        _check_axes(self.axis_of_pair, self.frequencies)
        axis, w = np.asarray(self.axis_of_pair), np.asarray(self.frequencies, dtype=np.float64)
        axes = int(axis.max()) + 1
        object.__setattr__(self, "axes", axes)
        # angles come axis by axis and are then put in the order of the pairs
        object.__setattr__(self, "_parts", tuple(w[axis == a] for a in range(axes)))
        object.__setattr__(
            self, "_order", np.argsort(np.argsort(axis, kind="stable"), kind="stable")
        )

    @classmethod
    def example(cls, **sizes: Any) -> "AxialRoPE":
        """An image's rows and columns."""
        return cls.split(int(sizes.get("dim", SIZES["dim"])))

    @classmethod
    def split(
        cls,
        dim: int,
        *,
        axes: int = 2,
        base: float = 10_000.0,
        pairing: Pairing = "interleaved",
        order: tuple[int, ...] | None = None,
        shares: tuple[int, ...] | None = None,
    ) -> "AxialRoPE":
        """A block of pairs for each axis, each with RoPE's frequencies for a block of its size.

        `order` says which axis the first block follows, and the next; `shares` how many pairs each
        block has (an equal number unless given). EVA-02: the defaults, for rows and columns.
        """
        axes = rules.dim("axes", axes)
        order = tuple(range(axes)) if order is None else order
        if shares is None:
            if (dim := rules.dim("dim", dim)) % (2 * axes):
                raise said(
                    ValueError,
                    "dim must be a multiple of 2 * axes, or shares must be given; got dim={dim}, "
                    "axes={axes}",
                    dim=dim,
                    axes=axes,
                )
            shares = (dim // (2 * axes),) * axes
        shares = _check_lengths(order, shares, axes)
        axis_of_pair = tuple(a for a, n in zip(order, shares, strict=True) for _ in range(n))
        w = np.concatenate([geometric(2 * n, base=base) for n in shares])
        return cls(dim, axis_of_pair, tuple(w.tolist()), pairing=pairing)

    @classmethod
    def rope_vit(cls, dim: int, *, base: float = 100.0) -> "AxialRoPE":
        """RoPE-ViT's axial form and, with base 10,000, SAM 2's: the column comes first.

        Heo et al. (2024), "Rotary Position Embedding for Vision Transformer".
        """
        return cls.split(dim, base=base, order=(1, 0))

    @classmethod
    def qwen2_vl_vision(cls, dim: int, *, base: float = 10_000.0) -> "AxialRoPE":
        """The vision tower of Qwen2-VL: rows, then columns, paired by halves."""
        return cls.split(dim, base=base, pairing="halves")

    @classmethod
    def pixtral(cls, dim: int, *, base: float = 10_000.0) -> "AxialRoPE":
        """Pixtral: one series of frequencies, the even ones for rows, the odd ones for columns."""
        dim = _multiple_of_4(dim)
        w = geometric(dim, base=base)
        both = np.concatenate([w[0::2], w[1::2]])
        axis = (0,) * (dim // 4) + (1,) * (dim // 4)
        return cls(dim, axis, tuple(both.tolist()), pairing="halves")

    @classmethod
    def dinov3(cls, dim: int, *, base: float = 100.0) -> "AxialRoPE":
        """DINOv3, for patch centres in [-1, 1]: 2 pi over periods base^(4k/dim), by halves."""
        dim = _multiple_of_4(dim)
        w = 2 * np.pi * geometric(dim // 2, base=base)
        axis = (0,) * (dim // 4) + (1,) * (dim // 4)
        return cls(dim, axis, (*w.tolist(), *w.tolist()), pairing="halves")

    @classmethod
    def mrope(
        cls,
        dim: int,
        *,
        sections: tuple[int, ...],
        interleaved: bool = False,
        base: float = 10_000.0,
        pairing: Pairing = "halves",
        rotary_dim: int | None = None,
        scaling: Scaling | None = None,
    ) -> "AxialRoPE":
        """M-RoPE of time, height and width: one series of frequencies shared out to three axes.

        Chunked, the first sections[0] pairs follow time, the next height, then width (Qwen2-VL,
        Wang et al. 2024); interleaved, they take turns, height and width at every third pair as
        long as their section lasts and time elsewhere (Qwen3-VL). With equal axes it is RoPE.

        >>> AxialRoPE.mrope(16, sections=(4, 2, 2), interleaved=True).axis_of_pair
        (0, 1, 2, 0, 1, 2, 0, 0)
        """
        width = check_rotary_dim(
            dim if rotary_dim is None else rotary_dim,
            dim,
            name="dim" if rotary_dim is None else "rotary_dim",
        )
        rules.flag("interleaved", interleaved)
        if scaling is not None and not (isinstance(scaling, Scaling) and scaling.fits_any_length):
            raise said(
                ValueError,
                "scaling must be a Scaling that does not depend on the length, or be settled with "
                "scaling.at(length); got scaling={scaling!r}",
                scaling=scaling,
            )
        sections = rules.plain_value(sections)
        whole = isinstance(sections, tuple) and all(type(n) is int and n > 0 for n in sections)
        if not whole or sum(sections) != width // 2:
            raise said(
                ValueError,
                "sections must be a tuple of whole numbers that add up to the {pairs} pairs; got "
                "{sections!r}",
                pairs=width // 2,
                sections=sections,
            )
        scaling = scaling or Plain()
        w = scaling.frequencies(width, base=base)
        axis = np.zeros(width // 2, dtype=int)
        if interleaved:
            for a in range(1, len(sections)):
                axis[a : a + len(sections) * sections[a] : len(sections)] = a
        else:
            axis = np.repeat(np.arange(len(sections)), sections)
        if (shares := tuple(np.bincount(axis, minlength=len(sections)).tolist())) != sections:
            raise said(
                ValueError,
                "sections must fit when they take turns; {sections} would become {shares}",
                sections=sections,
                shares=shares,
            )
        return cls(
            dim,
            tuple(axis.tolist()),
            tuple(w.tolist()),
            pairing=pairing,
            attention_factor=scaling.scale,
        )

    @property
    def rotary_dim(self) -> int:
        """How many of the channels turn."""
        return 2 * len(self.frequencies)

    @property
    def traits(self) -> Traits:
        return rotation_traits(
            self.attention_factor, repeating=any(_repeats(w) for w in self._parts)
        )

    def cos_sin(
        self, positions: Any, params: Params | None = None, *, dtype: Dtype = None
    ) -> tuple[Array, Array]:
        self.read_params(params)
        positions = as_positions(positions, axes=self.axes)
        xp = namespace(positions=positions)
        dtype = result_dtype(positions, dtype)
        parts = [
            cos_sin(positions[..., axis], w, dtype=dtype, scale=self.attention_factor)
            for axis, w in enumerate(self._parts)
        ]
        order = send(self._order, positions)
        cos, sin = (
            xp.take(xp.concat([part[i] for part in parts], axis=-1), order, axis=-1) for i in (0, 1)
        )
        return cos, sin


def _repeats(w: np.ndarray) -> bool:
    """Whether a few whole steps along an axis turn each of its pairs by whole turns.

    >>> _repeats(2 * np.pi * np.array([1.0, 0.1])), _repeats(np.array([1.0]))
    (True, False)
    """
    steps = np.arange(1, 4097)
    for turns in w / (2 * np.pi):
        steps = steps[np.abs(steps * turns - np.round(steps * turns)) < 1e-9]
        if not steps.size:
            return False
    return True


def _check_axes(axis_of_pair: Any, frequencies: tuple[float, ...]) -> None:
    if not isinstance(axis_of_pair, tuple) or len(axis_of_pair) != len(frequencies):
        raise said(
            ValueError,
            "axis_of_pair must name an axis for each of the {count} frequencies; got "
            "axis_of_pair={axis_of_pair!r}",
            count=len(frequencies),
            axis_of_pair=axis_of_pair,
        )
    last = len(frequencies) - 1
    named = {rules.whole("each of axis_of_pair", axis, least=0, most=last) for axis in axis_of_pair}
    turning = {a for a, w in zip(axis_of_pair, frequencies, strict=True) if w != 0}
    if named != set(range(len(named))) or turning != named:
        raise said(
            ValueError,
            "axis_of_pair must give every axis from 0 on a pair that turns; got "
            "axis_of_pair={axis_of_pair!r}",
            axis_of_pair=axis_of_pair,
        )


def _check_lengths(order: Any, shares: Any, axes: int) -> tuple[int, ...]:
    """The shares, once both are known to have one entry for each axis."""
    for name, given in (("order", order), ("shares", shares)):
        if not isinstance(given, tuple) or len(given) != axes:
            raise said(
                ValueError,
                "{name} must be a tuple of {axes}, one for each axis; got {value!r}",
                name=name,
                axes=axes,
                value=given,
            )
    return tuple(rules.dim("each of shares", share) for share in shares)


def _multiple_of_4(dim: int) -> int:
    dim = rules.dim("dim", dim)
    if dim % 4:
        raise said(
            ValueError,
            "dim must be a multiple of 4, two channels for each axis; got dim={dim}",
            dim=dim,
        )
    return dim
