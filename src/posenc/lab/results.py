"""What runs say together: who was trained, how well it does at each length, who is better."""

import math
import statistics
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from posenc.lab.protocols import PROTOCOLS
from posenc.lab.record import Failure, Record, Score
from posenc.lab.settings import Lengths, Metric, Settings
from posenc.lab.store import Store, merge_records

STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)
"""97.5% quantiles of Student's t of 1, 2, … degrees of freedom; beyond, that of the last."""


@dataclass(frozen=True)
class Estimate:
    """The mean over seeds and the half width of its 95% interval; None of a single seed.

    >>> Estimate.of([0.5, 0.7])
    Estimate(mean=0.6, half=1.2706, count=2)
    """

    mean: float
    half: float | None
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate":
        """Of values that are as many as seeds."""
        mean, count = statistics.fmean(values), len(values)
        if count == 1:
            return cls(mean, None, 1)
        t = STUDENT[min(count - 1, len(STUDENT)) - 1]
        half = t * statistics.stdev(values) / math.sqrt(count)
        return cls(round(mean, 12), round(half, 12), count)

    def is_above(self, other: "Estimate") -> bool:
        """Whether this interval lies above another as a whole."""
        if self.half is None or other.half is None:
            return False
        return self.mean - self.half > other.mean + other.half


@dataclass(frozen=True)
class Cell:
    """A score at one range of lengths: an estimate over the seeds that were trained, or a refusal.

    values   one for each of them, in order of seeds
    """

    lengths: Lengths
    values: tuple[float, ...] = ()
    refused: str = ""

    @property
    def estimate(self) -> Estimate | None:
        """The mean and its interval; None if nothing could be tested."""
        return Estimate.of(self.values) if self.values else None


@dataclass(frozen=True)
class Row:
    """An encoding on a task.

    label     the encoding, with how positions are drawn and the scaling that it was tested under
    seeds     how many runs there are
    trained   how many of them fit in length; only these count in `cells`
    in_length the score in length of all runs, trained or not
    cells     at each range beyond
    paper     what the paper of the protocol found there
    place     1 + how many rows are better beyond all doubt; None if that cannot be said
    """

    label: str
    seeds: int
    trained: int
    in_length: Cell
    cells: tuple[Cell, ...]
    paper: tuple[float, ...] = ()
    place: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Table:
    """Encodings on one task under one protocol."""

    protocol: str
    task: str
    metric: Metric
    train_lengths: Lengths
    rows: tuple[Row, ...]

    @property
    def lengths(self) -> tuple[Lengths, ...]:
        """The ranges beyond the trained lengths."""
        return tuple(cell.lengths for cell in self.rows[0].cells)

    @property
    def falls(self) -> bool:
        """Whether less is better."""
        return self.metric == "loss"


@dataclass(frozen=True)
class Results:
    """All tables, and what else is to be said."""

    tables: tuple[Table, ...]
    failures: tuple[Failure, ...] = ()
    differing: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return {
            "tables": [_table_json(table) for table in self.tables],
            "failures": [{"run": f.settings.key, "error": f.error} for f in self.failures],
            "differing": list(self.differing),
        }


def read_results(*paths: object, only: Container[str] | None = None) -> Results:
    """The results of one or more directories of runs, merged; `only` those with these keys."""
    if not paths:
        raise ValueError("at least one directory of runs must be given")
    stores = [Store(str(path)) for path in paths]

    def is_meant(key: str) -> bool:
        return only is None or key in only

    read = [store.read(k) for store in stores for k in sorted(store.list_finished()) if is_meant(k)]
    records, differing = merge_records(read)
    done = {record.settings.key for record in records}
    found = (failure for store in stores for failure in store.read_failures())
    failures = [f for f in found if is_meant(f.settings.key) and f.settings.key not in done]
    return summarise(records, failures, differing)


def summarise(
    records: Sequence[Record], failures: Iterable[Failure] = (), differing: Iterable[str] = ()
) -> Results:
    """Tables of records, grouped by everything but the encoding and the seed; in order of seeds."""
    records = sorted(records, key=lambda record: record.settings.seed)
    tables = dict[tuple[Any, ...], list[Record]]()
    for record in records:
        s = record.settings
        group = (s.protocol, s.task, s.metric, s.train_lengths, s.test_lengths)
        tables.setdefault(group, []).append(record)
    made = tuple(_tabulate(of_one) for _, of_one in sorted(tables.items()))
    return Results(made, tuple(failures), tuple(differing), tuple(records))


def _label_runs(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The runs of each row: by the encoding, and by those settings that differ within the table."""
    settings = [record.settings.to_json() for record in records]
    differing = [
        name
        for name in settings[0].keys() - {"seed", "encoding", "positions", "code"}
        if any(each[name] != settings[0][name] for each in settings)
    ]
    rows = dict[str, list[Record]]()
    for record, values in zip(records, settings, strict=True):
        random = record.settings.positions == "randomised"
        sizes = [f"{n} {values[n]}" for n in sorted(differing) if random or n != "limit"]
        rows.setdefault(", ".join([record.settings.label, *sizes]), []).append(record)
    return rows


def _tabulate(records: Sequence[Record]) -> Table:
    first, groups = records[0].settings, _label_runs(records)
    rows = [
        _make_row(label, extension, records, first.metric)
        for label, records in groups.items()
        for extension in dict.fromkeys(score.extension for score in records[0].scores)
    ]
    ranked = _rank(rows, falls=first.metric == "loss")
    return Table(first.protocol, first.task, first.metric, first.train_lengths, tuple(ranked))


def _make_row(label: str, extension: str, records: list[Record], metric: Metric) -> Row:
    settings = records[0].settings
    trained = [record for record in records if record.fitted]
    in_length = [value for r in records if (value := _value(r.scores[0], metric)) is not None]
    cells = tuple(
        _make_cell(trained, lengths, extension, metric) for lengths in settings.lengths[1:]
    )
    return Row(
        f"{label} + {extension}" if extension else label,
        len(records),
        len(trained),
        Cell(settings.train_lengths, tuple(in_length)),
        cells,
        () if extension else _find_paper_scores(settings),
        seconds=statistics.fmean(record.seconds for record in records),
    )


def _find_paper_scores(settings: Settings) -> tuple[float, ...]:
    """What the paper of the protocol found at these lengths, if it trained and tested there."""
    if (protocol := PROTOCOLS.get(settings.protocol)) is None:
        return ()
    own = protocol.settings_of(settings.task, settings.label)
    for found in protocol.findings:
        if (found.task, found.encoding) == (settings.task, settings.label):
            scores = dict(zip(own["test_lengths"], found.scores, strict=True))
            trained_there = own["train_lengths"] == settings.train_lengths
            if trained_there and scores.keys() >= set(settings.test_lengths):
                return tuple(scores[lengths] for lengths in settings.test_lengths)
    return ()


def _make_cell(records: list[Record], lengths: Lengths, extension: str, metric: Metric) -> Cell:
    scores = [
        score
        for record in records
        for score in record.scores
        if (score.lengths, score.extension) == (lengths, extension)
    ]
    refused = next((score.refused for score in scores if score.refused), "")
    values = [value for score in scores if (value := _value(score, metric)) is not None]
    return Cell(lengths, tuple(values), refused)


def _value(score: Score, metric: Metric) -> float | None:
    return {"exact": score.exact, "symbols": score.symbols, "loss": score.loss}[metric]


def _rank(rows: list[Row], *, falls: bool) -> list[Row]:
    """Rows with their places at the longest lengths, the best first; untrained ones at the end."""

    def at_the_end(row: Row) -> Estimate | None:
        return (row.cells or (row.in_length,))[-1].estimate if row.trained else None

    ends = [at_the_end(row) for row in rows]

    def place(own: Estimate | None) -> int | None:
        if own is None or own.half is None:
            return None
        others = [other for other in ends if other is not None]
        return 1 + sum(own.is_above(o) if falls else o.is_above(own) for o in others)

    def order(row: Row) -> tuple[bool, bool, float]:
        end = at_the_end(row)
        mean = 0.0 if end is None else end.mean
        return not row.trained, end is None, mean if falls else -mean

    placed = [replace(row, place=place(end)) for row, end in zip(rows, ends, strict=True)]
    return sorted(placed, key=order)


def _table_json(table: Table) -> dict[str, Any]:
    def cell(each: Cell) -> dict[str, Any]:
        estimate = each.estimate
        return {
            "lengths": list(each.lengths),
            "values": list(each.values),
            "mean": None if estimate is None else estimate.mean,
            "half": None if estimate is None else estimate.half,
            "refused": each.refused,
        }

    return {
        "protocol": table.protocol,
        "task": table.task,
        "metric": table.metric,
        "train_lengths": list(table.train_lengths),
        "rows": [
            {
                "encoding": row.label,
                "seeds": row.seeds,
                "trained": row.trained,
                "place": row.place,
                "in_length": cell(row.in_length),
                "beyond": [cell(each) for each in row.cells],
                "paper": list(row.paper),
                "seconds": row.seconds,
            }
            for row in table.rows
        ],
    }
