"""Collect these where they are asked for: the environment of `make test` has no peers."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = config.getoption("markexpr") == "peers"
    return None if asked and collection_path.name in ("peers", "test_findings.py") else True
