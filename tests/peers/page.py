"""Write docs/peers.md out of what the doctor says: python -m tests.peers.page."""

import contextlib
import io
import re
from importlib.metadata import version
from pathlib import Path

from posenc.checks import Row
from tests.peers.cases import CASES, Case, report

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"
PACKAGES = sorted({case.package for case in CASES} | {"keras", "torch", "torchao"})


def page() -> str:
    """The whole document."""
    return "\n\n".join([_top(), _table(), "## Faults", *map(_fault, _faulty())]) + "\n"


def _top() -> str:
    versions = ", ".join(f"{name} {version(name).partition('+')[0]}" for name in PACKAGES)
    sound = sum(report(case).ok for case in CASES)
    return f"""# The doctor on other libraries

Written by `make peers`; do not edit. `pe.check` was given {len(CASES)} encodings of other
libraries, as `posenc.peers` adapts them: {sound} keep all that they claim, {len(CASES) - sound} do
not.

Versions: {versions}.

A rotation claims that it is one: the identity at 0, lengths kept, logits that depend on the
distance only, positions told apart in every dtype of the queries, as far as rounding allows. (YaRN
makes vectors longer on purpose and claims no length.) A sinusoid claims bounded entries and
different positions; ALiBi different positions and logits by distance.
Every encoding claims that it is the same at each call and for any length, that its gradient is
right, and that a cast of its module to bfloat16 does not change its angles. Two things are measured
that none of them claims, and are no fault: how large the error is at far positions, and how far
positions go.

Of timm, the file of rotary embeddings is imported by itself: the package wants torchvision. Keras
runs on PyTorch. Libraries that make tables for a whole grid are asked up to {2**17:,} cells."""


def _table() -> str:
    lines = [
        "| library | encoding | claims kept | claims that fail | error at 10^4 | at 10^6 | up to |",
        "|---|---|---|---|---|---|---|",
    ]
    return "## What was checked\n\n" + "\n".join(lines + [_line(case) for case in CASES])


def _line(case: Case) -> str:
    found = report(case)
    holding = sum(row.verdict == "holds" for row in found.rows)
    failing = "; ".join(_told(found[name]) for name in found.failed) or "none"
    at = dict(re.findall(r"(1e\+\d\d): (\S+?)(?:,|$)", found["exact"].detail))
    reach = found["any_length"].measured or 0
    far = "any" if reach >= 10**7 else f"{reach:,.0f}"
    errors = " | ".join(at.get(place, "–") for place in ("1e+04", "1e+06"))
    return f"| {case.package} | {case.what} | {holding} | {failing} | {errors} | {far} |"


def _told(row: Row) -> str:
    number = row.measured or 0.0
    measured = f" {number:,.0f}" if number >= 100 else f" {number:.2g}"
    measured = "" if row.measured is None else f"{measured}, {row.bound}"
    return f"`{row.name}`{measured}" + (f" ({row.detail})" if row.detail else "")


def _faulty() -> list[Case]:
    return [case for case in CASES if case.fault]


def _fault(case: Case) -> str:
    assert case.fault
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(case.fault.code, {})
    rows = [report(case)[name] for name in case.failed]
    found = "\n".join(f"- {_told(row)}. {row.what}" for row in rows)
    spaced = re.sub(r"(\nfrom .*\n)", r"\1\n", case.fault.code)  # as ruff has it
    code = f"```py\n{spaced}\n```"
    printed = f"```\n{out.getvalue().rstrip()}\n```"
    head = f"### {case.package}: {case.fault.title}"
    return "\n\n".join([head, case.fault.why, found, code, printed])


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(CASES)} encodings, {len(_faulty())} faults")


if __name__ == "__main__":
    main()
