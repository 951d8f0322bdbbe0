"""The Ray engine on Ray itself: `make ray` installs it and runs these."""

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from posenc import lab
from posenc.lab import driver, ray_engine, training
from posenc.lab.engines import ONE_THREAD
from posenc.lab.ray_engine import AHEAD, make_outcome, run_ray
from posenc.lab.record import Record, to_json
from posenc.lab.store import Store
from posenc.lab.training import run_settings
from tests.lab.runs import TINY, make_record

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

RUNS = [replace(TINY, seed=seed) for seed in range(4)]


@pytest.fixture(scope="module")
def cluster():
    """Two nodes on this machine, with one core each."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    yield made
    made.shutdown()


def die_in_the_middle(mark: Path, order):
    """As `make_outcome`, but the first run of all is killed at its sixth step."""
    step = training.advance

    def advance(state, settings):
        step(state, settings)
        if state.step == 6 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    training.advance = advance
    try:
        return make_outcome(order)
    finally:
        training.advance = step


def meet(port: int, order):
    """As `make_outcome`, but not before another run is under way at the same time."""
    import ray

    threads = [os.environ.get(name) for name in ONE_THREAD]
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(f"{ray.get_runtime_context().get_node_id()} {threads}".encode())
        line.recv(1)
    return make_outcome(order)


def read_scores(records):
    return {each.settings: (each.curve, each.scores) for each in records}


def test_a_worker_that_is_killed_in_the_middle_is_retried_to_the_same_bits(
    cluster, tmp_path, monkeypatch
):
    mark = tmp_path / "died"
    monkeypatch.setattr(ray_engine, "make_outcome", lambda o: die_in_the_middle(mark, o))
    found = [*run_ray(RUNS, None, address=cluster.address)]
    assert mark.exists(), "a worker was killed"
    assert read_scores(e for e in found if isinstance(e, Record)) == read_scores(
        map(run_settings, RUNS)
    )


def test_both_nodes_work_at_once_each_in_one_thread(cluster, monkeypatch):
    """Two tasks wait for each other, which have one core each: they are on two nodes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(ray_engine, "make_outcome", lambda order: meet(port, order))
        events = run_ray(RUNS[:2], None, address=cluster.address)
        next(events)  # the tasks are submitted
        lines = [server.accept()[0] for _ in range(2)]
        nodes = dict(line.recv(200).decode().split(maxsplit=1) for line in lines)
        for line in lines:
            line.sendall(b"!")
            line.close()
        found = [e for e in events if isinstance(e, Record)]
    assert [*nodes.values()] == ["['1', '1', '1']"] * 2
    assert read_scores(found) == read_scores(map(run_settings, RUNS[:2]))


def test_a_ray_of_ones_own_leaves_the_files_of_the_local_engine(tmp_path):
    wrong = replace(TINY, encoding="RoPE(4)")
    grid = [*RUNS[:2], wrong]
    made = {
        engine: lab.run(grid, out=tmp_path / engine, engine=engine, processes=1)
        for engine in ("local", "ray")
    }
    assert read_scores(made["ray"].records) == read_scores(made["local"].records)
    assert made["ray"].failures == made["local"].failures
    assert [each.settings for each in made["ray"].failures] == [wrong]
    assert lab.report(tmp_path / "local", tmp_path / "ray").differing == ()


def answer(order):
    """A record that is made up."""
    return {"record": to_json(make_record(seed=order["settings"]["seed"]))}


def test_thousands_of_runs_cost_the_driver_one_listing(tmp_path, monkeypatch):
    import ray

    grid, store = [replace(TINY, seed=seed) for seed in range(3000)], Store.create(tmp_path)
    for settings in grid[:1000]:
        (tmp_path / settings.key).mkdir()  # a finished run, of which the driver reads nothing else
    listings, references = [], []
    wait, listing = ray.wait, store.list_finished
    monkeypatch.setattr(ray_engine, "make_outcome", answer)
    monkeypatch.setattr(ray, "wait", lambda r, **how: references.append(len(r)) or wait(r, **how))
    monkeypatch.setattr(store, "list_finished", lambda: listings.append(1) or listing())
    monkeypatch.setattr(store, "read", None)
    monkeypatch.setattr(store, "write", lambda outcome: None)  # a disk is not what is tested
    assert driver.execute(grid, store, run_ray, processes=None)
    assert len(listings) == 1
    assert max(references) <= AHEAD * os.cpu_count()
