"""The module that turns queries and keys."""

import torch
from torch import Tensor, nn

from posenc import rules
from posenc.mechanisms import Rotary, floating, settled
from posenc.rotation_torch import turn_in_place
from posenc.temperatures import Tempered


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

    def __init__(self, encoding: Rotary | Tempered, *, inplace: bool = False):
        super().__init__()
        rotary = encoding.encoding if isinstance(encoding, Tempered) else encoding
        if not isinstance(rotary, Rotary):
            raise TypeError(f"encoding must be Rotary; got {type(rotary).__name__}")
        rules.flag("inplace", inplace)
        self.encoding = encoding
        self.rotary = rotary
        self.inplace = inplace

    def forward(
        self, q: Tensor, k: Tensor, positions: Tensor, k_positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """q and k, turned to their positions (seq,) or (batch, seq); k_positions are those of k."""
        k_positions = positions if k_positions is None else k_positions
        floating("q", q)
        floating("k", k)
        if q.shape[-1] != k.shape[-1]:
            raise ValueError(f"q and k must have one head dim; got {q.shape[-1]} and {k.shape[-1]}")
        if not self.rotary.settled and k.shape[-2] < q.shape[-2]:
            raise ValueError(
                "k must hold all keys, unrotated, for an encoding that depends on the length; "
                f"got {k.shape[-2]} keys for {q.shape[-2]} queries"
            )
        rotary = settled(self.rotary, positions, k_positions)
        if self.inplace:
            _in_place(rotary, q, k, positions, k_positions)
        else:
            q, k = rotary.rotate(q, positions), rotary.rotate_keys(k, k_positions)
        if isinstance(self.encoding, Tempered):
            factors = self.encoding.row_factors(q, positions)
            q = q.mul_(factors) if self.inplace else q * factors
        return q, k

    def extra_repr(self) -> str:
        """The encoding."""
        return f"{self.encoding}, inplace={self.inplace}"


def _in_place(rotary: Rotary, q: Tensor, k: Tensor, positions: Tensor, k_positions: Tensor) -> None:
    """Turn q and k where they lie, once both are known to fit."""
    for name, x in (("q", q), ("k", k)):
        if torch.is_grad_enabled() and x.requires_grad:
            raise ValueError(f"{name} must not require a gradient to be turned in place")
        if any(n > 1 and step == 0 for n, step in zip(x.shape, x.stride(), strict=True)):
            raise ValueError(f"{name} must not be expanded to be turned in place")
    if q.data_ptr() == k.data_ptr() and q.numel():
        raise ValueError("q and k must not share their memory to be turned in place")
    queries = rotary.tables_for(q, positions, rotary.cos_sin)
    keys = rotary.tables_for(k, k_positions, rotary.key_cos_sin)
    for x, (cos, sin, rotated) in ((q, queries), (k, keys)):
        turn_in_place(x, cos, sin, pairing=rotary.pairing, trailing=rotated == "trailing")
