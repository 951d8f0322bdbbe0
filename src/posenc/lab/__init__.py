"""The lab: train short, test long, for every encoding.

`posenc.lab.grid.plan` says which runs a protocol has, `run` makes those that are missing and
returns the results, `report` reads them again.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from posenc.core import rules
from posenc.core.hints import hinted
from posenc.lab.driver import Tell, execute
from posenc.lab.engines import Engine, run_local
from posenc.lab.ray_engine import run_ray
from posenc.lab.results import Results, read_results
from posenc.lab.settings import Settings
from posenc.lab.store import Store

ENGINES: dict[str, Engine] = {"local": run_local, "ray": run_ray}
"""Where runs can run, by name."""

__all__ = ["Results", "Settings", "report", "run"]


@hinted("run")
def run(
    grid: Sequence[Settings],
    *,
    out: str | Path = "runs",
    minutes: float | None = None,
    engine: str = "local",
    address: str | None = None,
    processes: int | None = None,
    tell: Tell | None = None,
) -> Results:
    """Train a model for each run of a grid; test each beyond its trained length.

    grid           such as `posenc.lab.grid.plan(protocol="quick")`
    out            the directory of runs; finished ones in it are not made again
    minutes        end after so long; the same call goes on
    engine         "local": processes of this machine; "ray": tasks of Ray
    address        of a Ray cluster, host:port or "auto"; None: one is started on this machine
    processes      how many runs at once, one thread each; as many as cores unless given
    tell           called with the progress and each event
    """
    if isinstance(grid, str) or not grid or not all(isinstance(each, Settings) for each in grid):
        raise TypeError(f"grid must be a list of at least one Settings; got {grid!r}")
    rules.one_of("engine", engine, tuple(ENGINES))
    if minutes is not None:
        rules.real("minutes", minutes, least=0)
    if processes is not None:
        rules.whole("processes", processes, least=1)
    if address is not None and engine != "ray":
        raise ValueError(f"address must be None for engine {engine!r}; got {address!r}")
    where = partial(ENGINES[engine], address=address) if engine == "ray" else ENGINES[engine]
    store, grid = Store.create(out), list(dict.fromkeys(grid))
    execute(grid, store, where, processes=processes, minutes=minutes, tell=tell)
    return read_results(out, only={settings.key for settings in grid})


@hinted("report")
def report(*paths: str | Path) -> Results:
    """The results of one or more directories of runs; runs that are in several count once.

    >>> report("no/such/directory")
    Traceback (most recent call last):
    ValueError: no/such/directory must be a directory of runs of the lab, with posenc-lab.json in it
    """
    return read_results(*paths)
