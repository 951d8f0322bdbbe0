"""A token at a time with `attend` and a cache, against PyTorch's attention to the same keys."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc.bench.attentions import DIM, HEADS, PLAIN, Task
from posenc.bench.case import Entry, Request, Setup, cases_by_size
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
        run, first = go_on(cache, *token), go_on(cache, *token, steps=1)
        entries[f"posenc, {name}"] = task.enter(name, run, first, ours=True)
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
    return task.enter("NoPE", step, first)


CASES = tuple(
    cases_by_size(
        "cache",
        "decoding with a cache",
        f"one query, {{size}} keys, {HEADS} heads of {DIM}, float32",
        decode,
        (1024, 4096, 16_384),
        quick=4096,
    )
)
