"""The record of a run: what it measured, and where and how long it ran."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from posenc.lab.settings import Lengths, Settings
from posenc.lab.tasks import TextTask, digest_text, find_task, guess_loss


@dataclass(frozen=True)
class Point:
    """A point of the curve: the mean loss of the steps since the last, and a check if one was."""

    step: int
    loss: float
    exact: float | None = None


@dataclass(frozen=True)
class Score:
    """An evaluation at one range of lengths.

    extension   the scaling under which the model was tested; "" for the encoding as trained
    exact       the part of examples whose answer is right as a whole
    symbols     the part of answered symbols that are right
    loss        nats for each answered symbol
    refused     why the encoding could not be tested there; "" if it was
    """

    lengths: Lengths
    extension: str = ""
    exact: float | None = None
    symbols: float | None = None
    loss: float | None = None
    refused: str = ""


@dataclass(frozen=True)
class Record:
    """A finished run. `curve` and `scores` depend on the settings alone, bit for bit.

    curve      how training went
    scores     in length first, then beyond; then each extension
    steps      how many were made
    versions   of the programs that made it
    seconds    of training and testing, over all times that the run was taken up again
    host       the machine
    """

    settings: Settings
    curve: tuple[Point, ...]
    scores: tuple[Score, ...]
    steps: int
    versions: Mapping[str, str]
    seconds: float
    host: str

    @property
    def fitted(self) -> bool:
        """Whether it learned its task in length; of text, more than how frequent characters are."""
        first = self.scores[0]
        if isinstance(find_task(self.settings.task), TextTask):
            return first.loss is not None and first.loss < guess_loss()
        return first.exact is not None and first.exact >= self.settings.fit


@dataclass(frozen=True)
class Failure:
    """A run that raised an error, and the error as a sentence."""

    settings: Settings
    error: str


def read_versions() -> dict[str, str]:
    """The programs that a result may depend on."""
    import torch

    return {
        "posenc": version("posenc"),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": version("numpy"),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "text": digest_text(),
    }


def to_json(record: Record) -> dict[str, Any]:
    """The record as plain values, by the names of the files of its directory."""
    return {
        "settings": record.settings.to_json(),
        "versions": {
            **record.versions,
            "seconds": round(record.seconds, 3),
            "host": record.host,
        },
        "curve": [[point.step, point.loss, point.exact] for point in record.curve],
        "evaluation": {
            "steps": record.steps,
            "scores": [
                {
                    "lengths": list(score.lengths),
                    "extension": score.extension,
                    "exact": score.exact,
                    "symbols": score.symbols,
                    "loss": score.loss,
                    "refused": score.refused,
                }
                for score in record.scores
            ],
        },
    }


def from_json(data: Mapping[str, Any]) -> Record:
    """The record that `to_json` has written."""
    versions = dict(data["versions"])
    seconds, host = versions.pop("seconds"), versions.pop("host")
    scores = tuple(
        Score(
            (score["lengths"][0], score["lengths"][1]),
            score["extension"],
            score["exact"],
            score["symbols"],
            score["loss"],
            score["refused"],
        )
        for score in data["evaluation"]["scores"]
    )
    return Record(
        Settings.from_json(data["settings"]),
        tuple(Point(*point) for point in data["curve"]),
        scores,
        data["evaluation"]["steps"],
        versions,
        seconds,
        host,
    )
