"""What is known of an encoding that no measurement can tell."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class About:
    """Where an encoding comes from, who uses it, and what is said for and against it.

    What a check can measure (any length, distances only, nothing to learn) is not said here.
    Title, strengths and weaknesses are messages, marked by `posenc.messages.later` to be
    translated.

    >>> from posenc import RoPE
    >>> RoPE.about.year, "Llama" in RoPE.about.models
    (2021, True)
    """

    title: str = ""
    """What it is called in full, as one would look it up: a message, to be translated."""
    paper: str = ""
    """Authors, title and where it is."""
    year: int | None = None
    models: tuple[str, ...] = ()
    """Some of the models that have it, the first or best known ones first."""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    axial: str = ""
    """The name of the encoding that does the same for points on several axes, if there is one."""
