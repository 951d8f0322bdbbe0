"""The local engine: every run has an outcome, also when a worker dies; ending saves."""

import os
import signal
from dataclasses import replace

import torch

from posenc.lab.engines import Advance, run_local
from posenc.lab.record import Failure, Record
from posenc.lab.store import Store
from posenc.lab.training import run_settings
from tests.lab.runs import TINY

LONG = replace(TINY, steps=100_000, stop=False, task="parity")
LAST = replace(LONG, seed=1)
TODO = [LONG, TINY, replace(TINY, encoding="RoPE(4)"), LAST]


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


def test_time_passes_without_news():
    assert Advance().settings is None
