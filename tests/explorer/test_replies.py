"""Answers as bytes."""

import io
import json

import numpy as np
import pytest

from posenc.explorer import replies
from posenc.explorer.parameters import RequestError


def test_numbers_that_json_has_not_are_null_wherever_they_stand():
    data = {"a": [1.5, float("inf"), {"b": (float("nan"), "数")}], "c": True}
    assert json.loads(replies.as_json(data)) == {"a": [1.5, None, {"b": [None, "数"]}], "c": True}


def test_half_a_surrogate_pair_is_still_json():
    assert json.loads(replies.as_json({"text": "a\ud83d"}).decode("utf-8")) == {"text": "a\ud83d"}


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_read_back(order):
    array = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    read = np.load(io.BytesIO(replies.to_npy(array)), allow_pickle=False)
    assert np.array_equal(read, array)
    assert read.flags.c_contiguous


def test_an_answer_in_pieces_is_whole():
    assert replies.Reply(iter([b"a", b"", b"bc"])).whole() == b"abc"
    assert replies.Reply(memoryview(b"abc")).whole() == b"abc"


def test_an_error_of_ours_tells_nothing_of_itself():
    status, body = replies.describe_error(ZeroDivisionError("a path of this machine"), "en")
    assert status == 500
    assert json.loads(body)["error"] == {"message": replies.FAILED, "argument": None}


def test_a_long_message_has_an_end():
    error = RequestError("{name} must be short; got {value}", "e", 413, value="x" * 5000)
    status, body = replies.describe_error(error, "en")
    told = json.loads(body)["error"]
    assert (status, told["argument"]) == (413, "e")
    assert len(told["message"]) == replies.LONGEST + 1
    assert told["message"].endswith("x…")
