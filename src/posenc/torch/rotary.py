"""The module that turns queries and keys."""

import torch
from torch import Tensor, nn

from posenc import rules
from posenc.mechanisms import Rotary, settled
from posenc.rotation_torch import turn_in_place


class RotateQK(nn.Module):
    """R(p) q and R(p) k for q (batch, heads, seq, dim) and k, whose heads may be fewer.

    There is nothing to learn and no state. With `inplace` the results are written over q and k,
    which is for inference: neither may require a gradient. An encoding whose angles depend on the
    length of the text (dynamic NTK, LongRoPE) wants all keys, unrotated, in every call.

    >>> import posenc as pe
    >>> rotate = RotateQK(pe.RoPE(64))
    >>> q, k = torch.randn(1, 8, 5, 64), torch.randn(1, 2, 5, 64)
    >>> q, k = rotate(q, k, torch.arange(5))
    """

    def __init__(self, encoding: Rotary, *, inplace: bool = False):
        super().__init__()
        if not isinstance(encoding, Rotary):
            raise TypeError(f"encoding must be Rotary; got {type(encoding).__name__}")
        rules.flag("inplace", inplace)
        self.encoding = encoding
        self.inplace = inplace

    def forward(
        self, q: Tensor, k: Tensor, positions: Tensor, k_positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """q and k, turned to their positions (seq,) or (batch, seq); k_positions are those of k."""
        k_positions = positions if k_positions is None else k_positions
        if q.shape[-1] != k.shape[-1]:
            raise ValueError(f"q and k must have one head dim; got {q.shape[-1]} and {k.shape[-1]}")
        if not self.encoding.settled and k.shape[-2] < q.shape[-2]:
            raise ValueError(
                "k must hold all keys, unrotated, for an encoding that depends on the length; "
                f"got {k.shape[-2]} keys for {q.shape[-2]} queries"
            )
        encoding = settled(self.encoding, positions, k_positions)
        if not self.inplace:
            return encoding.rotate(q, positions), encoding.rotate_keys(k, k_positions)
        for name, x in (("q", q), ("k", k)):
            if torch.is_grad_enabled() and x.requires_grad:
                raise ValueError(f"{name} must not require a gradient to be turned in place")
        sides = (q, positions, encoding.cos_sin), (k, k_positions, encoding.key_cos_sin)
        for x, where, tables in sides:
            cos, sin, rotated = encoding.tables_for(x, where, tables)
            turn_in_place(x, cos, sin, pairing=encoding.pairing, trailing=rotated == "trailing")
        return q, k

    def extra_repr(self) -> str:
        """The encoding."""
        return f"{self.encoding}, inplace={self.inplace}"
