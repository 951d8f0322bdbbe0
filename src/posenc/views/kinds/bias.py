"""Bias: what is added to the logits, for each head, by distance and as a matrix."""

from dataclasses import replace

import numpy as np

from posenc.core.mechanisms import Bias, Encoding
from posenc.core.positions import grid
from posenc.i18n import later
from posenc.views import cost
from posenc.views.kind import Kind
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

SOME = 2**16
"""Pairs of a query and a key whose biases in all heads are made at once; few heads are kept."""


def bias(scene: Scene) -> View:
    """Curves of each head over the distance query - key, and matrices of queries and keys.

    On a grid: a map of displacements for each head. A bias that looks back only has no values
    ahead. Heads are called 1, 2, … as papers do.

    >>> from posenc.views import view
    >>> view("ALiBi(1)", "bias", length=3).panels[0].lines[0].y.round(4).tolist()
    [-0.0078, -0.0039, -0.0, -0.0039, -0.0078]
    """
    t = scene.t
    panels: list[Panel] = []
    plain = [subject for subject in scene.subjects if (subject.unwrapped.axes or 1) == 1]
    for subject in plain:
        panels.append(_curves(scene, subject))
    on_grid = [subject for subject in scene.subjects if subject not in plain]
    images = [image for subject in plain for image in _matrices(scene, subject)]
    images += [image for subject in on_grid for image in _displacements(scene, subject)]
    # heads of one encoding are compared with each other, so they share a scale
    sizes = [_size(images, number) for number in range(len(scene.subjects))]
    limits = colour_limits(sizes)
    panels += [replace(image, limit=limits[image.of or 0]) for image in images]
    if len(sizes) == 1:
        seen = scene.faint_notes({i.title: max_abs(i.values) for i in images}, limits[0])
    else:
        names = [subject.name for subject in scene.subjects]
        seen = scene.scale_notes(dict(zip(names, sizes, strict=True)))
    cut = [note for subject in on_grid for note in _cut(scene, subject)]
    title = scene.title(t("bias by distance"))
    return KIND.compose(scene, title, panels, *_looking_back(scene, plain), *cut, *seen)


def _size(images: list[Image], number: int) -> float:
    """The largest bias in the images of a subject."""
    return max(max_abs(image.values) for image in images if image.of == number)


def _looking_back(scene: Scene, plain: list[Subject]) -> list[str]:
    """Why there is nothing to be seen of keys ahead."""
    t = scene.t
    said = t("keys ahead of their query are not seen, as in a decoder: nothing is drawn there")
    found = [subject for subject in plain if subject.encoding.causal_only]
    if not found or len(found) == len(scene.subjects):
        return [said] if found else []
    return [t("{encoding}: {what}", encoding=subject.name, what=said) for subject in found]


def _heads(scene: Scene, count: int, most: int) -> list[int]:
    """Heads that are shown; a bias that has one for all heads shows that."""
    return scene.include_head(scene.choose(count, most, evenly=True), count) if count > 1 else [0]


def _curves(scene: Scene, subject: Subject) -> Lines:
    """b(q, k) of the last query, for keys as far behind it and as far ahead as a text has them."""
    t = scene.t
    last = scene.count(32, most=2**14) - 1
    keys = np.arange(2 * last + 1)
    made = subject.bias(np.array([last]), keys)[:, 0, ::-1]
    lines = tuple(Line(t("head {head}", head=h + 1), made[h]) for h in _heads(scene, len(made), 8))
    x_axis = Axis(t("distance (query − key)"))
    title = t("query at {position}", position=last)
    if len(scene.subjects) > 1:
        title = t("{encoding}: {what}", encoding=subject.name, what=title)
    return Lines(title, keys - last, lines, x_axis, Axis(t("bias")), of=scene.index(subject))


def _matrices(scene: Scene, subject: Subject) -> list[Image]:
    """What a few heads add, by query and key."""
    t = scene.t
    positions = scene.positions(32, most=2**12)
    count = len(subject.bias(positions[:1], positions))
    # two heads of one encoding, of which the last may be too flat to see; one each of several
    shown = scene.choose(count, 3) if count > 1 else [0]
    shown = scene.include_head(shown[: 2 if len(scene.subjects) == 1 else 1], count)
    some = max(1, SOME // len(positions))
    parts = [positions[at : at + some] for at in range(0, len(positions), some)]
    made = np.concatenate([subject.bias(part, positions)[shown] for part in parts], axis=1)
    axes = Axis(t("query"), scene.tokens), Axis(t("key"), scene.tokens)
    heads = zip(shown, made, strict=True)
    return [_of_head(scene, subject, head, values, axes) for head, values in heads]


def _of_head(
    scene: Scene,
    subject: Subject,
    head: int,
    values: np.ndarray,
    axes: tuple[Axis, Axis],
) -> Image:
    """What a head adds, over rows and columns; its scale is that of its encoding, set later."""
    t = scene.t
    title = t("head {head}", head=head + 1)
    if len(scene.subjects) > 1:
        title = t("{encoding}: {what}", encoding=subject.name, what=title)
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
    """How far from its query a key is at most on a map: as far as the window goes."""
    window = getattr(encoding, "window", None)
    return (length or (min(window) if window else 8)) - 1


def _displacements(scene: Scene, subject: Subject) -> list[Image]:
    """Maps of what a query in the middle adds to the keys around it, as far as its window goes."""
    t = scene.t
    far = reach(subject.unwrapped, scene.length)
    side = 2 * far + 1
    keys = np.asarray(grid(side, side))
    query = np.full((1, keys.shape[1]), far)
    made = subject.bias(query, keys)[:, 0].reshape(-1, side, side)
    shown = _heads(scene, len(made), 4)
    labels = tuple(str(d) for d in range(-far, far + 1))
    axes = Axis(t("rows away"), labels), Axis(t("columns away"), labels)
    return [_of_head(scene, subject, head, made[head], axes) for head in shown]


def _cut(scene: Scene, subject: Subject) -> list[str]:
    """A note on a window that is not square, of which the maps show a square."""
    t = scene.t
    height, width = getattr(subject.unwrapped, "window", (0, 0))
    if height == width:
        return []
    far = reach(subject.unwrapped, scene.length)
    return [
        t(
            "a window of {height} × {width}: keys up to {reach} away are shown",
            height=height,
            width=width,
            reach=far,
        )
    ]


def is_bias(encoding: Encoding) -> bool:
    """Whether it is added to the logits."""
    return isinstance(encoding, Bias)


def _columns(plain: int, gridded: int) -> int:
    return 3 if plain == 1 else min(4, plain + gridded) if plain else 4


def _sizes(encoding: Encoding, length: int) -> dict[str, int]:
    """The images of one head are as large as those of four."""
    return {cost.HEADS: max(4, cost.heads(encoding))} | cost.pairs(encoding, length)


KIND = Kind(
    name="bias",
    title=later("bias"),
    summary=later("What is added to a score, by the distance of query and key."),
    build=bias,
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
