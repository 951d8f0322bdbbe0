"""What `make prove` reads out of a run, and what a run says of its memory."""

from types import SimpleNamespace

import pytest

import conftest
from tests import prove

END = """
FAILED tests/test_x.py::test_y - assert 1 == 2
=========== 2 failed, 8041 passed, 3 skipped, 1 error in 689.10s (0:11:29) ===========
gw0: at most 1,234 MB, 310 s of the processor
gw1: at most 987 MB, 1,299 s of the processor
"""


def test_counts_memory_and_time_are_read_from_the_end_of_a_run():
    assert prove.read(END) == {
        "passed": 8041,
        "failed": 3,
        "peak MB": "1,234 987",
        "CPU s": 1609,
    }


def test_a_run_that_died_has_passed_nothing():
    assert prove.read("Killed")["passed"] == 0


def test_rows_have_names_and_orders_of_their_own():
    assert len({row.name for row in prove.ROWS}) == len({row.seed for row in prove.ROWS}) == 10


def test_the_table_has_a_line_for_each_run():
    result = prove.read(END) | {"run": "busy", "seed": 7, "seconds": 690}
    head, line = prove.table([result]).splitlines()
    assert head.split()[:4] == ["run", "seed", "passed", "failed"]
    assert line.split()[:4] == ["busy", "7", "8041", "3"]


@pytest.mark.parametrize(("peak", "code"), [(1_999, 0), (2_001, 1)])
def test_a_worker_with_too_much_memory_fails_the_run(monkeypatch, capsys, peak, code):
    monkeypatch.setenv("POSENC_BOUND_MEMORY", "1")
    run, session = conftest.Used(), SimpleNamespace(exitstatus=0)
    for name, most in (("gw0", 100), ("gw1", peak)):
        node = SimpleNamespace(workeroutput={"used": [most, 5.0]}, gateway=SimpleNamespace(id=name))
        run.pytest_testnodedown(node)
    run.pytest_sessionfinish(session)
    assert session.exitstatus == code
    run.pytest_unconfigure()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "gw0: at most 100 MB, 5 s of the processor"
    assert lines[1].startswith(f"gw1: at most {peak:,} MB, 5 s of the processor")
    assert ("more than the 2,000 MB" in lines[1]) == (code == 1)
    assert prove.read("\n".join(lines))["CPU s"] == 10
