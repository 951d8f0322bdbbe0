"""The functions that docs/howto/many-devices.md shows, as a module: what is read is what is run."""

import doctest
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "many-devices.md"
STARTS = ("import ", "from ", "class ", "def ")


def load_page() -> dict[str, Any]:
    """Every import, class and function of the page, by name."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        if example.source.startswith(STARTS):
            exec(compile(example.source, str(PAGE), "exec"), names)
    return names
