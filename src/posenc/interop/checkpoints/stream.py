"""Convert the files of a checkpoint, a piece of a tensor in memory at a time."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from posenc.core.rotation import Pairing
from posenc.interop.checkpoints.files import (
    Header,
    find_files,
    find_index,
    read_header,
    require_listed,
)
from posenc.interop.checkpoints.plan import Plan, plan_conversion
from posenc.interop.checkpoints.rows import Rows
from posenc.interop.loading import Config

PIECE = 2**20
"""Bytes that are in memory at once, or one head if that has more: larger pieces leave the cache of
the processor between reading and writing, and 2 GB took three times as long."""
PARTIAL = ".partial"
"""The end of the name of a file that is being written."""
Progress = Callable[[int, int], None]
"""Is told the bytes written so far, and of all files."""


def _ignore(*_told: object) -> None:
    """Nothing is shown."""


@dataclass(frozen=True)
class Conversion:
    """A conversion that has been checked and can be run.

    target   the file to write, or the folder of several
    index    of several files, which is copied
    present  files in the folder whose headers are those of an earlier run; their bytes are compared
    """

    plan: Plan
    headers: tuple[Header, ...]
    target: Path
    sharded: bool
    index: Path | None = None
    present: frozenset[Path] = field(default_factory=frozenset[Path])

    def place(self, header: Header) -> Path:
        """Where the converted file goes."""
        return self.target / header.path.name if self.sharded else self.target

    def run(
        self, progress: Progress = _ignore, *, kept: Callable[[Path], None] = _ignore
    ) -> list[Path]:
        """Write every file that is not finished; each appears whole or not at all.

        kept    is told of each file of an earlier run that has every byte of this conversion
        """
        whole, done = sum(header.size for header in self.headers), 0
        if self.sharded:
            self.target.mkdir(exist_ok=True)
        for header in self.headers:
            place = self.place(header)
            if place in self.present and _is_finished(header, self.plan, place):
                kept(place)
            else:
                _write(header, self.plan, place, lambda n, before=done: progress(before + n, whole))
            done += header.size
            progress(done, whole)
        if self.index is not None:
            _copy(self.index, self.target / self.index.name)
        return [self.place(header) for header in self.headers]


def prepare(
    source: Path,
    config: Config,
    target: Path,
    *,
    to: Pairing,
    pairing: Pairing | None = None,
    force: bool = False,
) -> Conversion:
    """Check everything that can be before a byte is written.

    The pairing that an earlier conversion recorded in the files counts, before that of the model
    type and before `pairing`. A file that holds something else is overwritten only with `force`.
    """
    files = find_files(source)
    headers = tuple(read_header(path) for path in files)
    if (index := find_index(source)) is not None:
        require_listed(index, headers)
    sharded = source.is_dir() or source.suffix == ".json"
    _check_target(target, files, sharded=sharded)
    for header in headers:
        if header.pairing == to:
            raise ValueError(f"{header.path} has been converted already: its metadata says {to}")
        pairing = header.pairing or pairing
    shapes = {name: t.shape for header in headers for name, t in header.tensors.items()}
    if len(shapes) != sum(len(header.tensors) for header in headers):
        raise ValueError(f"each tensor must be in one file of {source}; some are in several")
    plan = plan_conversion(config, shapes, to=to, pairing=pairing)
    made = Conversion(plan, headers, target, sharded, index)
    ours = frozenset(made.place(h) for h in headers if _has_header(h, made.place(h), to))
    for place in map(made.place, headers):
        if place.exists() and place not in ours and not force:
            raise ValueError(
                f"the output must be new, or a file that this conversion wrote; {place} is another "
                "file, which --force overwrites"
            )
    present = ours if sharded else frozenset[Path]()
    left = sum(h.size for h in headers if made.place(h) not in present)
    _require_space(target.parent if not target.exists() else target, left)
    return replace(made, present=present)


def _check_target(target: Path, files: list[Path], *, sharded: bool) -> None:
    if not target.parent.is_dir():
        raise ValueError(f"the folder of the output must exist; got {target}")
    if sharded and (target.is_file() or target.resolve() == files[0].parent.resolve()):
        raise ValueError(f"the output must be another folder than that of the input; got {target}")
    if not sharded and (target.is_dir() or target.resolve() == files[0].resolve()):
        raise ValueError(f"the output must be another file than the input; got {target}")


def _has_header(header: Header, place: Path, to: Pairing) -> bool:
    """Whether a file has the tensors and the pairing of a converted one."""
    try:
        made = read_header(place)
    except (ValueError, OSError):
        return False
    return made.pairing == to and made.tensors == header.tensors


def _is_finished(header: Header, plan: Plan, place: Path) -> bool:
    """Whether a file has every byte that this conversion would write.

    A header and a size prove nothing of the bytes: the disk may have lost them, and the input may
    be another one of the same shapes. Reading both is cheaper than writing one.
    """
    with header.path.open("rb") as old, place.open("rb") as made:
        pieces = chain([header.with_pairing(plan.to)], _convert_bytes(old, header, plan))
        return all(made.read(len(piece)) == piece for piece in pieces) and not made.read(1)


def _require_space(folder: Path, count: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < count:
        raise ValueError(f"{folder} must have {count:,} bytes of free space; it has {free:,}")


def _write(header: Header, plan: Plan, place: Path, progress: Callable[[int], None]) -> None:
    """Write a converted file under another name, and rename it once it is on the disk."""
    partial = place.with_name(place.name + PARTIAL)
    try:
        with header.path.open("rb") as old, partial.open("wb") as new:
            new.write(header.with_pairing(plan.to))
            done = 0
            for piece in _convert_bytes(old, header, plan):
                new.write(piece)
                done += len(piece)
                progress(done)
            new.flush()
            os.fsync(new.fileno())
        read_header(partial)
        partial.replace(place)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _convert_bytes(file: BinaryIO, header: Header, plan: Plan) -> Iterator[bytes | memoryview]:
    """The bytes of all tensors, in the order of the file."""
    file.seek(header.data)
    for name, tensor in sorted(header.tensors.items(), key=lambda item: item[1].place):
        size = tensor.end - tensor.start
        rows = plan.rows.get(name)
        if rows is None or not size:
            yield from _read_pieces(file, size, PIECE)
        else:
            yield from _move_rows(file, size, rows, plan.to)


def _read_pieces(file: BinaryIO, size: int, most: int) -> Iterator[bytes]:
    while size:
        piece = file.read(min(size, most))
        if not piece:
            raise ValueError(f"{file.name} became shorter while it was read")
        size -= len(piece)
        yield piece


def _move_rows(file: BinaryIO, size: int, rows: Rows, to: Pairing) -> Iterator[memoryview]:
    """Reorder rows, in pieces that end between two heads: no row leaves its head."""
    row, index = size // rows.count, rows.index(to)
    ends = sorted({*(start + rows.width for start in rows.starts), rows.count})
    first = 0
    for end, following in zip(ends, [*ends[1:], None], strict=True):
        if following is not None and (following - first) * row <= PIECE:
            continue
        piece = b"".join(_read_pieces(file, (end - first) * row, PIECE))
        table = np.frombuffer(piece, np.uint8).reshape(end - first, row)
        yield table[index[first:end] - first].data.cast("B")
        first = end


def _copy(source: Path, target: Path) -> None:
    partial = target.with_name(target.name + PARTIAL)
    shutil.copyfile(source, partial)
    partial.replace(target)
