"""What an encoding claims of itself, and what is known of it that no measurement can tell."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import escape

from posenc.i18n.html import html_table


@dataclass(frozen=True, kw_only=True)
class About:
    """Where an encoding comes from, who uses it, and what is said for and against it.

    What a check can measure (any length, distances only, nothing to learn) is not said here.
    Title, summary, strengths and weaknesses are messages, marked by `posenc.i18n.N_` to be
    translated.

    >>> from posenc import RoPE
    >>> RoPE.about.year, "Llama" in RoPE.about.models
    (2021, True)
    """

    title: str = ""
    """What it is called in full, as one would look it up: a message, to be translated."""
    summary: str = ""
    """What it is, a line of the README's table in Markdown: a message, to be translated."""
    paper: str = ""
    """Authors, title and where it is."""
    year: int | None = None
    models: tuple[str, ...] = ()
    """Some of the models that have it, the first or best known ones first."""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    axial: str = ""
    """The name of the encoding that does the same for points on several axes, if there is one."""

    def to_html(self, name: str, facts: Mapping[str, str]) -> str:
        """What is known of the value called `name`, for a notebook; facts that are "" are left out.

        >>> About(title="linear biases").to_html("ALiBi(8)", {"sizes": "heads=8", "needs": ""})
        '<p><code>ALiBi(8)</code>: linear biases</p><table><tr><td>sizes</td><td>heads=8</td>...'
        """
        title = f": {escape(self.title)}" if self.title else ""
        source = {"paper": self.paper, "models": ", ".join(self.models)}
        rows = [(what, text) for what, text in {**facts, **source}.items() if text]
        return f"<p><code>{escape(name)}</code>{title}</p>" + (html_table(rows) if rows else "")


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What an encoding claims about itself: each claim is something that can be measured."""

    unique: bool = False
    """No two positions have the same encoding."""
    any_length: bool = False
    """Defined at every position, not only up to a length that was fixed beforehand."""
    relative: bool = False
    """Logits depend on the distance between query and key only."""
    linear_shift: bool = False
    """Moving by k is one matrix, the same at every position: e(p + k) = M_k e(p)."""
    bounded: bool = False
    """No entry grows with the position."""
    norm_preserving: bool = False
    """A rotated vector is as long as before."""
    exact: bool = False
    """As right at a position of ten million as at one of a hundred."""
    ordered: bool = False
    """Attention can tell one order of its tokens from another."""
    decays: bool = False
    """A key that equals its query counts less when it is far away."""
    symmetric: bool = False
    """A key ahead counts as much as one that is as far behind."""

    def claims(self) -> tuple[str, ...]:
        """The names of what is claimed.

        >>> Traits(unique=True, bounded=True).claims()
        ('unique', 'bounded')
        """
        return tuple(field.name for field in fields(self) if getattr(self, field.name))
