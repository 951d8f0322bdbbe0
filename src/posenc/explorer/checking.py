"""The checks in a process of their own, whose memory is bounded.

`python -m posenc.explorer.checking EXPRESSION SEED` prints the report as JSON, or ends with
`TOO_LARGE`.
"""

import json
import sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path

MOST = 512 * 2**20
"""Bytes beside those of PyTorch and of posenc itself: a last guard, as no check comes near it."""
TOO_LARGE = 3
"""The exit code when memory ran out."""
RAN_OUT = ("MemoryError", "_ArrayMemoryError", "can't allocate memory", "can't start new thread")


def bound_memory(most: int) -> bool:
    """Let this process take so much more memory and no more; False where that cannot be.

    Linux has limits for a process; elsewhere only the sizes of what is asked for are bounded.
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
    from posenc.names.resolve import spelled

    with suppress(ImportError):
        import_module("torch")  # before the bound: what it takes is not the check's
    bound_memory(int(most))
    try:
        with redirect_stdout(sys.stderr):
            report = check(spelled(expression), seed=int(seed)).to_json()
    except (MemoryError, RuntimeError) as error:
        if not any(word in repr(error) for word in RAN_OUT):
            raise
        return TOO_LARGE
    if any(word in row["detail"] for row in report["rows"] for word in RAN_OUT):
        return TOO_LARGE  # a check that could not be made says nothing about the encoding
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
