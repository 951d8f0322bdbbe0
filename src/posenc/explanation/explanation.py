"""A worked calculation as data: steps of words, formulas and tables of numbers."""

from dataclasses import dataclass, field
from typing import Any

from posenc.explanation.maths import Maths, to_json
from posenc.i18n import Language

Entry = str | int | float
"""An entry of a table."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers and words, under the names of their columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Step:
    """One step: what is done, the formulas with numbers put in, and a table of results.

    `name` is the same in every language. `digits` overrides those of the explanation.
    """

    name: str
    words: str
    formulas: tuple[Maths, ...] = ()
    table: Table | None = None
    digits: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The step as plain data; formulas are [kind, part, …] with symbols and numbers in them."""
        table = self.table
        return {
            "name": self.name,
            "words": self.words,
            "formulas": [to_json(formula) for formula in self.formulas],
            "table": table and {"columns": list(table.columns), "rows": [*map(list, table.rows)]},
        }


@dataclass(frozen=True)
class Explanation:
    """A worked calculation in one language; printing it gives plain text."""

    title: str
    lang: Language
    steps: tuple[Step, ...]
    digits: int = field(default=4, kw_only=True)

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        names = ", ".join(step.name for step in self.steps)
        raise ValueError(f"name must be that of a step, one of {names}; got {name!r}")

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain data, numbers with all their digits."""
        steps = [step.to_json() for step in self.steps]
        return {"title": self.title, "lang": self.lang, "steps": steps}

    def render(self, form: str) -> str:
        """Render as `text`, `markdown`, `latex` (a document), `html` (a page) or `json`."""
        from posenc.explanation.forms import FORMS

        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}; got form={form!r}")
        return FORMS[form](self)

    def __str__(self) -> str:
        return self.render("text")

    def _repr_markdown_(self) -> str:
        return self.render("markdown")
