"""Bias: what is added to the logits, for each head, by distance and as a matrix."""

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from posenc.core.encoding import Encoding
from posenc.core.grids import grid
from posenc.core.mechanisms import Bias
from posenc.i18n import N_
from posenc.views import cost
from posenc.views.kind import Kind, is_plain
from posenc.views.panels import (
    Axis,
    Image,
    Line,
    Lines,
    Panel,
    View,
    colour_limits,
    max_abs,
)
from posenc.views.scene import Scene
from posenc.views.subject import Subject

SIDE = 8
"""Rows and columns of the window of a bias that has none of its own."""
SOME = 2**16
"""Pairs of a query and a key whose biases are computed at a time, in all heads; few are kept."""


@runtime_checkable
class Windowed(Protocol):
    """A bias that is defined within a window of a grid."""

    window: tuple[int, int]


def build(scene: Scene) -> View:
    """Show curves of each head over the distance query - key, and matrices of a few heads.

    On a grid, a map of displacements for each head. A causal bias has no values for keys ahead.
    Heads are numbered from 1, as in papers.

    >>> from posenc.views import view
    >>> view("ALiBi(1)", "bias", length=3).panels[0].lines[0].y.round(4).tolist()
    [-0.0078, -0.0039, -0.0, -0.0039, -0.0078]
    """
    t = scene.t
    panels: list[Panel] = []
    plain = [subject for subject in scene.subjects if is_plain(subject.unwrapped)]
    for subject in plain:
        panels.append(_curves(scene, subject))
    on_grid = [subject for subject in scene.subjects if subject not in plain]
    images = [image for subject in plain for image in _matrices(scene, subject)]
    images += [image for subject in on_grid for image in _displacements(scene, subject)]
    # heads of one encoding are compared with each other, so they share a scale
    sizes = [_max_bias(images, number) for number in range(len(scene.subjects))]
    limits = colour_limits(sizes)
    panels += [replace(image, limit=limits[image.of or 0]) for image in images]
    if len(sizes) == 1:
        seen = scene.faint_notes({i.title: max_abs(i.values) for i in images}, limits[0])
    else:
        names = [subject.name for subject in scene.subjects]
        seen = scene.scale_notes(dict(zip(names, sizes, strict=True)))
    cut = [note for subject in on_grid for note in _window_notes(scene, subject)]
    title = scene.title(t("bias by distance"))
    return KIND.compose(scene, title, panels, *_causal_notes(scene, plain), *cut, *seen)


def _max_bias(images: list[Image], number: int) -> float:
    """Return the largest bias in the images of a subject."""
    return max(max_abs(image.values) for image in images if image.of == number)


def _causal_notes(scene: Scene, plain: list[Subject]) -> list[str]:
    """Say why nothing is drawn for keys ahead of their query."""
    t = scene.t
    note = t("keys ahead of their query are masked, as in a decoder: nothing is drawn there")
    found = [subject for subject in plain if subject.encoding.causal_only]
    if not found or len(found) == len(scene.subjects):
        return [note] if found else []
    return [scene.label(subject, note) for subject in found]


def _choose_heads(scene: Scene, count: int, most: int) -> list[int]:
    """Choose the heads to show of `count`."""
    return scene.include_head(scene.choose(count, most, evenly=True), count) if count > 1 else [0]


def _curves(scene: Scene, subject: Subject) -> Lines:
    """Plot the biases of the last query for keys behind it, and as far ahead of it."""
    t = scene.t
    last = scene.count(32, most=2**14) - 1
    keys = np.arange(2 * last + 1)
    values = subject.bias(np.array([last]), keys)[:, 0, ::-1]
    lines = tuple(
        Line(t("head {head}", head=h + 1), values[h]) for h in _choose_heads(scene, len(values), 8)
    )
    x_axis = Axis(t("distance (query − key)"))
    title = scene.label(subject, t("query at {position}", position=last))
    return Lines(title, keys - last, lines, x_axis, Axis(t("bias")), of=scene.index(subject))


def _matrices(scene: Scene, subject: Subject) -> list[Image]:
    """Return images of the biases of a few heads, by query and key."""
    t = scene.t
    positions = scene.positions(32, most=2**12)
    count = len(subject.bias(positions[:1], positions))
    # two heads of a single encoding, the last of which may be too flat to see; else one of each
    shown = scene.choose(count, 3) if count > 1 else [0]
    shown = scene.include_head(shown[: 2 if len(scene.subjects) == 1 else 1], count)
    some = max(1, SOME // len(positions))
    parts = [positions[at : at + some] for at in range(0, len(positions), some)]
    made = np.concatenate([subject.bias(part, positions)[shown] for part in parts], axis=1)
    axes = Axis(t("query"), scene.tokens), Axis(t("key"), scene.tokens)
    heads = zip(shown, made, strict=True)
    return [_head_image(scene, subject, head, values, axes) for head, values in heads]


def _head_image(
    scene: Scene,
    subject: Subject,
    head: int,
    values: np.ndarray,
    axes: tuple[Axis, Axis],
) -> Image:
    """Return the image of one head; its limit is set later, to that of all heads."""
    t = scene.t
    title = scene.label(subject, t("head {head}", head=head + 1))
    return Image(
        title,
        values,
        *axes,
        1.0,
        "diverging",
        t("bias"),
        square=True,
        channel=head,
        of=scene.index(subject),
    )


def reach(encoding: Encoding, length: int | None = None) -> int:
    """Return how far a key can be from its query on a map: to the end of the window."""
    side = min(encoding.window) if isinstance(encoding, Windowed) else SIDE
    return (length or side) - 1


def _displacements(scene: Scene, subject: Subject) -> list[Image]:
    """Return maps of the biases of a query in the middle and the keys around it, by head."""
    t = scene.t
    far = reach(subject.unwrapped, scene.length)
    side = 2 * far + 1
    keys = np.asarray(grid(side, side))
    query = np.full((1, keys.shape[1]), far)
    made = subject.bias(query, keys)[:, 0].reshape(-1, side, side)
    shown = _choose_heads(scene, len(made), 4)
    labels = tuple(str(d) for d in range(-far, far + 1))
    axes = Axis(t("rows away"), labels), Axis(t("columns away"), labels)
    return [_head_image(scene, subject, head, made[head], axes) for head in shown]


def _window_notes(scene: Scene, subject: Subject) -> list[str]:
    """Say that maps show a square of a window that is not square."""
    t = scene.t
    encoding = subject.unwrapped
    if not isinstance(encoding, Windowed) or len(set(encoding.window)) == 1:
        return []
    height, width = encoding.window
    return [
        t(
            "a window of {height} × {width}: keys up to {reach} away are shown",
            height=height,
            width=width,
            reach=reach(encoding, scene.length),
        )
    ]


def is_bias(encoding: Encoding) -> bool:
    """Return whether it is added to the logits."""
    return isinstance(encoding, Bias)


def _columns(plain: int, gridded: int) -> int:
    return 3 if plain == 1 else min(4, plain + gridded) if plain else 4


def _sizes(encoding: Encoding, length: int) -> dict[str, int]:
    """Return the sizes of the biases: images of one head take as much as four heads."""
    return {cost.HEADS: max(4, cost.heads(encoding))} | cost.pairs(encoding, length)


KIND = Kind(
    name="bias",
    title=N_("bias"),
    summary=N_("The bias that is added to a logit, by the distance between query and key."),
    build=build,
    suits=is_bias,
    columns=_columns,
    first_for=is_bias,
    channels=True,
    head=True,
    sizes=_sizes,
    intermediate=True,
    pairwise=True,
    along="offset",
)
