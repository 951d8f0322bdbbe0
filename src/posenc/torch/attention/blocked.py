"""Attention without an N x N matrix: a block of queries at a time, each with its own bias."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import host, is_integer, is_plain_tensor
from posenc.core.encoding import Encoding
from posenc.core.fused_torch import is_at_rest
from posenc.core.inputs import at_length_of
from posenc.core.logits import compute_bias
from posenc.core.mechanisms import Bias, Scores
from posenc.torch.attention.call import Call
from posenc.torch.attention.dense import along, attend_part
from posenc.torch.attention.pieces import BiasedPiece, Extras, Piece, blocks, in_pieces, is_finite
from posenc.torch.attention.skewed import attend_skewed, has_relative_terms
from posenc.torch.attention.toeplitz import FEW_QUERIES, affordable, bias_line, toeplitz

PAIRS = 2**16
"""How many pairs of a query and a key a bias is made for at a time: few enough for a cache."""
HELD_PAIRS = 2**17
"""How many pairs of a piece have what their bias is made from in memory, in a backward pass."""


FEW_PAIRS = 2**20
"""Pairs, in all heads, that one call of PyTorch's attention takes at once: 4 MB of bias."""


def describe_route(call: Call) -> str:
    """How `blocked` goes about this call, in words."""
    encoding, _ = call.remaining()
    if _at_once(encoding, call):
        return "its pairs are few enough to write down at once"
    if isinstance(encoding, Scores):
        return "its scores are made for a block of queries at a time, never N x N"
    near = _count_near(encoding, call)
    if near == call.q.shape[2]:
        return "the bias is a window of 2N - 1 values, and keys that cannot matter are left out"
    blockwise = "the bias is made for a block of queries at a time, never N x N"
    first = f"that of the first {near:,} queries is a window of 2N - 1 values; of others "
    return first + blockwise if near else blockwise


def _at_once(bias: Encoding, call: Call) -> bool:
    return isinstance(bias, Bias) and call.q.shape[1] * call.pairs <= FEW_PAIRS


def _count_near(bias: Encoding, call: Call) -> int:
    """How many queries, from the first on, have a bias that a line of distances holds."""
    if not isinstance(bias, Bias) or bias.axes is not None or not _has_whole_positions(call):
        return 0
    if not call.visibility.by_distance or call.visibility.offset is None:
        return 0
    until, queries = bias.relative_until(call.params), call.q.shape[2]
    if not math.isfinite(until):
        return queries if until > 0 else 0
    near = math.floor(until) + 1 - int(call.q_pos[..., 0].max())
    return 0 if near < min(queries, FEW_QUERIES) else min(near, queries)


def attend_in_blocks(call: Call) -> Tensor:
    """Attention in pieces: through windows of one line, a gathered or a freshly made bias.

    The pieces depend on values, so that `torch.compile` has to leave its graph for them.
    """
    outside: Any = torch.compiler.disable(_attend_in_blocks)
    return outside(call)


def _attend_in_blocks(call: Call) -> Tensor:
    call = _settle(call)
    if call.beyond_fused or call.learns_mask:
        return attend_by_definition(call)
    return hide_lost(call, _attend_by_bias)


def hide_lost(call: Call, form: Callable[[Call], Tensor]) -> Tensor:
    """form(call), in which nothing that is hidden and not finite comes through.

    Adding -inf does not hide a NaN, nor does a weight of 0. A result that is finite has none of it;
    any other is made by definition. Where a result cannot be looked at, such tokens are left out
    beforehand, and who sees one gets NaN.
    """
    if call.visibility.everything:
        return form(call)
    if can_look(call):
        out = form(call)
        return out if is_finite(out) else attend_by_definition(call)
    clean, touched = call.without_lost()
    return form(clean).masked_fill(touched, math.nan)


def can_look(call: Call) -> bool:
    """Whether values may decide what is done: not traced ones, nor far away."""
    near = call.q.is_cpu or not call.visibility.in_runs  # without runs it would take all pairs
    return near and is_at_rest() and is_plain_tensor(call.q, call.k, call.v)


def _settle(call: Call) -> Call:
    """The same for the whole text, of which a block spans less, with what can be in q and k."""
    call = replace(call, encoding=at_length_of(call.encoding, call.q_pos, call.k_pos))
    return call.fold_into_qk() if call.remaining()[1] <= 2 * call.q.shape[-1] else call


def attend_by_definition(call: Call) -> Tensor:
    """The specification in blocks of queries, whose backward pass computes it once more."""
    call = _settle(call)
    few = call.q.shape[1] * call.pairs <= FEW_PAIRS
    pieces = [
        Piece(slice(None), *block, _define(call, *block))
        for block in _visible_blocks(call, call.q.shape[2] if few else 128)
    ]
    q, k, v, *extras = call.tensors()
    return in_pieces(pieces, q, k, v, tuple(extras), lse=call.lse)


def _define(call: Call, rows: slice, keys: slice) -> Any:
    def attend(q: Tensor, k: Tensor, v: Tensor, extras: Extras) -> Tensor:
        return attend_part(call.with_tensors((q, k, v, *extras)), rows, keys)

    return attend


def _attend_by_bias(call: Call) -> Tensor:
    if _at_once(call.encoding, call):
        every = slice(0, call.q.shape[2]), slice(0, call.k.shape[2])
        given = tuple((call.params or {}).values())
        piece = _biased_piece(call, *every, tuple(call.params or ()))
        if torch.is_grad_enabled() and any(x.requires_grad for x in given):
            return in_pieces([piece], call.q, call.k, call.v, given)
        return piece.attend(call.q, call.k, call.v, given)
    near, queries = _count_near(call.encoding, call), call.q.shape[2]
    if near >= queries:
        return toeplitz(call)
    if near:
        first, rest = (call.of_queries(part) for part in (slice(0, near), slice(near, queries)))
        return torch.cat([toeplitz(first), _by_pairs(rest)], dim=2)
    return _by_pairs(call)


def _by_pairs(call: Call) -> Tensor:
    """Attention in blocks of queries, with what is added to their logits made for each pair."""
    if isinstance(call.encoding, Bias) and call.encoding.axes is None:
        found = _gather_bias(call) if call.encoding.traits.relative else None
        if found is not None:
            return found
    if has_relative_terms(call):
        return attend_skewed(call, _visible_blocks(call, 128))
    if not isinstance(call.encoding, Bias):
        return attend_by_definition(call)
    # the backward pass holds what a piece's bias is made from
    most = min(128, max(32, HELD_PAIRS // max(1, call.k.shape[2])))
    names = tuple(call.params or ())
    pieces = [_biased_piece(call, *block, names) for block in _visible_blocks(call, most)]
    extras = tuple((call.params or {}).values())
    return in_pieces(pieces, call.q, call.k, call.v, extras)


def _has_whole_positions(call: Call) -> bool:
    return is_integer(call.q_pos) and is_integer(call.k_pos)


def _gather_bias(call: Call) -> Tensor | None:
    """With whole positions in any order, the bias is looked up in one line of all distances."""
    q, k = host(call.q_pos), host(call.k_pos)
    if q is None or k is None or not q.size or not k.size or not _has_whole_positions(call):
        return None
    most, least = int(q.max()) - int(k.min()), int(q.min()) - int(k.max())
    if most - least > 8 * (q.shape[-1] + k.shape[-1]):
        return None  # few tokens, far apart
    assert isinstance(call.encoding, Bias)
    behind = torch.arange(least, most + 1, device=call.q.device)
    values = bias_line(call, behind)

    def gather(rows: slice, keys: slice) -> Any:
        def mask(extras: Extras) -> Tensor:
            apart = call.q_pos[..., rows, None] - call.k_pos[..., None, keys]
            index = apart - least  # (q, k) or (batch, q, k)
            bias = extras[0][:, index]  # (heads, …, q, k)
            bias = bias[None] if index.ndim == 2 else bias.movedim(0, 1)
            return call.hide_unseen(bias, rows, keys)

        return mask

    pieces = [
        BiasedPiece(slice(None), rows, keys, gather(rows, keys), call.scale)
        for rows, keys in _visible_blocks(call, 128)
    ]
    return in_pieces(pieces, call.q, call.k, call.v, (values,))


def _biased_piece(call: Call, rows: slice, keys: slice, names: tuple[str, ...]) -> BiasedPiece:
    def mask(extras: Extras) -> Tensor:
        params = dict(zip(names, extras, strict=True))
        assert isinstance(call.encoding, Bias)
        where = along(call.q_pos, rows, call.encoding), along(call.k_pos, keys, call.encoding)
        bias = bias_in_parts(call.encoding, *where, params or None, heads=call.q.shape[1])
        return call.hide_unseen(bias if bias.ndim == 4 else bias[None], rows, keys)

    return BiasedPiece(slice(None), rows, keys, mask, call.scale)


def bias_in_parts(
    encoding: Bias, q_pos: Tensor, k_pos: Tensor, params: Mapping[str, Tensor] | None, *, heads: int
) -> Tensor:
    """`compute_bias`, a few queries at a time: what a bias is made from is many times its size."""
    seq = -1 if encoding.axes is None else -2
    few = max(1, PAIRS // max(1, k_pos.shape[seq]))
    made = [
        compute_bias(encoding, along(q_pos, part, encoding), k_pos, params, heads=heads)
        for part in blocks(q_pos.shape[seq], few)
    ]
    return made[0] if len(made) == 1 else torch.cat(made, dim=-2)


def _visible_blocks(call: Call, most: int) -> list[tuple[slice, slice]]:
    """Blocks of at most so many queries, with the run of keys that any of them sees."""
    queries, keys = call.q.shape[2], call.k.shape[2]
    every = slice(0, keys)
    found: list[tuple[slice, slice]] = []
    for block in blocks(queries, affordable(call, most)):
        if call.visibility.everything:
            found.append((block, every))
            continue
        seen = call.visibility.visible(block, every).any(0).any(0).any(0).nonzero()
        if len(seen):
            found.append((block, slice(int(seen[0]), int(seen[-1]) + 1)))
        elif call.lse:  # a query that sees nothing has a logsumexp all the same
            found.append((block, slice(0, 1)))
    return found
