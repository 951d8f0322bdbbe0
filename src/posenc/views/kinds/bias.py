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
from posenc.views.panels import Axis, Image, Line, Lines, Panel, View, max_abs
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
    plain = [subject for subject in scene.subjects if is_plain(subject.unwrapped)]
    on_grid = [subject for subject in scene.subjects if subject not in plain]
    images = {subject: _matrices(scene, subject) for subject in plain}
    images |= {subject: _displacements(scene, subject) for subject in on_grid}
    # heads of one encoding are compared with each other, so they share a scale
    sizes = {s: max(max_abs(image.values) for image in heads) for s, heads in images.items()}
    limits, seen = scene.set_scales({subject: sizes[subject] for subject in scene.subjects})
    panels: list[Panel] = [_curves(scene, subject) for subject in plain]
    panels += [replace(image, limit=limits[s]) for s, heads in images.items() for image in heads]
    if len(images) == 1:
        ((subject, heads),) = images.items()
        seen = scene.faint_notes({i.title: max_abs(i.values) for i in heads}, limits[subject])
    cut = [note for subject in on_grid for note in _window_notes(scene, subject)]
    title = scene.title(scene.t("bias by distance"))
    return KIND.compose(scene, title, panels, *_causal_notes(scene, plain), *cut, *seen)


def _causal_notes(scene: Scene, plain: list[Subject]) -> list[str]:
    """Say why nothing is drawn for keys ahead of their query."""
    note = scene.t("keys ahead of their query are masked, as in a decoder: nothing is drawn there")
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
    positions = scene.positions(32, most=2**12)
    count = len(subject.bias(positions[:1], positions))
    # two heads of a single encoding, the last of which may be too flat to see; else one of each
    shown = scene.choose(count, 3) if count > 1 else [0]
    shown = scene.include_head(shown[: 2 if len(scene.subjects) == 1 else 1], count)
    some = max(1, SOME // len(positions))
    parts = [positions[at : at + some] for at in range(0, len(positions), some)]
    made = np.concatenate([subject.bias(part, positions)[shown] for part in parts], axis=1)
    return _head_images(scene, subject, shown, made, scene.pair_axes())


def _head_images(
    scene: Scene,
    subject: Subject,
    heads: list[int],
    values: np.ndarray,
    axes: tuple[Axis, Axis],
) -> list[Image]:
    """Return the images of heads; their limit is set later, to that of all heads."""
    images: list[Image] = []
    for head, image in zip(heads, values, strict=True):
        title = scene.label(subject, scene.t("head {head}", head=head + 1))
        square = scene.square_image(subject, title, image, axes, 1.0, scene.t("bias"))
        images.append(replace(square, channel=head))
    return images


def reach(encoding: Encoding, length: int | None = None) -> int:
    """Return how far a key can be from its query on a map: to the end of the window."""
    side = min(encoding.window) if isinstance(encoding, Windowed) else SIDE
    return (length or side) - 1


def _displacements(scene: Scene, subject: Subject) -> list[Image]:
    """Return maps of the biases of a query in the middle and the keys around it, by head."""
    far = reach(subject.unwrapped, scene.length)
    side = 2 * far + 1
    keys = np.asarray(grid(side, side))
    query = np.full((1, keys.shape[1]), far)
    made = subject.bias(query, keys)[:, 0].reshape(-1, side, side)
    shown = _choose_heads(scene, len(made), 4)
    labels = tuple(str(d) for d in range(-far, far + 1))
    axes = Axis(scene.t("rows away"), labels), Axis(scene.t("columns away"), labels)
    return _head_images(scene, subject, shown, made[shown], axes)


def _window_notes(scene: Scene, subject: Subject) -> list[str]:
    """Say that maps show a square of a window that is not square."""
    encoding = subject.unwrapped
    if not isinstance(encoding, Windowed) or len(set(encoding.window)) == 1:
        return []
    height, width = encoding.window
    note = scene.t(
        "a window of {height} × {width}: keys up to {reach} away are shown",
        height=height,
        width=width,
        reach=reach(encoding, scene.length),
    )
    return [note]


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
