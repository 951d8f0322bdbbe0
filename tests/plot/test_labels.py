"""Labels and titles in the room that they have."""

from itertools import pairwise, product

import numpy as np
import pytest

from tests.plot.pages import CHINESE, JAPANESE, shown
from tests.slow import in_turn, slow

TEN = "私 は 毎日 日本語 を 少し ずつ 勉強 し て"
LONG = "the transformer architecture understands positional information"


def boxes_below(axes):
    """Where the labels below the axes stand, from the left."""
    figure = axes.get_figure()
    renderer = figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for text in axes.get_xticklabels()]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        *((sentence, "similarity") for sentence in (CHINESE, JAPANESE, TEN, LONG, LONG * 9)),
        *product([TEN, LONG], ["waves", "bias"]),
        *slow(*product([CHINESE, JAPANESE, LONG * 9], ["waves", "bias"])),
    ],
)
def test_labels_never_touch_and_stand_upright_where_they_can(kind, sentence):
    figure = shown(kind, tokens=sentence, lang="ja", dpi=100)
    for axes in figure.axes:
        boxes = list(pairwise(boxes_below(axes)))
        assert all(a.x1 < b.x0 for a, b in boxes)
        pitch = np.diff(axes.transData.transform([(0, 0), (1, 0)])[:, 0])[0]
        if boxes and axes.get_xticklabels()[0].get_rotation() == 90:  # their height is how long
            assert max((a.height + b.height) / 2 for a, b in boxes) > pitch - 7
    if kind != "bias" and not sentence.startswith("the"):
        assert figure.axes[0].get_xticklabels()[0].get_rotation() == 0


@pytest.mark.parametrize(("kind", "lang"), in_turn(["attention", "learned"], of=("en", "ja")))
def test_titles_stay_on_their_panels(kind, lang):
    figure = shown(kind, lang=lang, dpi=100)
    renderer = figure.canvas.get_renderer()
    titled = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert titled
    for axes in titled:
        title = axes._left_title.get_window_extent(renderer)
        assert title.x1 <= axes.get_window_extent().x1 + 1
