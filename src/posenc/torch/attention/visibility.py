"""Which keys each query of a call of `attend` sees."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import host, working
from posenc.core.seen import find_seen, is_within


@dataclass(frozen=True)
class Visibility:
    """Which keys a query sees: by order, within a window, of its document, by a mask."""

    q_order: Tensor
    k_order: Tensor
    causal: bool
    window: int | None
    documents: tuple[Tensor, Tensor] | None
    mask: Tensor | None
    offset: int | None
    """The first query's place less the first key's, where both go up one by one; else None."""

    @property
    def by_distance(self) -> bool:
        """Whether the distance of a key alone says if it is seen."""
        return self.documents is None and self.mask is None

    @property
    def everything(self) -> bool:
        """Whether all is seen."""
        return self.by_distance and not self.causal and self.window is None

    @property
    def in_runs(self) -> bool:
        """Whether a query sees all keys, or all up to its own place."""
        return self.by_distance and self.window is None

    def at(self, behind: Tensor) -> Tensor:
        """Whether a key that far behind its query is seen, by order and window alone."""
        return is_within(behind, causal=self.causal, window=self.window)

    def of_queries(self, part: slice) -> "Visibility":
        """The same for some queries in a row."""
        documents, mask, offset = self.documents, self.mask, self.offset
        return replace(
            self,
            q_order=self.q_order[..., part],
            documents=documents and (documents[0][..., part], documents[1]),
            mask=mask if mask is None or mask.shape[-2] == 1 else mask[..., part, :],
            offset=None if offset is None else offset + part.start,
        )

    def visible(self, rows: slice, keys: slice) -> Tensor:
        """What these queries see of these keys: (batch or 1, heads or 1, q, k) of bool."""
        documents = self.documents
        return find_seen(
            self.q_order[..., rows],
            self.k_order[..., keys],
            causal=self.causal,
            window=self.window,
            documents=documents and (documents[0][..., rows], documents[1][..., keys]),
            mask=None if self.mask is None else take_pairs(self.mask, rows, keys),
        )

    def touches(self, lost: Tensor) -> Tensor:
        """Which queries see any of these tokens, (batch, heads, k) of bool: (batch, heads, q)."""
        if self.in_runs:
            if not self.causal:
                return lost.any(-1, keepdim=True)
            if self.offset == 0 and self.q_order.shape[-1] == lost.shape[-1]:
                return lost.cumsum(-1) > 0
        every = slice(None)
        return (self.visible(every, every) & lost[..., None, :]).any(-1)


def take_pairs(pairs: Tensor, rows: slice, keys: slice) -> Tensor:
    """What is there (…, q or 1, k) for these queries and keys."""
    return (pairs if pairs.shape[-2] == 1 else pairs[..., rows, :])[..., keys]


def order_tokens(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """The order of points on several axes: that of the sequence, last query beside last key."""
    places = torch.arange(k.shape[2], device=k.device)
    return torch.arange(q.shape[2], device=q.device) + k.shape[2] - q.shape[2], places


def find_offset(q_order: Tensor, k_order: Tensor) -> int | None:
    """The first query's place less the first key's, where both go up one by one; else None."""
    q, k = host(q_order), host(k_order)
    if q is None or k is None or not q.size or not k.size:
        return None
    if q.dtype.kind not in "iu" or k.dtype.kind not in "iu":
        return None
    q, k = q.astype("int64"), k.astype("int64")
    first = q[..., 0] - k[..., 0]
    one_by_one = all((p[..., 1:] - p[..., :-1] == 1).all() for p in (q, k))
    return int(first.flat[0]) if one_by_one and (first == first.flat[0]).all() else None


def read_documents(documents: Any, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor] | None:
    """The document of each query and each key; one tensor is the keys', queries being the last."""
    if documents is None:
        return None
    pair = documents if isinstance(documents, tuple) else (documents, documents)
    if len(pair) != 2 or not all(isinstance(ids, Tensor) for ids in pair):
        raise TypeError(f"documents must be a tensor, or a pair (q, k) of them; got {documents!r}")
    of_q, of_k = pair
    if not isinstance(documents, tuple) and of_k.ndim:
        of_q = of_k[..., max(0, k.shape[2] - q.shape[2]) :]
    for name, ids, x in (("q", of_q, q), ("k", of_k, k)):
        rows = ids.shape[:-1].numel()
        if ids.ndim not in (1, 2) or ids.shape[-1] != x.shape[2] or rows not in (1, x.shape[0]):
            raise ValueError(
                f"documents of {name} must be (seq,) or (batch, seq) with seq = {x.shape[2]}; "
                f"got shape {tuple(ids.shape)}"
            )
    return of_q, of_k


def read_mask(
    mask: Tensor | None, q: Tensor, k: Tensor
) -> tuple[Tensor, Tensor | None] | tuple[None, None]:
    """Where a key is seen, of bool, and what is added to logits: (batch, heads, q, k), or 1 each.

    A mask of bool is the first; one of numbers is the second, and hides a key where it is -inf.
    """
    if mask is None:
        return None, None
    if not isinstance(mask, Tensor) or mask.is_complex():
        raise TypeError(
            "mask must be of bool, True where a key is seen, or of floating numbers, which are "
            f"added to the logits; got {getattr(mask, 'dtype', mask)!r}"
        )
    batch, heads, queries, _ = q.shape
    if mask.ndim == 2 and batch == queries > 1:
        raise ValueError(
            "mask must be mask[:, None, None] for (batch, k) or mask[None, None] for (q, k) where "
            f"both would fit; got shape {tuple(mask.shape)}"
        )
    four = mask[:, None, None, :] if mask.ndim == 2 else mask
    fits = four.ndim == 4 and all(
        size in (1, wanted)
        for size, wanted in zip(four.shape[:3], (batch, heads, queries), strict=True)
    )
    if not fits or four.shape[3] != k.shape[2]:
        raise ValueError(
            f"mask must be (batch, k) or (batch, heads, q, k), here {(batch, k.shape[2])} or "
            f"{(batch, heads, queries, k.shape[2])}; got shape {tuple(mask.shape)}"
        )
    if not mask.is_floating_point():
        return four.bool(), None
    return four != -math.inf, four.to(working(torch, q.dtype))
