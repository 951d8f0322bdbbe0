"""The page of findings is what its data say, and its verdicts can be both."""

import json

import pytest

from tests.lab import findings_page as page
from tests.lab.findings import FINDINGS
from tests.lab.verdicts import holds, rises


def make_table(task="causal-lm", **scores):
    """A table of encodings with scores in length and beyond; None is a refusal."""

    def cell(value, half=0.01):
        refused = "too far" if value is None else ""
        values = [] if value is None else [value - half, value, value + half]
        return {
            "lengths": [8, 8],
            "mean": value,
            "half": half,
            "refused": refused,
            "values": values,
        }

    rows = [
        {
            "encoding": name.replace("_at_", "@").replace("_plus_", " + "),
            "seeds": 3,
            "trained": 3,
            "in_length": cell(values[0]),
            "beyond": [cell(value) for value in values[1:]],
        }
        for name, values in scores.items()
    ]
    return {"task": task, "metric": "loss", "rows": rows}


def judge(folder, *tables):
    (finding,) = (each for each in FINDINGS if each.folder == folder)
    return [claim.judge(tables) for claim in finding.claims]


def test_the_page_is_what_the_data_say():
    data = json.loads(page.DATA.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == page.render(data)


def test_new_scores_replace_their_own_finding_alone():
    merged = page.merge({"press": 1, "quick": 2, "no longer": 3}, {"haviv": 4, "press": 5})
    assert [*merged.items()] == [("quick", 2), ("press", 5), ("haviv", 4)]


@pytest.mark.parametrize("turned", [False, True])
def test_verdicts_follow_the_numbers(turned):
    """The same numbers with the names the other way round reproduce nothing."""
    low, high = ((1.0, 0.9), (1.0, 2.0))[:: -1 if turned else 1]
    press = make_table(alibi=low, t5=low, rope=high, sinusoidal=high, learned=(1.0, None))
    assert judge("press", press) == [not turned] * 5 + [True]
    quick = make_table(learned_at_offsets=high, rope=low)
    assert judge("quick", quick) == [not turned]
    losses = (3.0, 1.1)[:: -1 if turned else 1]
    masked = make_table("masked-lm", nope=losses[:1], two_sided_alibi=(1.0,))
    masked["rows"][1]["encoding"] = "two-sided-alibi"
    causal = make_table(nope=losses[1:], alibi=(1.0,))
    assert judge("haviv", masked, causal) == [True, not turned]


def test_runs_are_compared_seed_by_seed():
    table = make_table(learned_at_offsets=(1.0, 0.50), rope=(1.0, 0.49))
    first, second = (row["beyond"][0] for row in table["rows"])
    first["values"], second["values"] = [0.3, 0.5, 0.7], [0.29, 0.49, 0.69]
    assert judge("quick", table) == [True], "each seed is better, though the spread is large"
    second["values"] = [0.69, 0.49, 0.29]
    assert judge("quick", table) == [False]
    table["rows"][1]["trained"], second["values"] = 2, [0.29, 0.69]
    first["half"] = second["half"] = 0.001
    assert judge("quick", table) == [True], "if not all are trained, intervals must part"
    first["half"] = 0.1
    assert judge("quick", table) == [False]


@pytest.mark.parametrize(
    ("beyond", "verdict"),
    [
        ([0.98, 2.01, 3.01], (True, False)),  # though 2 of 3 losses rise, and they differ by 2
        ([1.14, 2.15, 3.16], (False, True)),
        ([1.06, 2.07, 3.08], (False, False)),
        ([1.90, 2.15, 2.40], (False, False)),  # a mean rise of 0.15, within the spread
    ],
)
def test_a_loss_holds_or_rises_seed_by_seed(beyond, verdict):
    table = make_table(alibi=(2.0, 2.0))
    (row,) = table["rows"]
    row["in_length"]["values"], row["beyond"][0]["values"] = [1.0, 2.0, 3.0], beyond
    assert (holds(table, "alibi"), rises(table, "alibi")) == verdict
    row["trained"], row["beyond"][0]["values"] = 2, beyond[:2]
    assert holds(table, "alibi") is rises(table, "alibi") is None


def test_what_was_not_trained_is_not_compared():
    table = make_table(learned_at_offsets=(1.0, 2.0), rope=(1.0, 1.0))
    table["rows"][1]["trained"] = 0
    assert judge("quick", table) == [None]
    found = {"tables": [table], "runs": 6, "seconds": 60, "versions": {"torch": "2", "python": "3"}}
    text = page.render({"quick": found})
    assert "| rope | 0/3 | 1.000 ±0.010 | not trained |" in text
    assert "**not comparable**" in text
    assert "## Not run" in text
