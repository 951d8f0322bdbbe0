"""RoPE on several axes: images, video, and M-RoPE's mixture of text and both."""

from dataclasses import field, replace
from typing import Any, cast

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import ArrayT, Dtype, Positions
from posenc.core.encoding import SIZES, Params
from posenc.core.mechanisms import Rotary
from posenc.core.rotation import Pairing, Rotated, Waves
from posenc.core.scaling import Scaling
from posenc.core.values import value
from posenc.encodings.rope import PAIRINGS, check_rotary_dim, rotation_traits
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import HEAD_DIM, sentences
from posenc.layouts import Alternating, AxisLayout, Periods, Sections, Split


@value
class AxialRoPE(Rotary):
    """RoPE of points: pair i follows the axis a(i) and turns by p[a(i)] w_i.

    `layout` says which axis each pair follows and how fast it turns (see `posenc.layouts`). With a
    `rotary_dim` only so many channels turn, the `leading` or the `trailing` ones. The classmethods
    make the conventions that models use; they differ in layout and pairing only.

    >>> rope = AxialRoPE(8, Split(axes=2))
    >>> rope.axis_of_pair, rope.frequencies()
    ((0, 0, 1, 1), array([1.  , 0.01, 1.  , 0.01]))
    """

    dim: int
    layout: AxisLayout
    pairing: Pairing = field(default="interleaved", kw_only=True)
    rotary_dim: int | None = field(default=None, kw_only=True)
    rotated: Rotated = field(default="leading", kw_only=True)
    axes: int = field(init=False, repr=False, compare=False)
    axis_of_pair: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _frequencies: np.ndarray = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("axial rotary position embedding"),
        summary=N_("RoPE of positions with several axes: images, video, M-RoPE"),
        paper="Heo et al., Rotary Position Embedding for Vision Transformer, arXiv:2403.13298",
        year=2024,
        models=("EVA-02", "Qwen2-VL", "Pixtral", "SAM 2", "DINOv3"),
        weaknesses=(N_("models disagree about the order of axes and frequencies"),),
    )

    argument_help = sentences(
        dim=HEAD_DIM,
        layout=N_("Which axis each pair follows, and how fast it turns."),
    )

    def __post_init__(self) -> None:
        rules.dim("dim", self.dim)
        if not isinstance(self.layout, AxisLayout):
            raise translatable(
                TypeError,
                "layout must be an AxisLayout such as Split(); got layout={layout!r}",
                layout=self.layout,
            )
        given = self.rotary_dim
        rotary_dim = check_rotary_dim(
            self.dim if given is None else given,
            self.dim,
            name="dim" if given is None else "rotary_dim",
        )
        rules.one_of("pairing", self.pairing, PAIRINGS)
        rules.one_of("rotated", self.rotated, ("leading", "trailing"))
        axis, w = self.layout.pairs(rotary_dim)
        axes = _count_axes(axis, w)
        object.__setattr__(self, "rotary_dim", rotary_dim)
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "axis_of_pair", tuple(axis.tolist()))
        object.__setattr__(self, "_frequencies", w)

    @classmethod
    def example(cls, **sizes: Any) -> "AxialRoPE":
        """An image's rows and columns."""
        return cls(sizes.get("dim", SIZES["dim"]), sizes.get("layout", Split()))

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
        """A block of pairs for each axis: see `Split`. EVA-02 has the defaults.

        Where `shares` add up to fewer pairs than there are, only those channels turn.
        """
        layout = Split(axes, base=base, order=order, shares=shares)
        rotary_dim = None if layout.shares is None else 2 * sum(layout.shares)
        return cls(dim, layout, pairing=pairing, rotary_dim=rotary_dim)

    @classmethod
    def rope_vit(cls, dim: int, *, base: float = 100.0) -> "AxialRoPE":
        """RoPE-ViT's axial form and, with base 10,000, SAM 2's: the column comes first.

        Heo et al. (2024), "Rotary Position Embedding for Vision Transformer".
        """
        return cls(dim, Split(base=base, order=(1, 0)))

    @classmethod
    def qwen2_vl_vision(cls, dim: int, *, base: float = 10_000.0) -> "AxialRoPE":
        """The vision tower of Qwen2-VL: rows, then columns, paired by halves."""
        return cls(dim, Split(base=base), pairing="halves")

    @classmethod
    def pixtral(cls, dim: int, *, base: float = 10_000.0) -> "AxialRoPE":
        """Pixtral: one series of frequencies, the even ones for rows, the odd ones for columns."""
        return cls(dim, Alternating(base=base), pairing="halves")

    @classmethod
    def dinov3(cls, dim: int, *, base: float = 100.0) -> "AxialRoPE":
        """DINOv3, for patch centres in [-1, 1]: 2 pi over periods base^(4k/dim), by halves."""
        return cls(dim, Periods(base=base), pairing="halves")

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
        """M-RoPE of time, height and width, paired by halves: see `Sections`.

        >>> AxialRoPE.mrope(16, sections=(4, 2, 2), interleaved=True)
        AxialRoPE(16, Sections((4, 2, 2), interleaved=True), pairing='halves')
        """
        layout = Sections(sections, interleaved=interleaved, base=base, scaling=scaling)
        return cls(dim, layout, pairing=pairing, rotary_dim=rotary_dim)

    def computed_defaults(self) -> dict[str, int]:
        """What `rotary_dim` is unless given."""
        return {"rotary_dim": self.dim}

    @property
    def attention_factor(self) -> float:
        """What cosines and sines are multiplied by: 1 unless a scaling has a temperature."""
        return 1.0 if self.layout.scaling is None else self.layout.scaling.scale

    @property
    def trained_length(self) -> int | None:
        """The original length of the layout's scaling, if it has one."""
        return None if self.layout.scaling is None else self.layout.scaling.original_length

    @property
    def searched(self) -> bool:
        """Whether the factors of the layout's scaling were found by search."""
        return self.layout.scaling is not None and self.layout.scaling.searched

    def without_scaling(self) -> "AxialRoPE | None":
        if self.layout.scaling is None:
            return None
        return replace(self, layout=replace(cast(Any, self.layout), scaling=None))

    def frequencies(self) -> np.ndarray:
        """w_i of each pair, in radians per unit of its axis: (rotary_dim/2,)."""
        return self._frequencies.copy()

    @property
    def traits(self) -> Traits:
        axis = np.array(self.axis_of_pair)
        return rotation_traits(
            self.attention_factor,
            repeating=any(_repeats(self._frequencies[axis == a]) for a in range(self.axes)),
        )

    def waves(self) -> Waves:
        return Waves(self._frequencies, np.array(self.axis_of_pair), self.attention_factor)

    def cos_sin(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        return super().cos_sin(positions, params, dtype=dtype)


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


def _count_axes(axis: np.ndarray, w: np.ndarray) -> int:
    """How many axes there are, each of which must turn some pair."""
    axes = int(axis.max()) + 1
    if {*axis[w != 0].tolist()} != {*range(axes)}:
        raise translatable(
            ValueError,
            "axis_of_pair must give every axis from 0 on a pair that turns; got "
            "axis_of_pair={axis_of_pair!r}",
            axis_of_pair=tuple(axis.tolist()),
        )
    return axes
