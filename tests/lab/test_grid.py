"""Grids: which runs a command means, and which it refuses."""

from dataclasses import replace

import pytest

from posenc.lab import grid
from posenc.lab.grid import check_memory, estimate_memory, parse_lengths, plan
from tests.lab.runs import TINY

TEXT = {"tasks": ["causal-lm"], "encodings": ["nope"]}


def test_seeds_come_in_rounds_so_that_what_is_done_can_be_compared():
    runs = plan(encodings=["rope", "nope"], tasks=["sort", "parity"], seeds=2)
    first = [("sort", "rope"), ("sort", "nope"), ("parity", "rope"), ("parity", "nope")]
    assert [(run.task, run.encoding) for run in runs] == first * 2
    assert [run.seed for run in runs] == [0] * 4 + [1] * 4


def test_what_is_given_replaces_what_the_protocol_has():
    (run,) = plan(
        encodings=["ALiBi"],
        tasks=["sort"],
        protocol="lacoco",
        seeds=1,
        train_length=(3, 9),
        test_lengths=[20, (30, 200)],
        steps=7,
    )
    assert (run.encoding, run.steps, run.batch, run.fit) == ("alibi", 7, 64, 0.99)
    assert run.lengths == ((3, 9), (20, 20), (30, 200))
    assert run.symbols == 200, "as many as the longest example needs"


def test_a_length_means_up_to_it_for_questions_and_windows_for_text():
    question, text = plan(
        encodings=["nope"], tasks=["flip-flop", "causal-lm"], seeds=1, train_length=8,
        test_lengths=[16],
    )  # fmt: skip
    assert question.lengths == ((2, 8), (16, 16))
    assert text.lengths == ((8, 8), (16, 16))
    assert (text.metric, text.stop, text.causal) == ("loss", False, True)


def test_a_limit_is_one_of_randomised_positions_alone():
    plain, random = plan(encodings=["rope", "rope@randomised"], seeds=1, limit=600)
    assert (plain.limit, random.limit) == (2048, 600)
    assert plain == plan(encodings=["rope"], seeds=1)[0]


def test_tables_have_offsets_where_the_protocol_says_so():
    def policy(protocol, subject):
        return plan(protocol=protocol, encodings=[subject], seeds=1)[0].positions

    assert policy("lacoco", "learned") == "offsets"
    assert policy("lacoco", "rope") == "consecutive"
    assert policy("lacoco", "learned@consecutive") == "consecutive"
    assert policy("press", "learned") == "consecutive"
    assert policy("press", "rope@randomised") == "randomised"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"protocol": "lacocco"}, "no protocol is called 'lacocco'; did you mean lacoco?"),
        ({"tasks": ["sorting"]}, "no task is called 'sorting'; did you mean sort?"),
        ({"encodings": ["ropp"]}, "no encoding is called 'ropp'; did you mean rope?"),
        ({"encodings": []}, r"encodings must be a list of at least one name; got \[\]"),
        ({"encodings": "rope"}, "encodings must be a list of at least one name; got 'rope'"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1 and at most 1,000; got seeds=0"),
        ({"tasks": ["masked-lm"], "encodings": ["t5"]}, "t5 is for decoders, and masked-lm"),
        ({"encodings": ["rope@offsets"]}, "offsets are for encodings with a table"),
        ({"width": 10}, "width must be a multiple of heads; got width=10, heads=4"),
        (
            {"tasks": ["passkey"], "train_length": 4},
            "passkey needs lengths of at least 8 symbols; got 4",
        ),
        ({"tasks": ["passkey"], "train_length": (9, 4)}, "lengths must be from a smaller to a la"),
        ({**TEXT, "train_length": 4, "test_lengths": [4096]}, "of at most 2,048, .* got 4096"),
        ({**TEXT, "train_length": 10**6, "test_lengths": [10**6]}, "of at most .* got 1000000"),
        ({"symbols": 9}, "symbols must be at least the longest length, 64; got symbols=9"),
        ({"test_lengths": [10**6], "tasks": ["parity"]}, "GB of memory, and .* GB can be had"),
    ],
)
def test_what_makes_no_sense_together_is_refused_before_any_work(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        plan(**given)


def test_equal_runs_are_made_once():
    assert len(plan(encodings=["rope", "RoPE"], seeds=1)) == 1


def test_memory_grows_with_what_needs_it():
    least = estimate_memory(TINY)
    for more in ({"batch": 40_000}, {"width": 4096}, {"test_lengths": ((20_000, 20_000),)}):
        assert estimate_memory(replace(TINY, **more)) > 1.2 * least
    check_memory(TINY)


def test_machines_that_do_not_tell_their_memory_are_trusted(monkeypatch):
    monkeypatch.setattr(grid.os, "sysconf_names", {})
    check_memory(replace(TINY, batch=2**20, width=2**16))


def test_lengths_are_read():
    for wrong in ("", "a", "5-", "-5", "5-6-7", "1.5"):
        with pytest.raises(ValueError, match="lengths must be numbers such as 64 or ranges"):
            parse_lengths(wrong)
