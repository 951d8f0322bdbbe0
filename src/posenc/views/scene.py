"""What a view is made from: subjects, a sentence or a length, and the reader's language."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posenc.core import rules
from posenc.core.positions import consecutive, grid
from posenc.i18n import Note, Translate, said
from posenc.text import split_at_spaces
from posenc.views.panels import Axis, scale_ends
from posenc.views.subject import Subject

HARDLY = 0.2
"""The part of a colour scale within which colours can hardly be told apart."""


@dataclass(frozen=True)
class Scene:
    """Everything that a kind of view is given."""

    subjects: tuple[Subject, ...]
    t: Translate
    tokens: tuple[str, ...] | None = None
    length: int | None = None
    channels: tuple[int, ...] | None = None
    seed: int = 0
    drawn: bool = False
    """Whether parameters were drawn at random for want of trained ones."""
    head: int | None = None
    """The head that is looked at, from 0; None is the first, or a few."""
    causal: bool | None = None
    """Whether no query sees keys ahead of it; None is what the encodings are meant for."""

    def count(self, otherwise: int, *, most: int = 2**16) -> int:
        """How many positions: as many as there are tokens, or the length that was asked for."""
        wanted = self.length if self.tokens is None else len(self.tokens)
        if wanted is None:  # no more than the shortest table has rows for
            wanted = min([otherwise, *(s.rows for s in self.subjects if s.rows is not None)])
        return rules.whole("length", wanted, least=1, most=most)

    def positions(self, otherwise: int, *, most: int = 2**16) -> np.ndarray:
        """The positions 0, 1, … of the tokens."""
        return np.asarray(consecutive(self.count(otherwise, most=most)))

    def of(self, subject: Subject) -> int:
        """The number of a subject, from 0, as its panels have it."""
        return self.subjects.index(subject)

    def position_axis(self) -> Axis:
        """Positions along a side, named by their tokens."""
        t = self.t
        return Axis(t("position"), self.tokens)

    def title(self, what: str) -> str:
        """A page's title: what is drawn, and of which encoding if there is one."""
        t = self.t
        first, *others = self.subjects
        return what if others else t("{encoding}: {what}", encoding=first.name, what=what)

    def scale_notes(self, sizes: dict[str, float]) -> list[str]:
        """That scales differ, or what can hardly be seen on the one of all.

        By the name of each encoding, the largest value in its pictures: those share a scale.
        """
        t = self.t
        if len(set(scale_ends(list(sizes.values())))) > 1:
            return [
                t(
                    "each encoding has its own colour scale: their largest values are {sizes}",
                    sizes=", ".join(number(size) for size in sizes.values()),
                )
            ]
        return self.hardly_seen(sizes, max(sizes.values(), default=0.0))

    def hardly_seen(self, sizes: dict[str, float], limit: float) -> list[str]:
        """What can hardly be seen on a scale that ends at `limit`, by name and largest value."""
        t = self.t
        return [
            t(
                "one colour scale for all: {encoding} is at most {size}",
                encoding=name,
                size=number(size),
            )
            for name, size in sizes.items()
            if size < HARDLY * limit
        ]

    def sentence(self) -> tuple[str, ...]:
        """The tokens, or an example where a sentence is needed and none was given."""
        t = self.t
        if self.tokens is not None or self.length is None:
            return self.tokens or tuple(split_at_spaces(t("the dog bit the man")))
        return tuple(str(position) for position in range(self.length))

    def chosen(self, count: int, most: int, *, evenly: bool = False) -> list[int]:
        """Which of `count` channels, pairs or heads are shown: those asked for, or a few.

        The first ones differ most from each other, so they lie denser unless `evenly`.
        """
        if self.channels is None:
            spread = np.linspace(0, 1, min(most, count)) ** (1 if evenly else 2)
            return sorted({int(i) for i in np.rint(spread * (count - 1))})
        for channel in self.channels:
            if not 0 <= channel < count:
                raise ValueError(f"channels must lie in 0 .. {count - 1}; got {channel}")
        return list(self.channels)

    def with_head(self, shown: list[int], count: int) -> list[int]:
        """These of `count` heads, and the one that is looked at: it takes the first place.

        Nothing changes where it is among them, so that who points at a picture does not lose it.
        """
        if self.head is None or count == 1:
            return shown
        self.check_head(count)
        return shown if self.head in shown else [self.head, *shown[1:]]

    def check_head(self, count: int) -> None:
        """Refuse a head that an encoding with so many does not have."""
        if self.head is not None and not 0 <= self.head < count:
            raise ValueError(f"head must lie in 0 .. {count - 1}; got {self.head}")

    @property
    def masked(self) -> bool:
        """Whether attention sees no keys ahead: asked for, or what an encoding is meant for."""
        looking_back = [s.name for s in self.subjects if s.encoding.causal_only]
        if self.causal is False and looking_back:
            raise said(
                ValueError,
                "{argument} must not be False for {names}, meant for keys behind their query only",
                argument="causal",
                names=", ".join(looking_back),
            )
        return bool(looking_back) if self.causal is None else self.causal

    def plane(self, subject: Subject, otherwise: int) -> tuple[np.ndarray, int]:
        """Points (side * side, axis) of a square on the last two axes, the others at 0."""
        side = self.length if self.length is not None else otherwise
        side = rules.whole("length", side, least=1, most=2**10)
        flat = np.asarray(grid(side, side))
        return np.pad(flat, ((0, 0), ((subject.acting.axes or 2) - 2, 0))), side

    def notes(self, *more: str) -> tuple[str, ...]:
        """Notes to be read below: these, those of a config, and where the parameters come from."""
        t = self.t
        drawn = t("parameters drawn at random, seed {seed}", seed=self.seed)
        return (*more, *self._of_configs(), *([drawn] if self.drawn else []))

    def _of_configs(self) -> list[str]:
        """Which part of its model has each encoding, and what its config.json leaves to be said."""
        t = self.t
        parts = [
            t("{encoding}: {what}", encoding=subject.name, what=self._said(subject.part))
            for subject in self.subjects
            if subject.part is not None
        ]
        notes = [self._said(note) for subject in self.subjects for note in subject.notes]
        return [*parts, *dict.fromkeys(notes)]

    def _said(self, note: Note) -> str:
        t = self.t
        return t(note.words.template, **note.words.values)


def checked_tokens(tokens: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Tokens of a sentence, or those given; None stays None."""
    if tokens is None:
        return None
    listed = split_at_spaces(tokens) if isinstance(tokens, str) else list(tokens)
    if not listed:
        raise ValueError(f"tokens must not be empty; got tokens={tokens!r}")
    for token in listed:
        if not isinstance(token, str):
            raise TypeError(f"each of tokens must be a string; got {token!r}")
    return tuple(listed)


def number(value: float) -> str:
    """A number for a title: three digits, or the power of ten that it is below.

    >>> number(0.12345), number(0.0), number(2.2e-16), number(10_000.0)
    ('0.123', '0', '2.2e-16', '10,000')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"
