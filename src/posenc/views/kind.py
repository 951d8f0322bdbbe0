"""What there is to know of a kind of view, in one value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from posenc.core.mechanisms import Additive, Encoding, Rotary
from posenc.i18n import Translate
from posenc.views import cost
from posenc.views.panels import Panel, View, coloured
from posenc.views.scene import Scene
from posenc.views.subject import acting
from posenc.views.working import Working

Along = Literal["position", "channel", "offset", "distance"]
"""What x is in a panel of lines: a position, a channel, query - key, or |query - key|."""


def is_plain(encoding: Encoding) -> bool:
    """Whether a position is one number, such as the place of a token in a sentence."""
    return encoding.axes in (None, 1)


def has_rows(encoding: Encoding) -> bool:
    """Whether each position has values of its own: what is added to it, or angles."""
    return isinstance(encoding, Additive | Rotary)


def has_text_rows(encoding: Encoding) -> bool:
    """The same of an encoding of text."""
    return has_rows(encoding) and is_plain(encoding)


def rotates_text(encoding: Encoding) -> bool:
    """Whether it rotates queries and keys by plain positions."""
    return isinstance(encoding, Rotary) and is_plain(encoding)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of view, and everything that a tool must know to offer it.

    Each module of `posenc.views.kinds` has one, KIND, and is the only place that knows the kind:
    the command line, figures and the explorer read these fields.

    >>> from posenc.views import KINDS
    >>> kind = KINDS["bias"]
    >>> kind.head, kind.columns(1, 0), kind.columns(0, 1)
    (True, 3, 4)
    """

    name: str
    """How it is asked for: that of its module."""
    title: str
    """A word or two for a tab, to be translated."""
    summary: str
    """What it shows, in a sentence, to be translated."""
    build: Callable[[Scene], View]
    """Makes the view."""
    suits: Callable[[Encoding], bool]
    """Which encodings it can show; an encoding inside a temperature is asked, not the outer one."""
    columns: Callable[[int, int], int]
    """Columns of panels, for so many encodings of text and so many on a grid, one of them 0 or not.

    A page can lay a view out before it has it. Where panels are of different sorts, as wavelengths
    of pairs beside those of dimensions, `View.columns` may be more, and is what counts.
    """
    first_for: Callable[[Encoding], bool] = lambda _: False
    """Which encodings are shown so by default; of several kinds, the first in the list."""
    channels: bool = False
    """Whether a reader may choose dimensions, pairs or heads to show."""
    head: bool = False
    """Whether a reader may choose the head to look at."""
    causal: bool = False
    """Whether a reader may choose if queries see keys ahead of them."""
    own_length: bool = False
    """Whether `length` may be given beside tokens: it is then no number of tokens."""
    max_tokens: int | None = None
    """Tokens of the longest sentence that it takes; None if there is no bound of its own."""
    sizes: Callable[[Encoding, int], Mapping[str, int]] = cost.rows
    """What `cost` says of an encoding of text."""
    intermediate: bool = False
    """Whether most numbers of `cost` are made on the way, for every head, and not kept."""
    cells: Callable[[Encoding, int], int] = lambda _, __: 0
    """Cells of its images of an encoding of text, where they are known beforehand, else 0."""
    pairwise: bool = False
    """Whether it has a cell for every pair of positions."""
    angles: bool = False
    """Whether a cell of a rotary encoding is an angle, not its cosine."""
    working: Working | None = None
    """Works out a number of its picture; None if those are the encoding's own numbers."""
    along: Along | None = None
    """What x is in its panels of lines, where they follow the reader's cursor."""
    compact: bool = True
    """Whether it can be drawn small, beside a large view."""

    def compose(
        self,
        scene: Scene,
        title: str,
        panels: Sequence[Panel],
        *notes: str,
        columns: int | None = None,
    ) -> View:
        """The view that these panels make; a name of a line has one colour in all of them.

        notes    what is to be said of the panels, before what is said of the scene
        columns  of panels, where they are not `self.columns`
        """
        gridded = sum(not is_plain(subject.acting) for subject in scene.subjects)
        usual = self.columns(len(scene.subjects) - gridded, gridded)
        said = scene.notes(*notes)
        return View(self.name, title, coloured(panels), said, columns=columns or usual)

    def cost(self, encoding: Encoding, length: int) -> Mapping[str, int]:
        """The sizes whose product is about how many numbers a view of `length` positions takes.

        By name, the names to be translated; of an encoding on a grid, which has a size of its own,
        there are none.

        >>> from posenc import ALiBi, Sinusoidal
        >>> from posenc.views import KINDS
        >>> KINDS["heatmap"].cost(Sinusoidal(64), 8), KINDS["bias"].cost(ALiBi(8), 8)
        ({'positions': 8, 'dimensions': 64}, {'heads': 8, 'positions': 8, 'positions again': 8})
        """
        inner = acting(encoding)
        return self.sizes(inner, length) if is_plain(inner) else {}

    def to_json(self, t: Translate, *, most: int = 4) -> dict[str, Any]:
        """What a page must know of it as plain data, in the reader's language.

        `columns` has two lists, for 1 to `most` encodings of text and on a grid.
        """
        counts = range(1, most + 1)
        return {
            "name": self.name,
            "title": t(self.title),
            "summary": t(self.summary),
            "channels": self.channels,
            "head": self.head,
            "causal": self.causal,
            "max_tokens": self.max_tokens,
            "pairwise": self.pairwise,
            "angles": self.angles,
            "along": self.along,
            "compact": self.compact,
            "columns": {
                "text": [self.columns(count, 0) for count in counts],
                "grid": [self.columns(0, count) for count in counts],
            },
        }
