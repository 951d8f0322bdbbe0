"""The Ray engine with a stand-in for Ray; tests/lab/test_on_ray.py has Ray itself."""

import socket
import sys
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from types import SimpleNamespace

import pytest

from posenc.lab import ray_engine
from posenc.lab.engines import Advance, count_cores
from posenc.lab.ray_engine import make_outcome, pack_order, run_ray
from posenc.lab.record import Failure, Record, from_json
from posenc.lab.subjects import hash_code
from posenc.lab.training import run_settings
from tests.lab.runs import TINY

WRONG = replace(TINY, encoding="RoPE(4)")


class StandIn:
    """Ray's functions that the engine calls; a task runs when it is waited for."""

    broken = False

    def __init__(self, *, lost=()):
        self.exceptions = SimpleNamespace(RayError=LookupError)
        self.lost, self.told, self.most, self.tasks = lost, [], 0, {}

    def is_initialized(self):
        return False

    def init(self, address, **options):
        if self.broken:
            raise Exception("the node timed out\nand more")  # that very class, as Ray does
        self.told.append(("init", address, options.get("num_cpus")))
        if address == "dead:1":
            raise ConnectionError("no answer\nand more")

    def remote(self, **options):
        self.told.append(options)
        return lambda function: SimpleNamespace(remote=lambda order: self._submit(function, order))

    def _submit(self, function, order):
        self.tasks[len(self.tasks)] = (function, order)
        return len(self.tasks) - 1

    def cluster_resources(self):
        return {"CPU": 1.0}

    def wait(self, references, *, num_returns, timeout):
        self.most = max(self.most, len(references))
        return references[:num_returns], references[num_returns:]

    def get(self, reference):
        function, order = self.tasks[reference]
        if order["settings"]["seed"] in self.lost:
            raise LookupError("the worker died\nand more")
        return function(order)

    def cancel(self, reference, *, force):
        self.told.append(("cancel", reference))

    def shutdown(self):
        self.told.append("shutdown")


@pytest.fixture
def ray(monkeypatch):
    stand_in = StandIn(lost={7})
    monkeypatch.setattr(ray_engine, "import_optional", lambda *_: stand_in)
    return stand_in


def test_every_run_has_an_outcome_and_a_record_has_the_bits_of_the_function(ray):
    todo = [TINY, WRONG, replace(TINY, seed=7), *(replace(WRONG, seed=s) for s in range(8, 14))]
    first, wrong, lost, *others = run_ray(todo, None, processes=3)
    truth = run_settings(TINY)
    assert (first.curve, first.scores) == (truth.curve, truth.scores)
    assert wrong == Failure(WRONG, "ValueError: RoPE(4) has 4 channels, and the model has 8")
    assert lost == Failure(todo[2], "LookupError: the worker died")
    assert [type(other) for other in others] == [Failure] * 6
    assert ray.most == 3, "no more at once than processes"
    init, task, shutdown = ray.told
    assert (init, shutdown) == (("init", "local", 3), "shutdown")
    environment = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    wanted = {"num_cpus": 1, "max_retries": 3, "runtime_env": {"env_vars": environment}}
    assert task == wanted


def test_as_many_runs_are_submitted_as_the_cores_of_a_cluster_can_soon_take(ray):
    todo = [replace(WRONG, seed=seed) for seed in range(9)]
    assert len([*run_ray(todo, None)]) == 9
    assert ray.most == 4
    assert ray.told[0] == ("init", "local", count_cores())


def test_a_file_of_ones_own_travels_with_its_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, name = tmp_path / "mine.py", "mine.py:mine"
    file.write_text("from posenc import ALiBi\nmine = ALiBi(2)\n")
    mine = replace(TINY, encoding=name, code=hash_code(name))
    orders = [pack_order(each) for each in (mine, replace(mine, heads=1))]
    file.unlink()  # as on another machine, which has no such file
    made, wrong = map(make_outcome, orders)
    record, truth = from_json(made["record"]), run_settings(replace(TINY, encoding="ALiBi(2)"))
    assert record.settings == mine, "not where the file was on that machine"
    assert (record.curve, record.scores) == (truth.curve, truth.scores)
    assert wrong == {"error": "ValueError: mine.py:mine has 2 heads, and the model has 1"}


def test_what_is_left_is_cancelled(ray):
    events = run_ray([WRONG, replace(WRONG, seed=1)], None)
    next(events)
    events.close()
    assert ray.told[-2:] == [("cancel", 1), "shutdown"]


@contextmanager
def serve(answer):
    """The address of a server that answers the first bytes of each of two callers."""

    def talk(server):
        for _ in range(2):
            line, _ = server.accept()
            with line:
                line.recv(1000)
                line.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=talk, args=(server,), daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_dead_address_is_a_sentence_at_once(ray):
    with serve(bytes([0, 0, 6, 4, 0, 0, 0, 0, 0])) as address:  # the settings of HTTP/2
        for alive in (address, f"ray://{address}"):
            ray_engine.knock(alive)
    for dead in (address, f"ray://{address}"):
        with pytest.raises(
            ValueError, match=r"address must be that of a running Ray; got .*refused"
        ):
            next(run_ray([TINY], None, address=dead))
    assert [told for told in ray.told if "init" in told] == [], "Ray was not asked"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", b"SSH-2.0-OpenSSH\r\n", b""])
def test_another_program_is_not_taken_for_ray(ray, answer):
    with serve(answer) as address:
        for other in (address, f"ray://{address}"):
            with pytest.raises(ValueError, match=r"of a running Ray; got .*: another program"):
                next(run_ray([TINY], None, address=other))


def test_an_address_that_ray_refuses_is_a_sentence(ray, monkeypatch):
    monkeypatch.setattr(ray_engine, "knock", lambda address: None)
    with pytest.raises(ValueError, match=r"of a running Ray; got 'dead:1': no answer$"):
        next(run_ray([TINY], None, processes=1, address="dead:1"))


def test_a_ray_that_does_not_start_is_a_sentence(ray):
    ray.broken = True
    with pytest.raises(ValueError, match=r"^Ray must be able to start on .*: the node timed out$"):
        next(run_ray([TINY], None))


def test_a_cluster_that_is_gone_is_a_sentence(ray, monkeypatch):
    def lose(*_, **__):
        raise LookupError("the head node died\nand more")

    monkeypatch.setattr(ray, "wait", lose)
    monkeypatch.setattr(ray, "cancel", lose)
    with pytest.raises(ValueError, match=r"^Ray must answer until all .*: the head node died$"):
        next(run_ray([TINY], None))
    assert ray.told[-1] == "shutdown"


def test_time_passes_while_nothing_is_done(ray, monkeypatch):
    done = iter([[], [0]])
    monkeypatch.setattr(ray, "wait", lambda *_, **__: (next(done), []))
    assert [type(event) for event in run_ray([TINY], None, processes=1)] == [Advance, Record]


def test_ray_that_is_absent_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match="engine 'ray' needs ray: pip install ray"):
        next(run_ray([TINY], None, processes=1))
