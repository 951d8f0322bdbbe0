"""Dials: chosen by pointer and keys, and the cell is about a hand that is drawn."""

import re
from typing import Any

import pytest

from tests.browser.visit import Visit

CELL = "[aria-labelledby=cell-title]"


def drawn_pairs(visit: Visit) -> list[int]:
    names = visit.page.locator("#large .dials li > span").all_inner_texts()
    return [int(re.findall(r"\d+", name)[0]) for name in names]


def chosen(visit: Visit) -> list[str]:
    """The pair of the dial that is marked."""
    names = visit.page.locator("#large .dials .chosen > span").all_inner_texts()
    return [re.findall(r"\d+", name)[0] for name in names]


def tip(visit: Visit, dial: int, hand: int) -> Any:
    """Where a hand ends, from the left and the top of the dial's item."""
    item = visit.page.locator("#large .dials li").nth(dial)
    box, ends = item.bounding_box(), item.locator("svg circle").nth(1 + hand).bounding_box()
    assert box
    assert ends
    return {
        "x": ends["x"] + ends["width"] / 2 - box["x"],
        "y": ends["y"] + ends["height"] / 2 - box["y"],
    }


def test_a_dial_is_hovered_and_pinned(visit: Visit) -> None:
    visit.open(e="RoPE(64)", view="rotation")
    fourth = drawn_pairs(visit)[3]
    dial = visit.page.locator("#large .dials li").nth(3)
    centre = {"x": dial.bounding_box()["width"] / 2, "y": 60}  # pyright: ignore
    dial.hover(position=centre)  # pyright: ignore[reportArgumentType]
    assert visit.cell == f"position 2 “\u2068bit\u2069”, pair {fourth}"
    assert "d" not in visit.state  # looked at, not pinned
    dial.click(position=centre)  # pyright: ignore[reportArgumentType]
    visit.page.mouse.move(5, 5)
    assert visit.state["d"] == [str(fourth)]
    assert chosen(visit) == [str(fourth)]
    asked = {"e": "RoPE(64)", "p": 2, "d": 2 * fourth, "view": "heatmap"}  # the angle
    value = visit.page.locator(f"{CELL} .value").inner_text().replace("\N{MINUS SIGN}", "-")
    assert float(value) == pytest.approx(visit.api("cell", **asked)["value"], abs=1e-7)


def test_the_end_of_a_hand_is_its_position(visit: Visit) -> None:
    visit.open(e="RoPE(64)", view="rotation")
    dial = visit.page.locator("#large .dials li").first  # its hands are a radian apart
    dial.click(position=tip(visit, 0, 4))
    visit.page.mouse.move(5, 5)
    assert (visit.state["p"], visit.state["d"]) == (["4"], ["0"])
    assert visit.cell.endswith("pair 0")
    assert "man" in visit.cell


def test_keys_go_between_dials_and_hands(visit: Visit) -> None:
    visit.open(e="RoPE(64)", view="rotation", p=2, d=0)
    pairs = drawn_pairs(visit)
    visit.page.locator("#large .dials").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight", "ArrowDown"):
        visit.page.keyboard.press(key)
    assert (visit.state["p"], visit.state["d"]) == (["3"], [str(pairs[2])])
    assert visit.rest().page.locator("[aria-live=polite]").inner_text() == visit.cell
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("ArrowRight")  # no further than the last
    assert visit.state["d"] == [str(pairs[-1])]


@pytest.mark.parametrize(
    "state", [{}, {"d": 7}, {"d": 30, "p": 1}, {"n": 700, "text": ""}], ids=repr
)
def test_the_cell_is_about_a_pair_that_is_drawn(visit: Visit, state: dict) -> None:
    visit.open(e="RoPE(64)", view="rotation", **state)
    pairs = drawn_pairs(visit)
    (marked,) = chosen(visit)
    assert visit.cell.endswith(f"pair {marked}")
    near = state.get("d", 2)
    assert abs(int(marked) - near) == min(abs(pair - near) for pair in pairs)
    hands = visit.page.locator("#large .legend .chosen").all_inner_texts()
    assert len(hands) == 1  # its position is drawn too


def test_of_two_encodings_the_dials_of_the_second_are_chosen(visit: Visit) -> None:
    visit.open(e=["RoPE(64)", "RoPE(64, base=2.0)"], view="rotation")
    dial = visit.page.locator("#large figure").nth(1).locator(".dials li").nth(2)
    name = re.findall(r"\d+", dial.inner_text())[0]
    dial.click()
    visit.page.mouse.move(5, 5)
    assert visit.state["a"] == ["1"]
    assert chosen(visit) == [name]
    assert visit.page.locator(".chosen .name[aria-pressed=true]").inner_text().endswith("base=2.0)")
