"""Figures: every kind on light and dark pages, in any script, without a warning or a box."""

import io
import re
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from matplotlib.image import imread

import posenc as pe
from posenc import plot as figures
from posenc.plot import fonts
from posenc.views import KINDS, view
from tests.slow import in_turn, seldom, slow

CHINESE, JAPANESE, TRADITIONAL = "我 爱 学习 AI", "犬が人を噛む", "我 喜歡 學習 位置 編碼"
SORTS = "heatmap", "waves", "rotation"
"""An image, lines and dials."""
MOSTLY_SORTS = seldom(KINDS, but=SORTS)
OF_KIND = {"bias": "alibi", "maps": "axial-rope", "learned": "learned", "sum": "sinusoidal"}


def shown(kind, **options):
    what = OF_KIND.get(kind, "rope")
    sentence = {} if kind == "maps" else {"tokens": CHINESE}
    return pe.show(what, kind, **(sentence | {"dpi": 60} | options))


@cache
def kept(kind):
    """A figure that several tests look at: it stays as it is."""
    return shown(kind)


def png(figure):
    return imread(io.BytesIO(figure._repr_png_()))


def check_pixels(figure, *, dark):
    pixels = png(figure)
    corner = pixels[0, 0, :3]
    assert (corner < 0.2).all() if dark else (corner == 1).all()
    assert np.ptp(pixels[..., :3], axis=(0, 1)).min() > 0.5  # there is something on it
    assert (figure.notes == ()) == bool(fonts.han_fonts("ja"))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_every_kind_is_drawn(kind, dark):
    """Warnings are errors in tests: a missing glyph or a layout that does not fit would warn.

    They do so when a page is laid out, which `show` does; pixels are looked at here, and of every
    kind in test_the_least_size_is_said_and_taken.
    """
    check_pixels(shown(kind, dark=dark), dark=dark)


# Japanese has the longest words
@pytest.mark.parametrize("lang", ["ja", *slow("zh-Hans", "zh-Hant")])
@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_every_kind_in_every_language(kind, lang):
    """Beside test_the_least_size_is_said_and_taken, which lays every kind out in Chinese."""
    sentence = {"ja": JAPANESE, "zh-Hant": TRADITIONAL}.get(lang, CHINESE)
    shown(kind, lang=lang, **({} if kind == "maps" else {"tokens": sentence}))


@pytest.mark.parametrize(
    "kind",
    ["heatmap", "rotation", "decay", *slow("similarity", "products", "attention")],
)
def test_several_side_by_side(kind):
    what = ["sinusoidal", "learned", "rope"] if kind in ("heatmap", "similarity") else None
    figure = pe.show(what or ["rope", "xpos", "yarn"], kind, tokens=JAPANESE, dpi=60)
    assert len(figure.axes) >= 3


@pytest.mark.parametrize("name", ["swin", "fire", "fourier-features", "mrope", *slow("t5", "shaw")])
def test_what_is_shown_unless_a_kind_is_asked_for(name):
    assert pe.show(name, dpi=60).axes


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_formats(tmp_path, ending, start):
    path = tmp_path / f"a.{ending}"
    shown("heatmap").savefig(path)
    assert path.read_bytes().startswith(start)


def test_size_and_dpi():
    pixels = png(shown("heatmap", size="7x3", dpi=50))
    assert pixels.shape[:2] == (150, 350)
    assert png(shown("rotation", size=(4, 4), dpi=100)).shape[:2] == (400, 400)


def test_the_figure_has_its_data():
    figure = kept("heatmap")
    assert np.array_equal(
        figure.view.panels[0].values, view("rope", tokens=CHINESE, kind="heatmap").panels[0].values
    )


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_rows_are_named_by_token_and_position():
    (axes, _) = kept("heatmap").axes
    expected = ["我  0", "爱  1", "学习  2", "AI  3"]
    assert labels(axes.yaxis) == expected or not fonts.han_fonts("ja")


def test_a_decimated_image_is_averaged_and_says_its_ratio():
    figure = pe.show("Sinusoidal(64)", "heatmap", length=4096, dpi=60)
    axes = figure.axes[0]
    found = re.fullmatch(r"position \(1:(\d+), averaged\)", axes.get_ylabel())
    ratio = int(found[1])
    drawn = np.asarray(axes.images[0].get_array())
    values = pe.Sinusoidal(64).encode(range(4096))
    assert drawn.shape == (-(-4096 // ratio), 64)
    assert np.allclose(drawn[1], values[ratio : 2 * ratio].mean(axis=0))
    assert drawn.shape[0] <= axes.get_window_extent().height + 1
    assert axes.get_xlabel() == "dimension"
    assert axes.get_ylim() == (4095.5, -0.5)


def test_colours_of_values_are_those_of_the_map():
    from posenc.views import colours

    axes = kept("attention").axes[0]
    image = axes.images[0]
    rgb = image.cmap(image.norm(image.norm.vmax))[:3]
    assert np.allclose(np.array(rgb) * 255, colours.table("sequential")[-1])
    assert image.norm.vmin == 0
    axes = pe.show("sinusoidal", length=4, dpi=60).axes[0]
    assert axes.images[0].norm(0.0) == 0.5


def test_every_scale_of_colours_has_a_bar():
    assert len(kept("attention").axes) == 4 + 1
    assert len(pe.show("learned", "learned", dpi=60).axes) == 4 + 3
    assert len(pe.show(["sinusoidal", "Sinusoidal(32)"], "sum", dpi=60).axes) == 6 + 1
    # of sizes that differ fifty times: one for each
    assert len(pe.show(["sinusoidal", "learned"], "sum", dpi=60).axes) == 6 + 2


def test_without_a_han_font_positions_stand_for_tokens_and_a_note_says_so(monkeypatch):
    monkeypatch.setattr(fonts, "han_fonts", lambda lang: [])
    figure = pe.show("sinusoidal", tokens=["我", "AI"], dpi=60)
    assert figure.notes == (
        "No installed font has 我; position numbers are shown instead.",
        "For Chinese and Japanese install Noto Sans CJK (package fonts-noto-cjk).",
    )
    assert labels(figure.axes[0].yaxis) == ["0", "AI  1"]
    png(figure)
    assert pe.show("sinusoidal", tokens="I AI", dpi=60).notes == ()


@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_without_a_han_font_no_kind_draws_boxes(monkeypatch, kind):
    monkeypatch.setattr(fonts, "han_fonts", lambda lang: [])
    shown(kind, lang="ja")


def test_without_a_han_font_a_language_that_needs_one_is_english(monkeypatch):
    monkeypatch.setattr(fonts, "han_fonts", lambda lang: [])
    figure = pe.show("sinusoidal", length=4, lang="ja", dpi=60)
    assert figure.axes[0].get_xlabel() == "dimension"
    assert any("fonts-noto-cjk" in note for note in figure.notes)


def test_no_character_is_drawn_as_a_box():
    tokens = ["ok", "\U0001f970", "\U000e0041", "नमस्ते", "שלום"]
    figure = pe.show("sinusoidal", tokens=tokens, dpi=60)
    png(figure)
    assert "\U000e0041" not in "".join(figure.notes)  # not printable, so not asked for
    assert "\U0001f970" in "".join(figure.notes)


def test_each_language_gets_its_own_han_characters():
    """Han characters are written differently in each region; Noto has a font for each."""
    found = fonts.han_fonts("ja")
    if "Noto Sans CJK SC" not in found:
        assert found == [] or "JP" in found[0]
        return
    first = {lang: fonts.families(lang, "位置")[1] for lang in ("ja", "zh-Hans", "zh-Hant")}
    assert first == {
        "ja": "Noto Sans CJK JP",
        "zh-Hans": "Noto Sans CJK SC",
        "zh-Hant": "Noto Sans CJK TC",
    }
    assert fonts.families("en", JAPANESE)[1] == "Noto Sans CJK JP"
    assert fonts.families("en", CHINESE)[1] == "Noto Sans CJK SC"


@pytest.mark.parametrize(
    ("tokens", "dim"),
    seldom(
        product([1, 41, 500], [1, 2, 600]), but=[(1, 1), (1, 600), (41, 2), (500, 1), (500, 600)]
    ),
)
def test_any_size_can_be_drawn(tokens, dim):
    assert png(pe.show("sinusoidal", tokens=["x"] * tokens, dim=dim, dpi=60)).size > 1000


@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_a_lone_token_and_many_can_be_drawn(kind):
    if kind == "maps":
        for side in (1, 40):
            pe.show("axial-rope", "maps", length=side, dpi=60)
        return
    for sentence in ("AI", "word " * 120):
        shown(kind, tokens=sentence)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "8"}, "size must be inches as WIDTHxHEIGHT, such as 8x4.5; got '8'"),
        ({"size": "axb"}, "size must be inches"),
        ({"size": (0.5, 3)}, "each side of size must be a finite number of at least 1"),
        ({"dpi": 1}, "dpi must be a finite number of at least 10 and at most 2400; got dpi=1"),
        ({"dark": 1}, "dark must be True or False; got dark=1"),
    ],
)
def test_wrong_pages_are_sentences(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pe.show("rope", **options)


def test_a_page_that_is_too_small_is_a_sentence():
    with pytest.raises(ValueError, match=r"size must be at least 6.8x2.\d for .*; got 2x1$"):
        pe.show("rope", "decay", size="2x1")


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_size_is_said_and_taken(kind):
    with pytest.raises(ValueError, match="size must be at least") as caught:
        shown(kind, size="1x1", lang="zh-Hans")
    least = re.search(r"at least (\S+) for", str(caught.value))[1]
    figure = shown(kind, size=least, lang="zh-Hans")
    assert "x".join(f"{side:g}" for side in figure.get_size_inches()) == least
    check_pixels(figure, dark=False)


def boxes_below(axes):
    """Where the labels below the axes stand, from the left."""
    figure = axes.get_figure()
    renderer = figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for text in axes.get_xticklabels()]


TEN = "私 は 毎日 日本語 を 少し ずつ 勉強 し て"
LONG = "the transformer architecture understands positional information"


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


def test_the_title_of_a_lone_panel_is_that_of_the_page():
    figure = kept("heatmap")
    assert figure.get_suptitle() == "RoPE(64): angles by position and pair"
    assert figure.axes[0].get_title(loc="left") == ""


@pytest.mark.parametrize("columns", range(4, 30))
def test_no_line_begins_with_a_comma_or_ends_with_a_bracket(columns):
    text = "色の目盛り、共通：（値は）大きい。並べ替えて、「元に」戻す；AI、了"
    lines = fonts.wrapped(text, columns).split("\n")
    assert "".join(lines) == text
    assert not any(line[0] in "、：）。」；" for line in lines)
    assert not any(line[-1] in "（「" for line in lines)


def drawn_colours(axes):
    return {line.get_label(): line.get_color() for line in axes.get_lines()}


@pytest.mark.parametrize("dark", [False, True])
def test_one_colour_for_a_name_in_all_panels(dark):
    left, right = pe.show("rope", "scalings", dark=dark, dpi=60).axes
    both = drawn_colours(left).items() & drawn_colours(right).items()
    assert len(both) == len(drawn_colours(left)) == 4
    (*_, random) = pe.show(["rope", "yarn"], "decay", length=9, dpi=60).axes
    strokes = [line.get_linestyle() for line in random.get_lines()]
    assert strokes == ["-", "--", "--", ":"]
    shades = [line.get_color() for line in random.get_lines()]
    assert shades[0] == shades[1] != shades[2] == shades[3]


def test_more_positions_than_fit_are_a_mean_with_a_band_behind_it():
    figure = pe.show("sinusoidal", "waves", length=4096, channels=[0], dpi=60)
    (axes,) = figure.axes
    (line,) = axes.get_lines()
    (band,) = axes.collections
    box = 4096 // len(line.get_ydata()) + 1
    assert np.allclose(
        line.get_ydata()[:-1], np.sin(np.arange(4096)[: -(4096 % box)]).reshape(-1, box).mean(1)
    )
    edges = band.get_paths()[0].vertices[:, 1]
    assert edges.max() > 0.99
    assert edges.min() < -0.99
    assert axes.get_xlabel() == (f"position (1:{box}, averaged; the band is from least to largest)")
    assert len(figure.view.panels[0].x) == 4096  # the data is whole


def test_lines_have_no_colour_of_a_token():
    from posenc.views import colours

    drawn = set(drawn_colours(pe.show("alibi", "bias", dpi=60).axes[0]).values())
    assert drawn == set(colours.lines())
    assert not drawn & set(colours.tokens())


def test_wavelengths_of_dimensions_are_steps():
    axes = pe.show(["sinusoidal", "rope"], "wavelengths", dpi=60).axes
    drawn = [panel.get_lines()[0].get_drawstyle() for panel in axes]
    assert drawn == ["steps-mid", "default"]


def test_twelve_hands_all_look_different():
    figure = shown("rotation", tokens="abcdefghijkl".replace("", " "))
    dots = [line for line in figure.axes[0].get_lines() if line.get_marker() != "None"]
    assert len({(dot.get_color(), dot.get_marker()) for dot in dots}) == 12


def test_draw_takes_a_view():
    made = view("rope", "decay", length=20)
    assert figures.draw(made, dpi=60).view is made
