"""Results as a view."""

import numpy as np
import pytest

from posenc.lab.picture import build_view
from posenc.lab.results import summarise
from tests.lab.runs import make_record

RECORDS = [
    *(make_record(0.8 + 0.1 * seed, seed=seed) for seed in range(2)),
    make_record(0.3, encoding="t5"),
    make_record(0.1, encoding="nope", exact=0.2),
    make_record(encoding="learned", refused="beyond its table"),
]


def test_each_trained_encoding_is_a_line_with_a_band():
    (panel,) = build_view(summarise(RECORDS)).panels
    assert panel.x.tolist() == [2.5, 6.5]
    assert [line.name for line in panel.lines] == ["rope", "t5", "learned"]
    rope, t5, learned = panel.lines
    assert np.allclose(rope.y, [1.0, 0.85])
    assert np.allclose(rope.low, [1.0, 0.85 - 12.706 * 0.05], atol=1e-3)
    assert rope.high.tolist() == [1.0, 1.0], "no part is larger than the whole"
    assert t5.low.tolist() == t5.y.tolist() == t5.high.tolist() == [1.0, 0.3]
    assert np.isnan(learned.y).tolist() == [False, True]
    assert [(mark.name, mark.x) for mark in panel.marks] == [("trained length", 4.0)]


def test_losses_have_no_upper_end():
    text = {"task": "causal-lm", "metric": "loss", "train_lengths": (8, 8)}
    records = [
        make_record(-1.0 - seed, exact=-0.5, seed=seed, test_lengths=((80, 80),), **text)
        for seed in range(2)
    ]
    (panel,) = build_view(summarise(records)).panels
    assert panel.x_axis.log
    assert panel.lines[0].high[1] > 2.5


def test_what_was_not_trained_is_named_and_not_drawn():
    other = {"task": "parity", "exact": 0.2}
    failed = [make_record(encoding=name, **other) for name in ("rope", "alibi")]
    view = build_view(summarise([*RECORDS, *failed]), lang="ja")
    assert [panel.title.partition("（")[0] for panel in view.panels] == ["repeat-copy"]
    assert view.notes[-2:] == (
        "parity (own), 学習できず: rope, alibi",
        "repeat-copy (own), 学習できず: nope",
    )


@pytest.mark.parametrize("records", [[], [make_record(exact=0.2)]])
def test_nothing_is_not_drawn(records):
    with pytest.raises(ValueError, match="there is no run to draw that is finished and has learn"):
        build_view(summarise(records))
