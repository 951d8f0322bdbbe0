"""Running checks: each within a time limit, and whatever goes wrong is a verdict."""

import threading
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from posenc.checks.report import Report, Row, Verdict
from posenc.checks.subject import Subject
from posenc.core import rules
from posenc.core.encoding import Encoding

T = TypeVar("T")


@dataclass(frozen=True)
class Measurement:
    """A number and the bound that it must keep to: at most that, or `least` that."""

    value: float
    bound: float
    detail: str = ""
    least: bool = False

    @property
    def holds(self) -> bool:
        """Whether it keeps to the bound; what is no number does not."""
        return bool(self.value >= self.bound if self.least else self.value <= self.bound)


class NoAnswerError(Exception):
    """What a check that ran out of time, or was not run, says instead of a number."""


class NotApplicableError(Exception):
    """Raised by a measure that has nothing to measure, with the reason."""


@dataclass(frozen=True)
class Check:
    """A property: when it is claimed, how it is measured, why it matters."""

    name: str
    what: str
    why: str
    claimed: Callable[[Encoding], bool]
    measure: Callable[[Subject, np.random.Generator], Measurement]


def _make_subject(encoding: Encoding, seed: int) -> Subject:
    """The subject, which knows what it takes: the seconds of importing PyTorch are no check's."""
    subject = Subject(encoding, seed=seed)
    _ = subject.takes_tensors
    return subject


def run(
    encoding: Encoding,
    checks: Iterable[Check],
    *,
    seed: int = 0,
    limit: float = 20.0,
    progress: Callable[[str], object] | None = None,
) -> Report:
    """The report of these checks; it never raises for what the encoding does."""
    if not isinstance(encoding, Encoding):
        raise TypeError(
            f"encoding must be an Encoding, made by pe.adapt if need be; got {encoding!r}"
        )
    rules.whole("seed", seed, least=0)
    rules.real("limit", limit, least=1e-3)
    name, _, _ = _run_within(limit, partial(str, encoding))
    subject, no_subject, seconds = _run_within(limit, partial(_make_subject, encoding, seed))
    rows: list[Row] = []
    silent = 0
    for check in checks:
        if progress is not None:
            progress(check.name)
        claimed, wrong, _ = _run_within(limit, partial(check.claimed, encoding))
        claimed = claimed is None or claimed  # traits that are none are no excuse
        made, trouble, spent = None, wrong or no_subject, seconds
        if trouble is None and silent >= 2:
            trouble, spent = NoAnswerError("not run after two checks without an answer"), 0.0
        elif trouble is None and subject is not None:
            rng = np.random.default_rng([seed, zlib.crc32(check.name.encode())])
            work = partial(check.measure, subject, rng)
            made, trouble, spent = _run_within(limit, work)
            silent += isinstance(trouble, NoAnswerError)
        rows.append(_make_row(check, claimed, made, trouble, spent))
    return Report(name or type(encoding).__name__, tuple(rows))


def _make_row(
    check: Check,
    claimed: bool,
    made: Measurement | None,
    trouble: BaseException | None,
    seconds: float,
) -> Row:
    holds: Verdict = "holds" if claimed else "not claimed: holds"
    fails: Verdict = "fails" if claimed else "not claimed: does not hold"
    verdict = fails
    measured, bound, detail = None, None, f"{type(trouble).__name__}: {trouble}"
    if made is not None:
        verdict = holds if made.holds else fails
        measured, detail = made.value, made.detail
        bound = f"{'at least' if made.least else 'at most'} {made.bound:g}"
    elif isinstance(trouble, NotApplicableError):
        verdict, detail = "not applicable", str(trouble)
    elif isinstance(trouble, NoAnswerError):  # it tells of the machine as much as of the encoding
        verdict, detail = "not measured", str(trouble)
    return Row(check.name, check.what, check.why, verdict, measured, bound, detail, seconds)


def _run_within(
    limit: float, work: Callable[[], T]
) -> tuple[T | None, BaseException | None, float]:
    """What `work` makes, or what went wrong; a thread that hangs is left behind."""
    made: list[T] = []
    trouble: list[BaseException] = []

    def run_it() -> None:
        try:
            with np.errstate(all="ignore"):
                made.append(work())
        except BaseException as error:  # foreign code may even call sys.exit
            trouble.append(error)

    start = time.perf_counter()
    thread = threading.Thread(target=run_it, daemon=True)
    thread.start()
    thread.join(limit)
    spent = time.perf_counter() - start
    if thread.is_alive():
        return None, NoAnswerError(f"no answer within {limit:g} s"), spent
    return next(iter(made), None), next(iter(trouble), None), spent
