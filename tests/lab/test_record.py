"""Records: to plain values and back, and who counts as trained."""

import json

from posenc.lab.record import from_json, read_versions, to_json
from posenc.lab.tasks import guess_loss
from tests.lab.runs import make_record


def test_a_record_survives_json():
    record = make_record(0.25, refused="beyond its table")
    assert from_json(json.loads(json.dumps(to_json(record)))) == record
    assert [*to_json(record)] == ["settings", "versions", "curve", "evaluation"]


def test_a_run_is_trained_if_enough_answers_are_right_in_length():
    assert make_record(exact=0.9, fit=0.9).fitted
    assert not make_record(exact=0.89, fit=0.9).fitted


def test_a_language_model_is_trained_if_it_knows_more_than_frequencies():
    text = {"task": "causal-lm", "metric": "loss", "train_lengths": (8, 8), "test_lengths": ()}
    assert make_record(exact=1 - guess_loss() + 0.1, **text).fitted
    assert not make_record(exact=1 - guess_loss() - 0.1, **text).fitted


def test_versions_name_what_a_result_depends_on():
    assert {"posenc", "python", "torch", "numpy", "cpu", "text"} == read_versions().keys()
