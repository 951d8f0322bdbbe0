"""The doctor: is this a sound positional encoding? A verdict with measured numbers."""

from collections.abc import Callable
from typing import Any

from posenc.checks.engine import Check, Measured, NotApplicableError, run
from posenc.checks.properties import ALL
from posenc.checks.report import Report, Row
from posenc.core.hints import hinted
from posenc.core.mechanisms import Encoding
from posenc.names.resolve import resolve_one

__all__ = ["ALL", "Check", "Measured", "NotApplicableError", "Report", "Row", "check"]


@hinted("check")
def check(
    encoding: Encoding | str,
    *,
    seed: int = 0,
    limit: float = 20.0,
    progress: Callable[[str], Any] | None = None,
) -> Report:
    """Measure every property of `encoding`: those that it claims must hold.

    `encoding` is a value, a name, an expression or a config.json with one encoding in it.
    Claims are its `traits`, and what every encoding must do: be deterministic and without state,
    decode as it prefills, have right gradients. Each check gets `limit` seconds; an exception, a
    wrong shape, NaN or no answer is a verdict, not an error. Code of others comes in by `pe.adapt`.

    >>> report = check("RoPE(8)")
    >>> report.ok, report["relative"].verdict
    (True, 'holds')
    """
    return run(resolve_one(encoding), ALL, seed=seed, limit=limit, progress=progress)
