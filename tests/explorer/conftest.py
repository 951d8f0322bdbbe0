from collections.abc import Iterator

import pytest

from tests.explorer.asking import Client


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()
