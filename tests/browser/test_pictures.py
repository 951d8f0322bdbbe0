"""Pictures of several encodings, what is read out of them, and what is said where none comes."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Route

from tests.browser.visit import Visit
from tests.slow import slow

TWO_BIASES = ["TwoSidedALiBi(8)", "T5Bias(8)"]
MINUS = "\N{MINUS SIGN}"


def spot(picture: Locator, row: int, column: int, shape: tuple[int, int]) -> Any:
    """Where a cell of a picture is, from its left and top."""
    box = picture.bounding_box()
    assert box is not None
    return {
        "x": (column + 0.5) * box["width"] / shape[1],
        "y": (row + 0.5) * box["height"] / shape[0],
    }


def read_out(visit: Visit, words: str) -> str:
    """What the live region says once the cursor rests, with these words in it."""
    said = visit.rest().page.locator("[aria-live=polite]").inner_text()
    assert words in said
    return said


def image_of(visit: Visit, kind: str, of: int, **query: Any) -> dict[str, Any]:
    panels = visit.api(f"view/{kind}", **query)["panels"]
    return next(each for each in panels if each["panel"] == "image" and each["of"] == of)


def test_a_matrix_of_the_second_bias_shows_the_second_cell(visit: Visit) -> None:
    visit.open(e=TWO_BIASES, n=8)
    picture = visit.page.locator("#large .picture").nth(1)
    picture.hover(position=spot(picture, 6, 1, (8, 8)))
    visit.page.wait_for_selector("h3:has-text('head 1, query 6, key 1')")
    cell = visit.page.locator("[aria-labelledby=cell-title][aria-busy=false]")
    cell.get_by_text("T5Bias(8)").first.wait_for()
    visit.rest()
    image = image_of(visit, "bias", 1, e=TWO_BIASES, n=8)
    value = float(cell.locator(".value").inner_text().replace(MINUS, "-"))
    assert value == pytest.approx(image["values"][6][1], abs=1e-6)
    picture.click(position=spot(picture, 6, 1, (8, 8)))
    assert visit.state["a"] == ["1"]


def test_a_map_of_the_second_encoding_shows_the_second_cell(visit: Visit) -> None:
    two = ["AxialSinusoidal(16)", "AxialSinusoidal(16, base=2.0)"]
    visit.open(e=two)
    images = visit.api("view/maps", e=two)["panels"]
    place = next(i for i, image in enumerate(images) if image["of"] == 1)
    picture = visit.page.locator("#large .picture").nth(place)
    picture.click(position=spot(picture, 12, 3, (16, 16)))
    assert visit.state["a"] == ["1"]
    cell = visit.page.locator("[aria-labelledby=cell-title][aria-busy=false]")
    visit.rest()
    value = float(cell.locator(".value").inner_text().replace(MINUS, "-"))
    assert value == pytest.approx(images[place]["values"][12][3], abs=1e-6)


def test_attention_of_two_mechanisms_has_one_cursor(visit: Visit) -> None:
    visit.open(e=["Sinusoidal(64)", "ALiBi(8)"], view="attention")
    picture = visit.page.locator("#large .picture").last
    picture.hover(position=spot(picture, 3, 1, (5, 5)))
    visit.page.wait_for_selector("h3:has-text('query 3')")
    assert "key 1" in visit.cell
    names = visit.page.locator("#large .labels .here").all_inner_texts()
    assert names == ["the", "dog"] * (len(names) // 2)


def test_the_picture_with_the_cursor_is_read_out(visit: Visit) -> None:
    two = ["Sinusoidal(8)", "Sinusoidal(8, base=2.0)"]
    visit.open(e=two, n=8, text="", view="heatmap", p=3, d=4)
    read_out(visit, "position 3, dimension 4")
    visit.page.locator("#large .picture").nth(1).focus()
    visit.page.keyboard.press("ArrowRight")
    values = [image_of(visit, "heatmap", of, e=two, n=8)["values"][3][5] for of in (0, 1)]
    assert abs(values[0] - values[1]) > 0.1
    said = read_out(visit, "dimension 5")
    assert float(said.rsplit(": ")[1].replace(MINUS, "-")) == pytest.approx(values[1], abs=1e-4)


def test_of_several_pictures_of_one_encoding_the_touched_one_is_read_out(visit: Visit) -> None:
    visit.open(view="sum", p=2, d=4)
    images = visit.api("view/sum", text="the dog bit the man", by="words")["panels"]
    for place in (2, 0):
        visit.page.locator("#large .picture").nth(place).focus()
        visit.page.keyboard.press("ArrowRight" if place else "ArrowLeft")
        column = 5 if place else 4
        said = read_out(visit, f"dimension {column}:")
        value = float(said.rsplit(": ")[1].replace(MINUS, "-"))
        assert value == pytest.approx(images[place]["values"][2][column], abs=1e-4)


def test_the_head_at_the_cursor_is_read_out(visit: Visit) -> None:
    visit.open(e="T5Bias(8)", n=8, text="", p=6, d=1)
    panels = visit.api("view/bias", e="T5Bias(8)", n=8)["panels"]
    images = [panel for panel in panels if panel["panel"] == "image"]
    said = read_out(visit, "query 6, key 1:")
    assert float(said.rsplit(": ")[1].replace(MINUS, "-")) == pytest.approx(
        images[0]["values"][6][1], abs=1e-4
    )
    picture = visit.page.locator("#large .picture").nth(1)
    picture.click(position=spot(picture, 6, 2, (8, 8)))
    visit.page.mouse.move(5, 5)
    said = read_out(visit, "query 6, key 2:")
    assert float(said.rsplit(": ")[1].replace(MINUS, "-")) == pytest.approx(
        images[1]["values"][6][2], abs=1e-4
    )


def test_a_key_around_its_query_is_read_out_in_words(visit: Visit) -> None:
    visit.open(e="SwinBias(2, (7, 7))", p=2, k=0)
    assert read_out(visit, "head 1, 4 rows above and 6 columns left of the query:")


def broken(route: Route) -> None:
    said = {"error": {"message": "these bytes are lost", "argument": None}}
    route.fulfill(status=400, json=said)


def test_a_picture_that_does_not_come_says_so_and_the_last_keeps_its_axes(
    visiting: Callable[..., Visit], address: str
) -> None:
    visit = visiting(address, refusals=True).open(n=100, text="", e="Sinusoidal(64)")
    before, names = visit.pixels(), visit.page.locator("#large .labels").all_inner_texts()
    visit.page.route("**/view/heatmap.npy?*", broken)
    count = visit.page.locator("[aria-labelledby=encoding-title] input[aria-label=dim]").last
    count.fill("128")
    count.press("Enter")
    alert = visit.page.locator("#large [role=alert]")
    alert.wait_for()
    assert alert.inner_text() == "these bytes are lost"
    np.testing.assert_array_equal(visit.pixels(), before)
    assert visit.page.locator("#large .labels").all_inner_texts() == names
    visit.page.unroute("**/view/heatmap.npy?*")
    count.fill("96")
    count.press("Enter")
    alert.wait_for(state="detached")
    assert visit.drawn().pixels().shape == (100, 96, 4)


def test_a_first_picture_that_does_not_come_says_so(
    visiting: Callable[..., Visit], address: str
) -> None:
    visit = visiting(address, refusals=True)
    visit.page.route("**/view/heatmap.npy?*", broken)
    visit.page.goto(f"{address}?v=1&n=100&e=Sinusoidal(64)")
    visit.page.locator("#large [role=alert]", has_text="these bytes are lost").wait_for()


def held(visit: Visit, pattern: str) -> list[Route]:
    """Requests that wait until the test lets them go."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    visit.page.route(pattern, hold)
    return waiting


def test_a_view_that_was_cancelled_says_so_and_is_drawn_when_asked(visit: Visit) -> None:
    visit.open()
    waiting = held(visit, "**/view/attention?*")
    visit.page.locator("#tab-attention").click()
    large = visit.page.locator("#large")
    large.get_by_role("button", name="Cancel").click()
    large.get_by_text("Cancelled.").wait_for()
    assert large.locator("figure").count() == 0
    visit.page.unroute("**/view/attention?*")
    large.get_by_role("button", name="Draw it").click()
    visit.drawn()
    assert large.get_by_text("Cancelled.").count() == 0
    assert large.locator(".picture").count() == 4
    assert waiting


@pytest.mark.parametrize(
    "e",
    [
        # alone: test_languages.py counts as it goes through all views
        *slow(
            ["Sinusoidal(64)"],
            ["AxialSinusoidal(16)"],
            ["RoPE(64)"],
            ["T5Bias(8)"],
            ["SwinBias(4, (7, 7))"],
            ["Learned(64, 64)"],
        ),
        ["Sinusoidal(64)", "Learned(64, 64)"],
        TWO_BIASES,
        ["RoPE(64)", "RoPE(64, base=2.0)", "RoPE(64, base=4.0)"],
    ],
    ids=lambda e: "+".join(re.findall(r"\w+(?=\()", " ".join(e))),
)
def test_a_view_is_asked_for_once(visit: Visit, e: list[str]) -> None:
    visit.open(e=e)
    for tab in visit.page.locator("[role=tab]").all():
        kind = str(tab.get_attribute("id")).removeprefix("tab-")
        visit.show(kind)
        large = [url for url in visit.requests if f"/view/{kind}?" in url and "rows=512" in url]
        assert len(large) == 1, kind


def test_hands_of_an_encoding_that_is_gone_do_not_appear(visit: Visit) -> None:
    visit.open(e="RoPE(64)", view="rotation")
    waiting = held(visit, "**/view/heatmap.npy?*")
    visit.unwaited.append("/view/heatmap.npy?")
    with visit.page.expect_request("**/view/heatmap.npy?*"):
        visit.page.get_by_role("button", name="Play").click()
    base = visit.page.locator("[aria-labelledby=encoding-title] input[aria-label=base]").last
    base.fill("2")
    base.press("Enter")
    visit.page.wait_for_selector(".chosen .name:has-text('base=2')")
    visit.drawn()
    visit.page.get_by_role("button", name="Play").wait_for()
    for route in waiting:
        route.continue_()
    visit.unwaited.pop()
    visit.rest()
    assert len(waiting) == 1
    assert visit.page.locator("#large .now").count() == 0
    assert visit.page.get_by_role("button", name="Play").count() == 1


def test_many_positions_are_played_too(visit: Visit) -> None:
    visit.open(e=["RoPE(64)", "RoPE(64, base=2.0)"], n=1000, text="", view="rotation")
    visit.page.get_by_role("button", name="Play").nth(1).click()
    visit.page.wait_for_selector("#large figure:nth-of-type(2) .now")
    asked = [url for url in visit.requests if "/view/heatmap.npy?" in url and "top=0" in url]
    assert ["panel=1" in url for url in asked] == [True]
    visit.page.get_by_role("button", name="Stop").click()


def test_play_that_cannot_says_why(visiting: Callable[..., Visit], address: str) -> None:
    visit = visiting(address, refusals=True).open(e="RoPE(64)", view="rotation")
    visit.page.route("**/view/heatmap.npy?*", broken)
    visit.page.get_by_role("button", name="Play").click()
    visit.page.locator("#large [role=alert]", has_text="these bytes are lost").wait_for()
    assert visit.page.get_by_role("button", name="Play").count() == 1
