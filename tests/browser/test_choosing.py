"""What was chosen last counts: no late answer, no old refusal, no old verdict changes it."""

from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Error, Route

from posenc.i18n import LANGUAGES, translator
from tests.browser.visit import REPORT, Visit
from tests.slow import seldom


def field(visit: Visit, name: str) -> Any:
    return visit.page.locator(f"input[type=number][aria-label={name}]")


def typed(visit: Visit, name: str, value: str) -> None:
    field(visit, name).fill(value)
    visit.page.keyboard.press("Enter")


def holding(visit: Visit, address: str) -> list[Route]:
    """The requests to an address, none of which is answered before they are let go."""
    held: list[Route] = []
    visit.page.route(address, lambda route: held.append(route))  # noqa: PLW0108
    return held


def let_go(held: list[Route]) -> None:
    for route in held:
        with suppress(Error):  # the page has given it up
            route.continue_()


def test_a_late_answer_to_a_slider_does_not_undo_a_choice(visit: Visit) -> None:
    visit.open()
    asked = "**/api/v1/spell?*set.dim=32*"
    held = holding(visit, asked)
    with visit.page.expect_request(asked):
        typed(visit, "dim", "32")
    visit.choose("RoPE")
    assert len(held) == 1
    let_go(held)
    assert visit.state["e"] == ["RoPE(64)"]


def test_two_controls_moved_within_a_moment_both_count(visit: Visit) -> None:
    visit.open()
    held = holding(visit, "**/api/v1/spell?*")
    typed(visit, "dim", "32")
    with visit.page.expect_request("**/api/v1/spell?*base=500*"):
        typed(visit, "base", "500")
    let_go(held)
    assert visit.state["e"] == ["Sinusoidal(32,base=500.0)"]


def test_a_refusal_stays_with_the_encoding_it_is_about(visiting, address: str) -> None:
    visit: Visit = visiting(address, refusals=True).open(e=["RoPE(64)", "Learned(512, 64)"])
    typed(visit, "dim", "63")
    wrong = visit.page.locator("[aria-labelledby=encoding-title] [role=alert]")
    wrong.wait_for()
    visit.page.locator(".chosen .name").nth(1).click()
    wrong.wait_for(state="detached")
    visit.page.locator("header select").last.select_option("ja")
    assert visit.state["e"] == ["RoPE(64)", "Learned(512,64)"]


def test_controls_of_another_encoding_do_not_keep_what_was_refused(visiting, address: str) -> None:
    visit: Visit = visiting(address, refusals=True).open()
    typed(visit, "dim", "5000")
    visit.page.locator("[aria-labelledby=encoding-title] [role=alert]").wait_for()
    assert field(visit, "dim").input_value() == "5000"  # beside the sentence about it
    visit.choose("RoPE")
    assert field(visit, "dim").input_value() == "64"


def test_a_head_that_there_is_not_is_the_last_one(visit: Visit) -> None:
    visit.open(e="ALiBi(8)", h=8)
    assert visit.cell.startswith("head 8,")
    typed(visit, "heads", "4")
    visit.page.wait_for_selector("h3:has-text('head 4,')")
    assert visit.drawn().state["h"] == ["4"]


def titles(visit: Visit) -> list[str]:
    return visit.page.locator("#large figcaption").all_inner_texts()


def heads(visit: Visit) -> Any:
    return visit.page.locator(".looks label:has-text('Head') select")


def test_the_head_of_a_link_is_shown_and_another_is_chosen(visit: Visit) -> None:
    visit.open(e="ALiBi(8)", view="bias", h=7)
    assert "head 7" in titles(visit)
    assert visit.cell.startswith("head 7,")
    heads(visit).select_option(label="5")
    visit.page.locator("#large figcaption", has_text="head 5").wait_for()
    assert visit.drawn().state["h"] == ["5"]
    visit.show("attention")
    assert "ALiBi(8), head 5" in titles(visit)


def test_a_head_of_a_link_that_there_is_not_is_refused(visiting, address: str) -> None:
    visit: Visit = visiting(address, refusals=True)
    visit.page.goto(f"{address}?v=1&e=ALiBi(8)&view=bias&h=9")
    alert = visit.page.locator(".looks [role=alert]")
    alert.wait_for()
    assert alert.inner_text() == "h must be 1 .. 8, the heads of ALiBi; got 9"
    heads(visit).select_option(label="8")
    visit.page.locator("#large figcaption", has_text="head 8").wait_for()
    assert alert.count() == 0


def test_attention_is_masked_by_a_switch_that_the_link_keeps(visit: Visit) -> None:
    visit.open(e="RoPE(64)", view="attention", causal="yes", p=0, d=3)
    note = visit.page.get_by_text("causal mask, with and without positions")
    note.wait_for()
    visit.page.get_by_label("Causal mask").select_option("no")
    note.wait_for(state="detached")
    assert visit.drawn().state["causal"] == ["no"]


def test_a_mask_that_is_needed_cannot_be_switched_off(visiting, address: str) -> None:
    """The switch offered "off" for what looks back only, and then refused it."""
    visit: Visit = visiting(address, refusals=True).open(e="FIRE(8)", view="attention")
    options = visit.page.get_by_label("Causal mask").locator("option")
    assert options.all_inner_texts() == ["the encoding's default", "on"]
    visit.open(e="ALiBi(8)", view="attention")
    assert options.all_inner_texts() == ["the encoding's default", "on", "off"]
    visit.page.goto(f"{address}?v=1&e=FIRE(8)&view=attention&causal=no")
    visit.page.locator(".looks [role=alert]", has_text="causal must not be False").wait_for()
    assert visit.page.get_by_label("Causal mask").input_value() == "no"  # as the link has it


def test_the_number_under_the_pointer_is_the_one_in_bold(visit: Visit) -> None:
    visit.open(e="RoPE(64)", view="heatmap", p=3, d=1)
    visit.page.locator("dd.value", has_text="2.2496").wait_for()
    assert "+2.2497" in visit.page.locator("#large .reading").inner_text()


def test_pictures_with_scales_of_their_own_have_them_beside(visit: Visit) -> None:
    visit.open(e=["Learned(64,64)", "Sinusoidal(64)"], view="heatmap", n=8)
    scales = visit.page.locator("#large figure > p:has(canvas)")
    assert scales.count() == 2
    assert scales.nth(1).inner_text().split() == ["value", "−1", "+1"]
    visit.open(e=["Sinusoidal(32)", "Sinusoidal(64)"], view="heatmap", n=8)
    assert scales.count() == 0


def test_both_ends_of_a_colour_scale_stand_beside_it(visit: Visit) -> None:
    """Its canvas had no width of its own, and the larger end was on another line."""
    visit.open(e="Sinusoidal(64)", view="heatmap")
    scale = visit.page.locator("#large footer p:has(canvas)")
    first, last = (scale.get_by_text(end, exact=True).bounding_box() for end in ("−1", "+1"))
    assert first
    assert last
    assert first["y"] == last["y"]
    assert last["x"] - first["x"] > 100  # the colours between them


def test_verdicts_are_never_those_of_another_encoding(visiting, address: str) -> None:
    visit: Visit = visiting(address, measuring=True)

    def answer(route: Route) -> None:
        one = "RoPE" if "RoPE" in route.request.url else "Sinusoidal"
        row = REPORT["rows"][0] | {"title": f"of {one}"}  # pyright: ignore
        route.fulfill(json=REPORT | {"rows": [row]})

    visit.page.route("**/api/v1/check?*", answer)
    visit.open()
    badges = visit.page.locator("[aria-labelledby=properties-title] .badge")
    badges.get_by_text("of Sinusoidal").wait_for()
    held = holding(visit, "**/api/v1/check?*")  # else it may be there before it is cancelled
    visit.choose("RoPE")
    visit.page.get_by_role("button", name="Cancel").click()
    assert badges.count() == 0
    visit.page.unroute("**/api/v1/check?*")
    visit.page.route("**/api/v1/check?*", answer)
    let_go(held)
    visit.page.get_by_role("button", name="Measure", exact=True).click()
    badges.get_by_text("of RoPE").wait_for()


@pytest.mark.parametrize("lang", seldom(LANGUAGES, but=("en", "ja")))
def test_a_costly_check_begins_when_it_is_asked_for(visiting, address: str, lang: str) -> None:
    visit: Visit = visiting(address, measuring=True)
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(json=REPORT)

    visit.page.route("**/api/v1/check?*", answer)
    visit.open(e="Sinusoidal(1024)", lang=lang)
    measure = visit.page.get_by_role("button", name=translator(lang)("Measure"), exact=True)
    measure.wait_for()  # which is not there while a check is about to begin
    assert not asked
    measure.click()
    visit.page.locator("[aria-labelledby=properties-title] .badge").first.wait_for()
    assert len(asked) == 1


def test_the_tour_brings_its_state_and_a_link_to_a_step_keeps_its_own(visit: Visit) -> None:
    visit.open()
    visit.choose("RoPE")
    visit.page.get_by_role("button", name="Tour").click()
    visit.page.wait_for_selector("#large[aria-labelledby=tab-attention]")
    assert "e" not in visit.state  # Sinusoidal(64), as the first step has it
    visit.open(view="heatmap", p=1, d=25, step=2)
    assert [visit.state[part] for part in ("p", "d", "step")] == [["1"], ["25"], ["2"]]
    visit.open(e=["RoPE(64)", "XPos(64)"], view="similarity", a=1, step=11)
    assert visit.state["a"] == ["1"]


def test_the_tour_goes_on_where_it_was_left(visit: Visit) -> None:
    visit.open(step=4)
    visit.page.get_by_role("button", name="Leave the tour").click()
    visit.page.get_by_role("button", name="Tour").click()
    visit.drawn()
    assert visit.state["step"] == ["4"]


def test_the_last_step_keeps_the_focus_on_its_button(visit: Visit) -> None:
    visit.open(step=10)
    visit.page.get_by_role("button", name="Next").focus()
    for _ in range(2):
        visit.page.keyboard.press("Enter")
        visit.drawn()
    assert visit.state["step"] == ["11"]
    assert visit.page.evaluate("document.activeElement.textContent") == "Next"


def test_a_number_beyond_its_bounds_is_shown_as_it_counts(visit: Visit) -> None:
    visit.open(e="Sinusoidal(8)")
    positions = visit.page.locator("[aria-labelledby=sentence-title] input").first
    positions.fill("99999")
    positions.press("Tab")
    assert positions.input_value() == "8192"
    assert visit.state["n"] == ["8192"]


def test_the_html_file_is_asked_for_with_what_was_chosen_and_hidden(visit: Visit) -> None:
    two = ["Sinusoidal(8)", "Learned(16, 8)"]
    visit.open(e=two, view="similarity", a=1, k=2, hide="properties", theme="dark")
    link = visit.page.locator("header details a").last.get_attribute("href") or ""
    assert all(part in link for part in ("a=1", "k=2", "hide=properties", "theme=dark"))
