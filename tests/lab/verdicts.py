"""What scores of docs/findings.json say: who is above whom, what holds and what rises."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posenc.lab.results import Estimate

Table = Mapping[str, Any]

HELD, RISEN = 0.05, 0.1
"""Nats by which the loss at the longest length is above the loss in length: at most, or more."""


@dataclass(frozen=True)
class Reading:
    """The score of an encoding at one length: the mean and half of its interval.

    values   one for each seed, in their order; none if some seeds are not trained
    """

    mean: float
    half: float
    values: tuple[float, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        return self.mean - self.half, self.mean + self.half


def is_row(row: Mapping[str, Any], encoding: str) -> bool:
    """Whether a row is of this encoding; its label may go on with sizes that differ."""
    return row["encoding"] == encoding or row["encoding"].startswith(f"{encoding}, ")


def read(table: Table, encoding: str, place: int) -> Reading | None:
    """The score in length (0) or at a range beyond (1, 2, …; -1 the last); None without one."""
    for row in table["rows"]:
        if is_row(row, encoding) and row["trained"]:
            cell = [row["in_length"], *row["beyond"]][place]
            if cell["mean"] is not None:
                values = tuple(cell["values"]) if row["trained"] == row["seeds"] else ()
                return Reading(cell["mean"], cell["half"] or 0.0, values)
    return None


def is_above(
    table: Table, first: str, second: str, place: int = -1, *, by: float = 0.0
) -> bool | None:
    """Whether the score of `first` is larger, beyond the spread over seeds; None without both.

    Runs of one seed have the same batches and, but for the encoding, the same first weights, so
    they are compared seed by seed if all of them are trained.
    """
    one, other = read(table, first, place), read(table, second, place)
    if one is None or other is None:
        return None
    if len(one.values) != len(other.values) or len(one.values) < 2:
        return one.ends[0] > other.ends[1] + by
    found = Estimate.of([a - b for a, b in zip(one.values, other.values, strict=True)])
    return found.mean - (found.half or 0.0) > by


def is_refused(table: Table, encoding: str) -> bool:
    """Whether an encoding could be tested at none of the lengths beyond."""
    rows = [row for row in table["rows"] if is_row(row, encoding)]
    return bool(rows) and all(cell["refused"] for row in rows for cell in row["beyond"])


def measure_rise(table: Table, encoding: str, place: int = -1) -> Estimate | None:
    """The loss beyond, at the longest length unless said otherwise, less that in length."""
    first, last = read(table, encoding, 0), read(table, encoding, place)
    if first is None or last is None or not first.values:
        return None
    return Estimate.of([b - a for a, b in zip(first.values, last.values, strict=True)])


def rises(table: Table, encoding: str) -> bool | None:
    """Whether the loss rises by more than RISEN nats, beyond the spread over seeds."""
    rise = measure_rise(table, encoding)
    return None if rise is None else rise.mean - (rise.half or 0.0) > RISEN


def holds(table: Table, encoding: str, place: int = -1) -> bool | None:
    """Whether the loss rises by at most HELD nats, beyond the spread over seeds."""
    rise = measure_rise(table, encoding, place)
    return None if rise is None else rise.mean + (rise.half or 0.0) <= HELD


def find_table(tables: Sequence[Table], task: str) -> Table:
    """The table of a task; an empty one if it was not run."""
    return next((table for table in tables if table["task"] == task), {"rows": []})


def measure_gap(table: Table, encoding: str) -> float | None:
    """How much higher the loss in length is without an encoding than with this one."""
    bare, encoded = read(table, "nope", 0), read(table, encoding, 0)
    return None if bare is None or encoded is None else bare.mean - encoded.mean


def has_wider_gap(tables: Sequence[Table], masked: str, causal: str) -> bool | None:
    """Whether a masked model loses more than three times what a causal one does."""
    wide = measure_gap(find_table(tables, "masked-lm"), masked)
    narrow = measure_gap(find_table(tables, "causal-lm"), causal)
    return None if wide is None or narrow is None else wide > 3 * abs(narrow)


def reaches(table: Table, encoding: str, least: float, *places: int) -> bool | None:
    """Whether the mean is above `least` at each of these places."""
    found = [read(table, encoding, place) for place in places]
    return None if None in found else all(each.mean > least for each in found if each)
