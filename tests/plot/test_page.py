"""The page as a file."""

import pytest

from tests.plot.pages import shown


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_formats(tmp_path, ending, start):
    path = tmp_path / f"a.{ending}"
    shown("heatmap").savefig(path)
    assert path.read_bytes().startswith(start)
