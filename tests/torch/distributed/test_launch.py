"""Ranks end: when they are done, when one of them dies, when one of them does not answer."""

import os
import subprocess

import pytest
import torch
from torch import distributed as dist

from tests.torch.distributed import launch as launching
from tests.torch.distributed.launch import RankError, allow, has_ended, launch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="ranks are forked")


def die(rank, world, folder):
    """Rank 1 is gone in the middle of a loop of collectives."""
    x = torch.ones(4)
    for step in range(3):
        if rank == 1 and step == 2:
            os._exit(7)
        dist.all_reduce(x)


def stay_silent(rank, world, folder):
    """Rank 1 waits for what nobody sends, the others for rank 1."""
    if rank == 1:
        dist.recv(torch.ones(1), src=0, tag=9)
    dist.barrier()


def fail(rank, world, folder):
    """Rank 0 raises an error of its own."""
    if rank == 0:
        raise ValueError("a mistake of rank 0")
    dist.barrier()


@pytest.fixture
def groups(monkeypatch):
    """The process groups that were started."""
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self.pid)

    monkeypatch.setattr(launching.subprocess, "Popen", Popen)
    return started


@pytest.mark.slow  # each starts three processes
@pytest.mark.parametrize("name", ["die", "fail"])
def test_a_rank_that_fails_is_a_sentence_on_the_others(tmp_path, groups, name):
    with pytest.raises(RankError) as caught:
        launch(f"{__name__}:{name}", 3, tmp_path)
    said = str(caught.value)
    failed = {"die": "rank 1 ended with 7", "fail": "a mistake of rank 0"}[name]
    assert failed in said
    others = {"die": (0, 2), "fail": (1, 2)}[name]
    for rank in others:
        assert f"rank {rank} stops, for another rank has ended or does not answer" in said
    assert all(has_ended(group) for group in groups)


@pytest.mark.slow
def test_a_rank_that_does_not_answer_is_a_sentence_too(tmp_path, groups, monkeypatch):
    monkeypatch.setenv("POSENC_ANSWER_SECONDS", "3")
    with pytest.raises(RankError, match="does not answer"):
        launch(f"{__name__}:stay_silent", 2, tmp_path)
    assert all(has_ended(group) for group in groups)


def test_a_busy_machine_is_given_more_time(monkeypatch):
    monkeypatch.setattr(launching.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(launching.os, "getloadavg", lambda: (0.5, 0.0, 0.0))
    assert allow(30) == 30
    monkeypatch.setattr(launching.os, "getloadavg", lambda: (10.0, 0.0, 0.0))
    assert allow(30) == 150
