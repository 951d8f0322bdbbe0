"""Layouts of axes: which axis each pair of a rotary encoding follows, and how fast it turns.

A layout is a value that makes the pairs of `AxialRoPE(dim, layout)`, as a scaling makes the
frequencies of `RoPE`. Models differ in the order of the axes and in how frequencies are shared out.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field

import numpy as np

from posenc.core import rules
from posenc.core.frequencies import geometric
from posenc.core.scaling import Plain, Scaling
from posenc.core.values import UNSTATED, value
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import sentences

Pairs = tuple[np.ndarray, np.ndarray]
"""The axis of each pair, (pair,) of int, and its radians per unit of that axis, (pair,)."""


class AxisLayout(ABC):
    """The axis that each pair of channels follows, and its frequency."""

    scaling: Scaling | None = UNSTATED
    """What adapts its frequencies to longer texts; None: nothing."""

    @abstractmethod
    def pairs(self, dim: int) -> Pairs:
        """The axis and the frequency of each of the dim/2 pairs."""


@value
class Split(AxisLayout):
    """A block of pairs for each axis, each with RoPE's frequencies for a block of its size.

    order   the axis that the first block follows, then the next; in order unless given
    shares  how many pairs each block has; equally many unless given

    EVA-02 has the defaults, for rows and columns.

    >>> Split(axes=2).pairs(8)
    (array([0, 0, 1, 1]), array([1.  , 0.01, 1.  , 0.01]))
    """

    axes: int = 2
    base: float = field(default=10_000.0, kw_only=True)
    order: tuple[int, ...] | None = field(default=None, kw_only=True)
    shares: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        axes = rules.dim("axes", self.axes)
        rules.real("base", self.base, least=1)
        if self.order is None:
            object.__setattr__(self, "order", tuple(range(axes)))
        for name, given in (("order", self.order), ("shares", self.shares)):
            if given is not None and (not isinstance(given, tuple) or len(given) != axes):
                raise translatable(
                    ValueError,
                    "{name} must be a tuple of {axes}, one for each axis; got {value!r}",
                    name=name,
                    axes=axes,
                    value=given,
                )
        for axis in self.order or ():
            rules.whole("each of order", axis, least=0, most=axes - 1)
        for share in self.shares or ():
            rules.dim("each of shares", share)

    def computed_defaults(self) -> dict[str, tuple[int, ...]]:
        """What `order` is unless given."""
        return {"order": tuple(range(self.axes))}

    def pairs(self, dim: int) -> Pairs:
        shares = self.shares
        if shares is None:
            if dim % (2 * self.axes):
                raise translatable(
                    ValueError,
                    "dim must be a multiple of 2 * axes, or shares must be given; got dim={dim}, "
                    "axes={axes}",
                    dim=dim,
                    axes=self.axes,
                )
            shares = (dim // (2 * self.axes),) * self.axes
        _check_total("shares", shares, dim // 2)
        w = [geometric(2 * n, base=self.base) for n in shares]
        return np.repeat(np.asarray(self.order), shares), np.concatenate(w)


@value
class Sections(AxisLayout):
    """M-RoPE: one series of frequencies shared out to time, height and width.

    Chunked, the first sections[0] pairs follow time, the next height, then width (Qwen2-VL, Wang
    et al. 2024); interleaved, they take turns, height and width at every third pair as long as
    their section lasts and time elsewhere (Qwen3-VL). With equal coordinates it is RoPE.

    >>> Sections((4, 2, 2), interleaved=True).pairs(16)[0]
    array([0, 1, 2, 0, 1, 2, 0, 0])
    """

    sections: tuple[int, ...]
    interleaved: bool = field(default=False, kw_only=True)
    base: float = field(default=10_000.0, kw_only=True)
    scaling: Scaling | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        rules.flag("interleaved", self.interleaved)
        rules.real("base", self.base, least=1)
        scaling = self.scaling
        if scaling is not None and not (isinstance(scaling, Scaling) and scaling.fits_any_length):
            raise translatable(
                ValueError,
                "scaling must be a Scaling that does not depend on the length, or be fixed with "
                "scaling.at(length); got scaling={scaling!r}",
                scaling=scaling,
            )
        _check_sections(self.sections, self._axis_of_pair)

    def pairs(self, dim: int) -> Pairs:
        _check_total("sections", self.sections, dim // 2)
        w = (self.scaling or Plain()).frequencies(dim, base=self.base)
        return self._axis_of_pair(), w

    def _axis_of_pair(self) -> np.ndarray:
        count = len(self.sections)
        if not self.interleaved:
            return np.repeat(np.arange(count), self.sections)
        axis = np.zeros(sum(self.sections), dtype=int)
        for a in range(1, count):
            axis[a : a + count * self.sections[a] : count] = a
        return axis


@value
class SpaceThenTime(AxisLayout):
    """Height and width take turns over the fast pairs, and time has the slow ones (ERNIE 4.5 VL).

    >>> SpaceThenTime((2, 3, 3)).pairs(16)[0]
    array([1, 2, 1, 2, 1, 2, 0, 0])
    """

    sections: tuple[int, int, int]
    base: float = field(default=10_000.0, kw_only=True)

    def __post_init__(self) -> None:
        rules.real("base", self.base, least=1)
        _check_sections(self.sections, self._axis_of_pair, axes=3)

    def pairs(self, dim: int) -> Pairs:
        _check_total("sections", self.sections, dim // 2)
        return self._axis_of_pair(), geometric(dim, base=self.base)

    def _axis_of_pair(self) -> np.ndarray:
        time, height, width = self.sections
        return np.append(1 + np.arange(height + width) % 2, np.zeros(time, dtype=int))


@value
class Alternating(AxisLayout):
    """One series of frequencies: the even ones for rows, the odd ones for columns (Pixtral).

    >>> Alternating().pairs(8)
    (array([0, 0, 1, 1]), array([1.   , 0.01 , 0.1  , 0.001]))
    """

    base: float = field(default=10_000.0, kw_only=True)

    def __post_init__(self) -> None:
        rules.real("base", self.base, least=1)

    def pairs(self, dim: int) -> Pairs:
        w = geometric(_multiple_of_4(dim), base=self.base)
        return np.repeat([0, 1], dim // 4), np.concatenate([w[0::2], w[1::2]])


@value
class Periods(AxisLayout):
    """2 pi over periods base^(4k/dim), for rows and columns in [-1, 1] (DINOv3).

    >>> Periods().pairs(8)[1].round(4)
    array([6.2832, 0.6283, 6.2832, 0.6283])
    """

    base: float = field(default=100.0, kw_only=True)

    def __post_init__(self) -> None:
        rules.real("base", self.base, least=1)

    def pairs(self, dim: int) -> Pairs:
        w = 2 * np.pi * geometric(_multiple_of_4(dim) // 2, base=self.base)
        return np.repeat([0, 1], dim // 4), np.concatenate([w, w])


@value
class PairTable(AxisLayout):
    """Any layout, pair by pair: the axis of each, and its radians per unit of that axis.

    Every axis must turn some pair.

    >>> PairTable((1, 0), (1.0, 0.5)).pairs(4)
    (array([1, 0]), array([1. , 0.5]))
    """

    axis_of_pair: tuple[int, ...]
    frequencies: tuple[float, ...]

    argument_help = sentences(
        axis_of_pair=N_("Which axis each pair follows, counted from 0."),
        frequencies=N_("By how many radians each pair turns per unit of its axis."),
    )

    def __post_init__(self) -> None:
        if not isinstance(self.frequencies, tuple) or not self.frequencies:
            raise translatable(
                TypeError,
                "frequencies must be a tuple; got frequencies={frequencies!r}",
                frequencies=self.frequencies,
            )
        for w in self.frequencies:
            rules.real("each of frequencies", w)
        count = len(self.frequencies)
        if not isinstance(self.axis_of_pair, tuple) or len(self.axis_of_pair) != count:
            raise translatable(
                ValueError,
                "axis_of_pair must name an axis for each of the {count} frequencies; got "
                "axis_of_pair={axis_of_pair!r}",
                count=count,
                axis_of_pair=self.axis_of_pair,
            )
        for axis in self.axis_of_pair:
            rules.whole("each of axis_of_pair", axis, least=0, most=count - 1)

    def pairs(self, dim: int) -> Pairs:
        if 2 * len(self.axis_of_pair) != dim:
            raise translatable(
                ValueError,
                "axis_of_pair must have {pairs} entries, one for each pair that turns; got {count}",
                pairs=dim // 2,
                count=len(self.axis_of_pair),
            )
        return np.asarray(self.axis_of_pair), np.asarray(self.frequencies, dtype=np.float64)


def _check_sections(
    sections: tuple[int, ...], axis_of_pair: Callable[[], np.ndarray], *, axes: int | None = None
) -> None:
    """Raise an error unless each axis has as many pairs as its section says."""
    whole = isinstance(sections, tuple) and all(type(n) is int and n > 0 for n in sections)
    if not whole or not sections or len(sections) != (axes or len(sections)):
        raise translatable(
            ValueError,
            "sections must be a tuple of whole numbers, one for each axis; got {sections!r}",
            sections=sections,
        )
    shares = np.bincount(axis_of_pair(), minlength=len(sections))
    if (counts := tuple(shares.tolist())) != sections:
        raise translatable(
            ValueError,
            "sections must fit when interleaved; {sections} would become {shares}",
            sections=sections,
            shares=counts,
        )


def _check_total(name: str, counts: tuple[int, ...], pairs: int) -> None:
    if sum(counts) != pairs:
        raise translatable(
            ValueError,
            "{name} must be a tuple of whole numbers that add up to the {pairs} pairs; got "
            "{counts!r}",
            name=name,
            pairs=pairs,
            counts=counts,
        )


def _multiple_of_4(dim: int) -> int:
    if dim % 4:
        raise translatable(
            ValueError,
            "dim must be a multiple of 4, two channels for each axis; got dim={dim}",
            dim=dim,
        )
    return dim


TYPICAL = (Split(), Sections((8, 12, 12)), Alternating(), Periods())
"""A layout of each kind for 32 pairs, for tools that offer a choice of them."""
