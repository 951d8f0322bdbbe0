"""Protocols: they can be run, and say what the papers say."""

from functools import cache

import pytest

from posenc.lab import grid
from posenc.lab.protocols import PROTOCOLS, find_protocol


@cache
def plan(name):
    return grid.plan(protocol=name, seeds=1)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_makes_a_grid(name):
    runs = plan(name)
    protocol = find_protocol(name)
    assert len(runs) == sum(map(len, protocol.tasks.values()))
    labels = {(run.task, run.label) for run in runs}
    assert labels == {(task, each) for task, of in protocol.tasks.items() for each in of}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_findings_are_of_runs_of_the_protocol(name):
    labels = {(run.task, run.label): run for run in plan(name)}
    for finding in PROTOCOLS[name].findings:
        assert len(finding.scores) == len(labels[finding.task, finding.encoding].test_lengths)


def test_lacoco_has_the_sizes_of_the_paper():
    runs = {(run.task, run.encoding): run for run in plan("lacoco")}
    assert runs.keys() >= {("unique-copy", "learned"), ("majority", "nope")}

    def sizes(task, encoding):
        run = runs[task, encoding]
        return run.layers, run.heads, run.width

    assert sizes("unique-copy", "learned") == (2, 1, 64)
    assert sizes("unique-copy", "nope") == (4, 4, 256)
    assert sizes("majority", "learned") == sizes("majority", "nope") == (1, 1, 16)
    for run in runs.values():
        assert (run.train_lengths, run.test_lengths) == ((1, 50), ((51, 100), (101, 150)))
        assert (run.batch, run.steps, run.stop) == (64, 30_000, True)
        assert run.positions == ("offsets" if run.encoding == "learned" else "consecutive")
        assert run.init == "gpt2", "the model of the paper's code is GPT-2's"


def test_randomised_and_press_have_the_sizes_of_the_papers():
    for run in plan("randomised"):
        assert (run.layers, run.width, run.batch, run.optimiser) == (5, 64, 128, "adam")
        assert (run.steps, run.train_lengths, run.test_lengths) == (10_000, (1, 40), ((41, 100),))
    for run in plan("press"):
        assert [high for _, high in run.lengths] == [64, 128, 256, 512, 1024]
        assert run.positions == "consecutive", "so that a table refuses what is beyond it"
