"""The description of a kind of view: everything that tools need to know, in one value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from posenc.core.encoding import Encoding, unwrap
from posenc.core.mechanisms import Additive, Rotary
from posenc.i18n import Translate
from posenc.views import cost
from posenc.views.panels import Panel, View, assign_colours
from posenc.views.scene import Scene
from posenc.views.working import Working

Along = Literal["position", "channel", "offset", "distance"]
"""The meaning of x in a panel of lines: a position, a channel, query - key, or |query - key|."""


def is_plain(encoding: Encoding) -> bool:
    """Return whether a position is a single number, such as the place of a token in a text."""
    return encoding.axes in (None, 1)


def has_rows(encoding: Encoding) -> bool:
    """Return whether each position has values of its own: an encoding that is added, or angles."""
    return isinstance(encoding, Additive | Rotary)


def has_text_rows(encoding: Encoding) -> bool:
    """Return whether each position of a text has values of its own."""
    return has_rows(encoding) and is_plain(encoding)


def rotates_text(encoding: Encoding) -> bool:
    """Return whether it rotates queries and keys by their positions in a text."""
    return isinstance(encoding, Rotary) and is_plain(encoding)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of view, and everything that a tool needs to know to offer it.

    Each module of `posenc.views.kinds` defines one as KIND; nothing else knows the kind by name.
    The command line, figures and the explorer read these fields.

    name          how the kind is requested; also the name of its module
    title         one or two words for a tab, to be translated
    summary       what it shows, in a sentence, to be translated
    build         builds the view of a scene
    suits         whether it can show an encoding; a temperature is taken off first
    provides      what it gives to encodings that depend on the tokens: "features", "mask"
    columns       columns of panels for so many encodings of text and so many of grids. A page can
                  lay a view out before it arrives; `View.columns` is exact and may be larger
    first_for     whether an encoding is shown this way by default; the first kind that says so wins
    channels      whether the dimensions, pairs or heads to show can be chosen
    head          whether the head to look at can be chosen
    causal        whether a causal mask can be chosen
    own_length    whether `length` can be given beside tokens, as it does not count them
    max_tokens    the longest sentence, in tokens; None: no bound of its own
    sizes         `cost` of an encoding of text
    intermediate  whether `cost` counts mostly intermediate numbers, of every head
    cells         cells of the images of an encoding of text, if known beforehand, else 0
    pairwise      whether there is a cell for every pair of positions
    angles        whether the cells of a rotary encoding are angles rather than cosines
    derived       whether it shows numbers computed from those of the encoding, not these
    working       works out a number of the picture; None: numbers are those of the encoding itself
    along         the meaning of x in panels of lines that follow the reader's cursor, else None
    compact       whether it can be drawn small, beside a large view

    >>> from posenc.views import KINDS
    >>> kind = KINDS["bias"]
    >>> kind.head, kind.columns(1, 0), kind.columns(0, 1)
    (True, 3, 4)
    """

    name: str
    title: str
    summary: str
    build: Callable[[Scene], View]
    suits: Callable[[Encoding], bool]
    provides: frozenset[str] = frozenset()
    columns: Callable[[int, int], int]
    first_for: Callable[[Encoding], bool] = lambda _: False
    channels: bool = False
    head: bool = False
    causal: bool = False
    own_length: bool = False
    max_tokens: int | None = None
    sizes: Callable[[Encoding, int], Mapping[str, int]] = cost.rows
    intermediate: bool = False
    cells: Callable[[Encoding, int], int] = lambda _, __: 0
    pairwise: bool = False
    angles: bool = False
    derived: bool = False
    working: Working | None = None
    along: Along | None = None
    compact: bool = True

    def can_show(self, encoding: Encoding) -> bool:
        """Return whether it suits an encoding and gives it all that it needs of the tokens."""
        inner = unwrap(encoding)
        return inner.needs <= self.provides and self.suits(inner)

    def compose(
        self,
        scene: Scene,
        title: str,
        panels: Sequence[Panel],
        *notes: str,
        columns: int | None = None,
    ) -> View:
        """Assemble a view of this kind; lines of one name get one colour in all panels.

        notes    come before the notes of the scene
        columns  columns of panels, where they differ from `self.columns`
        """
        gridded = sum(not is_plain(subject.unwrapped) for subject in scene.subjects)
        usual = self.columns(len(scene.subjects) - gridded, gridded)
        notes = scene.notes(*notes)
        return View(self.name, title, assign_colours(panels), notes, columns=columns or usual)

    def cost(self, encoding: Encoding, length: int) -> Mapping[str, int]:
        """Return named sizes whose product estimates the numbers that a view takes.

        length  number of positions

        The names are to be translated. Empty for an encoding of a grid, whose size is its own.

        >>> from posenc import ALiBi, Sinusoidal
        >>> from posenc.views import KINDS
        >>> KINDS["heatmap"].cost(Sinusoidal(64), 8), KINDS["bias"].cost(ALiBi(8), 8)
        ({'positions': 8, 'dimensions': 64}, {'heads': 8, 'positions': 8, 'positions again': 8})
        """
        inner = unwrap(encoding)
        return self.sizes(inner, length) if is_plain(inner) else {}

    def to_json(self, t: Translate, *, most: int = 4) -> dict[str, object]:
        """Return what a page needs to know as plain data, in the language of `t`.

        `columns` has a list for 1 to `most` encodings of text, and one for encodings of grids.
        """
        counts = range(1, most + 1)
        names = ("name", "channels", "head", "causal", "max_tokens", "pairwise", "angles")
        stated: dict[str, object] = {
            name: getattr(self, name) for name in (*names, "derived", "along", "compact")
        }
        return {
            **stated,
            "title": t(self.title),
            "summary": t(self.summary),
            "worked": self.working is not None,
            "columns": {
                "text": [self.columns(count, 0) for count in counts],
                "grid": [self.columns(0, count) for count in counts],
            },
        }
