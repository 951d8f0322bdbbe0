"""One server and one browser for all tests here; each test has a page of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

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


VIEWPORT: Any = {"width": 1440, "height": 900}
MEDIA = {"reduced_motion", "color_scheme"}


@pytest.fixture(scope="package")
def together(browser: Browser, address: str) -> Iterator[BrowserContext]:
    """Where pages are opened that need no context of their own: ours stores nothing.

    A page that stays open keeps the process, what it has compiled and what it has cached.
    """
    context = browser.new_context(viewport=VIEWPORT, locale="en")
    context.new_page().goto(f"{address}api/v1/messages?lang=en")
    yield context
    assert context.storage_state() == {"cookies": [], "origins": []}
    context.close()


@pytest.fixture
def visiting(browser: Browser, together: BrowserContext) -> Iterator[Callable[..., Visit]]:
    """Makes visits, each with a new page: `visiting(address, viewport=…)`.

    What only a context can have, such as `locale="ja"`, gives it one of its own; so does
    `alone=True`, with nothing cached.
    """
    visits: list[tuple[Visit, bool]] = []

    def begin(
        address: str,
        *,
        refusals: bool = False,
        measuring: bool = False,
        alone: bool = False,
        viewport: Any = VIEWPORT,
        **options: Any,
    ) -> Visit:
        if alone or not options.keys() <= MEDIA:
            page = browser.new_page(viewport=viewport, **({"locale": "en"} | options))
        else:
            page = together.new_page()
            if viewport != VIEWPORT:
                page.set_viewport_size(viewport)
            if options:
                page.emulate_media(**options)
        visit = Visit(page, address, measuring=measuring)
        visits.append((visit, refusals))
        return visit

    yield begin
    for visit, _ in visits:
        visit.page.close()  # and its context, if that is its own
    for visit, refusals in visits:
        visit.saw_nothing_wrong(refusals=refusals)


@pytest.fixture
def visit(visiting: Callable[..., Visit], address: str) -> Visit:
    return visiting(address)
