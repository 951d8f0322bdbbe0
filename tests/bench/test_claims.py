"""The bars: each is about something that is measured, and is judged as its kind says."""

from fnmatch import fnmatchcase

import pytest

from posenc.bench.case import Request
from posenc.bench.cases import CASES, choose
from posenc.bench.claims import CLAIMS, Claim, compute_growth, judge
from posenc.i18n import phrase


def result(name="work-1", size=0, family="", **rows):
    """A measured case; rows that start with `posenc` are ours."""
    made = {
        each.replace("_", " "): {
            "seconds": seconds,
            "ours": each.startswith("posenc"),
            "steady": True,
        }
        for each, seconds in rows.items()
    }
    return {"name": name, "size": size, "family": family or name, "rows": made}


@pytest.mark.parametrize(
    ("kind", "limit", "measured", "met"),
    [
        ("time", 1.5, 1.5, True),
        ("time", 1.4, 1.5, False),
        ("speed", 0.6, 2 / 3, True),
        ("speed", 0.7, 2 / 3, False),
        ("beyond", 1.0, 1.0, True),
        ("beyond", 0.9, 1.0, False),
        ("seconds", 3.0, 3.0, True),
        ("seconds", 2.9, 3.0, False),
    ],
)
def test_a_claim_is_judged_by_its_kind(kind, limit, measured, met):
    claim = Claim(phrase("position"), "work-*", kind, limit, "copy")
    (verdict,) = claim.judge(result(copy=2.0, posenc=3.0, other=9.0))
    assert verdict["measured"] == pytest.approx(measured)
    assert verdict["met"] is met
    assert (verdict["entry"], verdict["steady"]) == ("posenc", True)


def test_a_claim_leaves_other_cases_and_missing_entries_alone():
    claim = Claim(phrase("position"), "work-*", "time", 1.0, "copy", ("posenc*",))
    assert list(claim.judge(result("other", copy=1.0, posenc=1.0))) == []
    assert list(claim.judge(result(clone=1.0, posenc=1.0))) == []


def test_a_verdict_is_unsteady_if_either_row_is():
    measured = result(copy=1.0, posenc=1.0)
    measured["rows"]["copy"]["steady"] = False
    (verdict,) = Claim(phrase("position"), "*", "time", 1.0, "copy").judge(measured)
    assert verdict["steady"] is False


def test_what_was_measured_is_held_against_every_claim():
    data = [result("decode-float32", clone=1.0, posenc=3.0, HF_apply=9.0)]
    assert [(bar["kind"], bar["met"]) for bar in judge(data)] == [("time", True), ("speed", True)]


def test_growth_is_the_power_of_the_size():
    data = [result(f"work-{n}", n, "work", copy=n * 1e-6, posenc=n**2 * 1e-9) for n in (64, 16)]
    growth = compute_growth(data)["work"]
    assert growth["copy"]["sizes"] == [16, 64]
    assert growth["copy"]["power"] == pytest.approx(1.0)
    assert growth["posenc"]["power"] == pytest.approx(2.0)
    assert compute_growth(data[:1]) == {}


@pytest.mark.usefixtures("small")
def test_every_claim_is_about_entries_that_exist():
    unmet = list(CLAIMS)
    for case in CASES:
        claims = [claim for claim in unmet if fnmatchcase(case.name, claim.cases)]
        if not claims:
            continue
        entries = case.build(Request(quick=True)).entries
        rows = {
            name: {"seconds": 1.0, "ours": entry.ours, "steady": True}
            for name, entry in entries.items()
        } | {"HF compiled": {"seconds": 1.0, "ours": False, "steady": True}}  # not in a quick run
        measured = {"name": case.name, "rows": rows}
        unmet = [claim for claim in unmet if claim not in claims or not [*claim.judge(measured)]]
    assert unmet == []


def test_cases_are_chosen_by_words():
    assert {case.name for case in CASES} == {case.name for case in choose()}
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.group for case in choose(["decode", "ADDPOS"])} >= {"decode", "AddPositions"}
    assert all(case.quick for case in choose(quick=True))
    with pytest.raises(ValueError, match=r"no benchmark is called 'prefil1'; did you mean prefill"):
        choose(["prefil1"])
    with pytest.raises(ValueError, match=r"no benchmark is called 'xyz'; there are "):
        choose(["xyz"])
