"""The tour at every width: its picture is in sight, and its words are true."""

from typing import Any

import pytest

from tests.browser.visit import Visit
from tests.slow import slow

SEEN = """
() => {
  const words = document.querySelector("aside").getBoundingClientRect();
  const picture = document.querySelector("#large [role=application]").getBoundingClientRect();
  const shown = Math.min(picture.bottom, innerHeight) - Math.max(picture.top, words.bottom);
  return shown / Math.min(picture.height, innerHeight - words.bottom);
}
"""
"""How much of the first picture is seen below the tour's words, of what could be."""


def touring(visiting: Any, address: str, width: int, height: int = 844) -> Visit:
    """A visit whose page scrolls at once: when a smooth scroll ends, no test can tell."""
    return visiting(address, viewport={"width": width, "height": height}, reduced_motion="reduce")


def seen(visit: Visit) -> float:
    """The same, once the page is at rest."""
    return visit.rest().page.evaluate(SEEN)


@pytest.mark.parametrize(("width", "steps"), [(390, 11), (1024, 3), *slow((1024, 11))])
def test_each_step_shows_its_picture(visiting: Any, address: str, width: int, steps: int) -> None:
    visit = touring(visiting, address, width).open()
    visit.page.get_by_role("button", name="Tour").click()
    shown = {1: seen(visit.drawn())}
    for step in range(2, steps + 1):
        visit.page.get_by_role("button", name="Next").click()
        shown[step] = seen(visit.drawn())
    assert {step: part for step, part in shown.items() if part < 0.5} == {}


def test_a_link_to_a_step_shows_its_picture_on_a_phone(visiting: Any, address: str) -> None:
    visit = touring(visiting, address, 390).open(step=2)
    assert seen(visit) >= 0.5


def test_on_a_wide_screen_a_step_does_not_scroll(visiting: Any, address: str) -> None:
    visit = touring(visiting, address, 1440, 900).open(step=2)
    visit.page.get_by_role("button", name="Next").click()
    assert seen(visit.drawn()) > 0.5
    assert visit.page.evaluate("scrollY") == 0


@pytest.mark.parametrize("lang", ["en", "ja", "zh-Hans", "zh-Hant"])
def test_the_calculation_is_where_the_tour_says(visit: Visit, lang: str) -> None:
    """By the title of the panel, for what is at the side of a wide page is below on others."""
    words = visit.open(step=2, lang=lang).page.locator("aside .words").inner_text()
    title = visit.page.locator("#cell-title").inner_text()
    assert title in words


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_names_of_marks_do_not_lie_on_each_other(visiting: Any, address: str, width: int) -> None:
    visit: Visit = visiting(address, viewport={"width": width, "height": 900}).open(step=10)
    # in one look: the page may be scrolling to its picture
    boxes = visit.page.locator("#large .mark").evaluate_all(
        "(marks) => marks.map((mark) => mark.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == 2
    first, second = boxes
    beside = (
        first["x"] + first["width"] <= second["x"] or second["x"] + second["width"] <= first["x"]
    )
    above = (
        first["y"] + first["height"] <= second["y"] or second["y"] + second["height"] <= first["y"]
    )
    assert beside or above
