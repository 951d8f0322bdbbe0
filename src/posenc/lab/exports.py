"""Results for other programs: CSV, Parquet, TensorBoard's event files, trackio."""

import csv
import io
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from posenc.lab.optional import import_optional
from posenc.lab.record import Record
from posenc.lab.settings import format_lengths

COLUMNS = (
    *("run", "protocol", "task", "encoding", "seed", "trained", "steps", "seconds", "lengths"),
    *("extension", "exact", "symbols", "loss", "refused"),
)


def list_rows(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """A row for each score of each run."""
    for record in records:
        settings = record.settings
        run = {
            "run": settings.key,
            "protocol": settings.protocol,
            "task": settings.task,
            "encoding": settings.label,
            "seed": settings.seed,
            "trained": record.fitted,
            "steps": record.steps,
            "seconds": round(record.seconds, 3),
        }
        for score in record.scores:
            yield {
                **run,
                "lengths": format_lengths(score.lengths),
                "extension": score.extension,
                "exact": score.exact,
                "symbols": score.symbols,
                "loss": score.loss,
                "refused": score.refused,
            }


def write_csv(records: Iterable[Record]) -> str:
    """The rows as CSV, with a line of headings."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(list_rows(records))
    return text.getvalue()


def write_parquet(records: Iterable[Record], path: Path) -> None:
    """The rows as Parquet, if pyarrow is installed."""
    arrow = import_optional("pyarrow", "Parquet")
    parquet = import_optional("pyarrow.parquet", "Parquet")
    parquet.write_table(arrow.Table.from_pylist(list(list_rows(records))), path)


def write_tensorboard(records: Iterable[Record], folder: Path) -> None:
    """A folder for each run with its curve and scores, as TensorBoard reads them."""
    for record in records:
        run = folder / f"{record.settings.task}-{record.settings.label}-{record.settings.key}"
        run.mkdir(parents=True, exist_ok=True)
        events = [encode_event(0, version="brain.Event:2")]
        for step, tag, value in list_scalars(record):
            events.append(encode_event(step, tag=tag, value=value))
        path = run / "events.out.tfevents.0.posenc"
        path.write_bytes(b"".join(map(frame_record, events)))


def list_scalars(record: Record) -> Iterator[tuple[int, str, float]]:
    """The points of a curve by step, and the scores by length."""
    for point in record.curve:
        yield point.step, "train/loss", point.loss
        if point.exact is not None:
            yield point.step, "train/exact", point.exact
    for score in record.scores:
        group = f"test/{score.extension}" if score.extension else "test"
        for name, value in (("exact", score.exact), ("loss", score.loss)):
            if value is not None:
                yield score.lengths[1], f"{group}/{name}", value


def log_to_trackio(records: Iterable[Record], project: str) -> None:
    """A run of trackio for each of ours, if it is installed."""
    trackio = import_optional("trackio", "trackio")
    for record in records:
        name = f"{record.settings.task}-{record.settings.label}-{record.settings.seed}"
        trackio.init(project=project, name=name, config=record.settings.to_json())
        for step, tag, value in list_scalars(record):
            trackio.log({tag: value}, step=step)
        trackio.finish()


def encode_event(step: int, *, tag: str = "", value: float = 0.0, version: str = "") -> bytes:
    """TensorBoard's Event as a protocol buffer: wall_time 1, step 2, file_version 3, summary 5.

    The summary has one value, {tag: 1, simple_value: 2}. Times are 0, so that equal runs are equal.
    """
    event = b"\x09" + struct.pack("<d", 0.0) + b"\x10" + encode_varint(step)
    if version:
        return event + _encode_bytes(3, version.encode())
    entry = _encode_bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
    return event + _encode_bytes(5, _encode_bytes(1, entry))


def encode_varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first.

    >>> encode_varint(300)
    b'\\xac\\x02'
    """
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _encode_bytes(field: int, data: bytes) -> bytes:
    return encode_varint(field << 3 | 2) + encode_varint(len(data)) + data


def frame_record(data: bytes) -> bytes:
    """A TFRecord: the length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + _mask_checksum(length) + data + _mask_checksum(data)


def _mask_checksum(data: bytes) -> bytes:
    crc = compute_crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def compute_crc32c(data: bytes) -> int:
    """The CRC of Castagnoli's polynomial, a bit at a time.

    >>> hex(compute_crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
