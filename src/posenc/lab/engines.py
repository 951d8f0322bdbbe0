"""Where runs run: an engine takes settings and yields what happens to them.

An engine is a function (todo, store, processes=…; None: as many as cores). It yields an `Advance`
now and then, and for each run its `Record` or its `Failure`, which the driver writes to the disk.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from posenc.lab.record import Failure, Record, from_json
from posenc.lab.settings import Settings
from posenc.lab.store import Store

COMMAND = (sys.executable, "-m", "posenc.lab.worker")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
"""What a process has in its environment so that libraries start no threads of their own."""
PATIENCE = 10.0
"""Seconds that a worker has to save where it is, before it is killed."""


@dataclass(frozen=True)
class Advance:
    """A run is at this step; without a step, time has passed."""

    settings: Settings | None = None
    step: int = 0
    loss: float = float("nan")


Event: TypeAlias = Advance | Record | Failure
Engine: TypeAlias = Callable[..., Generator[Event]]


@dataclass
class Worker:
    """A process that makes one run after the other, `posenc.lab.worker`."""

    process: "subprocess.Popen[str]"
    events: "queue.Queue[tuple[Worker, dict[str, Any] | None]]"
    settings: Settings | None = None
    errors: list[str] = field(default_factory=list[str])
    listeners: list[threading.Thread] = field(default_factory=list[threading.Thread])

    @classmethod
    def launch(cls, events: "queue.Queue[tuple[Worker, dict[str, Any] | None]]") -> "Worker":
        """A process of its own, with one thread."""
        process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
        worker = cls(process, events)
        for listen in (worker._read_events, worker._read_errors):
            worker.listeners.append(threading.Thread(target=listen, daemon=True))
            worker.listeners[-1].start()
        return worker

    def assign(self, settings: Settings, store: Store) -> None:
        """Start a run."""
        self.settings = settings
        order = {"settings": settings.to_json(), "checkpoint": str(store.checkpoint(settings))}
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has died, as its last event says

    def _read_events(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.put((self, json.loads(line)))
        self.process.wait()
        self.events.put((self, None))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors[:] = [*self.errors[-5:], line.strip()]

    def stop(self) -> None:
        """Let the process save where it is, and end; a second call does nothing."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for listener in self.listeners:
            listener.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def describe_death(self) -> str:
        """Why the process ended before its run."""
        code = self.process.returncode
        if code == -signal.SIGKILL:
            return "the process was killed, perhaps for want of memory"
        return f"the process ended with code {code}: {' '.join(self.errors[-2:]) or 'no message'}"


def count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_local(todo: Sequence[Settings], store: Store, *, processes: int | None) -> Generator[Event]:
    """Runs in processes of this machine, one thread each; when it is closed, they save and end."""
    events = queue.Queue[tuple[Worker, dict[str, Any] | None]]()
    waiting = list(reversed(todo))
    workers = [Worker.launch(events) for _ in range(min(processes or count_cores(), len(todo)))]
    try:
        for worker in workers:
            worker.assign(waiting.pop(), store)
        while any(worker.settings for worker in workers):
            try:
                worker, message = events.get(timeout=1.0)
            except queue.Empty:
                yield Advance()
                continue
            settings = worker.settings
            if settings is None:
                continue
            if message is not None and "step" in message:
                yield Advance(settings, message["step"], message["loss"])
                continue
            if message is None:
                worker.stop()  # its last words are read then
                outcome: Event = Failure(settings, worker.describe_death())
                workers.remove(worker)
                worker = Worker.launch(events)
                workers.append(worker)
            elif "error" in message:
                outcome = Failure(settings, message["error"])
            else:
                outcome = from_json(message["record"])
            worker.settings = None
            if waiting:
                worker.assign(waiting.pop(), store)
            yield outcome
    finally:
        for worker in workers:
            worker.process.terminate()  # all at once; then wait for each
        for worker in workers:
            worker.stop()
