"""What a view is built from: subjects, a sentence or a length, and the reader's language."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from posenc.core import rules
from posenc.core.grids import grid
from posenc.core.positions import consecutive
from posenc.i18n import Translate, translatable
from posenc.text import split_at_spaces
from posenc.views.panels import Axis, Image, colour_limits
from posenc.views.subject import Subject

FAINT = 0.2
"""Values below this part of a colour scale can hardly be told apart."""


@dataclass(frozen=True)
class Scene:
    """The input of every kind of view.

    t         translates the texts of the view
    tokens    of the sentence; None if positions have no tokens
    length    number of positions, or of rows and columns of a grid; None: up to the kind
    channels  dimensions, pairs or heads to show, from 0; None: a few
    drawn     whether parameters were drawn with `seed`, for want of trained ones
    head      the head to look at, from 0; None: the first, or a few
    causal    whether queries see no keys ahead of them; None: as the encodings are meant
    """

    subjects: tuple[Subject, ...]
    t: Translate
    tokens: tuple[str, ...] | None = None
    length: int | None = None
    channels: tuple[int, ...] | None = None
    seed: int = 0
    drawn: bool = False
    head: int | None = None
    causal: bool | None = None

    def count(self, otherwise: int, *, most: int = 2**16) -> int:
        """Count the positions: the tokens, the length that was given, or `otherwise`."""
        wanted = self.length if self.tokens is None else len(self.tokens)
        if wanted is None:  # but no more than the shortest table has rows
            limits = (subject.encoding.limit for subject in self.subjects)
            wanted = min([otherwise, *(limit for limit in limits if limit is not None)])
        return rules.whole("length", wanted, least=1, most=most)

    def positions(self, otherwise: int, *, most: int = 2**16) -> np.ndarray:
        """Return the positions 0, 1, …, as many as `count` says."""
        return np.asarray(consecutive(self.count(otherwise, most=most)))

    def index(self, subject: Subject | None) -> int | None:
        """Return the index of a subject, which its panels have as `of`; None if it is another."""
        return self.subjects.index(subject) if subject in self.subjects else None

    def position_axis(self) -> Axis:
        """Return an axis of positions, labelled by their tokens."""
        return Axis(self.t("position"), self.tokens)

    def pair_axes(self) -> tuple[Axis, Axis]:
        """Return the axes of a matrix of queries and keys, labelled by their tokens."""
        return Axis(self.t("query"), self.tokens), Axis(self.t("key"), self.tokens)

    def square_image(
        self,
        subject: Subject | None,
        title: str,
        values: np.ndarray,
        axes: tuple[Axis, Axis],
        limit: float,
        unit: str,
    ) -> Image:
        """Return an image of square cells, such as a value for each query and key."""
        of = self.index(subject)
        return Image(title, values, *axes, limit, "diverging", unit, square=True, of=of)

    def channel_image(
        self,
        subject: Subject,
        title: str,
        values: np.ndarray,
        axes: tuple[Axis, Axis],
        limit: float,
        *,
        channel: int | None = None,
    ) -> Image:
        """Return an image of `Subject.channels`, or of one channel, whose cells are squares."""
        square, of = channel is not None, self.index(subject)
        colours = "diverging" if subject.is_additive else "cyclic"
        unit = self.t("value") if subject.is_additive else self.t("angle")
        return Image(
            title, values, *axes, limit, colours, unit, square=square, channel=channel, of=of
        )

    def title(self, what: str) -> str:
        """Return the title of a view: what it shows, and of which encoding if there is only one."""
        first, *others = self.subjects
        return what if others else self.t("{encoding}: {what}", encoding=first.name, what=what)

    def label(self, subject: Subject, what: str) -> str:
        """Return `what`, after the name of the subject if there are several."""
        single = len(self.subjects) == 1
        return what if single else self.t("{encoding}: {what}", encoding=subject.name, what=what)

    def label_line(self, subject: Subject, what: str) -> str:
        """Return `what` as the name of a line or an image, after the subject if there are several.

        It may stand in a legend, so there is no colon.
        """
        return what if len(self.subjects) == 1 else f"{subject.name}, {what}"

    def name_channel(self, subject: Subject, channel: int) -> str:
        """Return the name of a dimension, or of a pair if the subject rotates."""
        if subject.is_additive:
            return self.t("dimension {dimension}", dimension=channel)
        return self.t("pair {pair}", pair=channel)

    def set_scales(self, sizes: Mapping[Subject, float]) -> tuple[dict[Subject, float], list[str]]:
        """Return the end of each subject's colour scale, and notes for the reader.

        They say that the scales differ, or whose values are faint on a common one.

        sizes  the largest value of each subject
        """
        limits = dict(zip(sizes, colour_limits(list(sizes.values())), strict=True))
        by_name = {subject.name: size for subject, size in sizes.items()}
        if len(set(limits.values())) <= 1:
            return limits, self.faint_notes(by_name, max(by_name.values(), default=0.0))
        note = self.t(
            "each encoding has its own colour scale: their largest values are {sizes}",
            sizes=", ".join(map(format_number, by_name.values())),
        )
        return limits, [note]

    def faint_notes(self, sizes: Mapping[str, float], limit: float) -> list[str]:
        """Say which values can hardly be seen on a colour scale that ends at `limit`.

        sizes  the largest value of each image or encoding, by its name
        """
        faint = {name: format_number(size) for name, size in sizes.items() if size < FAINT * limit}
        return [
            self.t(
                "one colour scale for all: {encoding} is at most {size}", encoding=name, size=size
            )
            for name, size in faint.items()
        ]

    def sentence(self) -> tuple[str, ...]:
        """Return the tokens, numbers for a given length, or an example sentence."""
        if self.tokens is not None or self.length is None:
            return self.tokens or tuple(split_at_spaces(self.t("the dog bit the man")))
        return tuple(str(position) for position in range(self.length))

    def choose(self, count: int, most: int, *, evenly: bool = False) -> list[int]:
        """Choose which of `count` channels, pairs or heads to show: those given, or at most `most`.

        Low channels differ most from each other, so more of them are chosen unless `evenly`.
        """
        if self.channels is None:
            spread = np.linspace(0, 1, min(most, count)) ** (1 if evenly else 2)
            return sorted({int(i) for i in np.rint(spread * (count - 1))})
        for channel in self.channels:
            if not 0 <= channel < count:
                raise ValueError(f"channels must lie in 0 .. {count - 1}; got {channel}")
        return list(self.channels)

    def include_head(self, shown: list[int], count: int) -> list[int]:
        """Return `shown` of `count` heads with the chosen head in the first place.

        If it is among them already they stay as they are, so that pictures do not jump.
        """
        if self.head is None or count == 1 or self.head in shown:
            return shown
        if not 0 <= self.head < count:
            raise ValueError(f"head must lie in 0 .. {count - 1}; got {self.head}")
        return [self.head, *shown[1:]]

    @property
    def is_causal(self) -> bool:
        """Whether queries see no keys ahead of them: as given, or as an encoding is meant."""
        looking_back = [s.name for s in self.subjects if s.encoding.causal_only]
        if self.causal is False and looking_back:
            raise translatable(
                ValueError,
                "{argument} must not be False for {names}, meant for keys behind their query only",
                argument="causal",
                names=", ".join(looking_back),
            )
        return bool(looking_back) if self.causal is None else self.causal

    def plane(self, subject: Subject, otherwise: int) -> tuple[np.ndarray, int]:
        """Return points (side * side, axis) of a square on the last two axes, and its side.

        Other axes, such as time, are at 0.
        """
        side = self.length if self.length is not None else otherwise
        side = rules.whole("length", side, least=1, most=2**10)
        flat = np.asarray(grid(side, side))
        return np.pad(flat, ((0, 0), ((subject.unwrapped.axes or 2) - 2, 0))), side

    def notes(self, *more: str) -> tuple[str, ...]:
        """Return the notes of a view: `more`, those of configs, and that parameters are random.

        Those of configs say which part of its model uses each encoding, and what was noted there.
        """
        t = self.t
        parts = [
            t("{encoding}: {what}", encoding=subject.name, what=subject.part)
            for subject in self.subjects
            if subject.part is not None
        ]
        words = [note.words for subject in self.subjects for note in subject.notes]
        noted = [t(said.template, **said.values) for said in words]
        drawn = [t("parameters drawn at random, seed {seed}", seed=self.seed)] if self.drawn else []
        return (*more, *parts, *dict.fromkeys(noted), *drawn)


def parse_tokens(tokens: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Split a sentence into tokens, or check the tokens that are given; None stays None."""
    if tokens is None:
        return None
    listed = split_at_spaces(tokens) if isinstance(tokens, str) else list(tokens)
    if not listed:
        raise ValueError(f"tokens must not be empty; got tokens={tokens!r}")
    for token in listed:
        if not isinstance(token, str):
            raise TypeError(f"each of tokens must be a string; got {token!r}")
    return tuple(listed)


def format_number(value: float) -> str:
    """Format a number for a title, with three significant digits.

    >>> format_number(0.12345), format_number(0.0), format_number(2.2e-16), format_number(10_000.0)
    ('0.123', '0', '2.2e-16', '10,000')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"
