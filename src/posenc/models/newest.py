"""The newest token of a cache: one bias for all layers, then PyTorch's attention."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc.core.logits import compute_bias
from posenc.core.mechanisms import Bias
from posenc.models.key_positions import find_key_positions
from posenc.torch.parameters import EncodingModule

Key = tuple[Any, ...]
MOST = 4
"""Biases that are kept: of the full and of the sliding layers of a forward pass, with room."""


class SharedBias:
    """The bias of the newest token, made by the first layer of a forward pass for all of them.

    It is kept for the same positions, mask, number of keys and parameters: the very same tensors,
    not written to since.
    """

    def __init__(self) -> None:
        self._kept: tuple[tuple[Key, tuple[Tensor, ...], Tensor], ...] = ()

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
        learned = () if owner is None else (*owner.parameters(), *owner.buffers())
        tensors = (q_pos, *(() if mask is None else (mask,)), *learned)
        key = (keys, windowed, *((id(x), x._version) for x in tensors))
        for known, _, bias in self._kept:
            if known == key:
                return bias
        k_pos = find_key_positions(q_pos, keys, mask, windowed=windowed)
        bias = compute_bias(encoding, q_pos, k_pos, None if owner is None else owner.tensors())
        if mask is not None:
            bias = torch.where(mask, bias, torch.finfo(bias.dtype).min)
        # the tensors are held, so that no other gets their identity
        self._kept = (*self._kept[1 - MOST :], (key, tensors, bias))
        return bias


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
    """PyTorch's attention with a bias, which stays in float32 beside 16 bits: (…, head, 1, dim)."""
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    grouped = query.shape[1] != key.shape[1]
    return scaled_dot_product_attention(
        query, key, value, attn_mask=bias.to(wide), scale=scale, enable_gqa=grouped
    )
