"""The newest token of a cache: one bias for all layers, then the attention of one query."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc.core.fused_torch import has_kernels, is_at_rest, try_newest
from posenc.core.logits import compute_bias
from posenc.core.mechanisms import Bias
from posenc.models.key_positions import find_key_positions
from posenc.torch.parameters import EncodingModule

Key = tuple[Any, ...]
MOST = 4
"""Biases that are kept: of the full and of the sliding layers of a forward pass, with room."""
AHEAD, ENTRIES = 64, 2**20
"""For how many tokens to come a bias is made at once, and numbers in it: at most."""


class SharedBias:
    """The bias of the newest token, made by the first layer of a forward pass for all of them.

    It is kept for the same positions, mask, number of keys and parameters: the very same tensors,
    not written to since. Of a text without gaps it is made for tokens to come as well.
    """

    def __init__(self) -> None:
        self._kept: tuple[tuple[Key, tuple[Tensor, ...], Tensor], ...] = ()
        self._ahead: Ahead | None = None

    def __reduce__(self) -> tuple[type["SharedBias"], tuple[()]]:
        """A copy starts with nothing."""
        return SharedBias, ()

    def find(
        self,
        encoding: Bias,
        owner: EncodingModule | None,
        q_pos: Tensor,
        keys: int,
        mask: Tensor | None,
        *,
        windowed: bool,
    ) -> Tensor:
        """The bias of the newest token, lowest where the mask hides a key: (…, head, 1, k).

        encoding   what makes it
        owner      the module that has what it learns; None if that is nothing
        q_pos      the position of the token, (batch or 1, 1)
        keys       how many there are
        mask       of bool, (batch, 1, 1, k); None: all are seen
        windowed   whether keys may be missing at the beginning
        """
        learned: tuple[Tensor, ...] = ()
        if owner is not None:  # what owner.parameters() and buffers() have, in a tenth of the time
            learned = (*owner.params.values(), *vars(owner)["_buffers"].values())
        tensors = (q_pos, *(() if mask is None else (mask,)), *learned)
        key = (keys, windowed, *[(id(x), x._version) for x in tensors])
        for known, _, bias in self._kept:
            if known == key:
                return bias
        params = None if owner is None else owner.tensors()
        if mask is None and int(q_pos.min()) == keys - 1 == int(q_pos.max()):
            versions = tuple((id(x), x._version) for x in learned)
            if self._ahead is None or not self._ahead.has(keys, versions):
                self._ahead = Ahead(encoding, params, keys, versions, learned)
            bias = self._ahead.take(keys)
        else:
            k_pos = find_key_positions(q_pos, keys, mask, windowed=windowed)
            bias = _widen(compute_bias(encoding, q_pos, k_pos, params))
        if mask is not None:
            bias = torch.where(mask, bias, torch.finfo(bias.dtype).min)
        # the tensors are held, so that no other gets their identity
        self._kept = ((key, tensors, bias), *self._kept[: MOST - 1])
        return bias


class Ahead:
    """The bias of tokens that follow each other, each of which sees all before it.

    Where a distance says all, it is one line of distances, far to near, whose end is the row of any
    token; else it has a row for each of the next tokens.
    """

    def __init__(
        self,
        encoding: Bias,
        params: Mapping[str, Tensor] | None,
        keys: int,
        versions: Key,
        learned: tuple[Tensor, ...],
    ):
        self.versions, self.learned = versions, learned
        self.in_line = encoding.traits.relative and encoding.limit is None
        count = 1 if self.in_line or encoding.limit is not None else AHEAD
        count = max(1, min(count, ENTRIES // ((encoding.heads or 1) * (keys + AHEAD))))
        self.first = 2 * keys + AHEAD if self.in_line else keys
        k_pos = torch.arange(self.first + count - 1)
        self.made = _widen(compute_bias(encoding, k_pos[self.first - 1 :], k_pos, params))

    def has(self, keys: int, versions: Key) -> bool:
        """Whether it has the row of the token that sees so many keys, for these parameters."""
        rows = keys <= self.first if self.in_line else 0 <= keys - self.first < self.made.shape[-2]
        return rows and versions == self.versions

    def take(self, keys: int) -> Tensor:
        """The row of the token that sees so many keys: (1, head, 1, k)."""
        if self.in_line:
            return self.made[..., self.first - keys :]
        return self.made.narrow(-2, keys - self.first, 1)[..., :keys]


def _widen(bias: Tensor) -> Tensor:
    """(head, q, k) or (batch, head, q, k) with all four axes, laid out as the kernels take it."""
    return (bias if bias.ndim == 4 else bias[None]).contiguous()


def is_newest(encoding: object, query: Tensor, mask: Tensor | None) -> bool:
    """Whether one query attends with a bias while nothing is learned, traced or compiled."""
    return (
        query.shape[2] == 1
        and isinstance(encoding, Bias)
        and query.is_cpu
        and not torch.is_grad_enabled()
        and not torch.is_inference_mode_enabled()  # whose tensors do not say if they were written
        and not torch.compiler.is_compiling()
        and (mask is None or mask.dtype == torch.bool)
    )


def attend_newest(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor, *, scale: float
) -> Tensor:
    """Attention with a bias, which stays in float32 beside 16 bits: (…, head, 1, dim).

    For what `is_newest` says yes to, where no gradient is wanted.
    """
    bias = bias.to(torch.float64 if query.dtype == torch.float64 else torch.float32)
    plain = type(query) is type(key) is type(value) is Tensor
    if plain and has_kernels() and is_at_rest() and not torch.is_autocast_enabled("cpu"):
        out = try_newest(query, key, value, (0, key.shape[2]), bias, scale=scale)
        if out is not None:
            return out
    grouped = query.shape[1] != key.shape[1]
    return scaled_dot_product_attention(
        query, key, value, attn_mask=bias, scale=scale, enable_gqa=grouped
    )
