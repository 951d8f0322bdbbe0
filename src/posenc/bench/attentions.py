"""Attention with an encoding, against PyTorch's attention without one and with a dense bias."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc.bench import truth
from posenc.bench.case import Bound, Case, Entry, Request, Setup, cases_by_size
from posenc.encodings.alibi import ALiBi
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.t5 import T5Bias
from posenc.torch import BiasLogits, attend

HEADS, DIM = 8, 64
PLAIN = "plain attention"
EXACT = Bound(1e-5)
"""What attention in float32 may be off, for values of about 1."""


class Task:
    """Causal attention of `queries` queries, the last of `keys` keys, with each encoding."""

    def __init__(self, batch: int, queries: int, keys: int):
        generator = torch.Generator().manual_seed(0)
        shape = (batch, HEADS, keys, DIM)
        self.q, self.k, self.v = (torch.randn(shape, generator=generator) for _ in range(3))
        self.k_pos = torch.arange(keys)
        self.q, self.q_pos = self.q[:, :, -queries:].clone(), self.k_pos[-queries:]
        table = torch.randn((32, HEADS), generator=generator)
        self.t5 = BiasLogits(T5Bias(HEADS), params={"table": table.numpy()}).requires_grad_(False)
        self.encodings: dict[str, Any] = {
            "NoPE": NoPE(),
            "RoPE": RoPE(DIM),
            "ALiBi": ALiBi(HEADS),
            "T5": self.t5,
        }

    def bias(self, name: str, q_pos: Tensor) -> Tensor:
        """The bias of these queries in float64, 0 of an encoding without one."""
        match name:
            case "ALiBi":
                return truth.alibi_bias(HEADS, q_pos, self.k_pos)
            case "T5":
                return truth.t5_bias(self.t5.tensors()["table"], q_pos, self.k_pos)
            case _:
                return torch.zeros(1, len(q_pos), len(self.k_pos), dtype=torch.float64)

    def check(self, name: str, run: Callable[[], Tensor]) -> Iterable[tuple[Tensor, Tensor]]:
        """The first queries, those in the middle and the last, beside the truth."""
        made, count = run(), len(self.q_pos)
        rows = torch.arange(count)
        if count > 96:
            rows = torch.cat([rows[:32], rows[count // 2 :][:32], rows[-32:]])
        q, k, q_pos = self.q[:, :, rows], self.k, self.q_pos[rows]
        if name == "RoPE":
            q, k = (truth.rotate(x, p, "interleaved") for x, p in ((q, q_pos), (k, self.k_pos)))
        yield (
            made[:, :, rows],
            truth.attend(q, k, self.v, self.bias(name, q_pos), q_pos, self.k_pos),
        )

    def enter(
        self,
        name: str,
        run: Callable[[], Tensor],
        first: Callable[[], Tensor] | None = None,
        *,
        ours: bool = False,
    ) -> Entry:
        """An entry that is checked against the truth of the encoding called `name`.

        first   what is checked, where a run goes on from the last one
        """
        return Entry(run, partial(self.check, name, first or run), EXACT, ours=ours)

    def enter_plain(self) -> dict[str, Entry]:
        """PyTorch's attention without an encoding; one query sees every key."""
        causal = len(self.q_pos) > 1
        run = partial(scaled_dot_product_attention, self.q, self.k, self.v, is_causal=causal)
        return {PLAIN: self.enter("NoPE", run)}

    def enter_attend(self, name: str) -> dict[str, Entry]:
        """`attend` with an encoding."""
        encoding = self.encodings[name]
        run = partial(attend, self.q, self.k, self.v, encoding=encoding, causal=True)
        return {f"posenc, {name}": self.enter(name, run, ours=True)}

    def enter_dense(self, name: str, *, ready: bool = False) -> dict[str, Entry]:
        """PyTorch's attention with the bias of all pairs as a mask, built in time or before."""

        def build() -> Tensor:
            made: Tensor = (
                self.t5.bias(self.q_pos, self.k_pos)
                if name == "T5"
                else self.encodings[name].bias(self.q_pos, self.k_pos)
            )
            return made.masked_fill_(self.q_pos[:, None] < self.k_pos, -math.inf)[None]

        mask = build() if ready else None

        def run() -> Tensor:
            bias = build() if mask is None else mask
            return scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=bias)

        what = "a mask that is ready" if ready else "a mask, building it"
        return {f"{name}, {what}": self.enter(name, run)}


def attend_to(
    keys: int,
    _request: Request,
    *,
    names: Iterable[str],
    batch: int = 1,
    queries: int | None = None,
    dense: bool = False,
) -> Setup:
    """All queries, or the last ones, on so many keys: without an encoding and with each of these.

    dense   also with the bias of all pairs as a mask
    """
    task = Task(batch, queries or keys, keys)
    entries = task.enter_plain()
    for name in names:
        entries |= task.enter_attend(name)
    if dense:
        entries |= task.enter_dense("ALiBi", ready=True)
        entries |= task.enter_dense("ALiBi") | task.enter_dense("T5")
    return Setup(entries)


CASES = (
    *cases_by_size(
        "attend",
        "attention",
        f"causal, 1 x {HEADS} x {{size}} x {DIM}, float32",
        partial(attend_to, names=("ALiBi", "T5", "RoPE"), dense=True),
        (1024, 4096),
        quick=1024,
    ),
    Case(
        "attend-batch",
        "attention",
        f"short texts, causal, 8 x {HEADS} x 512 x {DIM}, float32",
        partial(attend_to, 512, names=("RoPE", "ALiBi", "T5"), batch=8),
        quick=True,
    ),
    Case(
        "attend-overhead",
        "attention",
        f"one query on 1,000 keys, {HEADS} heads of {DIM}, float32",
        partial(attend_to, 1000, names=("NoPE",), queries=1),
        quick=True,
    ),
)
