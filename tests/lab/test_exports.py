"""Exports, read back by other means."""

import csv
import io
import struct
import sys
from types import SimpleNamespace

import pytest

from posenc.lab import exports
from tests.lab.runs import TINY, make_record

RECORDS = [make_record(0.5), make_record(seed=1, encoding="learned", refused="beyond, its table")]


def test_csv_has_a_row_for_each_score():
    rows = [*csv.DictReader(io.StringIO(exports.write_csv(RECORDS)))]
    assert [row["lengths"] for row in rows] == ["1-4", "5-8"] * 2
    assert [row["exact"] for row in rows] == ["1.0", "0.5", "1.0", ""]
    assert rows[0]["run"] == TINY.key
    assert rows[3]["refused"] == "beyond, its table"
    assert [*rows[0]] == [*exports.COLUMNS]


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def read_message(data):
    """The fields of a protocol buffer by number, as they come."""
    at, fields = 0, []
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            value, at = data[at : at + size], at + size
        fields.append((number, value))
    return fields


def read_events(data):
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        yield dict(read_message(data[12 : 12 + size]))
        data = data[16 + size :]


def test_tensorboard_files_have_the_curve_and_the_scores(tmp_path):
    exports.write_tensorboard(RECORDS[:1], tmp_path)
    (path,) = tmp_path.rglob("events.out.tfevents.*")
    assert path.parent.name == f"repeat-copy-rope-{TINY.key}"
    first, *events = read_events(path.read_bytes())
    assert first[3] == b"brain.Event:2"
    found = []
    for event in events:
        ((_, value),) = read_message(event[5])
        fields = dict(read_message(value))
        found.append((event[2], fields[1].decode(), struct.unpack("<f", fields[2])[0]))
    assert found == [
        (6, "train/loss", 1.5),
        (6, "train/exact", 0.5),
        (12, "train/loss", 0.25),
        (4, "test/exact", 1.0),
        (4, "test/loss", 0.0),
        (8, "test/exact", 0.5),
        (8, "test/loss", 0.5),
    ]


def test_checksums_are_those_of_the_standard():
    """RFC 3720, B.4: 32 bytes of zeros, of ones, and counting up."""
    assert exports.compute_crc32c(bytes(32)) == 0x8A9136AA
    assert exports.compute_crc32c(b"\xff" * 32) == 0x62A8AB43
    assert exports.compute_crc32c(bytes(range(32))) == 0x46DD794E


def test_libraries_that_are_absent_are_named(tmp_path, monkeypatch):
    for name in ("pyarrow", "trackio"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match="Parquet needs pyarrow: pip install pyarrow"):
        exports.write_parquet(RECORDS, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="trackio needs trackio: pip install trackio"):
        exports.log_to_trackio(RECORDS, "mine")


def test_trackio_is_told_every_number(monkeypatch):
    told = []
    stand_in = SimpleNamespace(
        init=lambda **options: told.append(options["name"]),
        log=lambda values, step: told.append((step, values)),
        finish=lambda: told.append("end"),
    )
    monkeypatch.setitem(sys.modules, "trackio", stand_in)
    exports.log_to_trackio(RECORDS[:1], "mine")
    assert told[:2] == ["repeat-copy-rope-0", (6, {"train/loss": 1.5})]
    assert told[-1] == "end"
