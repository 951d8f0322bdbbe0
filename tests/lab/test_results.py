"""Statistics over seeds against SciPy's numbers and by hand."""

import json
import math

import pytest

from posenc.lab.record import Failure
from posenc.lab.results import STUDENT, Cell, Estimate, read_results, summarise
from posenc.lab.store import Store
from tests.lab.runs import TINY, make_record


def test_intervals_are_students():
    """t of 2 degrees is sqrt(2) (2p - 1) / sqrt(1 - (2p - 1)^2), and of 1 tan(pi (p - 1/2))."""
    assert STUDENT[0] == pytest.approx(math.tan(math.pi * 0.475), abs=1e-3)
    assert STUDENT[1] == pytest.approx(math.sqrt(2) * 0.95 / math.sqrt(1 - 0.95**2), abs=1e-3)
    assert [*STUDENT] == sorted(STUDENT, reverse=True)
    found = Estimate.of([0.2, 0.4, 0.9])
    assert found.mean == pytest.approx(0.5)
    assert found.half == pytest.approx(4.303 * math.sqrt(0.13) / math.sqrt(3), abs=1e-3)
    assert Estimate.of([0.3]) == Estimate(0.3, None, 1)
    assert Estimate.of([0.1] * 30).half == 0


def test_only_trained_seeds_count_beyond_and_the_rest_is_said():
    records = [make_record(0.8, seed=0), make_record(0.6, seed=1)]
    records += [make_record(0.1, seed=2, exact=0.2)]
    records += [make_record(0.9, seed=seed, exact=0.1, encoding="nope") for seed in range(3)]
    (table,) = summarise(records).tables
    rope, nope = table.rows
    assert (rope.label, rope.seeds, rope.trained) == ("rope", 3, 2)
    assert rope.cells[0].values == (0.8, 0.6)
    assert rope.in_length.values == (1.0, 1.0, 0.2)
    assert (nope.label, nope.trained, nope.place, nope.cells[0].values) == ("nope", 0, None, ())


def test_values_are_in_order_of_seeds_whatever_their_keys(tmp_path):
    """So that encodings can be compared seed by seed."""
    store = Store.create(tmp_path)
    for name in ("rope", "nope"):
        for seed in range(4):
            store.write(make_record(seed / 10, seed=seed, encoding=name))
    results = read_results(tmp_path)
    assert [row.cells[0].values for row in results.tables[0].rows] == [(0.0, 0.1, 0.2, 0.3)] * 2
    assert [record.settings.seed for record in results.records] == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("metric", ["exact", "loss"])
def test_places_differ_only_where_intervals_part(metric):
    """Losses of made-up records are 1 - exact, so the order is the same."""
    scores = {
        "rope": (0.90, 0.91, 0.92),
        "t5": (0.2, 0.9, 0.7),
        "nope": (0.11, 0.10, 0.12),
        "alibi": (0.5,),
    }
    records = [
        make_record(value, seed=seed, encoding=name, metric=metric)
        for name, values in scores.items()
        for seed, value in enumerate(values)
    ]
    (table,) = summarise(records).tables
    places = {row.label: row.place for row in table.rows}
    assert places == {"rope": 1, "t5": 1, "alibi": None, "nope": 2}
    assert [row.label for row in table.rows] == ["rope", "t5", "alibi", "nope"]
    assert table.falls is (metric == "loss")


def test_rows_are_told_apart_by_what_differs():
    records = [make_record(seed=0), make_record(seed=1), make_record(width=32)]
    (table,) = summarise(records).tables
    assert {row.label: row.seeds for row in table.rows} == {
        "rope, width 16": 2,
        "rope, width 32": 1,
    }
    drawn = [make_record(positions="randomised", limit=limit) for limit in (64, 80)]
    (table,) = summarise([make_record(), *drawn]).tables
    labels = ["rope", "rope@randomised, limit 64", "rope@randomised, limit 80"]
    assert sorted(row.label for row in table.rows) == labels, "others have no limit"
    other = summarise([*records, make_record(task="reverse"), make_record(protocol="press")])
    assert [(t.protocol, t.task) for t in other.tables] == [
        ("own", "repeat-copy"),
        ("own", "reverse"),
        ("press", "repeat-copy"),
    ]


def test_refusals_and_papers_are_kept():
    lacoco = {
        "protocol": "lacoco", "task": "majority", "train_lengths": (1, 50),
        "test_lengths": ((51, 100), (101, 150)),
    }  # fmt: skip
    (table,) = summarise([make_record(encoding="nope", refused="too far", **lacoco)]).tables
    (row,) = table.rows
    assert row.paper == (1.0, 1.0)
    assert row.cells[0] == Cell((51, 100), (), "too far")
    assert row.cells[0].estimate is None
    assert table.lengths == ((51, 100), (101, 150))


@pytest.mark.parametrize(
    ("trained", "tested", "paper"),
    [
        ((1, 50), ((51, 100), (101, 150)), (0.999, 0.987)),
        ((1, 50), ((101, 150),), (0.987,)),
        ((1, 25), ((26, 50),), ()),
        ((1, 25), ((51, 100),), ()),
    ],
)
def test_a_paper_is_quoted_at_its_own_lengths_alone(trained, tested, paper):
    record = make_record(
        protocol="lacoco", task="unique-copy", encoding="learned", positions="offsets",
        symbols=150, train_lengths=trained, test_lengths=tested,
    )  # fmt: skip
    assert summarise([record]).tables[0].rows[0].paper == paper


def test_directories_are_merged_and_differences_named(tmp_path):
    here, there = Store.create(tmp_path / "a"), Store.create(tmp_path / "b")
    here.write(make_record(0.5))
    here.write(Failure(make_record(seed=3).settings, "it broke"))
    here.write(Failure(make_record(seed=1).settings, "made up for there"))
    there.write(make_record(0.25))
    there.write(make_record(0.75, seed=1))
    results = read_results(here.path, there.path)
    (row,) = results.tables[0].rows
    assert sorted(row.cells[0].values) == [0.5, 0.75]
    assert results.differing == (TINY.key,)
    assert [failure.error for failure in results.failures] == ["it broke"]
    assert read_results(here.path, only={TINY.key}).failures == ()
    assert json.loads(json.dumps(results.to_json()))["tables"][0]["rows"][0]["seeds"] == 2
    with pytest.raises(ValueError, match="at least one directory of runs must be given"):
        read_results()
