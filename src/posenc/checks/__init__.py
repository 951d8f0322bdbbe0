"""The doctor: is this a sound positional encoding? A verdict with measured numbers."""

from collections.abc import Callable

from posenc.checks.engine import Check, Measurement, NotApplicableError, run
from posenc.checks.properties import ALL
from posenc.checks.report import Report, Row
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.names.resolve import resolve_one

__all__ = ["ALL", "Check", "Measurement", "NotApplicableError", "Report", "Row", "check"]


@hinted("check")
def check(
    encoding: Encoding | str,
    *,
    seed: int = 0,
    limit: float = 20.0,
    progress: Callable[[str], object] | None = None,
) -> Report:
    """Measure every property of `encoding`; those that it claims must hold.

    encoding   a value, a name, an expression, or the path of a config.json with one encoding; wrap
               foreign code with `pe.adapt`
    seed       draws parameters, queries, keys and positions
    limit      seconds for each check
    progress   called with the name of each check before it runs

    Its claims are its `traits` and what holds of every encoding: it is deterministic and stateless,
    decoding agrees with prefilling, gradients are correct. An exception, a wrong shape, NaN or a
    timeout is a verdict, not an error.

    >>> report = check("RoPE(8)")
    >>> report.ok, report["relative"].verdict
    (True, 'holds')
    """
    return run(resolve_one(encoding), ALL, seed=seed, limit=limit, progress=progress)
