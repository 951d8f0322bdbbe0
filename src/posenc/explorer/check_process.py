"""Checks in a separate process with bounded memory.

`python -m posenc.explorer.check_process EXPRESSION SEED` prints the report as JSON, or exits with
`TOO_LARGE`.
"""

import json
import sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path

MOST = 512 * 2**20
"""Bytes beyond those of PyTorch and posenc itself. No check comes near this last guard."""
TOO_LARGE = 3
"""The exit code when memory runs out."""
RAN_OUT = ("MemoryError", "_ArrayMemoryError", "can't allocate memory", "can't start new thread")


def bound_memory(most: int) -> bool:
    """Let this process allocate at most `most` more bytes; False where that is not supported.

    Only Linux can do that. Elsewhere the limits on sizes of requests are the only bound.
    """
    try:
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii")
        lines = dict(line.split(":", 1) for line in status.splitlines())
        held = 1024 * int(lines["VmData"].split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (held + most, hard))
    except (ImportError, OSError, KeyError, ValueError):
        return False
    return True


def main(expression: str, seed: str, most: str = str(MOST)) -> int:
    """Print the report."""
    from posenc.checks import check
    from posenc.names.resolve import evaluate_encoding

    with suppress(ImportError):
        import_module("torch")  # before the bound: its memory is not the check's
    bound_memory(int(most))
    try:
        with redirect_stdout(sys.stderr):
            report = check(evaluate_encoding(expression), seed=int(seed)).to_json()
    except (MemoryError, RuntimeError) as error:
        if not any(word in repr(error) for word in RAN_OUT):
            raise
        return TOO_LARGE
    if any(word in row["detail"] for row in report["rows"] for word in RAN_OUT):
        return TOO_LARGE  # a check that could not run says nothing about the encoding
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
