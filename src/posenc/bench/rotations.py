"""Rotating queries and keys, against copying them, which no rotation can beat."""

import math
from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor

from posenc.bench import others, truth
from posenc.bench.case import Bound, Case, Entry, Request, Setup
from posenc.bench.others import QK, Rotation
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


def draw(length: int, dtype: torch.dtype, *, count: int = 2) -> list[Tensor]:
    """Normal numbers for queries, keys and their gradients."""
    generator = torch.Generator().manual_seed(0)
    shape = (1, HEADS, length, DIM)
    return [torch.randn(shape, generator=generator).to(dtype) for _ in range(count)]


def compare(
    made: Iterable[Tensor], given: Iterable[Tensor], positions: Tensor, pairing: str
) -> Iterable[tuple[Tensor, Tensor]]:
    """Results beside the truth, at the first positions, the last, and some in between."""
    count = len(positions)
    rows = torch.arange(count)
    if count > CHECKED:
        third = CHECKED // 3
        between = torch.linspace(third, count - third - 1, third).long()
        rows = torch.unique(torch.cat([rows[:third], between, rows[-third:]]))
    for out, x in zip(made, given, strict=True):
        yield out[:, :, rows], truth.rotate(x[:, :, rows], positions[rows], pairing)


def enter_ours(q: Tensor, k: Tensor, positions: Tensor, largest: float) -> dict[str, Entry]:
    """RotateQK of each pairing."""

    def enter(pairing: Pairing) -> Entry:
        module = RotateQK(RoPE(DIM, pairing=pairing))
        return Entry(
            lambda: module(q, k, positions),
            lambda: compare(module(q, k, positions), (q, k), positions, pairing),
            bound_ours(q.dtype, largest),
            ours=True,
        )

    return {f"posenc, {pairing}": enter(pairing) for pairing in PAIRINGS}


def enter_others(
    made: dict[str, Callable[[Tensor, Tensor], Rotation]],
    q: Tensor,
    k: Tensor,
    positions: Tensor,
    largest: float,
) -> tuple[dict[str, Entry], dict[str, str]]:
    """The implementations of others that are installed, and why the rest are missing."""
    entries, missing = dict[str, Entry](), dict[str, str]()
    for name, make in made.items():
        try:
            rotation = make(q, positions)
            run = partial(rotation.apply, q, k)
            if name == "HF compiled":  # says here whether there is a compiler
                run()
        except (ImportError, RuntimeError) as error:
            missing[name] = str(error).splitlines()[0]
            continue
        pairing = rotation.pairing
        entries[name] = Entry(
            run,
            lambda run=run, pairing=pairing: compare(run(), (q, k), positions, pairing),
            rotation.bound(q, largest, int(positions.max())),
            convention=rotation.convention(q.dtype),
            source=rotation.source,
        )
    return entries, missing


def prefill(length: int, dtype: torch.dtype, request: Request) -> Setup:
    """Queries and keys of a whole text, out of place."""
    q, k = draw(length, dtype)
    positions = torch.arange(length)
    largest = largest_of(q, k)
    made: dict[str, Callable[[Tensor, Tensor], Rotation]] = {
        "HF apply": partial(others.hf_apply, direct=not request.quick),
        "complex form": others.complex_form,
        "table lookup": others.table_lookup,
    }
    if length == 2048 and not request.quick:  # compiled for each shape, which takes a while
        made["HF compiled"] = partial(others.hf_compile, direct=True)
    if request.peers:
        made |= others.PEERS
    theirs, missing = enter_others(made, q, k, positions, largest)
    clone = {"clone": Entry(lambda: (q.clone(), k.clone()))}
    return Setup(clone | enter_ours(q, k, positions, largest) | theirs, missing)


def prefill_in_place(length: int, dtype: torch.dtype, _request: Request) -> Setup:
    """Queries and keys of a whole text, in place, against copying them over others."""
    q, k = draw(length, dtype)
    positions = torch.arange(length)
    targets = torch.empty_like(q), torch.empty_like(k)

    def enter(pairing: Pairing) -> Entry:
        module = RotateQK(RoPE(DIM, pairing=pairing), inplace=True)
        kept = q.clone(), k.clone()  # which go round and round

        def check() -> Iterable[tuple[Tensor, Tensor]]:
            return compare(module(q.clone(), k.clone(), positions), (q, k), positions, pairing)

        bound = bound_ours(dtype, largest_of(q, k))
        return Entry(lambda: module(*kept, positions), check, bound, ours=True)

    copy = {"copy_": Entry(lambda: (targets[0].copy_(q), targets[1].copy_(k)))}
    return Setup(copy | {f"posenc, {pairing}": enter(pairing) for pairing in PAIRINGS})


def decode(dtype: torch.dtype, request: Request) -> Setup:
    """One token of a text of 2,048, through the module."""
    q, k = draw(1, dtype)
    positions = torch.tensor([2047])
    largest = largest_of(q, k)
    direct = not request.quick
    made: dict[str, Callable[[Tensor, Tensor], Rotation]] = {
        "HF apply": partial(others.hf_apply, direct=direct),
        "HF apply and table": partial(others.hf_with_table, direct=direct),
        "complex form": others.complex_form,
        "table lookup": others.table_lookup,
    }
    if request.peers:
        made |= others.PEERS
    theirs, missing = enter_others(made, q, k, positions, largest)
    clone = {"clone": Entry(lambda: (q.clone(), k.clone()))}
    return Setup(clone | enter_ours(q, k, positions, largest) | theirs, missing)


def train(length: int, dtype: torch.dtype, request: Request) -> Setup:
    """Forward and backward, against cloning the four tensors that they must write."""
    q, k, dq, dk = draw(length, dtype, count=4)
    positions = torch.arange(length)
    largest = largest_of(q, k, dq, dk)
    theirs = others.hf_apply(q, positions, direct=not request.quick)
    q_leaf, k_leaf = q.clone().requires_grad_(), k.clone().requires_grad_()

    def step(rotate: Callable[[Tensor, Tensor], QK]) -> tuple[Tensor, ...]:
        made = rotate(q_leaf, k_leaf)
        return *made, *torch.autograd.grad(made, (q_leaf, k_leaf), (dq, dk))

    def check(
        run: Callable[[], tuple[Tensor, ...]], pairing: str
    ) -> Iterable[tuple[Tensor, Tensor]]:
        turned_q, turned_k, back_q, back_k = (x.detach() for x in run())
        yield from compare((turned_q, turned_k), (q, k), positions, pairing)
        yield from compare((back_q, back_k), (dq, dk), -positions, pairing)

    entries = {"clone": Entry(lambda: [x.clone() for x in (q, k, dq, dk)])}
    for pairing in PAIRINGS:
        module = RotateQK(RoPE(DIM, pairing=pairing))
        run = partial(step, lambda q, k, module=module: module(q, k, positions))
        entries[f"posenc, {pairing}"] = Entry(
            run, partial(check, run, pairing), bound_ours(dtype, largest), ours=True
        )
    run = partial(step, theirs.apply)
    entries["HF apply"] = Entry(
        run,
        partial(check, run, theirs.pairing),
        theirs.bound(q, largest, length),
        convention=theirs.convention(dtype),
        source=theirs.source,
    )
    return Setup(entries)


def far_positions(length: int, _request: Request) -> Setup:
    """A text at positions about 10^7, against one at 0."""
    q, k = draw(length, torch.float32)
    largest = largest_of(q, k)
    entries = dict[str, Entry]()
    for first in (0, FAR):
        positions = torch.arange(first, first + length)
        (_, entry), *_ = enter_ours(q, k, positions, largest).items()
        entries[f"posenc, from {first:,}"] = entry
    return Setup(entries)


def largest_of(*tensors: Tensor) -> float:
    """The largest absolute value."""
    return math.ceil(max(float(x.abs().max()) for x in tensors))


def _cases() -> Iterable[Case]:
    for length in (512, 2048, 8192):
        for name, dtype in DTYPES.items():
            yield Case(
                f"prefill-{name}-{length}",
                "prefill",
                f"q and k 1 x {HEADS} x {length:,} x {DIM}, {name}",
                partial(prefill, length, dtype),
                size=length,
                quick=length == 2048,
            )
    for name, dtype in DTYPES.items():
        yield Case(
            f"in-place-{name}",
            "prefill in place",
            f"q and k 1 x {HEADS} x 2,048 x {DIM}, {name}",
            partial(prefill_in_place, 2048, dtype),
            quick=True,
        )
    for name, dtype in DTYPES.items():
        yield Case(
            f"decode-{name}",
            "decode",
            f"q and k of one token, {HEADS} heads of {DIM}, {name}",
            partial(decode, dtype),
            quick=True,
        )
    for name, dtype in DTYPES.items():
        yield Case(
            f"train-{name}",
            "forward and backward",
            f"q and k 1 x {HEADS} x 2,048 x {DIM}, {name}",
            partial(train, 2048, dtype),
            quick=name == "float32",
        )
    for length in (1, 2048):
        yield Case(
            f"far-{length}",
            "far positions",
            f"q and k 1 x {HEADS} x {length:,} x {DIM}, float32",
            partial(far_positions, length),
            quick=True,
        )


CASES = tuple(_cases())
