"""A token at a time with `attend` and a cache, against PyTorch's attention to the same keys."""

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc.bench.attentions import DIM, HEADS, PLAIN, Task
from posenc.bench.case import Case, Entry, Request, Setup
from posenc.torch import KVCache, attend

STEPS = 512
"""So many tokens after the text, a decoder starts again: keys grow little meanwhile."""


def go_on(
    cache: KVCache, q: Tensor, k: Tensor, v: Tensor, steps: int = STEPS
) -> Callable[[], Tensor]:
    """A step of decoding: the key and the value of a token enter, and its query attends."""
    now, end = cache, len(cache) + steps

    def step() -> Tensor:
        nonlocal now
        now = (cache if len(now) == end else now).append(k, v)
        return attend(q, cache=now, causal=True)

    return step


def decode(length: int, _request: Request) -> Setup:
    """One token after `length` - 1 others, with each encoding."""
    task = Task(1, 1, length)
    before = [x[:, :, :-1] for x in (task.k, task.v)]
    token = task.q, task.k[:, :, -1:], task.v[:, :, -1:]
    entries = {PLAIN: _enter_plain(task)}
    for name in ("RoPE", "ALiBi", "T5"):
        cache = KVCache(task.encodings[name]).append(*before)
        first = task.enter(name, go_on(cache, *token, steps=1), ours=True)
        entries[f"posenc, {name}"] = Entry(
            go_on(cache, *token), first.compare, first.bound, ours=True
        )
    return Setup(entries)


def _enter_plain(task: Task) -> Entry:
    """Attention to as many keys as a decoder has, which are there already."""
    length = task.k.shape[2]
    k, v = (torch.cat([x, x[:, :, :STEPS]], dim=2) for x in (task.k, task.v))
    count = 0

    def step() -> Tensor:
        nonlocal count
        count = count % STEPS + 1
        end = length - 1 + count
        return scaled_dot_product_attention(task.q, k[:, :, :end], v[:, :, :end])

    first = partial(scaled_dot_product_attention, task.q, task.k, task.v)
    return Entry(step, partial(task.check, "NoPE", first), task.enter("NoPE", first).bound)


def _cases() -> Iterable[Case]:
    for length in (1024, 4096, 16_384):
        yield Case(
            f"cache-{length}",
            "decoding with a cache",
            f"one query, {length:,} keys, {HEADS} heads of {DIM}, float32",
            partial(decode, length),
            size=length,
            quick=length == 4096,
        )


CASES = tuple(_cases())
