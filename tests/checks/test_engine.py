"""Running checks: whatever goes wrong is a verdict, and nothing crashes the doctor."""

from dataclasses import dataclass

import pytest

import posenc as pe
from tests.mutants.encodings import MUTANTS, Turned, hanging
from tests.patient import check


def test_no_answer_is_a_verdict():
    report = pe.check(hanging(), limit=0.2)  # which would sleep for a day
    row = report["relative"]
    assert (row.verdict, row.detail) == ("not measured", "no answer within 0.2 s")
    assert report.failed == ()
    assert "relative" in report.unmeasured
    assert not report.ok
    assert " not measured: " in str(report).splitlines()[0]


def test_an_encoding_that_raises_a_timeout_fails():
    def impatient(x, positions):
        raise TimeoutError("the socket closed")

    report = check(pe.adapt.rotary(impatient, dim=8))
    assert report["relative"].verdict == "fails"
    assert report["relative"].detail == "TimeoutError: the socket closed"


@pytest.mark.parametrize("name", ["Raises", "WrongShape", "NaNs"])
def test_what_goes_wrong_is_told(name):
    report = check(MUTANTS[name][0])
    told = {"Raises": "segment of CUDA", "WrongShape": "rotate must give", "NaNs": "nan"}[name]
    assert told in str(report).lower() or told in str(report)


def test_reports_are_deterministic_for_a_seed():
    first, second = (check(pe.KERPLE(3), seed=4).to_json() for _ in range(2))
    for report in (first, second):
        for row in report["rows"]:
            row.pop("seconds")
    assert first == second
    other = {row["name"]: row["measured"] for row in check(pe.KERPLE(3), seed=5).to_json()["rows"]}
    assert other["ordered"] != {r["name"]: r["measured"] for r in first["rows"]}["ordered"]


@pytest.mark.parametrize("trouble", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_not_even_an_exit_ends_a_check(trouble):
    def leaves(x, positions):
        raise trouble

    report = check(pe.adapt.rotary(leaves, dim=8))
    assert report["relative"].verdict == "fails"
    assert type(trouble).__name__ in report["relative"].detail


def test_traits_and_names_that_are_broken_are_verdicts():
    class Nameless(Turned):
        traits = None

        def __repr__(self):
            raise RuntimeError

    report = check(Nameless())
    assert report.subject == "Nameless"
    assert "NoneType" in report["unique"].detail


def test_claims_choose_what_fails():
    """The same numbers: a failed claim, or a plain fact."""

    @dataclass(frozen=True)
    class Modest(Turned):
        @property
        def traits(self):
            return pe.Traits()

        def cos_sin(self, positions, *, dtype=None):
            cos, sin = super().cos_sin(positions, dtype=dtype)
            return 2 * cos, 2 * sin

    report = check(Modest())
    assert report.ok
    assert report["norm_preserving"].verdict == "not claimed: does not hold"
    assert report["relative"].verdict == "not claimed: holds"


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: pe.check(3),
            "encoding must be an Encoding (pe.adapt makes one of other code), a name, an "
            "expression or a config.json; got 3",
        ),
        (
            lambda: pe.check(pe.NoPE(), seed=-1),
            "seed must be a whole number of at least 0; got seed=-1",
        ),
    ],
)
def test_messages(work, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        work()
    assert str(caught.value) == message
