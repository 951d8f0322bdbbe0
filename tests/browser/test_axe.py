"""axe-core finds nothing serious, in any view, light or dark."""

from pathlib import Path

import pytest

from tests.browser.places import TOUR_OF_VIEWS
from tests.browser.visit import Visit

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

RUN = """
async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes: [first] }) => `${id}: ${first.html.slice(0, 200)} ${first.failureSummary}`);
}
"""


def violations(visit: Visit) -> list[str]:
    visit.rest()
    if not visit.page.evaluate("'axe' in window"):
        assert AXE.exists(), "axe-core is not there: `make page` installs it into web/node_modules"
        visit.page.evaluate(AXE.read_text())
    return visit.page.evaluate(RUN)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_violation_in_any_view(visit: Visit, theme: str) -> None:
    visit.open(theme=theme, text="the dog 犬 שלום")
    found: dict[str, list[str]] = {}
    for encoding, kinds in TOUR_OF_VIEWS.items():
        visit.choose(encoding)
        for kind in kinds:
            visit.show(kind)
            found[f"{encoding} {kind}"] = violations(visit)
    wrong = [f"{place}: {each}" for place, all_of_it in found.items() for each in all_of_it]
    assert not wrong, "\n".join(wrong)


def test_no_serious_violation_where_things_are_open_or_wrong(visiting, address: str) -> None:
    visit: Visit = visiting(address, refusals=True)
    visit.open(theme="dark", step=2, n=3000, seed="x", lang="ja")
    page = visit.page
    page.wait_for_selector("[aria-labelledby=properties-title] .badge")
    page.locator(".badge").first.click()
    page.locator("header summary").click()
    page.locator("[aria-labelledby=cell-title] summary").click()
    for button in page.locator("#large .reading button").all():
        button.click()
    page.locator("input[type=number][aria-label=dim]").fill("-3")
    page.keyboard.press("Enter")
    page.wait_for_selector(".fields [role=alert]")
    assert not violations(visit)


def test_no_serious_violation_on_a_phone(visiting, address: str) -> None:
    visit: Visit = visiting(address, viewport={"width": 390, "height": 844}).open()
    assert not violations(visit)
