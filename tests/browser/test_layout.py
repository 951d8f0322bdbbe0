"""Narrow and wide, light and dark, still and moving, averaged and whole."""

from typing import Any

import numpy as np
import pytest

from tests.browser.places import CUT, EXPRESSIONS, TOUR_OF_VIEWS
from tests.browser.visit import Visit
from tests.slow import slow


def at_width(visiting, address: str, width: int) -> Visit:
    return visiting(address, viewport={"width": width, "height": 900})


# English has the longest words: all views are looked at where the page is narrowest, the first
# two of each encoding between; test_axe.py looks at all where it is widest.
@pytest.mark.parametrize(
    ("width", "lang", "views"),
    [
        (1024, "ja", 2),
        (390, "en", 7),
        *slow((1440, "en", 7), (1440, "ja", 7), (1024, "en", 7), (1024, "ja", 7), (390, "ja", 7)),
    ],
)
def test_no_view_is_cut_or_scrolls_sideways(
    visiting, address: str, width: int, lang: str, views: int
) -> None:
    visit = at_width(visiting, address, width).open(lang=lang)
    found: dict[str, list[str]] = {}
    if width < 761:
        visit.page.locator("[aria-labelledby=encoding-title] summary").click()
    for encoding, kinds in TOUR_OF_VIEWS.items():
        visit.choose(encoding)
        for kind in kinds[:views]:
            visit.show(kind)
            found[f"{encoding} {kind}"] = visit.page.evaluate(CUT)
    assert not {place: cut for place, cut in found.items() if cut}


@pytest.mark.parametrize(
    ("width", "lang"),
    [(1440, "en"), (1024, "ja"), (390, "en"), *slow((1440, "ja"), (1024, "en"), (390, "ja"))],
)
def test_long_words_and_long_texts_are_not_cut(
    visiting, address: str, width: int, lang: str
) -> None:
    visit = at_width(visiting, address, width)
    found: dict[str, list[str]] = {}
    for step in (1, 9):
        visit.open(step=step, lang=lang, text="a-word-that-is-" * 20)
        found[f"tour {step}"] = visit.page.evaluate(CUT)
    visit.open(lang=lang, n=3000, e=[EXPRESSIONS["RoPE"], "RoPE(64,scaling=YaRN(4.0,4096))"])
    found["two"] = visit.page.evaluate(CUT)
    assert not {place: cut for place, cut in found.items() if cut}


def test_an_averaged_view_says_its_ratio_and_is_scrolled_whole(visit: Visit) -> None:
    visit.open(n=4096, e="Sinusoidal(512)", p=100, d=9)
    shown = visit.pixels().shape
    ratio = visit.page.locator("#large .reading").inner_text()
    down = -(-4096 // shown[0])
    assert f"1:{down}" in ratio
    assert "averaged" in ratio
    visit.page.get_by_role("button", name="1:1").click()
    window = visit.page.locator("#large .window")
    canvas = window.locator("canvas")
    visit.page.wait_for_function(
        "() => ![1, 300].includes(document.querySelector('#large .window canvas').width)"
    )
    window.evaluate("box => box.scrollTo(600, 20000)")
    visit.page.wait_for_function(
        "() => parseFloat(document.querySelector('#large .window canvas').style.top) > 15000"
    )
    assert canvas.evaluate("c => c.width") < 512
    visit.rest()
    assert window.evaluate("b => b.scrollHeight / 4096") == pytest.approx(14, abs=0.1)
    visit.page.get_by_role("button", name="1:1").click()
    visit.drawn()
    assert visit.pixels().shape == shown


# Where the fastest hand points, frame by frame, until three positions were named.
HANDS = """
async () => {
  const seen = {};
  while (Object.keys(seen).length < 3) {
    await new Promise(requestAnimationFrame);
    const figure = document.querySelector("#large figure");
    const hand = figure.querySelector(".now").outerHTML;
    const place = figure.querySelector("p span").textContent;
    seen[place] = [...new Set([...(seen[place] ?? []), hand])];
  }
  return seen;
}
"""


def frame(visit: Visit) -> str:
    return visit.page.locator("#large .dials").inner_html()


def test_play_moves_and_stops(visit: Visit) -> None:
    visit.open(e="RoPE(64)", view="rotation")
    still = frame(visit)
    assert frame(visit.frames()) == still  # nothing moves by itself
    visit.page.get_by_role("button", name="Play").click()
    visit.page.wait_for_selector("#large .now")
    first = frame(visit)
    assert frame(visit.frames()) != first
    visit.page.get_by_role("button", name="Stop").click()
    still = frame(visit.frames())
    assert frame(visit.frames()) == still


def test_with_reduced_motion_hands_step_instead_of_gliding(visiting, address: str) -> None:
    visit: Visit = visiting(address, reduced_motion="reduce").open(e="RoPE(64)", view="rotation")
    visit.page.get_by_role("button", name="Play").click()
    visit.page.wait_for_selector("#large .now")
    hands = visit.page.evaluate(HANDS)  # of each position that is named meanwhile
    assert len(hands) == 3
    assert {place: len(seen) for place, seen in hands.items() if len(seen) != 1} == {}
    assert len({hand for (hand,) in hands.values()}) == 3
    moving = """
    () => [...document.querySelectorAll(".posenc *")].map((e) => getComputedStyle(e))
      .filter((s) => s.animationName !== "none" || parseFloat(s.transitionDuration) > 0).length
    """  # found and looked at in one go: what playing has replaced meanwhile has no style
    assert visit.page.evaluate(moving) == 0


def background(visit: Visit) -> float:
    rgb = visit.page.locator(".posenc").evaluate("e => getComputedStyle(e).backgroundColor")
    return float(np.mean([int(part) for part in rgb.strip("rgb()").split(",")]))


@pytest.mark.parametrize("system", ["light", "dark"])
def test_light_and_dark_follow_the_system_or_the_reader(
    visiting, address: str, system: Any
) -> None:
    visit: Visit = visiting(address, color_scheme=system).open()
    assert (background(visit) < 64) == (system == "dark")
    other = "light" if system == "dark" else "dark"
    before = visit.pixels()
    visit.page.locator("header select").first.select_option(other)
    visit.page.wait_for_function(
        "(dark) => document.querySelector('.posenc').classList.contains('dark') === dark",
        arg=other == "dark",
    )
    assert (background(visit) < 64) == (other == "dark")
    visit.drawn()
    assert (visit.pixels() != before).any()  # zero is the colour of the page
    visit.page.locator("header select").first.select_option("auto")
    visit.page.emulate_media(color_scheme=other)
    assert (background(visit.frames()) < 64) == (other == "dark")


def test_a_long_token_does_not_lie_under_the_name_of_the_axis(visit: Visit) -> None:
    visit.open(text="internationalisation of supercalifragilistic words")
    name = visit.page.locator("#large .labels.rows em").bounding_box()
    assert name is not None
    for token in visit.page.locator("#large .labels.rows span").all():
        box = token.bounding_box()
        assert box is not None
        assert box["x"] >= name["x"] + name["width"]


def test_the_number_of_tokens_is_said_in_words_that_fit(visit: Visit) -> None:
    note = visit.open(text="dog").page.locator("#sentence-note")
    assert note.inner_text() == "1 token"
    assert visit.open(text="a dog").page.locator("#sentence-note").inner_text() == "2 tokens"
    nothing = visit.open(text="").page.locator("#sentence-note").inner_text()
    assert nothing == "no tokens: 64 positions are shown"


def test_fewer_positions_than_tokens_are_explained(visit: Visit) -> None:
    words = "Every token has a position: there are 5."
    assert words in visit.open(n=3).page.locator("[aria-labelledby=sentence-title]").inner_text()
    side = visit.open(n=6).page.locator("[aria-labelledby=sentence-title]")
    assert "Every token" not in side.inner_text()


def test_views_that_not_all_encodings_have_are_named(visit: Visit) -> None:
    large = visit.open(e=["Sinusoidal(64)", "RoPE(64)"], view="heatmap").page.locator("#large")
    assert "Not available for every encoding shown: sum." in large.inner_text()
    alone = visit.open(e="Sinusoidal(64)").page.locator("#large")
    assert "Not available for every" not in alone.inner_text()


@pytest.mark.parametrize("width", [390, 1024])
def test_the_cell_comes_right_after_the_large_picture_where_columns_stack(
    visiting, address: str, width: int
) -> None:
    visit: Visit = visiting(address, viewport={"width": width, "height": 800}).open()
    visit.page.locator(".others figure").first.wait_for()
    tops = [
        (visit.page.locator(part).bounding_box() or {"y": -1})["y"]
        for part in ("#large", "[aria-labelledby=cell-title]", ".others")
    ]
    assert tops == sorted(tops)
