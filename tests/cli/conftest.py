import pytest
from click.testing import CliRunner

from posenc.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `posenc` with these arguments in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, arguments)
