"""A process that makes runs: `python -m posenc.lab.worker`, orders on stdin, events on stdout.

An order is {"settings", "checkpoint"}; events are {"step", "loss"}, then {"record"} or {"error"}.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from posenc.lab.record import to_json
from posenc.lab.settings import Settings
from posenc.lab.training import Stopped, run_settings

PERIOD = 0.5
"""Seconds between events of one run."""


class Ending:
    """Whether the driver has asked us to end: in the middle of a run, at its next step."""

    def __init__(self) -> None:
        self.asked = self.busy = False
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which asks us

    def _ask(self, *_: object) -> None:
        self.asked = True
        if not self.busy:
            raise SystemExit(0)


def execute(order: dict[str, Any], tell: Callable[[dict[str, Any]], None], ending: Ending) -> None:
    """Make a run; an error of it is an event too."""
    parent, told = os.getppid(), 0.0

    def progress(step: int, loss: float) -> None:
        nonlocal told
        if ending.asked or os.getppid() != parent:  # a driver that is gone asks nothing
            raise Stopped
        if time.monotonic() - told > PERIOD:
            told = time.monotonic()
            tell({"step": step, "loss": loss})

    try:
        settings = Settings.from_json(order["settings"])
        record = run_settings(settings, progress=progress, checkpoint=Path(order["checkpoint"]))
        tell({"record": to_json(record)})
    except Stopped:
        raise SystemExit(0) from None
    except Exception as error:
        tell({"error": f"{type(error).__name__}: {error}"})


def main() -> None:
    """Make the runs that stdin orders, until it ends."""
    ending = Ending()
    events: IO[str] = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an encoding prints is no event

    def tell(event: dict[str, Any]) -> None:
        events.write(json.dumps(event) + "\n")
        events.flush()

    for line in sys.stdin:
        ending.busy = True
        execute(json.loads(line), tell, ending)
        ending.busy = False


if __name__ == "__main__":
    main()
