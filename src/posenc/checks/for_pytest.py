"""The checks in your own test suite, one test for each.

from posenc.checks.for_pytest import parametrize_with_checks

@parametrize_with_checks([MyEncoding(64)])
def test_my_encoding(encoding, check):
    check(encoding)
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from posenc.checks.engine import Check, run
from posenc.checks.properties import ALL
from posenc.core.encoding import Encoding

if TYPE_CHECKING:
    import pytest


def parametrize_with_checks(
    encodings: Iterable[Encoding], *, seed: int = 0, limit: float = 20.0
) -> "pytest.MarkDecorator":
    """A mark that runs a test for each encoding and each check: `check(encoding)` asserts it."""
    import pytest

    cases = [
        pytest.param(encoding, _make_assertion(check, seed, limit), id=f"{encoding}-{check.name}")
        for encoding in encodings
        for check in ALL
    ]
    return pytest.mark.parametrize(("encoding", "check"), cases)


def _make_assertion(check: Check, seed: int, limit: float) -> Callable[[Encoding], None]:
    def assert_check(encoding: Encoding) -> None:
        row = run(encoding, [check], seed=seed, limit=limit).rows[0]
        if row.verdict == "not measured":
            raise AssertionError(f"{row.name} of {encoding} was not measured: {row.detail}")
        if row.verdict == "fails":
            raise AssertionError(
                f"{encoding} claims {row.name} and fails: {row.what} "
                f"Measured {row.measured}, {row.bound}. {row.detail}"
            )

    return assert_check
