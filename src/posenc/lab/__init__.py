"""The lab: train short, test long, for every encoding.

`run` makes what a grid lacks and returns the results; `report` reads them again.
"""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from posenc.core import rules
from posenc.core.hints import hinted
from posenc.lab.driver import Tell, execute
from posenc.lab.engines import Engine, run_local
from posenc.lab.ray_engine import run_ray
from posenc.lab.results import Results, read_results
from posenc.lab.settings import Lengths, Settings
from posenc.lab.store import Store

ENGINES: dict[str, Engine] = {"local": run_local, "ray": run_ray}
"""Where runs can run, by name."""

__all__ = ["Results", "Settings", "report", "run"]


@hinted("run")
def run(
    *,
    encodings: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    protocol: str = "own",
    seeds: int = 3,
    train_length: Lengths | int | None = None,
    test_lengths: Iterable[Lengths | int] | None = None,
    out: str | Path = "runs",
    minutes: float | None = None,
    engine: str = "local",
    address: str | None = None,
    processes: int | None = None,
    tell: Tell | None = None,
    **settings: Any,
) -> Results:
    """Train a model for each seed, task and encoding; test each beyond its trained length.

    encodings      name, expression, file.py:Name, each perhaps with @offsets or @randomised; those
                   of the protocol unless given
    tasks          names of tasks
    protocol       a name of `posenc lab list`
    seeds          how many runs of each
    train_length   examples up to so long, or a range; of text, windows of that length
    test_lengths   lengths or ranges
    out            the directory of runs; finished ones in it are not made again
    minutes        end after so long; the same call goes on
    engine         "local": processes of this machine; "ray": tasks of Ray
    address        of a Ray cluster, host:port or "auto"; None: one is started on this machine
    processes      how many at once, one thread each; as many as cores unless given
    tell           called with the progress and each event
    settings       other fields of `Settings`
    """
    from posenc.lab.grid import plan  # which needs PyTorch; a report does not

    grid = plan(
        encodings=encodings,
        tasks=tasks,
        protocol=protocol,
        seeds=seeds,
        train_length=train_length,
        test_lengths=test_lengths,
        **settings,
    )
    rules.one_of("engine", engine, tuple(ENGINES))
    if minutes is not None:
        rules.real("minutes", minutes, least=0)
    count = count_cores() if processes is None else rules.whole("processes", processes, least=1)
    if address is not None and engine != "ray":
        raise ValueError(f"address must be None for engine {engine!r}; got {address!r}")
    where = partial(ENGINES[engine], address=address) if engine == "ray" else ENGINES[engine]
    store = Store.create(out)
    execute(grid, store, where, processes=count, minutes=minutes, tell=tell)
    return read_results(out, only={settings.key for settings in grid})


@hinted("report")
def report(*paths: str | Path) -> Results:
    """The results of one or more directories of runs; runs that are in several count once.

    >>> report("no/such/directory")
    Traceback (most recent call last):
    ValueError: no/such/directory must be a directory of runs of the lab, with posenc-lab.json in it
    """
    return read_results(*paths)


def count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
