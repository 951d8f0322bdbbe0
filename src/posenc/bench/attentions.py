"""Attention with a bias, against PyTorch's attention without one and with a dense one."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc.bench.timing import compare_times
from posenc.core import rules
from posenc.encodings.alibi import ALiBi
from posenc.encodings.t5 import T5Bias
from posenc.torch import BiasLogits, attend
from posenc.torch.attention.attend import Impl

SHAPE = (1, 8, 4096, 64)


def measure(*, rounds: int = 5, shape: tuple[int, int, int, int] = SHAPE) -> dict[str, Any]:
    """Median seconds of causal attention with each bias and in each form, and the errors.

    "mask ready" leaves out the time to build the N x N bias. Raises ArithmeticError if a result is
    off by more than 1e-5.
    """
    rounds = rules.whole("rounds", rounds, least=1)
    q, k, v = torch.randn((3, *shape), generator=torch.Generator().manual_seed(0))
    length, heads = shape[2], shape[1]
    alibi, t5 = ALiBi(heads), BiasLogits(T5Bias(heads, std=1.0))
    p = torch.arange(length)
    made = {"ALiBi": lambda: alibi.bias(p, p), "T5": lambda: t5.bias(p, p).detach()}
    ready = _hide_future(made["ALiBi"](), p)
    work: dict[str, Callable[[], Tensor]] = {
        "no bias, is_causal": lambda: scaled_dot_product_attention(q, k, v, is_causal=True),
        "ALiBi, SDPA, mask ready": lambda: scaled_dot_product_attention(q, k, v, attn_mask=ready),
    }
    for name, build in made.items():
        work[f"{name}, SDPA, mask built"] = lambda build=build: scaled_dot_product_attention(
            q, k, v, attn_mask=_hide_future(build(), p)
        )
    forms_of: list[tuple[str, Any, tuple[Impl, ...]]] = [
        ("ALiBi", alibi, ("auto", "folded")),
        ("T5", t5, ("auto",)),
    ]
    for name, encoding, forms in forms_of:
        for form in forms:
            work[f"{name}, attend, {form}"] = lambda encoding=encoding, form=form: attend(
                q, k, v, encoding=encoding, causal=True, impl=form
            )
    with torch.no_grad():
        errors = {name: _error(name, made, run(), q, k, v) for name, run in work.items()}
        what = f"causal attention, {' x '.join(map(str, shape))} float32"
        return compare_times(what, work, errors, bound=1e-5, rounds=rounds)


def _hide_future(bias: Tensor, p: Tensor) -> Tensor:
    return bias.masked_fill_(p[:, None] < p, -math.inf)[None]


def _error(
    name: str, made: dict[str, Callable[[], Tensor]], out: Tensor, q: Tensor, k: Tensor, v: Tensor
) -> float:
    """The largest difference from float64, at the first, the middle and the last queries."""
    length = q.shape[2]
    p = torch.arange(length)
    rows = torch.unique(torch.cat([p[:32], p[length // 2 :][:32], p[-32:]]))
    kind = next((kind for kind in made if name.startswith(kind)), None)
    bias = torch.zeros(1, len(rows), length) if kind is None else made[kind]()[:, rows]
    mask = bias.double().masked_fill_(rows[:, None] < p, -math.inf)[None]
    truth = scaled_dot_product_attention(
        q[:, :, rows].double(), k.double(), v.double(), attn_mask=mask
    )
    return float((out[:, :, rows] - truth).abs().max())
