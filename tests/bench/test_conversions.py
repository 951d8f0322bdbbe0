"""The benchmark of converting a checkpoint."""

import pytest

from posenc.bench import conversions
from posenc.bench.case import Request
from posenc.bench.run import run_case
from posenc.interop.checkpoints import stream

pytestmark = pytest.mark.usefixtures("small")


def test_a_conversion_is_checked_and_timed_beside_a_copy():
    (case,) = (case for case in conversions.CASES if case.quick)
    result = run_case(case, Request(quick=True), rounds=2)
    assert list(result["rows"]) == [conversions.COPY, conversions.CONVERT]
    assert result["rows"][conversions.CONVERT]["error"] == 0.0
    assert result["wrong"] == []


def test_the_file_has_its_size_and_goes_with_its_object():
    made = conversions.Checkpoint(64 * 1024)
    assert made.config["num_hidden_layers"] == 2
    assert 64 * 1024 <= made.path.stat().st_size < 68 * 1024
    made.copy()
    assert made.copied.read_bytes() == made.path.read_bytes()
    folder = made.folder
    del made
    assert not folder.exists()


def test_each_is_timed_on_a_new_file_and_they_begin_in_turn():
    made = conversions.Checkpoint(64 * 1024)
    orders = [list(made.time_both()) for _ in range(3)]
    assert orders[0] == orders[2] == [conversions.CONVERT, conversions.COPY]
    assert orders[1] == [conversions.COPY, conversions.CONVERT]
    assert made.copied.exists()
    assert not made.converted.exists()


def test_rows_that_do_not_move_are_seen_and_not_timed(monkeypatch):
    monkeypatch.setattr(stream, "_move_rows", lambda file, size, rows, to: [file.read(size)])
    (case,) = (case for case in conversions.CASES if case.quick)
    result = run_case(case, Request(quick=True), rounds=1)
    assert list(result["rows"]) == [conversions.COPY]
    assert "posenc convert is off" in result["wrong"][0]


def test_a_full_disk_is_said_instead(monkeypatch):
    monkeypatch.setattr(conversions, "COPIES", 2**60)
    setup = conversions.build(64, Request())
    assert not setup.entries
    assert "bytes of free space; it has" in setup.missing[conversions.CONVERT]
