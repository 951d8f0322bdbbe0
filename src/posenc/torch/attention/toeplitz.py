"""Biases of the distance alone, between queries and keys that go up one by one.

Such a bias is a Toeplitz matrix: Q + K - 1 values for each head, of which every row is a window.
With the last query first it is a view of those values with strides (1, 1), without any memory.
"""

import math
from typing import Any, TypeAlias

import torch
from torch import Tensor

from posenc.core.arrays import working
from posenc.core.logits import compute_bias
from posenc.core.mechanisms import Bias
from posenc.torch.attention.call import Call
from posenc.torch.attention.pieces import BiasedPiece, Extras, blocks, in_pieces

ROWS = 256
FEW_QUERIES = 64
"""For fewer it costs more to find out which keys matter than to take them all."""
WORTH = 2**15
"""How many pairs are computed in the time that a piece takes besides."""
LOOK = 32
"""Keys of a query, on average, that could be left out so that finding out is worth it in training;
four times as many are needed where no gradient is wanted."""
Run: TypeAlias = tuple[slice, int, int]
"""Heads, and the nearest and the farthest distance that can matter to them."""
BYTES = 2**26
"""How much one array of a piece may take that has an entry for each of its pairs."""


def affordable(call: Call, most: int = ROWS) -> int:
    """How many queries a piece may have whose pairs are written down."""
    batch, heads, keys = call.q.shape[0], call.q.shape[1], call.k.shape[2]
    return max(1, min(most, BYTES // max(1, 4 * batch * heads * keys)))


def line(call: Call, offset: int) -> Tensor:
    """The bias at each distance, -inf where nothing is seen: (heads or 1, Q + K - 1), far to near.

    Entry t is that of the distance offset + Q - 1 - t: key j and query i meet at t = Q - 1 - i + j.
    """
    queries, keys = call.q.shape[2], call.k.shape[2]
    behind = offset + queries - 1 - torch.arange(queries + keys - 1, device=call.q.device)
    bias = bias_line(call, behind)
    dtype = torch.float64 if call.q.dtype == torch.float64 else torch.float32
    return bias.to(dtype).masked_fill(~call.visibility.at(behind), -math.inf).contiguous()


def bias_line(call: Call, behind: Tensor) -> Tensor:
    """The bias of keys that far behind their query: (heads or 1, distance)."""
    assert isinstance(call.encoding, Bias)
    here, heads = torch.zeros_like(behind[:1]), call.q.shape[1]
    return compute_bias(call.encoding, here, -behind, call.params, heads=heads)[..., 0, :]


def toeplitz(call: Call) -> Tensor:
    """Attention with such a bias."""
    offset = call.visibility.offset
    assert offset is not None
    values = hide_lost_keys(call, line(call, offset), offset)
    pieces = _pieces(call, values, offset)
    return in_pieces(pieces, call.q.flip(2), call.k, call.v, (values,)).flip(2)


def _pieces(call: Call, values: Tensor, offset: int) -> list[BiasedPiece]:
    """Pieces of every run of heads that see alike, without unseen keys; the last query first."""
    queries, keys = call.q.shape[2], call.k.shape[2]
    pieces: list[BiasedPiece] = []
    for heads, nearest, farthest in _runs(call, values, offset):
        reach = farthest - nearest + 1
        if reach < 1:  # nothing is seen
            continue
        # few queries leave out more of what is ahead of them; many keys are read for each piece
        size = ROWS // 2 if min(reach, keys) <= 2 * ROWS else ROWS
        if values.requires_grad:  # its gradient is made for each pair before it is summed
            size = affordable(call, size)
        for rows in blocks(queries, size):
            first = max(0, offset + rows.start - farthest)
            last = min(keys, offset + rows.stop - nearest)
            if first < last:
                turned = slice(queries - rows.stop, queries - rows.start)
                count = rows.stop - rows.start
                window = _window(heads, turned.start + first, count, last - first)
                seen = slice(first, last)
                pieces.append(BiasedPiece(heads, turned, seen, window, call.scale))
    return pieces


def _window(heads: slice, start: int, rows: int, columns: int) -> Any:
    def mask(extras: Extras) -> Tensor:
        (values,) = extras
        of_heads = values if values.shape[0] == 1 else values[heads]
        if not (values.requires_grad and torch.is_grad_enabled()):
            return _view_window(of_heads, start, rows, columns)
        window: Any = _Window.apply
        return window(of_heads, start, rows, columns)

    return mask


def _view_window(values: Tensor, start: int, rows: int, columns: int) -> Tensor:
    """values[h, start + i + j] as (1, heads, rows, columns), without memory of its own."""
    size = (1, values.shape[0], rows, columns)
    return values.as_strided(size, (0, values.stride(0), 1, 1), values.storage_offset() + start)


class _Window(torch.autograd.Function):
    """`_view_window`, whose backward pass sums over i + j."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, start: int, rows: int, columns: int) -> Tensor:
        ctx.shape, ctx.start = values.shape, start
        return _view_window(values, start, rows, columns)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        _, heads, rows, columns = grad.shape
        width = rows + columns - 1
        # rows that are one longer than that, read as rows of `width`, are each moved right by one
        padded = torch.nn.functional.pad(grad[0], (0, rows)).reshape(heads, -1)
        skewed = padded[:, : rows * width].reshape(heads, rows, width)
        total = grad.new_zeros(ctx.shape)
        total[:, ctx.start : ctx.start + width] = skewed.sum(1)
        return total, None, None, None


def _runs(call: Call, values: Tensor, offset: int) -> list[Run]:
    """Runs of heads that see about as far."""
    heads, top = call.q.shape[1], offset + call.q.shape[2] - 1
    kept = values.detach() != -math.inf
    spans: list[tuple[int, int]] = []
    for row in kept.expand(heads, -1).cpu():
        seen = row.nonzero()
        spans.append((top - int(seen[-1]), top - int(seen[0])) if len(seen) else (0, -1))
    runs: list[Run] = []
    step = heads // call.k.shape[1]  # the queries of one head of keys stay together
    for first in range(0, heads, step):
        group = [span for span in spans[first : first + step] if span[0] <= span[1]]
        nearest = min((span[0] for span in group), default=0)
        farthest = max((span[1] for span in group), default=-1)
        run = slice(first, first + step), nearest, farthest
        if runs and (joined := _join(call, runs[-1], run, offset)):
            runs[-1] = joined
        else:
            runs.append(run)
    return runs


def _join(call: Call, one: Run, other: Run, offset: int) -> Run | None:
    """Both runs as one; None if more would be computed than fewer pieces are worth."""
    heads = slice(one[0].start, other[0].stop)
    if one[1:] == other[1:]:
        return heads, *one[1:]
    if one[1] > one[2] or other[1] > other[2]:  # one of them sees nothing
        return None
    both = heads, min(one[1], other[1]), max(one[2], other[2])
    pairs, alone, too = (
        (run[0].stop - run[0].start) * _count_pairs(call, offset, *run[1:])
        for run in (both, one, other)
    )
    fewer = -(-call.q.shape[2] // (ROWS // 2))
    return both if call.q.shape[0] * (pairs - alone - too) <= fewer * WORTH else None


def _count_pairs(call: Call, offset: int, nearest: int, farthest: int) -> int:
    """How many queries i and keys j lie that far apart: nearest <= offset + i - j <= farthest."""
    queries, keys = call.q.shape[2], call.k.shape[2]

    def add_up(last: int) -> int:
        """0 + 1 + … + keys + keys + …, with `last` terms after the first."""
        rising = min(max(last, 0), keys)
        return rising * (rising + 1) // 2 + keys * max(0, last - keys)

    def count_from(first: int) -> int:
        """Keys below `first` + i, of all queries i."""
        return add_up(first + queries - 1) - add_up(first - 1)

    return count_from(offset - nearest + 1) - count_from(offset - farthest)


def hide_lost_keys(call: Call, values: Tensor, offset: int) -> Tensor:
    """The bias with -inf at distances whose keys cannot have any weight in the dtype of q.

    A product is at most |q| |k|; the key at the query's own position has one that is known. Where
    all keys from some distance on, taken together, weigh so little beside that one that they are
    lost in rounding, none of them can matter, and their weights, subnormal numbers some of them,
    need not be computed. Where few of them could be lost even if all products were equal, nobody
    looks at the products.
    """
    queries, keys, own = call.q.shape[2], call.k.shape[2], offset + call.q.shape[2] - 1
    at_keys = offset >= 0 and offset + queries <= keys  # each query is where some key is
    if not at_keys or queries < FEW_QUERIES:
        return values
    given = values.detach()
    behind = torch.logcumsumexp(given[:, : own + 1], dim=1)
    ahead = torch.logcumsumexp(given[:, own + 1 :].flip(1), dim=1).flip(1)
    together = torch.cat([behind, ahead], dim=1)
    bits = 53 if call.q.dtype == torch.float64 else 24
    floor = given[:, own : own + 1] - (bits + 1) * math.log(2)  # one bit for there being two sides
    places = torch.arange(1, queries + keys, device=values.device)
    pairs = torch.minimum(places, places.flip(0)).clamp(max=min(queries, keys))
    lost = (together < floor) & (given != -math.inf)
    worth = LOOK if torch.is_grad_enabled() and call.q.requires_grad else 4 * LOOK
    if float((lost * pairs).sum()) < worth * queries * len(values):
        return values
    if not math.isfinite(float(call.v.detach().sum())):
        return values
    # by < and not by the opposite of >=: a key whose bias or product is NaN matters
    return values.masked_fill(together < floor - _excess(call, own)[:, None], -math.inf)


def _excess(call: Call, own: int) -> Tensor:
    """By how much the product of a query with any key may exceed that with its own: (heads,).

    In a half products overflow and are off by nats, so they are formed in float32 at least, where
    with a unit roundoff of eps / 2 a product is off by dim eps / 2 of |q| |k| and the two norms
    together by as much.
    """
    queries, heads, dim = call.q.shape[2], call.q.shape[1], call.q.shape[3]
    q, k = (x.detach().to(working(torch, x.dtype)) for x in (call.q, call.k))
    start = own + 1 - queries
    group = heads // k.shape[1]
    beside = k[:, :, start : start + queries]
    beside = beside if group == 1 else beside.repeat_interleave(group, dim=1)
    products = torch.linalg.vecdot(q, beside) * call.scale
    norms = torch.linalg.vector_norm(q, dim=-1)
    longest = torch.linalg.vector_norm(k, dim=-1).amax(2, keepdim=True)
    bound = norms * longest.repeat_interleave(group, dim=1) * abs(call.scale)
    most = bound * (1 + (dim + 4) * torch.finfo(q.dtype).eps) - products
    return most.amax((0, 2))
