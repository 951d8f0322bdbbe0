"""Scores whose part for a distance is a product with the query: Transformer-XL.

Products of queries with a vector of each distance, a matrix P (query, distance), hold that part for
every key once: of row i, those from column Q - 1 - i on. So the matrix over queries and keys is P
read with rows that are one shorter, a view without any memory.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import working
from posenc.core.mechanisms import Scores
from posenc.torch.attention.call import Call
from posenc.torch.attention.pieces import BiasedPiece, Extras, in_pieces

Block = tuple[slice, slice]
"""Queries, and the keys that any of them sees."""


def has_relative_terms(call: Call) -> bool:
    """Whether its scores are of this kind, for queries and keys that go up one by one."""
    encoding = call.encoding
    if not isinstance(encoding, Scores) or encoding.mixes_values or encoding.needs:
        return False
    if encoding.axes is not None or call.visibility.offset is None:
        return False
    terms = encoding.relative_terms(call.q_pos.new_zeros(1), call.params, dtype=torch.float32)
    return terms is not None


def attend_skewed(call: Call, blocks: Sequence[Block]) -> Tensor:
    """Attention with such scores, in these blocks."""
    offset = call.visibility.offset
    assert isinstance(call.encoding, Scores)
    assert offset is not None
    queries, keys = call.q.shape[2], call.k.shape[2]
    behind = offset + queries - 1 - torch.arange(queries + keys - 1, device=call.q.device)
    wide = working(torch, call.q.dtype)
    terms = call.encoding.relative_terms(behind, call.params, dtype=wide)
    assert terms is not None
    of_content, of_distance, right = terms
    q, k, v = (x.to(wide) for x in (call.q, call.k, call.v))
    left = (q + of_distance) * call.scale
    q = q + of_content
    every = slice(None)
    pieces = [
        BiasedPiece(every, rows, seen, _mask(call, rows, seen, behind), call.scale)
        for rows, seen in blocks
    ]
    return in_pieces(pieces, q, k, v, (left, right)).to(call.v.dtype)


def _mask(call: Call, rows: slice, keys: slice, behind: Tensor) -> Callable[[Extras], Tensor]:
    start = call.q.shape[2] - rows.stop + keys.start
    columns = keys.stop - keys.start
    near = slice(start, start + rows.stop - rows.start + columns - 1)
    # columns of products are distances: those that are seen are a run
    seen = call.visibility.at(behind[near]).nonzero()
    first, last = (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (0, 0)

    def mask(extras: Extras) -> Tensor:
        left, right = extras
        relative: Any = _Relative.apply
        made = relative(left[:, :, rows], right[:, near], first, last)
        if call.visibility.by_distance:
            return made
        return call.hide_unseen(made, rows, keys)

    return mask


class _Relative(torch.autograd.Function):
    """left_i right_{rows - 1 - i + j}, as (batch, head, rows, columns), a view of the products.

    Only the distances first .. last - 1 of `right` (head, rows + columns - 1, term) are seen; the
    others are -inf.
    """

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, first: int, last: int) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.seen = first, last
        rows, width, near = left.shape[2], right.shape[1], right[:, first:last]
        products = left.new_empty((*left.shape[:3], width))
        for unseen in (products[..., :first], products[..., last:]):
            unseen.fill_(-math.inf)
        for of_row, made in zip(left, products, strict=True):
            made[..., first:last] = torch.bmm(of_row, near.mT)  # `out=` of a part is slow
        return _skew(products, width - rows + 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        left, right = ctx.saved_tensors
        first, last = ctx.seen
        rows, columns = grad.shape[2:]
        products = grad.new_empty((*left.shape[:3], right.shape[1]))
        # where rows end, as far as it is seen
        for beyond in (products[..., first : rows - 1], products[..., columns:last]):
            beyond.fill_(0)
        _skew(products, columns).copy_(grad)
        of_left, of_right = torch.empty_like(left), torch.zeros_like(right)
        near, total = right[:, first:last], of_right[:, first:last]
        for of_row, slopes, made in zip(left, products[..., first:last], of_left, strict=True):
            torch.bmm(slopes, near, out=made)
            total.baddbmm_(slopes.mT, of_row)
        return of_left, of_right, None, None


def _skew(products: Tensor, columns: int) -> Tensor:
    """Row i from column rows - 1 - i on, as many columns as are wanted: a view."""
    *batch, rows, width = products.shape
    *strides, _, _ = products.stride()
    start = products.storage_offset() + rows - 1
    return products.as_strided((*batch, rows, columns), (*strides, width - 1, 1), start)
