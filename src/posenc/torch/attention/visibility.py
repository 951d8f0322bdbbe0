"""Which keys each query of a call of `attend` sees."""

from dataclasses import dataclass, replace

from torch import Tensor

from posenc.core.arrays import host
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
