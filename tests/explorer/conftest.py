from collections.abc import Iterator

import pytest

from posenc.explorer import verdicts
from tests.explorer.asking import Client


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


@pytest.fixture
def no_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages to save have no verdicts, which take seconds."""
    report = {"subject": "", "ok": True, "rows": []}
    monkeypatch.setattr(verdicts, "check_encoding", lambda *_, **__: report)
