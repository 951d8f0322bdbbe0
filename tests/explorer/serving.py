"""The explorer as its command starts it: a process with a port."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

STARTED = (  # what is started in the background ignores Ctrl-C, unless told otherwise
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from pathlib import Path\n"
    "from posenc.explorer import app\n"
    "app.STATIC = Path(sys.argv.pop(1))\n"
    "from posenc.cli import main; main()"
)


class Explorer:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        assert process.stdout is not None
        while not (self.said and self.said[-1].startswith("posenc explorer: ")):
            line = process.stdout.readline()
            if not line:
                raise AssertionError(f"it ended: {process.communicate()}")
            self.said.append(line.strip())
        self.address = self.said[-1].removeprefix("posenc explorer: ")
        self.port = int(self.address.rsplit(":", 1)[1].split("/")[0])

    def interrupt(self) -> str:
        """Press Ctrl-C; what it says on stderr."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.communicate(timeout=60)[1]


@contextlib.contextmanager
def started(static: Path, *options: str, port: int = 0) -> Iterator[Explorer]:
    command = [sys.executable, "-c", STARTED, str(static), "explore", "--no-open"]
    process = subprocess.Popen(
        [*command, "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # the command itself is late: app is here
    )
    try:
        yield Explorer(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def page(folder: Path) -> Path:
    """A page in place of the built one."""
    (folder / "assets").mkdir()
    (folder / "index.html").write_text("<!doctype html><title>posenc</title>")
    return folder
