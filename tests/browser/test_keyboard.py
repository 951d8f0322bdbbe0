"""Everything by keys alone: reached, moved, read out, left."""

import pytest

from tests.browser.visit import Visit
from tests.slow import slow

FOCUSED = """
() => {
  const { activeElement } = document;
  const style = getComputedStyle(activeElement);
  const shown = activeElement.closest(".choose") ?? activeElement;
  const outline = getComputedStyle(shown);
  const box = activeElement.getBoundingClientRect();
  return {
    tag: activeElement.tagName,
    name: activeElement.getAttribute("aria-label") || activeElement.id || activeElement.innerText,
    role: activeElement.getAttribute("role") ?? "",
    outlined: outline.outlineStyle !== "none" && parseFloat(outline.outlineWidth) >= 2,
    top: box.top + scrollY, left: box.left, right: box.right,
  };
}
"""

FOCUSABLE = """
() => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const shown = (e) => e.checkVisibility() || e.type === "file";
  const all = [...document.querySelectorAll(kinds)];
  return all.filter((e) => !e.disabled && e.tabIndex >= 0 && shown(e)).length;
}
"""


def tab_through(visit: Visit) -> list[dict]:
    """Where Tab goes from the top of the page until it leaves it."""
    visit.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    stops: list[dict] = []
    for _ in range(300):
        visit.page.keyboard.press("Tab")
        stop = visit.page.evaluate(FOCUSED)
        if stop["tag"] == "BODY":
            return stops
        stops.append(stop)
    raise AssertionError("Tab does not come to an end")


def test_tab_reaches_everything_and_focus_is_seen(visit: Visit) -> None:
    visit.open(text="the dog")
    visit.page.wait_for_selector("[aria-labelledby=properties-title] .badge")
    visit.page.wait_for_selector("article:nth-of-type(3) canvas")
    visit.rest()
    stops = tab_through(visit)
    assert len(stops) == visit.page.evaluate(FOCUSABLE)
    unseen = [f"{stop['tag']} {stop['name']}" for stop in stops if not stop["outlined"]]
    assert not unseen, f"focus is not seen on {unseen}"
    names = [stop["name"] for stop in stops]
    order = [
        names.index(name)
        for name in ("Tour", "sentence", "tab-heatmap", "heatmap, Sinusoidal(64)")
        if name in names
    ]
    assert len(order) >= 3
    assert order == sorted(order)
    tabs = [stop for stop in stops if stop["role"] == "tab"]
    assert len(tabs) == 1  # arrows go between them


@pytest.mark.parametrize(
    "state",
    [
        {},  # the sentence has the focus
        *slow({"text": "the dog", "view": "heatmap"}),
        {"text": "the dog", "view": "waves"},
        {"text": "the dog", "view": "rotation"},
    ],
    ids=repr,
)
def test_the_first_tab_is_a_way_to_the_picture(visit: Visit, state: dict) -> None:
    visit.open(e="RoPE(64)", **state).rest()
    visit.page.keyboard.press("Tab")
    link = visit.page.locator(":focus")
    assert link.inner_text() == "Skip to the picture"
    seen = "all => all.map((e) => getComputedStyle(e).clipPath === 'none')"
    assert link.evaluate_all(seen) == [True]  # while it has the focus
    before = visit.state
    visit.page.keyboard.press("Enter")
    assert visit.page.locator("#large [role=application]:focus").count() == 1
    links = visit.page.get_by_role("link", name="Skip to the picture")
    assert links.evaluate_all(seen) == [False, False]
    visit.page.keyboard.press("ArrowRight")
    assert visit.state != before  # the keys are the picture's


def test_arrows_move_the_cursor_and_it_is_read_out(visit: Visit) -> None:
    visit.open()
    visit.picture.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowRight"):
        visit.page.keyboard.press(key)
    assert visit.state | {"v": ["1"]} == {"v": ["1"], "p": ["2"], "d": ["5"]}
    assert visit.page.locator(".tokens .here").inner_text() == "2 bit"
    live = visit.rest().page.locator("[aria-live=polite]")
    value = visit.api("cell", text="the dog bit the man", by="words", e="Sinusoidal(64)", p=2, d=5)
    said = live.inner_text()
    assert "bit" in said
    assert f"{value['value']:+.4f}".rstrip("0").replace("-", "−") in said
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("PageDown")
    assert visit.state["d"] == ["63"]
    for _ in range(9):  # no further than the last
        visit.page.keyboard.press("ArrowDown")
    assert visit.state["p"] == ["4"]


def test_arrows_go_between_tabs_and_along_lines(visit: Visit) -> None:
    visit.open()
    visit.page.locator("#tab-heatmap").focus()
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.evaluate("document.activeElement.id") == "tab-waves"
    visit.drawn()
    visit.page.locator("#large [role=application]").focus()
    visit.page.keyboard.press("ArrowRight")
    assert visit.state["p"] == ["3"]
    visit.page.locator("#tab-waves").focus()
    visit.page.keyboard.press("ArrowLeft")
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.evaluate("document.activeElement.id") == "tab-attention"
    assert visit.state["view"] == ["attention"]


def test_the_tour_is_walked_and_left_by_keys_and_each_step_is_a_link(
    visiting, address: str
) -> None:
    visit: Visit = visiting(address).open()
    visit.page.get_by_role("button", name="Tour").focus()
    visit.page.keyboard.press("Enter")
    visit.drawn()
    assert visit.state["step"] == ["1"]
    links = [visit.page.url]
    visit.page.get_by_role("button", name="Next").focus()
    for step in range(2, 12):
        visit.page.keyboard.press("Enter")
        visit.drawn()
        assert visit.state["step"] == [str(step)]
        assert f"{step} of 11" in visit.page.locator("aside").inner_text()
        links.append(visit.page.url)
    assert len(set(links)) == 11
    visit.page.locator("aside button").first.focus()
    visit.page.keyboard.press("Escape")
    visit.page.wait_for_selector("aside", state="detached")
    assert "step" not in visit.state
    opened: Visit = visiting(address)
    for step in (1, 6, 9):
        opened.page.goto(links[step - 1])
        opened.drawn()
        assert f"{step} of 11" in opened.page.locator("aside").inner_text()
        assert opened.state["step"] == [str(step)]
        assert opened.page.url == links[step - 1]


def test_the_export_menu_opens_by_enter_and_closes_by_escape(visit: Visit) -> None:
    visit.open()
    summary = visit.page.locator("header summary")
    summary.focus()
    visit.page.keyboard.press("Enter")
    assert visit.page.locator("header details").get_attribute("open") is not None
    visit.page.keyboard.press("Tab")
    assert "PNG" in visit.page.evaluate("document.activeElement.innerText")
    visit.page.keyboard.press("Escape")
    assert visit.page.locator("header details").get_attribute("open") is None
    assert visit.page.evaluate("document.activeElement.tagName") == "SUMMARY"


@pytest.mark.parametrize(
    ("measuring", "property_"),
    [(False, "holds"), *slow((True, "relative"))],
    ids=["a report", "measured"],
)
def test_space_chooses_an_encoding_and_enter_opens_a_property(
    visiting, address: str, measuring: bool, property_: str
) -> None:
    visit: Visit = visiting(address, measuring=measuring).open(text="the dog")
    visit.page.get_by_role("button", name="RoPE", exact=True).focus()
    visit.page.keyboard.press("Space")
    visit.drawn()
    assert visit.state["e"] == ["RoPE(64)"]
    badge = visit.page.locator(".badge", has_text=property_).first
    badge.wait_for(timeout=60_000)
    badge.focus()
    visit.page.keyboard.press("Enter")
    assert badge.get_attribute("aria-expanded") == "true"
    assert "measured" in visit.page.locator(".numbers").inner_text()
