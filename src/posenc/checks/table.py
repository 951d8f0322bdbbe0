"""The table of encodings and their properties, out of checks that passed: for the READMEs."""

from dataclasses import fields

from posenc.checks.engine import run
from posenc.checks.properties import ALL
from posenc.core.about import Traits
from posenc.encodings.registry import load_builtins

START, END = "<!-- what the checks found: make readme-table -->\n", "<!-- end -->\n"


def build_table() -> str:
    """A row for each built-in, ✓ where a claim was measured and holds; Markdown.

    A claim that fails is an error: the table states nothing that was not seen.
    """
    names = [field.name for field in fields(Traits)]
    lines = [
        f"| | {' | '.join(name.replace('_', ' ') for name in names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for kind in load_builtins().values():
        report = run(kind.example(), ALL)
        if not report.ok:
            wrong = ", ".join(report.failed + report.unmeasured)
            raise ArithmeticError(f"{kind.__name__} fails or lacks {wrong}; not replace_table")
        marks = ["✓" if report[name].verdict == "holds" else "" for name in names]
        lines.append(f"| `{kind.__name__}` | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def replace_table(text: str, made: str) -> str:
    """A page with the table between its marks replaced."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{made}{END}{after}"


def main() -> None:
    """Write the table into every README here."""
    from pathlib import Path

    made = build_table()
    for path in sorted(Path().glob("README*.md")):
        path.write_text(replace_table(path.read_text(), made))


if __name__ == "__main__":
    main()
