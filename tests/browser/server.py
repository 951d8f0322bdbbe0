"""`posenc explore` as a reader starts it, on any free port."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATIC = Path(__file__).parents[2] / "src" / "posenc" / "explorer" / "static"


@contextmanager
def explorer(*options: str) -> Iterator[str]:
    """The address of an explorer that runs until the block ends."""
    if not (STATIC / "index.html").exists():
        raise FileNotFoundError("the explorer's page was not built: `make page` builds it")
    command = [sys.executable, "-m", "posenc.cli", "explore", "--no-open", "--port", "0", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        try:
            assert running.stdout is not None
            said = running.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert found, f"the explorer did not say its address: {said!r}"
            yield found[0]
        finally:
            running.terminate()
            running.wait(timeout=60)
