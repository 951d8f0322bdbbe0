"""`--engine ray`: the same runs as tasks of a Ray cluster, or of a Ray on this machine.

A task takes settings, with the file of an encoding of one's own, and returns a record, so machines
need no common disk: the driver writes it. A task whose worker is lost is tried again, three times;
an error of the run itself is its outcome.
"""

import socket
import tempfile
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from posenc.lab.engines import ONE_THREAD, Advance, Event, count_cores
from posenc.lab.optional import import_optional
from posenc.lab.record import Failure, from_json, to_json
from posenc.lab.settings import Settings
from posenc.lab.store import Store

RETRIES = 3
AHEAD = 4
"""Tasks that are submitted for each core: the driver keeps no thousands of references."""

HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""A frame: a length of 3 bytes, its type, flags and the number of a stream (RFC 9113)."""


def pack_order(settings: Settings) -> dict[str, Any]:
    """What a task is given: the settings, and the file that defines the encoding, if one does."""
    file = Path(settings.encoding.rpartition(":")[0])
    source = file.read_bytes() if settings.code and file.is_file() else None
    return {"settings": settings.to_json(), "source": source}


def make_outcome(order: dict[str, Any]) -> dict[str, Any]:
    """What a task does: {"record"} of a run, or {"error"}, all plain values."""
    from posenc.lab.training import run_settings

    planned = Settings.from_json(order["settings"])
    file, _, name = planned.encoding.rpartition(":")
    settings, here = planned, file
    with tempfile.TemporaryDirectory(prefix="posenc-lab-") as folder:
        if order["source"] is not None:
            path = Path(folder) / Path(file).name
            path.write_bytes(order["source"])
            here = str(path)
            settings = replace(planned, encoding=f"{here}:{name}")
        try:
            record = run_settings(settings)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}".replace(here, file)}
    return {"record": to_json(replace(record, settings=planned))}


def run_ray(
    todo: Sequence[Settings],
    _store: Store,
    *,
    processes: int | None = None,
    address: str | None = None,
) -> Generator[Event]:
    """Runs as Ray tasks of one core and one thread each.

    processes   tasks at once, so cores of a Ray that is started here; None: all that there are
    address     of a cluster: host:port or "auto"; None: one is started on this machine, unless
                `ray.init` was called before
    """
    ray = import_optional("ray", "engine 'ray'")
    mine = not ray.is_initialized()
    if mine:
        connect(ray, address, processes or count_cores())
    waiting = list(reversed(todo))
    running = dict[Any, Settings]()
    try:
        make = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": ONE_THREAD})
        task = make(make_outcome)
        most = processes or AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        while waiting or running:
            while waiting and len(running) < most:
                settings = waiting.pop()
                running[task.remote(pack_order(settings))] = settings
            done, _ = ray.wait([*running], num_returns=1, timeout=1.0)
            if not done:
                yield Advance()
            for reference in done:
                yield _read_outcome(ray, reference, running.pop(reference))
    except ray.exceptions.RayError as error:
        why = str(error).partition("\n")[0]
        raise ValueError(f"Ray must answer until all runs are finished: {why}") from error
    finally:
        with suppress(ray.exceptions.RayError):  # of a cluster that is gone
            for reference in running:
                ray.cancel(reference, force=True)
        if mine:
            ray.shutdown()


def _read_outcome(ray: Any, reference: Any, settings: Settings) -> Event:
    """The record of a task; a worker that was lost too often is a failure."""
    try:
        outcome = ray.get(reference)
    except ray.exceptions.RayError as error:
        return Failure(settings, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    if "error" in outcome:
        return Failure(settings, outcome["error"])
    return from_json(outcome["record"])


def connect(ray: Any, address: str | None, processes: int) -> None:
    """Connect to a cluster, or start a Ray on this machine; a sentence if there is none."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is None:
            ray.init("local", num_cpus=processes, include_dashboard=False, **quiet)
        else:
            knock(address)
            ray.init(address, **quiet)
    except Exception as error:  # Ray raises that very class for a cluster that does not answer
        why = str(error).partition("\n")[0]
        what = (
            "Ray must be able to start on this machine"
            if address is None
            else f"address must be that of a running Ray; got {address!r}"
        )
        raise ValueError(f"{what}: {why}") from error


def knock(address: str) -> None:
    """Raise an error unless gRPC, as Ray speaks it, is at host:port: Ray would try for minutes.

    Either side of HTTP/2, on which gRPC is built, begins with a frame of settings.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon or not port.isdecimal():
        return  # "auto", or nonsense that Ray refuses at once
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(HTTP_2 + EMPTY_SETTINGS)
        with line.makefile("rb") as answer:
            if answer.read(len(EMPTY_SETTINGS))[3:4] != EMPTY_SETTINGS[3:4]:
                raise ConnectionError("another program answers there")
