"""Cells of a comparison: every number is measured again here, or its source is shown."""

from dataclasses import replace

import pytest

import posenc as pe
from posenc.comparison.cells import KNOWN, MEASURED, cells, format_bytes, headings, notes
from posenc.i18n import LANGUAGES, translator
from tests.comparison.conftest import SEEDS
from tests.patient import compare


def test_cells_of_the_seeds_table(table):
    """Seeds 000, 003 and 004: learned ends at its table, RoPE sees distances, ALiBi has nothing."""
    told = {name: cells(table[name], "en") for name in SEEDS}
    assert told["learned"]["any_length"] == "– ≤ 511"
    assert told["sinusoidal"]["any_length"] == "✓ > 10^7"
    assert told["learned"]["parameters"] == "32,768 trained"
    assert told["rope"]["acts"] == "rotates queries and keys"
    assert told["sinusoidal"]["acts"] == told["learned"]["acts"] == "added to the embeddings"
    assert told["t5"]["acts"] == told["alibi"]["acts"] == "added to the logits"
    assert told["transformer-xl"]["acts"] == "computes the logits"
    assert told["rope"]["axes"] == "1; more: axial-rope"
    assert {name for name in SEEDS if told[name]["relative"].startswith("✓")} == {
        "t5",
        "alibi",
        "transformer-xl",
        "rope",
    }
    assert told["rope"]["paper"] == f"{pe.RoPE.about.paper} (2021)"
    assert "BERT" in told["learned"]["models"]


def test_axes_are_counted_and_each_is_seen():
    entry = compare("mrope", bench=False)["mrope"]
    assert entry.report["every_axis"].measured == 0
    assert cells(entry, "en")["axes"] == "✓ 3"


def test_every_column_has_a_heading():
    assert set(headings("en")) == {"encoding", *MEASURED, *KNOWN}


def test_bytes_are_told_in_units():
    assert [format_bytes(n) for n in (0, 999, 1000, 2.5e6, 3e9)] == [
        "0 B",
        "999 B",
        "1 kB",
        "2.5 MB",
        "3 GB",
    ]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_times_whose_rounds_differ_are_said_to_be_unreliable(table, lang):
    def told(steady):
        costs = (
            replace(entry.cost, steady=steady.get(entry.name, True)) for entry in table.entries
        )
        entries = (
            replace(entry, cost=cost) for entry, cost in zip(table.entries, costs, strict=True)
        )
        return notes(tuple(entries), lang)

    steady = told({})
    *same, added = told({"rope": False, "alibi": False})
    assert same == steady
    words = "times are unreliable, since the rounds of measurement differ: {names}"
    names = ", ".join(entry.name for entry in table.entries if entry.name in ("rope", "alibi"))
    assert added == translator(lang)(words, names=names)
    assert (added == words.format(names=names)) == (lang == "en")


def test_cells_of_the_cost_are_its_numbers(table):
    for entry in table.entries:
        told = cells(entry, "en")
        assert told["ratio"] == f"{entry.cost.ratio:.2f}"
        assert told["time"] == f"{entry.cost.seconds * 1e6:.1f} µs"
        assert told["memory"].startswith(format_bytes(entry.cost.bytes))
        assert ("∝ N" in told["memory"]) == (entry.cost.power > 1.5)
