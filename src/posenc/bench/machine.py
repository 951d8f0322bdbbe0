"""The machine that was measured on, and how much of it others used meanwhile."""

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from posenc import kernels
from posenc.bench.timing import machine_load
from posenc.lab.engines import count_cores


def describe_machine() -> dict[str, Any]:
    """Name the processor, the system and the libraries; and the load, as `machine_load` has it."""
    return machine_load() | {
        "cpu": _processor(),
        "simd": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "posenc": version("posenc"),
        "kernels": str(kernels.load()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


class Watch:
    """How many cores other programs keep busy, from the start of a watch until it is read."""

    def __init__(self) -> None:
        self.start = self._read()

    def others(self) -> float | None:
        """Cores that others used, on average; None where the system does not tell."""
        first, last = self.start, self._read()
        if first is None or last is None or last[0] <= first[0]:
            return None
        elapsed, busy, own = (b - a for a, b in zip(first, last, strict=True))
        return max(0.0, busy - own) / elapsed

    @staticmethod
    def _read() -> tuple[float, float, float] | None:
        """Now; the seconds that our cores were busy; the seconds that this process was."""
        try:
            lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
            cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        except (OSError, AttributeError):
            return None
        # user nice system idle iowait irq softirq steal: what neither idle nor iowait is
        rows = [row.split() for row in lines]
        ticks = sum(
            sum(map(int, row[1:9])) - int(row[4]) - int(row[5]) for row in rows if row[0] in cores
        )
        own = os.times()
        seconds = own.user + own.system + own.children_user + own.children_system
        return time.perf_counter(), ticks / os.sysconf("SC_CLK_TCK"), seconds


def is_busy(others: float | None) -> bool:
    """Whether others took more than half of the cores."""
    return others is not None and others > count_cores() / 2
