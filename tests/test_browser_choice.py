"""Which browser the tests take, and what a run says that has none."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import conftest
from tests.browser import chromium

ROOT = Path(__file__).parent.parent


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A system without a browser: a PATH of one folder, which is returned."""
    monkeypatch.delenv("POSENC_BROWSER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(chromium, "APPLICATIONS", {})
    chromium.system_browser.cache_clear()
    chromium.left_out.cache_clear()
    yield tmp_path
    chromium.system_browser.cache_clear()
    chromium.left_out.cache_clear()


def program(path: Path, code: int) -> str:
    path.write_text(f"#!/bin/sh\nexit {code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize("name", chromium.NAMES)
def test_the_systems_browsers_are_found_by_name(bare, name):
    path = program(bare / name, 0)
    assert chromium.system_browser() == path
    assert chromium.left_out() is None


def test_a_browser_that_does_not_start_is_passed_over(bare):
    program(bare / "chromium-browser", 1)  # as Ubuntu's, which asks for a snap
    path = program(bare / "google-chrome", 0)
    assert chromium.system_browser() == path


def test_applications_are_found_where_systems_keep_them(bare, monkeypatch):
    path = program(bare / "Google Chrome", 0)
    monkeypatch.setattr(chromium, "APPLICATIONS", {sys.platform: (str(bare / "x"), path)})
    assert chromium.system_browser() == path


def test_without_any_the_reason_says_what_to_do(bare):
    assert chromium.system_browser() is None
    assert chromium.left_out() == chromium.MISSING


def test_a_browser_that_was_asked_for_must_run(bare, monkeypatch):
    monkeypatch.setenv("POSENC_BROWSER", str(bare / "gone"))
    with pytest.raises(FileNotFoundError, match=r"POSENC_BROWSER is '.*gone', which cannot be run"):
        chromium.left_out()


def test_a_run_without_a_browser_ends_with_what_was_left_out(tmp_path):
    # nothing runs, so PyTorch need not be loaded, which takes seconds
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError")
    found = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/browser/test_links.py"],
        cwd=ROOT, env=os.environ | {"POSENC_BROWSER": "none", "CI": "", "PYTHONPATH": found},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    last = done.stdout.splitlines()[-1]
    assert last.startswith("LEFT OUT: ")
    assert last.endswith(" tests in a browser: POSENC_BROWSER=none leaves them out")


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_what_was_left_out_fails_a_run_in_ci(monkeypatch, ci, code):
    monkeypatch.setenv("CI", ci)
    run, session = conftest.LeftOut(), SimpleNamespace(exitstatus=0)
    run.pytest_sessionfinish(session)
    assert session.exitstatus == 0
    report = SimpleNamespace(when="setup", user_properties=[("left_out", "tests")])
    run.pytest_runtest_logreport(report)
    run.pytest_sessionfinish(session)
    assert session.exitstatus == code
