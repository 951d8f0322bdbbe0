"""`posenc.lab.run` from Python: a grid becomes results; what is wrong is said before any work."""

from dataclasses import replace

import pytest

from posenc import lab
from posenc.lab.training import run_settings
from tests.lab.runs import TINY

GRID = [TINY, replace(TINY, seed=1)]


def test_a_grid_becomes_results(tmp_path, monkeypatch):
    asked = []

    def run_here(todo, store, *, processes):
        for settings in todo:
            asked.append((settings.seed, processes))
            yield run_settings(settings)

    monkeypatch.setitem(lab.ENGINES, "local", run_here)
    lab.run(GRID[:1], out=tmp_path)
    results = lab.run(GRID * 2, out=tmp_path, processes=3)
    assert asked == [(0, None), (1, 3)], "what is there is not made again"
    assert [record.settings for record in results.records] == GRID
    assert lab.report(tmp_path).records == results.records


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": []}, r"grid must be a list of at least one Settings; got \[\]"),
        ({"grid": "quick"}, "grid must be a list of at least one Settings; got 'quick'"),
        ({"grid": ["rope"]}, r"grid must be a list of at least one Settings; got \['rope'\]"),
        ({"engine": "raj"}, "engine must be 'local' or 'ray'; got engine='raj'"),
        ({"minutes": -1}, "minutes must be a finite number of at least 0"),
        ({"processes": 0}, "processes must be a whole number of at least 1"),
        ({"address": "a:1"}, "address must be None for engine 'local'; got 'a:1'"),
        ({"prosesses": 1}, "run has no argument 'prosesses'; did you mean processes="),
    ],
)
def test_what_is_wrong_is_said_before_any_work(tmp_path, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        lab.run(**{"grid": GRID, "out": tmp_path / "runs"} | options)
    assert not (tmp_path / "runs").exists()


def test_a_setting_that_is_misspelt_is_named():
    with pytest.raises(TypeError, match="Settings has no argument 'widht'; did you mean width="):
        lab.Settings("parity", "rope", widht=16)
