"""`make prove`: the whole suite in ten ways, one after the other, and a table of what came of each.

Results are kept in build/prove/, so that a second run does what has not passed at this commit.
`make prove ROWS="busy avx2"` runs rows by name, again if need be; ROWS=table prints what there is.
"""

import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "prove"
COLUMNS = ("run", "seed", "passed", "failed", "seconds", "peak MB", "CPU s")


@dataclass(frozen=True)
class Row:
    name: str
    seed: int
    environment: dict[str, str] = field(default_factory=dict)
    busy: bool = False
    """Whether another program keeps every core busy meanwhile."""


ROWS = (
    *(Row(f"order-{n}", 1000 + n) for n in range(1, 6)),
    Row("busy", 2001, busy=True),
    Row("one-thread", 2002, {"OMP_NUM_THREADS": "1"}),
    Row("two-threads", 2003, {"OMP_NUM_THREADS": "2"}),
    Row("sse41", 2004, {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}),
    Row("avx2", 2005, {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}),
)


def commit() -> str:
    """What is tested: the commit, and whether files differ from it."""
    told = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked=no"))
    ]
    return told[0].strip() + ("+" if told[1].strip() else "")


def spin() -> None:
    while True:
        pass


def run(row: Row) -> dict[str, object]:
    """The suite as the row says, its output in build/prove/NAME.log."""
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    start, log = time.monotonic(), KEPT / f"{row.name}.log"
    # in CI what is left out for want of a browser fails
    environment = (
        os.environ
        | {"CI": "true", "POSENC_BOUND_MEMORY": "1", "PYTHONHASHSEED": str(row.seed)}
        | row.environment
    )
    options = f"--numprocesses 2 --maxschedchunk 8 --shuffle {row.seed}".split()
    command = [sys.executable, "-m", "pytest", "-v", *options]
    with log.open("w") as out:
        for other in others if row.busy else ():
            other.start()
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            )
        finally:
            for other in others if row.busy else ():
                other.terminate()
    return read(log.read_text()) | {
        "run": row.name,
        "seed": row.seed,
        "seconds": round(time.monotonic() - start),
        "code": done.returncode,
    }


def read(output: str) -> dict[str, object]:
    """Counts, memory and time out of what a run prints at its end."""
    end = next(
        (line for line in reversed(output.splitlines()) if re.search(r"=+ .* in \d", line)), ""
    )

    def count(*kinds: str) -> int:
        return sum(int(n) for n, kind in re.findall(r"(\d+) (\w+)", end) if kind in kinds)

    workers = re.findall(r"^gw\d+: at most ([\d,]+) MB, ([\d,]+) s of", output, re.MULTILINE)
    return {
        "passed": count("passed"),
        "failed": count("failed", "error", "errors"),
        "peak MB": " ".join(peak for peak, _ in workers),
        "CPU s": sum(int(seconds.replace(",", "")) for _, seconds in workers),
    }


def table(results: list[dict[str, object]]) -> str:
    rows = [COLUMNS, *(tuple(str(result[name]) for name in COLUMNS) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def kept(row: Row) -> dict[str, object] | None:
    path = KEPT / f"{row.name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def main(asked: list[str]) -> int:
    KEPT.mkdir(parents=True, exist_ok=True)
    now, known = commit(), {row.name for row in ROWS}
    if wrong := [name for name in asked if name not in known and name != "table"]:
        sys.exit(f"ROWS must be of {', '.join(sorted(known))}; got {', '.join(wrong)}")
    for row in ROWS if asked != ["table"] else ():
        result = kept(row)
        done = result and result["code"] == 0 and result["row"] == asdict(row)
        if row.name in asked or not (asked or (done and result["commit"] == now)):
            print(f"{row.name}: running …", flush=True)
            result = run(row) | {"commit": now, "row": asdict(row)}
            (KEPT / f"{row.name}.json").write_text(json.dumps(result))
            print(table([result]), flush=True)
    results = [result for row in ROWS if (result := kept(row))]
    print(f"\nat {now}:")
    print(table([result for result in results if result["commit"] == now]))
    good = sum(result["commit"] == now and result["code"] == 0 for result in results)
    print(f"{good} of {len(ROWS)} passed")
    return 0 if good == len(ROWS) or asked == ["table"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
