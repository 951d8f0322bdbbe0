"""Directories of runs: whole or absent, refused if foreign, merged."""

import json
from dataclasses import replace

import pytest

from posenc.lab.record import Failure
from posenc.lab.store import MARK, Store, merge_records, write_whole
from tests.lab.runs import TINY, make_record


def test_a_run_is_a_directory_by_its_key(tmp_path):
    store, record = Store.create(tmp_path / "deep" / "runs"), make_record()
    store.checkpoint(TINY).write_text("where it was")
    store.write(Failure(TINY, "it broke"))
    assert store.list_finished() == set()
    assert store.read_failures() == [Failure(TINY, "it broke")]
    store.write(record)
    assert sorted(path.name for path in store.path.iterdir()) == sorted([TINY.key, MARK])
    assert sorted(path.stem for path in (store.path / TINY.key).iterdir()) == [
        "curve",
        "evaluation",
        "settings",
        "versions",
    ]
    assert store.list_finished() == {TINY.key}
    assert store.read(TINY.key) == record


def test_what_is_there_is_never_overwritten(tmp_path):
    store = Store.create(tmp_path)
    store.write(make_record(0.5))
    store.write(make_record(0.75))
    assert store.read(TINY.key) == make_record(0.5)


@pytest.mark.parametrize("when", ["curve.json", "versions.json", "settings.json"])
def test_a_run_that_cannot_be_written_whole_is_absent(tmp_path, monkeypatch, when):
    store = Store.create(tmp_path)

    def fail(path, data):
        if path.name == when:
            raise OSError(28, "No space left on device")
        write_whole(path, data)

    monkeypatch.setattr("posenc.lab.store.write_whole", fail)
    with pytest.raises(OSError, match="No space left"):
        store.write(make_record())
    assert [path.name for path in tmp_path.iterdir()] == [MARK]


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.json"
    write_whole(path, [1])
    with pytest.raises(TypeError):
        write_whole(path, object())
    assert json.loads(path.read_text()) == [1]
    assert [*tmp_path.iterdir()] == [path]


def test_a_directory_whose_making_was_killed_is_made(tmp_path):
    (tmp_path / f".{MARK}.123").write_text("{")
    assert Store.create(tmp_path).list_finished() == set()


def test_directories_of_others_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file must be a directory; it is a file"):
        Store.create(tmp_path / "file")
    with pytest.raises(ValueError, match="must be empty or a directory of runs of the lab; it has"):
        Store.create(tmp_path)
    with pytest.raises(ValueError, match="must be a directory of runs of the lab, with posenc-lab"):
        Store(tmp_path / "absent")
    (tmp_path / MARK).write_text('{"format": 99}')
    with pytest.raises(ValueError, match="has runs of format 99; this posenc reads 1"):
        Store(tmp_path)


def test_a_damaged_run_is_named(tmp_path):
    store = Store.create(tmp_path)
    store.write(make_record())
    (tmp_path / TINY.key / "curve.json").write_text("[")
    with pytest.raises(ValueError, match=f"{TINY.key} must be a run, and is damaged; "):
        store.read(TINY.key)
    (tmp_path / f"{TINY.key}.failed").mkdir()
    with pytest.raises(ValueError, match=f"{TINY.key}.failed must be a run, and is damaged; "):
        store.read_failures()


@pytest.mark.parametrize("text", ["{", "[]", "{}", "7"])
def test_a_damaged_mark_is_named(tmp_path, text):
    (tmp_path / MARK).write_text(text)
    with pytest.raises(ValueError, match=f"{MARK} must have the format of the runs; it is damaged"):
        Store.create(tmp_path)


def test_a_directory_that_cannot_be_written_is_said_at_once(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(PermissionError):
        Store.create(tmp_path)


def test_runs_of_several_machines_count_once():
    first, other = make_record(0.5), make_record(0.5, seed=1)
    same = replace(first, seconds=99.0, host="there")
    assert merge_records([first, other, same]) == ([first, other], [])
    differs = make_record(0.25)
    assert merge_records([first, differs, differs]) == ([first], [TINY.key])
