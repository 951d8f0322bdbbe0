"""Write docs/findings.md: what runs of the lab show, and what they do not reproduce.

python -m tests.lab.findings_page RUNS   # reads RUNS/quick, RUNS/press, … into docs/findings.json,
                                         # which keeps the scores of other findings
python -m tests.lab.findings_page        # writes the page from docs/findings.json
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posenc.lab.results import read_results
from tests.lab.findings import FINDINGS, Finding
from tests.lab.verdicts import Table

DOCS = Path(__file__).parents[2] / "docs"
DATA, PAGE = DOCS / "findings.json", DOCS / "findings.md"
HEAD = """# Findings

What the lab shows on one machine, written by `python -m tests.lab.findings_page` from
docs/findings.json, which holds the scores of every run. ± is half of a 95% interval over seeds.
Models are small and training is short, so these are checks of the lab and of orders that papers
report; they are no measure of large models. Two encodings are compared seed by seed: "reproduced"
means that the 95% interval of the difference is on that side of 0. (That was chosen after the first
runs of RoPE's scalings were seen, whose separate intervals overlap.) Losses of one model at two
lengths are compared seed by seed too: a loss holds if the interval of its rise ends at 0.05 nats or
below, and rises if that begins above 0.1. (This was changed on 18 November 2026, after the runs
were seen. Before, the interval at the longest length had to end below the mean in length, with
0.05 nats to spare for T5 and none for ALiBi, whose loss falls and was said not to hold.) A run that
did not learn its task in length counts as not trained and is not compared. Each command goes on
where it was stopped, and gives the same scores again, bit for bit, on the same processor and with
the same versions.
"""


def collect(runs: Path) -> dict[str, Any]:
    """The scores of every finding that has runs."""
    data = dict[str, Any]()
    for finding in FINDINGS:
        if (runs / finding.folder).is_dir():
            results = read_results(runs / finding.folder)
            if not results.records:
                continue
            seconds = [record.seconds for record in results.records]
            data[finding.folder] = {
                "tables": _round(results.to_json()["tables"]),
                "runs": len(seconds),
                "seconds": round(sum(seconds)),
                "versions": dict(results.records[0].versions),
            }
    return data


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The newer scores of each finding, in the order of the page."""
    both = {**old, **new}
    return {each.folder: both[each.folder] for each in FINDINGS if each.folder in both}


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: _round(each) for name, each in value.items()}
    return [_round(each) for each in value] if isinstance(value, list) else value


def render(data: Mapping[str, Any]) -> str:
    """The page of these scores."""
    parts = [HEAD]
    for finding in FINDINGS:
        if finding.folder in data:
            parts += _render_finding(finding, data[finding.folder])
    missing = [f"`{o}`" for each in FINDINGS if each.folder not in data for o in each.lines]
    if missing:
        parts.append(f"## Not run\n\nposenc lab run with {'; '.join(missing)}.\n")
    return "\n".join(parts)


def _render_finding(finding: Finding, found: Mapping[str, Any]) -> Iterator[str]:
    versions = found["versions"]
    yield f"## {finding.title}\n"
    commands = [f"posenc lab run {each} --out runs/{finding.folder}" for each in finding.lines]
    yield "\n".join(["```sh", *commands, "```\n"])
    differs = f" Differs from the protocol: {finding.differs}." if finding.differs else ""
    yield (
        f"{_count(found['runs'], 'run')}, {_count(round(found['seconds'] / 60), 'minute')} of wall "
        "time in sum, one thread each on a machine busy with other work; "
        f"PyTorch {versions['torch']}, Python {versions['python']}.{differs}\n"
    )
    for table in found["tables"]:
        yield from _render_table(table)
    for claim in finding.claims:
        verdict = claim.judge(found["tables"])
        seeds = min(row["seeds"] for table in found["tables"] for row in table["rows"])
        said = {True: "reproduced", False: "**did not reproduce**", None: "**not comparable**"}
        few = " by the one seed that was run" if seeds == 1 and verdict is not None else ""
        yield f"- {claim.words} {said[verdict].capitalize() if verdict else said[verdict]}{few}."
    yield f"\nBefore this: {finding.history}\n" if finding.history else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _render_table(table: Table) -> Iterator[str]:
    """Scores in Markdown."""
    names = ["-".join(map(str, dict.fromkeys(cell["lengths"]))) for cell in _list_cells(table)]
    what = {"exact": "right answers", "symbols": "right symbols", "loss": "loss in nats"}
    yield f"{table['task']}, {what[table['metric']]}:\n"
    yield f"| encoding | trained | {' | '.join(names)} |"
    yield "|---" * (len(names) + 2) + "|"
    for row in table["rows"]:
        cells = [_format(cell) for cell in [row["in_length"], *row["beyond"]]]
        if not row["trained"]:
            cells[1:] = ["not trained" for _ in cells[1:]]
        yield f"| {row['encoding']} | {row['trained']}/{row['seeds']} | {' | '.join(cells)} |"
    yield ""


def _list_cells(table: Table) -> list[Mapping[str, Any]]:
    row = table["rows"][0]
    return [row["in_length"], *row["beyond"]]


def _format(cell: Mapping[str, Any]) -> str:
    if cell["mean"] is None:
        return "refused" if cell["refused"] else "–"
    half = "" if cell["half"] is None else f" ±{cell['half']:.3f}"
    return f"{cell['mean']:.3f}{half}"


if __name__ == "__main__":
    if sys.argv[1:]:
        data = merge(json.loads(DATA.read_text(encoding="utf-8")), collect(Path(sys.argv[1])))
        DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(render(json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")
