"""One server and one browser for all tests here; each test has a context of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.chromium import launched, left_out
from tests.browser.server import explorer
from tests.browser.visit import Visit

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("browser")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if reason := left_out():
        item.user_properties.append(("left_out", f"tests in a browser: {reason}"))
        pytest.skip(reason)


# Not for the whole session: Playwright's loop must not run while other tests run theirs.
@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    with explorer() as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = launched(playwright)
        yield opened
        opened.close()


@pytest.fixture
def visiting(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Makes visits, each in a new context: `visiting(address, locale="ja")`."""
    visits: list[tuple[Visit, bool]] = []

    def begin(
        address: str, *, refusals: bool = False, measuring: bool = False, **options: Any
    ) -> Visit:
        options = {"viewport": {"width": 1440, "height": 900}, "locale": "en"} | options
        visit = Visit(browser.new_context(**options), address, measuring=measuring)
        visits.append((visit, refusals))
        return visit

    yield begin
    for visit, _ in visits:
        visit.context.close()
    for visit, refusals in visits:
        visit.saw_nothing_wrong(refusals=refusals)


@pytest.fixture
def visit(visiting: Callable[..., Visit], address: str) -> Visit:
    return visiting(address)
