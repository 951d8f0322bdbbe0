"""The worker's protocol: orders in, events out."""

import json
import os
import subprocess
import sys

import pytest

from posenc.lab import worker
from posenc.lab.record import from_json
from posenc.lab.subjects import hash_code
from posenc.lab.training import run_settings
from tests.lab.runs import TINY

LOUD = """
from posenc import ALiBi
print("an encoding may print")
loud = ALiBi(2)
"""


class Ending:
    """As the worker's, without its signals."""

    asked = busy = False


def make_order(settings, tmp_path):
    return {"settings": settings, "checkpoint": str(tmp_path / "checkpoint")}


def test_an_order_becomes_a_record_or_an_error(tmp_path):
    events = []
    worker.execute(make_order(TINY.to_json(), tmp_path), events.append, Ending())
    worker.execute(
        make_order({**TINY.to_json(), "encoding": "RoPE(4)"}, tmp_path), events.append, Ending()
    )
    *steps, made, wrong = events
    assert steps[0].keys() == {"step", "loss"}
    assert wrong == {"error": "ValueError: RoPE(4) has 4 channels, and the model has 8"}
    record, truth = from_json(json.loads(json.dumps(made["record"]))), run_settings(TINY)
    assert (record.curve, record.scores) == (truth.curve, truth.scores)


@pytest.mark.parametrize("why", ["asked", "orphaned"])
def test_a_worker_ends_when_it_is_asked_or_alone(tmp_path, monkeypatch, why):
    ending, parents = Ending(), iter([1, 1, 1, 2])
    if why == "asked":
        ending.asked = True
    else:
        monkeypatch.setattr(os, "getppid", lambda: next(parents))
    with pytest.raises(SystemExit):
        worker.execute(make_order(TINY.to_json(), tmp_path), lambda _: None, ending)
    assert (tmp_path / "checkpoint").exists()


@pytest.mark.slow
def test_what_an_encoding_prints_is_no_event(tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    name = f"{tmp_path}/loud.py:loud"
    loud = {**TINY.to_json(), "encoding": name, "code": hash_code(name)}
    done = subprocess.run(
        [sys.executable, "-m", "posenc.lab.worker"],
        input=json.dumps(make_order(loud, tmp_path)),
        capture_output=True,
        text=True,
        check=True,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert "record" in events[-1]
    assert "an encoding may print" in done.stderr
