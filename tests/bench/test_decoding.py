"""The benchmark of decoding with a cache."""

import pytest

from posenc.bench import decoding
from posenc.bench.attentions import PLAIN, Task
from posenc.bench.case import Request
from posenc.bench.decoding import go_on
from posenc.torch import KVCache, attend

pytestmark = pytest.mark.usefixtures("small")


def test_each_encoding_is_checked_beside_plain_attention():
    entries = decoding.decode(300, Request()).entries
    assert list(entries) == [PLAIN, "posenc, RoPE", "posenc, ALiBi", "posenc, T5"]
    assert all(0 < entry.error().largest < 1e-5 for entry in entries.values())
    for entry in entries.values():  # the clock runs before and after: the gate starts anew
        entry.run()
        assert entry.error().is_within


def test_a_cache_that_forgets_is_rejected(monkeypatch):
    monkeypatch.setattr(
        decoding, "attend", lambda q, cache, causal: attend(q, cache=cache.crop(200), causal=causal)
    )
    entries = decoding.decode(300, Request()).entries
    assert not any(entry.error().is_within for entry in entries.values() if entry.ours)


def test_a_decoder_starts_again_after_some_steps(monkeypatch):
    seen = []
    monkeypatch.setattr(decoding, "attend", lambda q, cache, causal: seen.append(len(cache)))
    task = Task(1, 1, 5)
    cache = KVCache(task.encodings["RoPE"]).append(task.k, task.v)
    step = go_on(cache, task.q, task.k[:, :, -1:], task.v[:, :, -1:], steps=3)
    for _ in range(7):
        step()
    assert seen == [6, 7, 8, 6, 7, 8, 6]


def test_plain_attention_has_as_many_keys(monkeypatch):
    seen = []
    monkeypatch.setattr(
        decoding, "scaled_dot_product_attention", lambda q, k, v: seen.append(k.shape[2])
    )
    monkeypatch.setattr(decoding, "STEPS", 3)
    run = decoding.decode(5, Request()).entries[PLAIN].run
    for _ in range(4):
        run()
    assert seen == [5, 6, 7, 5]
