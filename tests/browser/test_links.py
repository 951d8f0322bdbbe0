"""Every state is a link: what was clicked and typed comes back, what is wrong is replaced."""

import numpy as np
import pytest

from tests.browser.visit import Visit
from tests.slow import slow


def test_a_state_made_by_hand_comes_back_from_its_address(visiting, address: str) -> None:
    first: Visit = visiting(address).open()
    first.page.locator("#sentence").fill("学习 AI は 楽しい & fun=1 #2 %")
    first.page.locator("[aria-labelledby=sentence-title] select").select_option("characters")
    first.choose("RoPE")
    first.show("similarity")
    first.page.locator("input[type=number][aria-label=base]").fill("500")
    first.page.keyboard.press("Enter")
    first.page.wait_for_selector(".chosen .name:has-text('500')")
    first.page.get_by_role("button", name="+ compare").click()
    first.choose("XPos")
    first.page.locator("header select").first.select_option("dark")
    first.drawn()
    first.picture.click(position={"x": 30, "y": 30})
    first.drawn()
    link = first.page.url if first.state else ""
    assert first.state["e"] == ["RoPE(64,base=500.0)", "XPos(64)"]
    assert first.state["by"] == ["characters"]

    second: Visit = visiting(address)
    second.page.goto(link)
    second.drawn()
    assert second.state == first.state
    assert second.page.locator("#sentence").input_value() == "学习 AI は 楽しい & fun=1 #2 %"
    assert second.cell == first.cell
    for place in (0, 1):
        np.testing.assert_array_equal(first.pixels(place), second.pixels(place))
    assert "dark" in (second.page.locator(".posenc").get_attribute("class") or "")


def test_the_link_that_is_copied_keeps_the_sentence(visiting, address: str) -> None:
    visit = visiting(address, permissions=["clipboard-read", "clipboard-write"]).open()
    visit.page.get_by_role("button", name="Copy link").click()
    visit.page.wait_for_function("() => document.querySelector('.copied').textContent")
    link = visit.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(address)
    assert "text=the+dog+bit+the+man" in link  # a reader in another language sees the same


WRONG = {
    "v": "99",
    "by": "nonsense",
    "n": "-4",
    "view": "<script>",
    "p": "1e9",
    "d": "99999999",
    "lang": "tlh",
    "theme": "pink",
    "hide": "everything",
    "step": "77",
    "seed": "x",
    "text": "x" * 2_500,
}


# tests/browser/test_units.py has each of them without a page.
@pytest.mark.parametrize(
    "keys",
    [
        ["p"],
        ["text"],
        list(WRONG),
        *slow(*([key] for key in WRONG if key not in ("p", "text"))),
    ],
    ids="+".join,
)
def test_a_wrong_value_is_replaced_with_a_note(visit: Visit, keys: list[str]) -> None:
    visit.open(**{key: WRONG[key] for key in keys})
    note = visit.page.locator("p.note[role=status] span").inner_text()
    assert sorted(note.partition(": ")[2].rstrip(".").split(", ")) == sorted(keys)
    assert visit.page.locator("#large figure").count() >= 1


def test_unknown_keys_are_ignored_and_everything_wrong_at_once_is_no_error(visit: Visit) -> None:
    visit.open(utm_source="x", __proto__="y", constructor="z")
    assert visit.page.locator("p.note").count() == 0
    visit.open(**(WRONG | {"e": [" ", ""]}))
    assert visit.pixels().size


@pytest.mark.parametrize(
    "e", ["Nonsense(64)", "Sinusoidal(-2)", "constructor", *slow("Sinusoidal(", "__import__('os')")]
)
def test_an_encoding_that_cannot_be_is_a_sentence_beside_its_control(
    visiting, address: str, e: str
) -> None:
    visit: Visit = visiting(address, refusals=True)
    visit.page.goto(f"{address}?v=1&e={e}")
    said = visit.page.locator("[aria-labelledby=encoding-title] [role=alert]")
    said.wait_for()
    assert len(said.inner_text()) > 10
    visit.choose("RoPE")
    said.wait_for(state="detached")


PARTS = {
    "sentence": "#sentence",
    "encoding": "#encoding-title",
    "views": ".views",
    "cell": "#cell-title",
    "properties": "#properties-title",
    "tour": "header button:has-text('Tour')",
    "export": "header summary",
}


@pytest.mark.parametrize(
    "hidden", [("sentence", "tour", "export"), ("encoding", "properties"), ("views", "cell")]
)
def test_a_teacher_hides_parts(visit: Visit, hidden: tuple[str, ...]) -> None:
    visit.page.goto(f"{visit.address}?v=1&hide={','.join(hidden)}")
    visit.page.wait_for_selector("main")
    visit.rest()
    for part, selector in PARTS.items():
        assert visit.page.locator(selector).count() == (0 if part in hidden else 1), part
    assert visit.state["hide"] == [",".join(hidden)]


def test_one_can_leave_the_tour_and_return_at_its_step(visit: Visit) -> None:
    visit.open(step=4)
    link = visit.page.url
    visit.page.get_by_role("button", name="Leave the tour").click()
    assert visit.page.locator("aside").count() == 0
    assert visit.state["view"] == ["wavelengths"]  # what was seen stays
    visit.page.goto(link)
    visit.drawn()
    assert "4 of 11" in visit.page.locator("aside").inner_text()
