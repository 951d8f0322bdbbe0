"""Collect the findings only if they are asked for: the environment of `make test` has no peers."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    findings = config.getoption("markexpr") == "peers"
    collected = ("peers", "test_findings.py" if findings else "test_peers.py")
    return None if collection_path.name in collected else True
