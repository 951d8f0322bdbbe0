"""The report as text."""

import pytest

from posenc.i18n import LANGUAGES
from posenc.i18n.terminal import width
from posenc.lab.record import Failure
from posenc.lab.results import summarise
from posenc.lab.terminal import format_results
from tests.lab.runs import TINY, make_record

RECORDS = [
    *(make_record(0.8 + 0.01 * seed, seed=seed) for seed in range(3)),
    *(make_record(0.1 * seed, seed=seed, encoding="nope", exact=0.25) for seed in range(3)),
    make_record(encoding="learned", refused="beyond its table"),
]

WANTED = """\
repeat-copy (own), trained at 1-4: answers that are right as a whole

encoding  trained  1-4         5-8         curve  place
rope      3/3      1.00 ±0.00  0.81 ±0.02  █▇     1
learned   1/1      1.00        refused     █
nope      0/3      0.25 ±0.00              ▃      not trained
"""


def test_a_table_says_who_was_trained_and_who_is_better():
    assert format_results(summarise(RECORDS)).startswith(WANTED)


def test_what_went_wrong_is_said():
    results = summarise(RECORDS, [Failure(TINY, "it broke")], ["abc"])
    text = format_results(results)
    assert "rope failed: it broke" in text
    assert "These runs differ between the directories: abc" in text
    assert format_results(summarise([])) == "No run is finished yet."


def test_losses_are_drawn_to_the_largest():
    text = {"task": "causal-lm", "metric": "loss", "train_lengths": (8, 8)}
    records = [
        make_record(-2.0, exact=0.0, test_lengths=((16, 16),), **text),
        make_record(0.0, exact=0.0, test_lengths=((16, 16),), encoding="alibi", **text),
    ]
    lines = format_results(summarise(records)).splitlines()
    assert [line.split()[-1] for line in lines[3:5]] == ["▃▃", "▃█"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_columns_are_straight_in_every_language(lang):
    lines = format_results(summarise(RECORDS), lang=lang).splitlines()[3:6]
    fits = [f"  {part}  " for part in ("3/3", "1/1", "0/3")]
    places = {width(line.partition(fit)[0]) for line, fit in zip(lines, fits, strict=True)}
    assert len(places) == 1
    assert max(places) < min(map(width, lines))
