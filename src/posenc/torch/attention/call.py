"""One call of `attend`: its arguments, checked."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import torch
from torch import Tensor

from posenc.core.arrays import is_half, refuse_dtensor, working
from posenc.core.attention_inputs import (
    check_shapes,
    check_sizes,
    fill_positions,
    order_tokens,
    read_causal,
    read_documents,
    read_mask,
    read_scale,
    read_sinks,
    read_window,
    require_order,
    scale_queries,
)
from posenc.core.encoding import Encoding
from posenc.core.inputs import check_needs
from posenc.core.logits import read_softcap, rotate_both
from posenc.core.mechanisms import Rotary, Scores, Unbiased
from posenc.torch.attention.options import (
    Options,
    read_dropout,
    read_layout,
)
from posenc.torch.attention.visibility import (
    Visibility,
    find_offset,
    take_pairs,
)
from posenc.torch.given import swap_heads, unpack_encoding

FEW = 2**22
"""Pairs of a query and a key that may be written down without a second thought."""


@dataclass(frozen=True)
class Call:
    """Queries (batch, heads, q, dim), keys and values (batch, fewer, k, dim) and their encoding."""

    q: Tensor
    k: Tensor
    v: Tensor
    encoding: Encoding
    params: Mapping[str, Tensor] | None
    q_pos: Tensor
    k_pos: Tensor
    scale: float
    visibility: Visibility
    features: tuple[Tensor, Tensor] | None = None
    added: Tensor | None = None
    """What is added to the logits: (batch, heads, q, k), or 1 of any but the last."""
    softcap: float | None = None
    sinks: Tensor | None = None
    dropout: float = 0.0
    seed: Tensor | None = None
    """Of the dropout; None if nothing is dropped."""
    lse: bool = False
    """Whether a result has the logarithm of the softmax's denominator as one more channel."""

    @property
    def beyond_fused(self) -> str | None:
        """An option that PyTorch's own attention does not have, by its name in `attend`."""
        asked = {
            "softcap": self.softcap is not None,
            "sinks": self.sinks is not None,
            "dropout": self.seed is not None,
            "return_lse": self.lse,
        }
        return next((name for name, there in asked.items() if there), None)

    @property
    def learns_mask(self) -> bool:
        """Whether the mask is to have a gradient."""
        return self.added is not None and self.added.requires_grad and torch.is_grad_enabled()

    @property
    def pairs(self) -> int:
        """How many queries and keys meet, in one head."""
        return self.q.shape[0] * self.q.shape[2] * self.k.shape[2]

    def scale_queries(self, q: Tensor) -> Tensor:
        """q for `logits`, which has a scale of its own: products then have that of this call."""
        return scale_queries(q, self.encoding, self.scale)

    def tensors(self) -> tuple[Tensor, ...]:
        """q, k, v, parameters, features, sinks and mask: what may have a gradient."""
        params, own = (self.params or {}).values(), (self.sinks, self.added)
        given = tuple(x for x in own if x is not None)
        return (self.q, self.k, self.v, *params, *(self.features or ()), *given)

    def with_tensors(self, tensors: Sequence[Tensor]) -> "Call":
        """The same call of other such tensors, without features."""
        q, k, v, *rest = tensors
        given = iter(rest)
        params = {name: next(given) for name in self.params or ()} or None
        sinks, added = (None if x is None else next(given) for x in (self.sinks, self.added))
        return replace(self, q=q, k=k, v=v, params=params, sinks=sinks, added=added)

    def token_inputs(self, rows: slice, keys: slice) -> dict[str, Any]:
        """What the encoding needs of these tokens, by name: features, and which pairs are seen."""
        needed: dict[str, Any] = {}
        if self.features is not None:
            of_q, of_k = self.features
            needed["features"] = (of_q[..., rows, :], of_k[..., keys, :])
        if "mask" in self.encoding.needs:
            needed["mask"] = self.visibility.visible(rows, keys)
        return needed

    def remaining(self) -> tuple[Encoding, int]:
        """What `fold_into_qk` leaves of the encoding, and how wide q becomes, without its cost."""
        if isinstance(self.encoding, Rotary):
            return Unbiased(), self.q.shape[-1]
        if isinstance(self.encoding, Scores):
            folded = self.first().fold_into_qk()
            return folded.encoding, folded.q.shape[-1]
        return self.encoding, self.q.shape[-1]

    def first(self) -> "Call":
        """The same call of the first query and the first key alone, but for what is seen."""
        return replace(
            self,
            q=self.q[:, :, :1],
            k=self.k[:, :, :1],
            q_pos=_first(self.q_pos, self.encoding),
            k_pos=_first(self.k_pos, self.encoding),
        )

    def of_queries(self, part: slice) -> "Call":
        """The same call of some queries in a row, without features."""
        q_pos = self.q_pos[..., part] if self.encoding.axes is None else self.q_pos[..., part, :]
        seen, added = self.visibility.of_queries(part), self.added
        added = None if added is None else take_pairs(added, part, slice(None))
        return replace(self, q=self.q[:, :, part], q_pos=q_pos, visibility=seen, added=added)

    def added_to(self, rows: slice, keys: slice) -> Tensor | None:
        """What is added to the logits of these queries and keys."""
        return None if self.added is None else take_pairs(self.added, rows, keys)

    def hide_unseen(self, bias: Tensor, rows: slice, keys: slice) -> Tensor:
        """A bias (batch or 1, heads or 1, q, k) as a mask: with `added`, -inf where not seen."""
        mask = bias.to(torch.float64 if self.q.dtype == torch.float64 else torch.float32)
        added = self.added_to(rows, keys)
        mask = mask if added is None else mask + added
        if self.visibility.everything:
            return mask
        return torch.where(self.visibility.visible(rows, keys), mask, -math.inf)

    def without_lost(self) -> tuple["Call", Tensor]:
        """The same call with 0 for keys and values that are not finite, and which queries see one.

        For what cannot look at its result: compiled, or on another device. (batch, heads, q, 1)
        """
        lost = ~(self.k.isfinite().all(-1) & self.v.isfinite().all(-1))
        k, v = (x.masked_fill(lost[..., None], 0.0) for x in (self.k, self.v))
        group = self.q.shape[1] // self.k.shape[1]
        touched = self.visibility.touches(lost.repeat_interleave(group, dim=1))
        return replace(self, k=k, v=v), touched[..., None]

    def fold_into_qk(self) -> "Call":
        """The same without what can be put into q and k beforehand: rotations, Transformer-XL."""
        where = self.q_pos, self.k_pos
        if isinstance(self.encoding, Rotary):
            q, k = rotate_both(self.encoding, self.q, self.k, *where, self.params)
        elif isinstance(self.encoding, Scores) and not self.encoding.mixes_values:
            made = self.encoding.fold(self.q, self.k, *where, self.params)
            if made is None or is_half(self.q.dtype):  # a half would round what is put into it
                return self
            q, k = (x.to(self.v.dtype) for x in made)
        else:
            return self
        if self.encoding.axes is not None:  # what is left has plain numbers for positions
            where = self.q_pos[..., 0], self.k_pos[..., 0]
        return replace(
            self, q=q, k=k, q_pos=where[0], k_pos=where[1], encoding=Unbiased(), params=None
        )


def prepare(
    q: Tensor, k: Tensor, v: Tensor, *, lse: bool = False, **options: Unpack[Options]
) -> Call:
    """The call, or a sentence that says what is wrong with it."""
    if read_layout(options):
        q, k, v = swap_heads(q), swap_heads(k), swap_heads(v)
    _check_tensors(q, k, v)
    check_shapes(q, k, v)
    given: Any = options.get("encoding")
    encoding, params = unpack_encoding(given, options.get("params"), device=q.device)
    check_sizes(encoding, q, k)
    positions = options.get("q_pos"), options.get("k_pos")
    unplaced = positions[0] is None and positions[1] is None
    q_pos, k_pos = fill_positions(q, k, *positions, encoding)
    causal = read_causal(options.get("causal", False), encoding)
    window = read_window(options.get("window"))
    order = (q_pos, k_pos)
    if encoding.axes is not None:
        order = order_tokens(q, k)
        q = require_order(q, q_pos, k_pos) if causal or window is not None else q
    offset = k.shape[2] - q.shape[2] if unplaced else find_offset(*order)
    mask, added = read_mask(options.get("mask"), q, k)
    visibility = Visibility(
        *order,
        causal,
        window,
        read_documents(options.get("documents"), q, k),
        mask,
        offset,
    )
    dropout = options.get("dropout", 0.0)
    return Call(
        q,
        k,
        v,
        encoding,
        params,
        q_pos,
        k_pos,
        read_scale(options.get("scale"), encoding, q),
        visibility,
        _features(options.get("features"), encoding, q, k),
        added=added,
        softcap=read_softcap(options.get("softcap")),
        sinks=read_sinks(options.get("sinks"), q),
        dropout=dropout,
        seed=read_dropout(dropout, options.get("generator"), q),
        lse=lse,
    )


def _check_tensors(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor; got {type(x).__qualname__}")
        refuse_dtensor(name, x)
        if x.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(
                f"{name} must be a float64, float32, float16 or bfloat16; got {x.dtype}"
            )


def _first(positions: Tensor, encoding: Encoding) -> Tensor:
    return positions[..., :1] if encoding.axes is None else positions[..., :1, :]


def _features(
    features: Any, encoding: Encoding, q: Tensor, k: Tensor
) -> tuple[Tensor, Tensor] | None:
    """Features of queries and of keys, in at least float32; one tensor is that of the keys."""
    check_needs(encoding, features=features)
    if features is None:
        return None
    pair = features if isinstance(features, tuple) else (features, features)
    if len(pair) != 2 or not all(isinstance(x, Tensor) and x.is_floating_point() for x in pair):
        raise TypeError(
            f"features must be a floating tensor, or a pair (q, k) of them; got {features!r}"
        )
    of_q, of_k = pair
    if not isinstance(features, tuple) and of_k.ndim > 1:
        of_q = of_k[..., max(0, k.shape[2] - q.shape[2]) :, :]
    dim = of_k.shape[-1:].numel() if encoding.feature_dim is None else encoding.feature_dim
    for name, x, beside in (("q", of_q, q), ("k", of_k, k)):
        shapes = (beside.shape[2], dim), (q.shape[0], beside.shape[2], dim)
        if tuple(x.shape) not in shapes:
            raise ValueError(
                f"features of {name} must be (seq, feature_dim) or (batch, seq, feature_dim), "
                f"here {shapes[0]} or {shapes[1]}; got shape {tuple(x.shape)}"
            )
    wide = working(torch, q.dtype)
    return of_q.to(wide), of_k.to(wide)
