"""The benchmarks of attention with an encoding."""

import pytest

from posenc.bench.attentions import CASES, PLAIN, Task, attend_to
from posenc.bench.case import Request

pytestmark = pytest.mark.usefixtures("small")


def build(name):
    (case,) = (case for case in CASES if case.name == name)
    return case.build(Request()).entries


def test_attention_is_checked_beside_none_and_beside_a_dense_bias():
    entries = attend_to(300, Request(), names=("ALiBi", "T5", "RoPE"), dense=True).entries
    assert next(iter(entries)) == PLAIN
    assert {"posenc, ALiBi", "posenc, T5", "T5, a mask, building it"} < set(entries)
    assert all(0 < entry.error().largest < 1e-5 for entry in entries.values())


@pytest.mark.parametrize("name", ["NoPE", "RoPE", "ALiBi", "T5"])
@pytest.mark.parametrize("queries", [1, 200])
def test_each_encoding_is_told_from_the_others(name, queries):
    task = Task(1, queries, 200)
    entry = task.enter_attend(name)[f"posenc, {name}"]
    assert entry.error().is_within
    for other in {"NoPE", "RoPE", "ALiBi", "T5"} - {name}:
        assert not task.enter(other, entry.run).error().is_within


def test_one_query_sees_every_key_without_a_mask():
    entries = build("attend-overhead")
    assert list(entries) == [PLAIN, "posenc, NoPE"]
    assert all(entry.error().is_within for entry in entries.values())


def test_short_texts_have_every_kind_of_encoding():
    assert list(build("attend-batch")) == [
        PLAIN,
        "posenc, RoPE",
        "posenc, ALiBi",
        "posenc, T5",
    ]
