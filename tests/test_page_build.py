"""The build of the explorer's page: once, whoever asks for it."""

import importlib
import os
import threading

import pytest

build = importlib.import_module("hatch_build")
fcntl = pytest.importorskip("fcntl")


def test_a_build_waits_for_one_under_way_and_takes_its_page(monkeypatch, tmp_path):
    """`make explore` builds the page while pip installs, and pip's build finds it made."""
    web, static = tmp_path / "web", tmp_path / "static"
    for folder in (web, static):
        folder.mkdir()
    (web / "main.ts").touch()
    monkeypatch.setattr(build, "WEB", web)
    monkeypatch.setattr(build, "STATIC", static)
    monkeypatch.setattr(build, "check_messages", lambda: None)
    monkeypatch.setattr(build, "run_npm", lambda script: pytest.fail("it was built twice"))
    other = os.open(web, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)  # as if by another process
    waiting = threading.Thread(target=build.build)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    page = static / "index.html"
    page.touch()
    os.utime(page, (2**31, 2**31))
    os.close(other)
    waiting.join(60)
    assert not waiting.is_alive()
