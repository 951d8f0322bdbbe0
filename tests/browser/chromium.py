"""The browser that the tests use: the system's Chromium, Chrome or Edge, or else Playwright's own.

`python -m tests.browser.chromium` says which it is; where there is none it tries to install one.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge-stable",
    "microsoft-edge",
    "msedge",
)
APPLICATIONS = {
    "darwin": (
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
    "win32": tuple(
        f"{os.environ.get(root, '')}/{program}"
        for root in ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData")
        for program in (
            "Chromium/Application/chrome.exe",
            "Google/Chrome/Application/chrome.exe",
            "Microsoft/Edge/Application/msedge.exe",
        )
    ),
}

MISSING = (
    "no Chromium, Chrome or Edge was found: install one, or let `make browser` try, "
    "or set POSENC_BROWSER to where it is"
)

QUIET = (
    "--no-sandbox",  # tests run as root in containers, and open our own page only
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",  # there is none in a container: what stands in for it takes time
    "--in-process-gpu",
    "--renderer-process-limit=1",  # pages of one context share a process: it takes 0.4 s to start
)


@cache
def system_browser() -> str | None:
    """Where the system's browser is: POSENC_BROWSER, or the first that runs; None if none does."""
    asked = os.environ.get("POSENC_BROWSER")
    if asked:
        if shutil.which(asked) is None:
            raise FileNotFoundError(f"POSENC_BROWSER is {asked!r}, which cannot be run")
        return shutil.which(asked)
    here = (path for path in APPLICATIONS.get(sys.platform, ()) if Path(path).is_file())
    return next(
        (path for path in (*filter(None, map(shutil.which, NAMES)), *here) if runs(path)), None
    )


def runs(path: str) -> bool:
    """Whether it starts: Ubuntu's chromium-browser may only say what to install instead."""
    if sys.platform == "win32":  # where --version opens a window
        return True
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def launched(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=system_browser(), args=list(QUIET))


@cache
def left_out() -> str | None:
    """Why tests in a browser cannot run here, and what to do; None where they can.

    POSENC_BROWSER=none leaves them out on purpose.
    """
    if os.environ.get("POSENC_BROWSER") == "none":
        return "POSENC_BROWSER=none leaves them out"
    if system_browser() is not None:
        return None
    try:
        with sync_playwright() as playwright:
            launched(playwright).close()
    except Error:
        return MISSING
    return None


def install() -> None:
    """Playwright's own browser, or else Debian's; what fails says so by itself."""
    short = os.environ | {"PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"}  # ms
    command = [sys.executable, "-m", "playwright", "install", "chromium-headless-shell"]
    subprocess.run(command, env=short, check=False)
    left_out.cache_clear()
    if left_out() and hasattr(os, "getuid") and os.getuid() == 0 and shutil.which("apt-get"):
        get = ["apt-get", "install", "-qy", "--no-install-recommends"]
        subprocess.run(["apt-get", "update", "-q"], check=False)
        subprocess.run([*get, "chromium-headless-shell", "fonts-noto-cjk"], check=False)
        system_browser.cache_clear()
        left_out.cache_clear()


if __name__ == "__main__":
    if left_out() == MISSING:
        print("No browser for the tests was found; trying to install one …", flush=True)
        install()
    if left_out():
        sys.exit(left_out())
    print(system_browser() or "Playwright's own Chromium")
