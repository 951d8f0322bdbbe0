"""axe-core finds nothing serious, in any view, light or dark."""

from pathlib import Path

import pytest

from tests.browser.places import TOUR_OF_VIEWS
from tests.browser.visit import Visit
from tests.slow import slow

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

RUN = """
async ([part, rules]) => {
  const only = rules.length ? { runOnly: rules } : {};
  const { violations } = await axe.run(part, { resultTypes: ["violations"], ...only });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes: [first] }) => `${id}: ${first.html.slice(0, 200)} ${first.failureSummary}`);
}
"""


def violations(visit: Visit, part: str = ".posenc", rules: tuple[str, ...] = ()) -> list[str]:
    """What axe finds in a part of the page, by some of its rules or by all, once it is at rest."""
    visit.rest()
    if not visit.page.evaluate("'axe' in window"):
        assert AXE.exists(), "axe-core is not there: `make page` installs it into web/node_modules"
        visit.page.evaluate(AXE.read_text())
    return visit.page.evaluate(RUN, [part, rules])


@pytest.mark.parametrize("dark", [1, *slow(7)])
def test_no_serious_violation_in_any_view(visit: Visit, dark: int) -> None:
    """The whole page with each encoding, then its other views.

    In the dark only colours differ: the first `dark` views of the encodings have those of all, of
    pictures and of lines.
    """
    visit.open(theme="light", text="the dog 犬 שלום")
    themes = visit.page.locator("header select").first
    found: dict[str, list[str]] = {}
    for encoding, kinds in TOUR_OF_VIEWS.items():
        visit.choose(encoding)
        for place, kind in enumerate(kinds):
            visit.show(kind)
            part = "#large" if place else ".posenc"
            found[f"{encoding} {kind}"] = violations(visit, part)
            if place >= dark:
                continue
            themes.select_option("dark")
            visit.page.locator(".posenc.dark").wait_for()
            found[f"{encoding} {kind}, dark"] = violations(visit, part, ("color-contrast",))
            themes.select_option("light")
            visit.page.locator(".posenc:not(.dark)").wait_for()
    wrong = [f"{place}: {each}" for place, all_of_it in found.items() for each in all_of_it]
    assert not wrong, "\n".join(wrong)


def test_no_serious_violation_where_things_are_open_or_wrong(visiting, address: str) -> None:
    visit: Visit = visiting(address, refusals=True)
    # few positions and dimensions: axe takes seconds for the thousands of cells of large tables
    few = {"e": "Sinusoidal(8)", "n": 20, "view": "heatmap", "p": 2, "d": 2}
    visit.open(theme="dark", step=2, seed="x", lang="ja", **few)
    page = visit.page
    page.wait_for_selector("[aria-labelledby=properties-title] .badge")
    page.locator(".badge").first.click()
    page.locator("[aria-labelledby=cell-title] summary").click()
    for button in page.locator("#large .reading button").all():
        button.click()
    page.locator("input[type=number][aria-label=dim]").fill("-3")
    page.keyboard.press("Enter")
    page.wait_for_selector(".fields [role=alert]")
    page.locator("header summary").click()  # last: a click elsewhere closes the menu
    assert not violations(visit, "html")
    assert page.locator("header details[open]").count() == 1
    visit.open(theme="dark", lang="ja", **few | {"n": 600})
    buttons = page.locator("#large .reading button").all()
    assert len(buttons) == 2  # 1:1 too
    for button in buttons:
        button.click()
    assert not violations(visit, "#large")


def test_no_serious_violation_on_a_phone(visiting, address: str) -> None:
    visit: Visit = visiting(address, viewport={"width": 390, "height": 844}).open()
    assert not violations(visit, "html")
