"""The memory of a cache of keys and values, which caches that grow from one another share."""

import math
import mmap
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import host, is_plain_tensor
from posenc.core.fused_torch import FusedRotation, find_operator, is_at_rest

LEAST_ROOM = 64
"""Tokens that there is room for at least."""

FEW_TOKENS = 32
"""Tokens that the operator writes at most; more are worth threads."""

LARGE = 2**22
"""Bytes of keys, or of values, that are worth large pages."""


class Store:
    """Tokens in a row: what is written never changes, and only one caller goes on at its end."""

    def __init__(
        self,
        keys: Tensor,
        values: Tensor,
        positions: Tensor | None,
        mask: Tensor | None,
        *,
        length: int,
        seq: int,
        rising: bool,
    ):
        self.keys, self.values = keys, values
        """(batch, heads, room, dim)"""
        self.positions = positions
        """(room,) or (batch, room), with a last axis on a grid; None: 0, 1, …"""
        self.mask = mask
        """(batch, room) of bool, False at padding; None: nothing is padded."""
        self.seq = seq
        """The axis of positions that goes along the text: -1, or -2 on a grid."""
        self.rising = rising
        """Whether each token is at or behind all later ones, so that the last query sees all."""
        self.ahead: Any = None
        """What attention has made for tokens that go on after the last; it may be dropped."""
        self._ends = [length]

    def __getstate__(self) -> dict[str, Any]:
        """All but what was made for this very memory and these parameters."""
        return vars(self) | {"ahead": None}

    def first(self, length: int) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Keys, values, positions and mask of the first tokens, as views."""
        positions, mask = self.positions, self.mask
        return (
            self.keys[:, :, :length],
            self.values[:, :, :length],
            None if positions is None else positions.narrow(self.seq, 0, length),
            None if mask is None else mask[:, :length],
        )

    def extend(
        self, start: int, k: Tensor, v: Tensor, positions: Tensor | None, mask: Tensor | None
    ) -> bool:
        """Write more tokens after the first `start`; False where these are not the newest."""
        end = start + k.shape[2]
        if end > self.keys.shape[2] or (self.mask is None and mask is not None):
            return False
        ours = self.positions
        if (ours is None) != (positions is None):
            return False
        if self.keys.is_inference() and not torch.is_inference_mode_enabled():
            return False
        if positions is not None and ours is not None:
            rows = ours.shape[: self.seq] == positions.shape[: self.seq]
            if not rows or ours.dtype != positions.dtype:
                return False
        if not self._claim(start):
            return False
        self.keys[:, :, start:end] = k
        self.values[:, :, start:end] = v
        if positions is not None and ours is not None:
            before = ours.narrow(self.seq, 0, start)
            self.rising = self.rising and goes_up(before, positions, self.seq)
            ours.narrow(self.seq, start, end - start).copy_(positions)
        if self.mask is not None:
            self.mask[:, start:end] = True if mask is None else mask
        self._ends.append(end)
        return True

    def extend_by_kernels(
        self, start: int, k: Tensor, v: Tensor, waves: FusedRotation | None
    ) -> bool:
        """Write a few tokens after the first `start`, whose positions they have, in one operator.

        k       ordinary tensors on the CPU; keys are rotated if there are waves
        v
        waves

        False where these are not the newest, or not for the operator.
        """
        if self.positions is not None or self.mask is not None or k.ndim != 4:
            return False
        if k.shape[2] > min(FEW_TOKENS, self.keys.shape[2] - start):
            return False
        if self.keys.is_inference() and not torch.is_inference_mode_enabled():
            return False
        if not self._claim(start):
            return False
        end = start
        try:
            packed = None if waves is None else waves.packed
            find_operator("append_")(k, v, self.keys, self.values, start, packed)
            end = start + k.shape[2]
        except RuntimeError:  # the caller says what is wrong, or does without the kernels
            pass
        self._ends.append(end)
        return end > start

    def _claim(self, start: int) -> bool:
        try:
            end = self._ends.pop()  # in one step: of two threads only one gets it
        except IndexError:
            return False
        if end != start:
            self._ends.append(end)
        return end == start

    def seal(self) -> None:
        """Let nobody write here any more, for a backward pass is going to read it."""
        self._ends.clear()


def join(
    store: Store | None,
    start: int,
    k: Tensor,
    v: Tensor,
    positions: Tensor | None,
    mask: Tensor | None,
    *,
    seq: int,
) -> Store:
    """A store of its own: the first `start` tokens of another, if any, and more."""
    end = start + k.shape[2]
    old = (k[:, :, :0], v[:, :, :0], None, None) if store is None else store.first(start)
    rising = store is None or store.rising
    if positions is not None or old[2] is not None:
        before = torch.arange(start, device=k.device) if old[2] is None else old[2]
        after = torch.arange(start, end, device=k.device) if positions is None else positions
        if before.shape[:seq] != after.shape[:seq]:
            before, after = (p.expand(k.shape[0], *[-1] * -seq) for p in (before, after))
        rising = rising and goes_up(before, after, seq)
        positions = torch.cat([before, after], dim=seq)
    if mask is not None or old[3] is not None:
        mask = torch.cat([_fill_mask(x, m) for x, m in ((old[0], old[3]), (k, mask))], dim=1)
    needed = torch.is_grad_enabled() and any(x.requires_grad for x in (k, v, old[0], old[1]))
    room = end if needed else max(LEAST_ROOM, 2 * end)
    return Store(
        _join((old[0], k), room, dim=2),
        _join((old[1], v), room, dim=2),
        None if positions is None else _join((positions,), room, dim=seq),
        None if mask is None else _join((mask,), room, dim=1),
        length=end,
        seq=seq,
        rising=rising,
    )


def goes_up(before: Tensor, after: Tensor, seq: int) -> bool:
    """Whether positions never go down, as far as the host can tell; on a grid order counts."""
    if seq == -2:
        return True
    values = host(torch.cat([before[..., -1:], after], dim=-1))
    return values is not None and bool((values[..., 1:] >= values[..., :-1]).all())


def _fill_mask(x: Tensor, mask: Tensor | None) -> Tensor:
    if mask is not None:
        return mask
    return torch.ones(x.shape[0], x.shape[2], dtype=torch.bool, device=x.device)


def _join(parts: tuple[Tensor, ...], room: int, *, dim: int) -> Tensor:
    """The parts one after another, with room for more."""
    end = sum(part.shape[dim] for part in parts)
    if room == end:
        return torch.cat(parts, dim=dim)
    shape = list(parts[-1].shape)
    shape[dim] = room
    made, start = allocate(shape, like=parts[-1]), 0
    for part in parts:
        made.narrow(dim, start, part.shape[dim]).copy_(part)
        start += part.shape[dim]
    return made


def allocate(shape: list[int], *, like: Tensor) -> Tensor:
    """Unwritten memory on the device and of the dtype of a tensor.

    Where Linux has pages of 2 MiB, large memory is asked for in those: attention looks up each page
    that it reads, and a long text in pages of 4 KiB has more of them than a processor keeps.
    """
    size = math.prod(shape) * like.element_size()
    advice: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
    plain = like.device.type == "cpu" and is_at_rest() and is_plain_tensor(like)
    if advice is None or size < LARGE or not plain:
        return like.new_empty(shape)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(advice)
    except OSError:  # a kernel without them, or no memory, which PyTorch says in its own words
        return like.new_empty(shape)
    return torch.frombuffer(memory, dtype=like.dtype).view(shape)
