"""Rotating queries and keys, against copying them, which no rotation can beat."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from posenc.bench import others, truth
from posenc.bench.case import Bound, Case, Entry, Request, Setup, cases_by_size
from posenc.bench.others import QK, Make
from posenc.core.rotation import Pairing
from posenc.encodings.rope import RoPE
from posenc.torch import RotateQK

HEADS, DIM = 32, 128
PAIRINGS: tuple[Pairing, ...] = ("interleaved", "halves")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
FAR = 10_000_000
CHECKED = 768
"""So many positions are compared with the truth, and all where there are no more."""


def bound_ours(dtype: torch.dtype, largest: float) -> Bound:
    """How far x1 cos - x2 sin may be off, for |x| <= `largest`.

    Cosines and sines are promised within 1.5e-7; a product and a sum in float32 add a unit of
    rounding each, to |x1| + |x2|. The result is rounded to its dtype once.
    """
    single = torch.finfo(torch.float32).eps / 2
    unit = torch.finfo(dtype).eps / 2 if dtype != torch.float32 else 0.0
    return Bound(2 * largest * (1.5e-7 + 2 * single), unit)


class Task:
    """Random queries and keys at these positions, and the ways to rotate them.

    gradients   of the results, for a backward pass too
    """

    def __init__(self, positions: Tensor, dtype: torch.dtype, *, gradients: bool = False):
        generator = torch.Generator().manual_seed(0)
        shape = (1, HEADS, len(positions), DIM)
        count = 4 if gradients else 2
        self.given = [torch.randn(shape, generator=generator).to(dtype) for _ in range(count)]
        self.positions, self.dtype = positions, dtype
        self.largest = math.ceil(max(float(x.abs().max()) for x in self.given))

    def enter_clone(self) -> dict[str, Entry]:
        """Cloning what is written."""
        return {"clone": Entry(lambda: [x.clone() for x in self.given])}

    def enter_ours(self) -> dict[str, Entry]:
        """RotateQK of each pairing."""
        entries, bound = dict[str, Entry](), bound_ours(self.dtype, self.largest)
        for pairing in PAIRINGS:
            module = RotateQK(RoPE(DIM, pairing=pairing))
            entries[f"posenc, {pairing}"] = self.enter(
                lambda q, k, module=module: module(q, k, self.positions), pairing, bound, ours=True
            )
        return entries

    def enter_others(self, made: Mapping[str, Make]) -> Setup:
        """The implementations of others that are installed, and why the rest are missing."""
        entries, missing = dict[str, Entry](), dict[str, str]()
        q, k, *_ = self.given
        for name, make in made.items():
            try:
                rotation = make(q, self.positions)
                if name == "HF compiled":  # says here whether there is a compiler
                    rotation.apply(q, k)
            except (ImportError, RuntimeError) as error:
                missing[name] = str(error).splitlines()[0]
                continue
            entries[name] = self.enter(
                rotation.apply,
                rotation.pairing,
                rotation.bound(q, self.largest, int(self.positions.max())),
                convention=rotation.convention(self.dtype),
                source=rotation.source,
            )
        return Setup(entries, missing)

    def enter(
        self, rotate: Callable[[Tensor, Tensor], QK], pairing: Pairing, bound: Bound, **about: Any
    ) -> Entry:
        """Rotate q and k; with gradients of the results, also back."""
        q, k, *gradients = self.given
        run = partial(rotate, q, k)
        if gradients:
            leaves = q.clone().requires_grad_(), k.clone().requires_grad_()

            def run() -> tuple[Tensor, ...]:
                made = rotate(*leaves)
                return *made, *torch.autograd.grad(made, leaves, gradients)

        return Entry(run, lambda: self.compare(run(), pairing), bound, **about)

    def compare(self, made: Iterable[Tensor], pairing: Pairing) -> Iterable[tuple[Tensor, Tensor]]:
        """Results beside the truth, at the first positions, the last, and some in between."""
        count = len(self.positions)
        rows = torch.arange(count)
        if count > CHECKED:
            third = CHECKED // 3
            between = torch.linspace(third, count - third - 1, third).long()
            rows = torch.unique(torch.cat([rows[:third], between, rows[-third:]]))
        positions = self.positions[rows]
        at = (positions, positions, -positions, -positions)  # gradients turn back
        for out, x, p in zip(made, self.given, at, strict=False):
            yield out.detach()[:, :, rows], truth.rotate(x[:, :, rows], p, pairing)


def rotate(positions: Tensor, dtype: torch.dtype, request: Request) -> Setup:
    """Queries and keys of a whole text or of one token, out of place."""
    task, direct = Task(positions, dtype), not request.quick
    made: dict[str, Make] = {"HF apply": partial(others.hf_apply, direct=direct)}
    if len(positions) == 1:
        made["HF apply and table"] = partial(others.hf_with_table, direct=direct)
    made |= {"complex form": others.complex_form, "table lookup": others.table_lookup}
    if len(positions) == 2048 and direct:  # compiled for each shape, which takes a while
        made["HF compiled"] = partial(others.hf_apply, direct=True, compiled=True)
    theirs = task.enter_others(made | (others.PEERS if request.peers else {}))
    return Setup(task.enter_clone() | task.enter_ours() | {**theirs.entries}, theirs.missing)


def rotate_in_place(positions: Tensor, dtype: torch.dtype, _request: Request) -> Setup:
    """Queries and keys of a whole text, in place, against copying them over others."""
    task = Task(positions, dtype)
    q, k = task.given
    targets = torch.empty_like(q), torch.empty_like(k)

    def enter(pairing: Pairing) -> Entry:
        module = RotateQK(RoPE(DIM, pairing=pairing), inplace=True)
        kept = q.clone(), k.clone()  # which go round and round

        def check() -> Iterable[tuple[Tensor, Tensor]]:
            return task.compare(module(q.clone(), k.clone(), positions), pairing)

        bound = bound_ours(dtype, task.largest)
        return Entry(lambda: module(*kept, positions), check, bound, ours=True)

    copy = {"copy_": Entry(lambda: (targets[0].copy_(q), targets[1].copy_(k)))}
    return Setup(copy | {f"posenc, {pairing}": enter(pairing) for pairing in PAIRINGS})


def train(positions: Tensor, dtype: torch.dtype, request: Request) -> Setup:
    """Forward and backward, against cloning the four tensors that they must write."""
    task = Task(positions, dtype, gradients=True)
    theirs = task.enter_others({"HF apply": partial(others.hf_apply, direct=not request.quick)})
    return Setup(task.enter_clone() | task.enter_ours() | {**theirs.entries}, theirs.missing)


def far_positions(length: int, _request: Request) -> Setup:
    """A text at positions about 10^7, against one at 0."""
    entries = dict[str, Entry]()
    for first in (0, FAR):
        task = Task(torch.arange(first, first + length), torch.float32)
        entries[f"posenc, from {first:,}"] = task.enter_ours()["posenc, interleaved"]
    return Setup(entries)


def _cases() -> Iterable[Case]:
    for name, dtype in DTYPES.items():
        yield from cases_by_size(
            f"prefill-{name}",
            "prefill",
            f"q and k 1 x {HEADS} x {{size}} x {DIM}, {name}",
            lambda length, request, dtype=dtype: rotate(torch.arange(length), dtype, request),
            (512, 2048, 8192),
            quick=2048,
        )
    text, whole = torch.arange(2048), f"q and k 1 x {HEADS} x 2,048 x {DIM}"
    token = f"q and k of one token, {HEADS} heads of {DIM}"
    for family, group, what, build, positions in (
        ("in-place", "prefill in place", whole, rotate_in_place, text),
        ("decode", "decode", token, rotate, torch.tensor([2047])),
        ("train", "forward and backward", whole, train, text),
    ):
        for name, dtype in DTYPES.items():
            quick = (family, name) != ("train", "bfloat16")
            build_it = partial(build, positions, dtype)
            yield Case(f"{family}-{name}", group, f"{what}, {name}", build_it, quick=quick)
    for length in (1, 2048):
        yield Case(
            f"far-{length}",
            "far positions",
            f"q and k 1 x {HEADS} x {length:,} x {DIM}, float32",
            partial(far_positions, length),
            quick=True,
        )


CASES = tuple(_cases())
