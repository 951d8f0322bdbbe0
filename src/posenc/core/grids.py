"""Positions with several axes: points of a grid, pixels, frames of a video."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from posenc.core import rules
from posenc.core.arrays import ArrayT
from posenc.core.hints import hinted
from posenc.core.positions import LIMIT, as_like, consecutive


@hinted("grid")
def grid(*shape: int, like: ArrayT | None = None) -> ArrayT:
    """Positions on a grid, such as row and column in an image: (prod(shape), axis).

    shape   the size of each axis, such as height, width; the last axis varies fastest
    like    an array whose library and device the result has; None: NumPy

    >>> grid(2, 3).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    if not shape:
        raise ValueError("shape must name at least one axis; got shape=()")
    sizes = [rules.whole("each of shape", size, least=0, most=LIMIT) for size in shape]
    if math.prod(sizes) > LIMIT:
        raise ValueError(f"shape must have at most {LIMIT:,} points; got shape={shape}")
    axes = np.meshgrid(*[consecutive(size) for size in sizes], indexing="ij")
    return as_like(np.stack([axis.reshape(-1) for axis in axes], axis=-1), like)


@hinted("detr_grid")
def detr_grid(height: int, width: int, /, *, like: ArrayT | None = None) -> ArrayT:
    """Positions (y, x) of pixels in DETR, normalised to (0, 2 pi]: (height * width, 2).

    y = 2 pi (row + 1) / (height + 1e-6), x = 2 pi (column + 1) / (width + 1e-6): Carion et al.
    (2020), so that images of every size span the same range.

    height, width   rows and columns of the feature map
    like             an array whose library and device the result has; None: NumPy

    >>> detr_grid(1, 2).round(4).tolist()
    [[6.2832, 3.1416], [6.2832, 6.2832]]
    """
    pixels = grid(height, width)
    return as_like(2 * np.pi * (pixels + 1) / (np.array([height, width]) + 1e-6), like)


@hinted("mrope_positions")
def mrope_positions(
    parts: Sequence[int | tuple[int, int, int]],
    /,
    *,
    following: Literal["largest", "grid"] = "largest",
    time_step: float = 1,
    like: ArrayT | None = None,
) -> ArrayT:
    """Positions (seq, 3) of time, height and width for text, images and video in one row.

    parts       the row in order: a number n for n tokens of text, which advance along all three
                axes, or (frames, height, width) for a grid of image or video tokens, which starts
                at the position that follows the text
    following   where the part after a grid starts: one past the "largest" position in the grid
                (Qwen2-VL, vLLM), or past the larger side of the "grid", regardless of frames
                (Hugging Face since version 5); the two differ for long videos
    time_step   distance between frames
    like        an array whose library and device the result has; None: NumPy

    >>> mrope_positions([1, (1, 1, 2), 1]).tolist()
    [[0, 0, 0], [1, 1, 1], [1, 1, 2], [3, 3, 3]]
    """
    rules.one_of("following", following, ("largest", "grid"))
    time_step = rules.real("time_step", time_step, least=0, most=LIMIT)
    if isinstance(parts, str | bytes) or not isinstance(parts, Iterable):
        raise TypeError(f"parts must be numbers and (frames, height, width); got {parts!r}")
    start = 0
    rows: list[np.ndarray] = [np.zeros((0, 3))]
    for part in parts:
        if isinstance(part, tuple):
            if len(part) != 3:
                raise ValueError(f"a grid must be (frames, height, width); got {part!r}")
            points = grid(*part) * [time_step, 1, 1]
            reach = max(part[1:]) if following == "grid" else 1 + points.max(initial=-1)
        else:
            length = rules.whole("each of parts", part, least=0, most=LIMIT)
            points, reach = np.repeat(np.arange(length)[:, None], 3, axis=1), length
        rows.append(start + points)
        start += reach
    points = np.concatenate(rows)
    whole = np.all(points == np.round(points))
    return as_like(points.astype(np.int64) if whole else points, like)
