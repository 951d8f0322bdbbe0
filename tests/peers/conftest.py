"""Collect the findings only if they are asked for: the environment of `make test` has no peers."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = config.getoption("markexpr") == "peers"
    is_findings = collection_path.name == "test_findings.py"
    return None if collection_path.is_dir() or is_findings == asked else True
