"""The tables of the READMEs: the built-in encodings, and what the checks found of them."""

import dataclasses
from pathlib import Path

from posenc.checks.engine import run
from posenc.checks.properties import ALL
from posenc.core.about import Traits
from posenc.encodings.registry import load_builtins
from posenc.i18n import LANGUAGES, Language, translator

LISTED = "<!-- the built-in encodings: make readme-table -->\n", "<!-- end of the encodings -->\n"
MEASURED = "<!-- what the checks found: make readme-table -->\n", "<!-- end -->\n"


def build_list(lang: Language) -> str:
    """A row for each built-in, with its positional arguments and its summary; Markdown.

    >>> build_list("en").splitlines()[7]
    '| `XPos(dim)` | RoPE with exponential decay, Sun et al. (2022) |'
    """
    t = translator(lang)
    rows = [
        f"| `{kind.__name__}({', '.join(_positional(kind))})` | {t(kind.about.summary)} |\n"
        for kind in load_builtins().values()
    ]
    return "".join(rows)


def _positional(kind: type) -> list[str]:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return [field.name for field in fields if field.init and not field.kw_only]


def build_table() -> str:
    """A row for each built-in, ✓ where a claim was measured and holds; Markdown.

    A claim that fails is an error: the table states nothing that was not seen.
    """
    names = [field.name for field in dataclasses.fields(Traits)]
    lines = [
        f"| | {' | '.join(name.replace('_', ' ') for name in names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for kind in load_builtins().values():
        report = run(kind.example(), ALL)
        if not report.ok:
            wrong = ", ".join(report.failed + report.unmeasured)
            raise ArithmeticError(f"{kind.__name__} fails or lacks {wrong}; nothing was written")
        marks = ["✓" if report[name].verdict == "holds" else "" for name in names]
        lines.append(f"| `{kind.__name__}` | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def replace_table(text: str, table: str) -> str:
    """A page with the table of properties between its marks replaced."""
    return _replace(text, MEASURED, table)


def replace_list(text: str, rows: str) -> str:
    """A page with the rows of the table of encodings replaced; its head stays."""
    head = text.partition(LISTED[0])[2].splitlines(keepends=True)[:2]
    return _replace(text, LISTED, "".join(head) + rows)


def _replace(text: str, marks: tuple[str, str], table: str) -> str:
    before, start, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    return f"{before}{start}{table}{end}{after}"


def main() -> None:
    """Write the tables into every README here."""
    table = build_table()
    for lang in LANGUAGES:
        path = Path("README.md" if lang == "en" else f"README.{lang}.md")
        text = replace_list(path.read_text(), build_list(lang))
        path.write_text(replace_table(text, table))


if __name__ == "__main__":
    main()
