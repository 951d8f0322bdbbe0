"""Scales that pictures share, and what is said where they do not."""

import numpy as np
import pytest

from posenc.views import Image, view


def test_several_are_on_one_scale():
    views = view(["sinusoidal", "Learned(64, 64, std=1.0)"], "heatmap", length=64)
    first, second = views.panels
    assert first.limit == second.limit == np.abs(second.values).max() > 1


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (["sinusoidal", "Learned(64, 64, std=3.0)"], "sum"),
        (["axial-sinusoidal", "LearnedFourier(64, 2)", "fourier-features"], "maps"),
        (["SwinBias(8, (7, 7), std=3.0)", "SwinV2Bias(8, (7, 7))"], "bias"),
        (["alibi", "T5Bias(8, std=3.0)"], "bias"),
        (["alibi", "SwinBias(8, (7, 7), std=3.0)"], "bias"),
        (["sinusoidal", "Learned(64, 64)"], "similarity"),
        (["sinusoidal", "rope", "Learned(64, 64, std=0.5)"], "products"),
        (["sinusoidal", "alibi"], "attention"),
    ],
)
def test_several_are_on_one_scale_and_told_apart(what, kind):
    images = [panel for panel in view(what, kind).panels if isinstance(panel, Image)]
    assert len({image.limit for image in images}) == 1
    assert images[0].limit >= max(np.nanmax(np.abs(image.values)) for image in images)
    titles = [image.title for image in images if "shuffled" not in image.title]
    assert len(set(titles)) == len(titles)


def test_what_one_scale_hides_is_said():
    made = view(["sinusoidal", "Learned(512, 64, std=0.05)"], "heatmap", length=9)
    largest = np.abs(made.panels[1].values).max()
    assert 1 / 8 < largest < 1 / 5  # a scale of its own, or seen without a word
    said = f"one colour scale for all: Learned(512, 64, std=0.05) is at most {largest:.3g}"
    assert made.notes[0] == said
    flat = view("ALiBi(8)", "bias", length=16, head=6)
    assert flat.notes == ("one colour scale for all: head 7 is at most 0.117",)


@pytest.mark.parametrize(
    ("what", "kind", "own"),
    [
        (["Learned(64, 64)", "Sinusoidal(64)"], "heatmap", True),
        (["Learned(64, 64)", "Sinusoidal(64)"], "products", True),
        (["T5Bias(8)", "ALiBi(8)"], "bias", True),
        (["T5Bias(8)", "SwinV2Bias(8, (7, 7))"], "bias", True),
        (["Learned(64, 64)", "Sinusoidal(64)"], "sum", True),
        (["ALiBi(8)", "TwoSidedALiBi(8)"], "bias", False),
        (["Sinusoidal(64)", "Sinusoidal(32)"], "heatmap", False),
    ],
)
def test_pictures_that_would_be_blank_have_a_scale_of_their_own(what, kind, own):
    seen = view(what, kind, length=32)
    images = [panel for panel in seen.panels if isinstance(panel, Image)]
    sizes = [np.nanmax(np.abs(image.values)) for image in images]
    for image, size in zip(images, sizes, strict=True):
        assert size <= image.limit <= 8 * size
    assert (len({image.limit for image in images}) > 1) == own
    said = [
        note for note in seen.notes if note.startswith("each encoding has its own colour scale")
    ]
    assert len(said) == own
