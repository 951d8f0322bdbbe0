"""Runs on disk: a directory for each, named by the hash of its settings, complete or absent.

runs/
  posenc-lab.json              which format this is
  3f2a…/                       a finished run: settings.json versions.json curve.json
                               evaluation.json
  3f2a….failed/                a run that raised an error: settings.json error.json
  3f2a….checkpoint             where an unfinished run is
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from posenc.lab.record import Failure, Record, from_json, to_json
from posenc.lab.settings import Settings

T = TypeVar("T")

MARK = "posenc-lab.json"
FORMAT = 1
PARTS = ("settings", "versions", "curve", "evaluation")
KEY = re.compile(r"[0-9a-f]{16}")
FAILED = ".failed"


class Store:
    """A directory of runs.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.create(folder)
    ...     store.list_finished(), store.read_failures()
    (set(), [])
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        mark = self.path / MARK
        if not mark.is_file():
            raise ValueError(
                f"{self.path} must be a directory of runs of the lab, with {MARK} in it"
            )
        try:
            found = json.loads(mark.read_text(encoding="utf-8"))["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{mark} must have the format of the runs; it is damaged") from error
        if found != FORMAT:
            raise ValueError(f"{self.path} has runs of format {found}; this posenc reads {FORMAT}")

    @classmethod
    def create(cls, path: str | Path) -> "Store":
        """The directory of runs at `path`, made if there is none; another's is refused."""
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path} must be a directory; it is a file")
        if not (path / MARK).exists():
            if path.is_dir() and not all(is_unfinished(each, MARK) for each in path.iterdir()):
                raise ValueError(
                    f"{path} must be empty or a directory of runs of the lab; it has other files"
                )
            path.mkdir(parents=True, exist_ok=True)
            write_whole(path / MARK, {"format": FORMAT})
        store = cls(path)
        with tempfile.TemporaryFile(dir=path):  # says now that nothing can be written
            return store

    def list_finished(self) -> set[str]:
        """The keys of finished runs, by one directory listing."""
        return {path.name for path in self.path.iterdir() if KEY.fullmatch(path.name)}

    def checkpoint(self, settings: Settings) -> Path:
        """The file that an unfinished run goes on from."""
        return self.path / f"{settings.key}.checkpoint"

    def write(self, outcome: Record | Failure) -> None:
        """Keep a finished run, or the error of a failed one: as a whole, or not at all."""
        settings = outcome.settings
        if isinstance(outcome, Record):
            self._write_folder(settings.key, to_json(outcome))
            self.checkpoint(settings).unlink(missing_ok=True)
            shutil.rmtree(self.path / f"{settings.key}{FAILED}", ignore_errors=True)
        else:
            shutil.rmtree(self.path / f"{settings.key}{FAILED}", ignore_errors=True)
            error = {"settings": settings.to_json(), "error": outcome.error}
            self._write_folder(f"{settings.key}{FAILED}", error)

    def _write_folder(self, name: str, parts: Mapping[str, Any]) -> None:
        with tempfile.TemporaryDirectory(dir=self.path, prefix=".writing-") as temporary:
            folder = Path(temporary) / name
            folder.mkdir()
            for part, data in parts.items():
                write_whole(folder / f"{part}.json", data)
            target = self.path / name
            if not target.exists():  # else another process has finished the same run
                folder.rename(target)

    def read(self, key: str) -> Record:
        """A finished run."""
        return self._read(key, PARTS, from_json)

    def read_failures(self) -> list[Failure]:
        """Every failed run that was not made up for since."""
        return [
            self._read(folder.name, ("settings", "error"), _to_failure)
            for folder in sorted(self.path.glob(f"*{FAILED}"))
        ]

    def _read(self, name: str, parts: Sequence[str], make: Callable[[dict[str, Any]], T]) -> T:
        folder = self.path / name
        try:
            texts = {part: (folder / f"{part}.json").read_text(encoding="utf-8") for part in parts}
            return make({part: json.loads(text) for part, text in texts.items()})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder} must be a run, and is damaged; {error}") from error


def _to_failure(parts: dict[str, Any]) -> Failure:
    return Failure(Settings.from_json(parts["settings"]), parts["error"])


def merge_records(records: Iterable[Record]) -> tuple[list[Record], list[str]]:
    """The runs of several directories, each once; and the keys of those that differ in a bit.

    The first of runs with equal settings is kept.
    """
    kept, differing = dict[str, Record](), list[str]()
    for record in records:
        key = record.settings.key
        first = kept.setdefault(key, record)
        if (first.curve, first.scores) != (record.curve, record.scores):
            differing.append(key)
    return list(kept.values()), list(dict.fromkeys(differing))


def is_unfinished(path: Path, name: str) -> bool:
    """Whether `write_whole` was killed while it wrote a file of this name here."""
    return path.name.startswith(f".{name}.")


def write_whole(path: Path, data: object) -> None:
    """Write JSON that is either all there or not at all, also after a power cut."""
    text = json.dumps(data, indent=1) + "\n"
    whole = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with whole.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)
