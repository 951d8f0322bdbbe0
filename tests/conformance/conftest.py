"""Collect the walk where it is asked for: it imports two hundred models, which takes a minute."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = config.getoption("markexpr") == "conformance"
    walked = ("conformance", "test_transformers.py", "test_biases.py", "test_layer_types.py")
    return None if asked and collection_path.name in walked else True
