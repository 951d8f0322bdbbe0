"""Small runs and made-up records for the tests of the lab."""

from dataclasses import replace

from posenc.lab.record import Point, Record, Score
from posenc.lab.settings import Settings

TINY = Settings(
    "repeat-copy",
    "rope",
    layers=1,
    heads=2,
    width=16,
    train_lengths=(1, 4),
    test_lengths=((5, 8),),
    batch=4,
    steps=12,
    examples=6,
)
"""A run of a fraction of a second."""


def make_record(beyond=0.5, *, exact=1.0, seconds=10.0, refused="", **settings):
    """A record with these scores in length and beyond."""
    made = replace(TINY, **settings)
    scores = [Score(made.train_lengths, exact=exact, symbols=exact, loss=1 - exact)]
    for lengths in made.lengths[1:]:
        numbers = {} if refused else {"exact": beyond, "symbols": beyond, "loss": 1 - beyond}
        scores.append(Score(lengths, **numbers, refused=refused))
    curve = (Point(6, 1.5, 0.5), Point(12, 0.25, None))
    versions = {"posenc": "0", "python": "3"}
    return Record(made, curve, tuple(scores), 12, versions, seconds, "here")
