"""Attention without an N x N matrix: a block of queries at a time, each with its own bias."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import host, is_integer
from posenc.core.encoding import Encoding
from posenc.core.inputs import at_length_of, repeat_heads
from posenc.core.logits import compute_bias, logits
from posenc.core.mechanisms import Bias, Scores
from posenc.torch.attention.call import Call
from posenc.torch.attention.dense import along, mix_values
from posenc.torch.attention.pieces import BiasedPiece, Extras, Piece, blocks, in_pieces
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
    # for the whole text: a block of it spans less
    call = replace(call, encoding=at_length_of(call.encoding, call.q_pos, call.k_pos))
    if call.remaining()[1] <= 2 * call.q.shape[-1]:
        call = call.fold_into_qk()
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
    names = tuple(call.params or ())
    made, most = _scored_piece, 128
    if isinstance(call.encoding, Bias):  # the backward pass holds what a piece's bias is made from
        made, most = _biased_piece, min(128, max(32, HELD_PAIRS // max(1, call.k.shape[2])))
    pieces = [made(call, *block, names) for block in _visible_blocks(call, most)]
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
            return _hide_unseen(
                call, bias[None] if index.ndim == 2 else bias.movedim(0, 1), rows, keys
            )

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
        return _hide_unseen(call, bias if bias.ndim == 4 else bias[None], rows, keys)

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


def _scored_piece(call: Call, rows: slice, keys: slice, names: tuple[str, ...]) -> Piece:
    def attend(q: Tensor, k: Tensor, v: Tensor, extras: Extras) -> Tensor:
        params = dict(zip(names, extras, strict=True))
        wide = torch.float32 if q.element_size() < 4 else q.dtype
        q, k, v = (x.to(wide) for x in (q, k, v))
        where = (along(call.q_pos, rows, call.encoding), along(call.k_pos, keys, call.encoding))
        made = logits(call.encoding, call.scale_queries(q), k, *where, params)
        here = replace(call, params=params)
        return mix_values(here, made, repeat_heads("v", v, q), rows, keys).to(call.v.dtype)

    return Piece(slice(None), rows, keys, attend)


def _hide_unseen(call: Call, bias: Tensor, rows: slice, keys: slice) -> Tensor:
    """A bias (batch or 1, heads or 1, q, k) as a mask: -inf where a key is not seen."""
    mask = bias.to(torch.float64 if call.q.dtype == torch.float64 else torch.float32)
    if call.visibility.everything:
        return mask
    return torch.where(call.visibility.visible(rows, keys), mask, -math.inf)


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
    return found
