"""The browser that the tests use: the system's Chromium, for Playwright cannot bring its own.

`python -m tests.browser.chromium` says where it is, or what to install.
"""

import os
import shutil
import sys

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

MISSING = (
    "no Chromium was found: `make browser` installs it on Debian; elsewhere install chromium or "
    "Google Chrome, or set POSENC_BROWSER to where it is"
)

QUIET = (
    "--no-sandbox",  # tests run as root in containers, and open our own page only
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def browser_path() -> str:
    """Where the browser is: POSENC_BROWSER, or the first of `NAMES` on PATH."""
    asked = os.environ.get("POSENC_BROWSER")
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise FileNotFoundError(f"POSENC_BROWSER is {asked!r}, which cannot be run")
        return found
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise FileNotFoundError(MISSING)
    return found


def launched(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=browser_path(), args=list(QUIET))


if __name__ == "__main__":
    try:
        print(browser_path())
    except FileNotFoundError as error:
        sys.exit(str(error))
