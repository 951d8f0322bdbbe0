"""Pictures at 1:1, where every value is a cell of its own: scrolled, walked by keys, left."""

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture
from playwright.sync_api import Locator

from tests.browser.test_pictures import broken, read_out
from tests.browser.visit import Visit

PLACE = "box => [box.scrollLeft, box.scrollTop]"


def whole(visit: Visit) -> Visit:
    """Show the large picture 1:1."""
    visit.page.locator("#large").get_by_role("button", name="1:1").click()
    visit.page.wait_for_function(
        "() => ![1, 300].includes(document.querySelector('#large .window canvas')?.width ?? 1)"
    )
    return visit


def test_the_window_stays_under_the_mouse(visit: Visit) -> None:
    whole(visit.open(n=1001, text="", view="similarity", p=300, k=300))
    window = visit.page.locator("#large .window")
    before = window.evaluate(PLACE)
    assert before[1] > 0
    window.scroll_into_view_if_needed()
    box = window.bounding_box()
    assert box is not None
    window.evaluate("b => (b.moved = 0) || b.addEventListener('scroll', () => b.moved++)")
    for step in range(8):
        visit.page.mouse.move(box["x"] + 40 + 20 * step, box["y"] + 100 + 20 * step)
        visit.frames(2)
    said = visit.page.locator("#large .reading span").first.inner_text()
    assert not said.startswith("position 300, position 300")  # it is over a cell
    assert window.evaluate("b => b.moved") == 0
    assert window.evaluate(PLACE) == before


def test_another_picture_leaves_the_window_where_it_is(visit: Visit) -> None:
    whole(visit.open(n=1001, text="", e="Sinusoidal(256)"))
    window = visit.page.locator("#large .window")
    window.evaluate("box => box.scrollTo(300, 7000)")
    visit.page.wait_for_function(
        "() => parseFloat(document.querySelector('#large .window canvas').style.top) > 5000"
    )
    visit.rest()
    before = window.evaluate(PLACE)
    base = visit.page.locator("[aria-labelledby=encoding-title] input[aria-label=base]").last
    base.fill("2")
    base.press("Enter")
    visit.page.wait_for_selector(".chosen .name:has-text('base=2')")
    visit.drawn()
    assert window.evaluate(PLACE) == before


def test_it_is_left_when_nothing_is_averaged_any_more(visit: Visit) -> None:
    whole(visit.open(n=4096, text=""))
    count = visit.page.locator("input[type=number]").first
    count.fill("10")
    count.press("Enter")
    visit.page.wait_for_selector("#large .window", state="detached")
    assert visit.drawn().pixels().shape == (10, 64, 4)


def test_it_is_as_large_as_the_whole_picture(visit: Visit) -> None:
    visit.open(n=1001, text="", view="similarity", p=1000, k=1000)
    reading = visit.page.locator("#large .reading").first.inner_text()
    shown = re.search(r"1:(\d+) down", reading)
    assert shown
    last = 1001 % int(shown[1]) or int(shown[1])
    assert f"mean of {last * last} cells" in reading
    whole(visit)
    window = visit.page.locator("#large .window")
    assert window.evaluate("box => box.scrollHeight") == 1001 * 14
    assert "of 1001" in visit.page.locator("#large .reading").first.inner_text()


def test_keys_move_the_cursor_and_it_stays_in_sight(visit: Visit) -> None:
    whole(visit.open(n=1001, text="", e="Sinusoidal(256)", p=20, d=4))
    window = visit.page.locator("#large .window")
    window.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowRight"):
        visit.page.keyboard.press(key)
    assert [visit.state["p"], visit.state["d"]] == [["21"], ["5"]]
    value = visit.api("cell", e="Sinusoidal(256)", n=1001, p=21, d=5)["value"]
    said = read_out(visit, "position 21, dimension 5:")
    assert "mean" not in said
    assert float(said.rsplit(": ")[1].replace("\N{MINUS SIGN}", "-")) == pytest.approx(
        value, abs=1e-4
    )
    for key in ("End", "PageDown", "PageDown"):
        visit.page.keyboard.press(key)
    assert visit.state["d"] == ["255"]
    marked = """(window) => [".row", ".column"].map((mark) => {
      const box = (element) => element.getBoundingClientRect();
      const [out, within] = [box(window), box(window.querySelector(mark))];
      const down = within.bottom > out.top && within.top < out.bottom;
      return down && within.right > out.left && within.left < out.right;
    })"""
    assert window.evaluate(marked) == [True, True]
    row = int(visit.state["p"][0])
    top = window.locator(".row").evaluate("e => e.offsetTop + e.clientTop")
    assert top == pytest.approx(row * 14, abs=1)


def test_names_stand_beside_their_rows_at_the_end_too(visit: Visit) -> None:
    whole(visit.open(n=1001, text="", e="Sinusoidal(256)", p=1000, d=0))
    name = visit.page.locator("#large .names .here")
    name.get_by_text("1000", exact=True).wait_for()
    boxes = [each.bounding_box() for each in (name, visit.page.locator("#large .window .row"))]
    middles = [box["y"] + box["height"] / 2 for box in boxes if box]
    assert middles[0] == pytest.approx(middles[1], abs=2)


def test_tokens_keep_their_colours_where_the_window_is_scrolled(visit: Visit) -> None:
    whole(visit.open(text="abcdefghijk" * 60, by="characters", p=303, d=0))
    visit.page.wait_for_function(
        "() => parseFloat(document.querySelector('#large .window canvas').style.top) > 3000"
    )
    visit.rest()
    above = visit.page.locator("#large .window canvas").evaluate("e => parseFloat(e.style.top)")
    first = round(above / 14)
    assert first % 8  # else the colours of the rows of the window would be right by chance
    edge = "all => all.map(e => [e.innerText, getComputedStyle(e).borderRightColor])"
    shown = visit.page.locator("#large .names span.coloured").evaluate_all(edge)
    own = "all => all.map(e => getComputedStyle(e).borderBottomColor)"
    colours = visit.page.locator(".tokens button").evaluate_all(own)
    assert len(shown) > 20
    for row, (name, colour) in enumerate(shown, first):
        assert (name, colour) == ("abcdefghijk"[row % 11], colours[row])


def test_cells_that_do_not_come_are_said(visiting: Callable[..., Any], address: str) -> None:
    visit: Visit = whole(visiting(address, refusals=True).open(n=4096, text=""))
    visit.page.route("**/view/heatmap.npy?*", broken)
    visit.page.locator("#large .window").evaluate("box => box.scrollTo(0, 20000)")
    visit.page.locator("#large [role=alert]", has_text="these bytes are lost").wait_for()
    visit.page.unroute("**/view/heatmap.npy?*")
    visit.page.locator("#large .window").evaluate("box => box.scrollTo(0, 21000)")
    visit.page.wait_for_selector("#large [role=alert]", state="detached")


# Boxes within the cell that are larger than they seem and that no key reaches, at every change.
UNREACHED = """
() => {
  window.unreached = [];
  const cell = document.querySelector("[aria-labelledby=cell-title]");
  const cut = (e) => /auto|scroll/.test(getComputedStyle(e).overflowX)
    && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight);
  new MutationObserver(() => {
    const boxes = [...cell.querySelectorAll("*")].filter((e) => cut(e) && e.tabIndex < 0);
    window.unreached.push(...boxes.map((e) => e.textContent));
  }).observe(cell, { childList: true, subtree: true });
}
"""

CUT = "all => all.filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight)"


def test_what_scrolls_takes_the_focus_from_the_first(
    visiting: Callable[..., Any], address: str
) -> None:
    """Not a frame later, by when it is looked at."""
    visit: Visit = visiting(address, viewport={"width": 390, "height": 844}).open(e="RoPE(64)")
    visit.page.evaluate(UNREACHED)
    visit.page.locator("[aria-labelledby=cell-title] summary").click()
    visit.rest()
    visit.page.set_viewport_size({"width": 320, "height": 844})
    visit.rest()
    boxes = visit.page.locator("[aria-labelledby=cell-title] .scrolls")
    assert boxes.evaluate_all(f"all => ({CUT})(all).length") > 0
    assert visit.page.evaluate("unreached") == []
    named = "all => all.every((e) => e.tabIndex === 0 && e.role === 'group' && e.ariaLabel)"
    assert boxes.evaluate_all(f"all => ({named})(({CUT})(all))")
    free = "all => all.filter((e) => e.tabIndex === 0).length"
    assert boxes.evaluate_all(free) == boxes.evaluate_all(f"all => ({CUT})(all).length")


def shades(box: Locator) -> list[bool]:
    """Whether the left and the right edge are darker than the paper, between its lines."""
    values = np.asarray(Picture.open(io.BytesIO(box.screenshot())).convert("L"), float)
    middle = values[len(values) // 3 : -len(values) // 3]
    return [bool(values.max() - np.median(edge) > 30) for edge in (middle[:, :2], middle[:, -2:])]


@pytest.mark.parametrize("what", ["table", "formula"])
def test_what_is_cut_has_a_shade_where_it_goes_on(visit: Visit, what: str) -> None:
    if what == "table":
        visit.open().page.get_by_role("button", name="as a table").first.click()
        box = visit.page.locator("#large .scrolls")
    else:
        visit.open(e="RoPE(64)").page.locator("[aria-labelledby=cell-title] summary").click()
        box = visit.page.locator("details .scrolls[aria-label=formula]").first
        visit.rest()
    assert box.get_attribute("tabindex") == "0"
    assert shades(box) == [False, True]
    box.evaluate("box => box.scrollTo(20, 0)")
    assert shades(box) == [True, True]
    box.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    assert shades(box) == [True, False]
