"""The local engine: every run has an outcome, also when a worker dies; ending saves."""

import os
import signal
import sys
from dataclasses import replace

import pytest
import torch

from posenc.lab import engines
from posenc.lab.engines import run_local
from posenc.lab.record import Failure, Record
from posenc.lab.store import Store
from posenc.lab.training import run_settings
from tests.lab.runs import TINY

LONG = replace(TINY, steps=100_000, stop=False, task="parity")
LAST = replace(LONG, seed=1)
TODO = [LONG, TINY, replace(TINY, encoding="RoPE(4)"), LAST]


WORKER = """
import json, os, signal, sys
for line in sys.stdin:
    seed = json.loads(line)["settings"]["seed"]
    print(json.dumps({"step": 1, "loss": 0.5}), flush=True)
    if seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == 2:
        sys.exit("a reason")
    if seed == 3:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print(json.dumps({"step": 2, "loss": 0.25}), flush=True)
        signal.pause()
    print(json.dumps({"error": f"of {seed}"}), flush=True)
"""


def test_every_run_has_an_outcome_whatever_its_worker_does(tmp_path, monkeypatch):
    """A stand-in for the worker is killed at seed 1, ends at seed 2 and goes on at seed 3."""
    monkeypatch.setattr(engines, "COMMAND", (sys.executable, "-c", WORKER))
    todo, found = [replace(TINY, seed=seed) for seed in (0, 1, 2, 4, 3)], []
    events = run_local(todo, Store.create(tmp_path), processes=1)
    for event in events:
        if isinstance(event, Failure):
            found.append((event.settings.seed, event.error))
        elif event.settings == todo[-1] and event.step == 2:
            (worker,) = events.gi_frame.f_locals["workers"]
            break
    events.close()
    assert worker.process.poll() == 0
    assert found == [
        (0, "of 0"),
        (1, "the process was killed, perhaps for want of memory"),
        (2, "the process ended with code 1: a reason"),
        (4, "of 4"),
    ]


@pytest.mark.slow  # three processes that import PyTorch
def test_workers_that_die_are_replaced_and_those_that_are_stopped_save(tmp_path):
    """LONG is killed, LAST is stopped; in between are a run and one that fails."""
    store, outcomes, step = Store.create(tmp_path), [], 0
    events = run_local(TODO, store, processes=1)
    killed = False
    for event in events:
        if isinstance(event, Record | Failure):
            outcomes.append(event)
        elif event.settings == LONG and not killed:
            (worker,) = events.gi_frame.f_locals["workers"]
            os.kill(worker.process.pid, signal.SIGKILL)
            killed = True
        elif event.settings == LAST and event.step:
            (worker,) = events.gi_frame.f_locals["workers"]
            step = event.step
            break
    events.close()
    assert worker.process.poll() == 0
    saved, *_ = torch.load(store.checkpoint(LAST), weights_only=True)["rest"]
    assert saved >= step > 0
    dead, made, wrong = outcomes
    assert dead == Failure(LONG, "the process was killed, perhaps for want of memory")
    assert wrong == Failure(TODO[2], "ValueError: RoPE(4) has 4 channels, and the model has 8")
    truth = run_settings(TINY)
    assert (made.curve, made.scores) == (truth.curve, truth.scores), "the bits of the function"
