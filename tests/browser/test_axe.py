"""axe-core finds nothing serious, in any view, light or dark; and nothing is cut there."""

from pathlib import Path
from typing import Literal

import pytest

from tests.browser.places import CUT, TOUR_OF_VIEWS
from tests.browser.visit import Visit
from tests.slow import slow

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

RUN = """
async ([part, contrast]) => {
  const of_it = { only: { runOnly: ["color-contrast"] }, all: {} };
  const without = { rules: { "color-contrast": { enabled: false } } };
  const only = of_it[contrast] ?? without;
  const { violations } = await axe.run(part, { resultTypes: ["violations"], ...only });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes: [first] }) => `${id}: ${first.html.slice(0, 200)} ${first.failureSummary}`);
}
"""


LIKE_OTHERS = ("wavelengths", "similarity", "products", "sum", "decay", "scalings")
"""Views whose words have colours of others: of lines as in waves, of pictures as in attention.

Contrast takes three quarters of the time.
"""
OF_AN_ENCODING = ["[aria-labelledby=encoding-title]", "[aria-labelledby=cell-title]"]


def violations(
    visit: Visit, part: str | list[str], contrast: Literal["all", "only", "not"] = "all"
) -> list[str]:
    """What axe finds in parts of the page, by all rules, the one of contrast or all but that.

    Of the large view alone once it is drawn; else once the page is at rest, with its small views.
    """
    visit.drawn() if part == ["#large"] else visit.rest()
    if not visit.page.evaluate("'axe' in window"):
        assert AXE.exists(), "axe-core is not there: `make page` installs it into web/node_modules"
        visit.page.evaluate(AXE.read_text())
    return visit.page.evaluate(RUN, [part, contrast])


@pytest.mark.parametrize("all_of_it", [False, *slow(True)])
def test_no_serious_violation_in_any_view(visit: Visit, all_of_it: bool) -> None:
    """The whole page once, or with each encoding; else what another encoding and view change.

    In the dark only colours differ: those of the page, of lines and of hands are all there are.
    """
    visit.open(theme="light", text="the dog 犬 שלום")
    themes = visit.page.locator("header select").first
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for encoding, kinds in TOUR_OF_VIEWS.items():
        visit.choose(encoding)
        for place, kind in enumerate(kinds):
            visit.show(kind)
            large = [] if kind in seen and not all_of_it else ["#large"]
            part = large if place else [*large, *OF_AN_ENCODING]
            if not seen or (all_of_it and not place):
                part = [".posenc"]
            seen.add(kind)
            contrast = "all" if all_of_it or kind not in LIKE_OTHERS else "not"
            found[f"{encoding} {kind}"] = violations(visit, part, contrast)
            found[f"{encoding} {kind}, cut"] = visit.page.evaluate(CUT)
            if not (all_of_it or (large and kind in ("heatmap", "waves", "rotation"))):
                continue
            themes.select_option("dark")
            visit.page.locator(".posenc.dark").wait_for()
            found[f"{encoding} {kind}, dark"] = violations(visit, part, "only")
            themes.select_option("light")
            visit.page.locator(".posenc:not(.dark)").wait_for()
    wrong = [f"{place}: {each}" for place, those in found.items() for each in those]
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
