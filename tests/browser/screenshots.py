"""Pictures of every view, to be looked at: python -m tests.browser.screenshots [FOLDER].

Languages, themes and widths can be chosen by LANGS, THEMES and WIDTHS, comma-separated.
"""

import os
import sys
import tempfile
from itertools import product
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.chromium import launched
from tests.browser.places import EXPRESSIONS, LANGUAGES, TOUR_OF_VIEWS
from tests.browser.server import explorer
from tests.browser.visit import Visit

MEASURING = 1000
"""Milliseconds after which the page, at rest, asks for its report."""


def main(folder: Path) -> None:
    langs = os.environ.get("LANGS", ",".join(LANGUAGES)).split(",")
    themes = os.environ.get("THEMES", "light,dark").split(",")
    widths = [int(width) for width in os.environ.get("WIDTHS", "1440,1024,390").split(",")]
    with explorer() as address, sync_playwright() as playwright:
        browser = launched(playwright)
        for lang, theme, width in product(langs, themes, widths):
            size = {"width": width, "height": 900}
            page = browser.new_page(viewport=size, locale=lang)
            visit = Visit(page, address, measuring=True)
            visit.unwaited.clear()
            for name, kinds in TOUR_OF_VIEWS.items():
                for kind in kinds:
                    visit.open(e=EXPRESSIONS[name], view=kind, theme=theme, lang=lang)
                    visit.rest(MEASURING)
                    file = folder / f"{lang}-{theme}-{width}-{name}-{kind}.png"
                    visit.page.screenshot(path=file, full_page=True)
            visit.page.close()
            visit.saw_nothing_wrong()
    print(folder)


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="posenc-"))
    chosen.mkdir(parents=True, exist_ok=True)
    main(chosen)
