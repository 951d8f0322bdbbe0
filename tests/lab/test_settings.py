"""Settings: what is refused, and keys."""

import json
from dataclasses import fields, replace

import pytest

from posenc.lab.settings import Settings, format_lengths
from tests.lab.runs import TINY

LONG = {"train_lengths": (8, 8), "test_lengths": ()}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"task": "dance"}, "no task is called 'dance'"),
        ({"width": 10, "heads": 4}, "width must be a multiple of heads; got width=10, heads=4"),
        ({"layers": 0}, "layers must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"positions": "zigzag"}, "positions must be 'consecutive' or 'offsets' or 'randomised'"),
        ({"init": "zeros"}, "init must be 'unit' or 'gpt2'"),
        ({"fit": 2.0}, "fit must be a finite number of at least 0 and at most 1; got fit=2.0"),
        ({"train_lengths": (5, 4)}, "lengths must be from a smaller to a larger number; got 5-4"),
        ({"train_lengths": (0, 4)}, "repeat-copy needs lengths of at least 1 symbols; got 0-4"),
        ({"task": "sort", "symbols": 7}, "symbols must be at least the longest length, 8; got"),
        ({"task": "causal-lm", **LONG}, "metric must be 'loss' for causal-lm; got 'exact'"),
        ({"task": "masked-lm", "metric": "loss", **LONG}, "causal must be False for masked-lm"),
        (
            {"task": "causal-lm", "metric": "loss", "train_lengths": (2, 4)},
            r"causal-lm has windows of one length; got \(\(2, 4\), \(5, 8\)\)",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(TINY, **given)


def test_keys_depend_on_every_field_and_on_nothing_else():
    other = {
        "task": "reverse", "encoding": "alibi", "seed": 1, "protocol": "press", "code": "ab",
        "positions": "randomised", "limit": 9, "layers": 2, "heads": 4, "width": 32,
        "causal": False, "symbols": 9, "train_lengths": (1, 5), "test_lengths": (), "batch": 5,
        "steps": 13, "optimiser": "adam", "learning_rate": 0.1, "stop": False, "fit": 0.5,
        "metric": "symbols", "examples": 7, "extensions": ("yarn",),
        "init": "gpt2",
    }  # fmt: skip
    assert other.keys() == {field.name for field in fields(Settings)}
    keys = {replace(TINY, **{name: value}).key for name, value in other.items()}
    assert len(keys | {TINY.key}) == len(other) + 1
    assert replace(TINY).key == TINY.key == "ab9e2301bb1fcb32"


def test_settings_survive_json():
    text = json.dumps(TINY.to_json())
    assert Settings.from_json(json.loads(text)) == TINY
    written_before = {name: value for name, value in TINY.to_json().items() if name != "init"}
    assert Settings.from_json(written_before).key == TINY.key
    with pytest.raises(ValueError, match=r"must have the names of Settings; got \['colour'\] too"):
        Settings.from_json({**TINY.to_json(), "colour": "red"})


def test_labels_and_lengths_for_people():
    assert TINY.label == "rope"
    assert replace(TINY, positions="randomised").label == "rope@randomised"
    assert TINY.lengths == ((1, 4), (5, 8))
    assert format_lengths((3, 3)) == "3"
