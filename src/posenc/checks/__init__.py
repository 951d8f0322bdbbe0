"""The doctor: is this a sound positional encoding? A verdict with measured numbers."""

from collections.abc import Callable
from typing import Any

from posenc.checks.engine import Check, Measured, NotApplicableError, run
from posenc.checks.properties import ALL
from posenc.checks.report import Report, Row
from posenc.mechanisms import Encoding

__all__ = ["ALL", "Check", "Measured", "NotApplicableError", "Report", "Row", "check"]


def check(
    encoding: Encoding,
    *,
    seed: int = 0,
    limit: float = 20.0,
    progress: Callable[[str], Any] | None = None,
) -> Report:
    """Measure every property of `encoding`: those that it claims must hold.

    Claims are its `traits`, and what every encoding must do: be deterministic and without state,
    decode as it prefills, have right gradients. Each check gets `limit` seconds; an exception, a
    wrong shape, NaN or no answer is a verdict, not an error. Code of others comes in by `pe.adapt`.

    >>> import posenc as pe
    >>> report = check(pe.RoPE(8))
    >>> report.ok, report["relative"].verdict
    (True, 'holds')
    """
    return run(encoding, ALL, seed=seed, limit=limit, progress=progress)
