"""The module that turns queries and keys."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from posenc.core import rules
from posenc.core.arrays import Array, Positions
from posenc.core.encoding import Encoding, unwrap
from posenc.core.hints import hinted
from posenc.core.inputs import Features, at_length_of, floating, read_needs, span
from posenc.core.logits import rotate_both
from posenc.core.mechanisms import Rotary, Scores
from posenc.core.positions import as_arrays
from posenc.core.rotation_torch import turn_in_place
from posenc.torch.given import wrappers
from posenc.torch.parameters import EncodingModule


class RotateQK(EncodingModule):
    """R(p) q and R(p) k for q (batch, heads, seq, dim) and k, whose heads may be fewer.

    Owns what a learned rotation learns; others have no state. With `inplace` the results are
    written over q and k, which is for inference: neither may require a gradient, and the rotation
    must not be a learned one. An encoding whose angles depend on the
    length of the text (dynamic NTK, LongRoPE) wants all keys, unrotated, in every call.

    >>> import posenc as pe
    >>> rotate = RotateQK(pe.RoPE(64))
    >>> q, k = torch.randn(1, 8, 5, 64), torch.randn(1, 2, 5, 64)
    >>> q, k = rotate(q, k, torch.arange(5))
    """

    @hinted("RotateQK")
    def __init__(
        self,
        encoding: Rotary | Scores,
        *,
        inplace: bool = False,
        params: Mapping[str, Array] | None = None,
    ):
        rotary = unwrap(encoding) if isinstance(encoding, Encoding) else encoding
        if not isinstance(rotary, Rotary):
            raise TypeError(f"encoding must be Rotary; got {type(rotary).__name__}")
        for wrapper in wrappers(encoding):
            if type(wrapper).row_factors is Encoding.row_factors:
                raise TypeError(
                    "encoding must be Rotary, or wrap one with row_factors on its queries; "
                    f"got {type(wrapper).__name__}"
                )
        rules.flag("inplace", inplace)
        if inplace and (rotary.parameters() or rotary.needs):
            does = "learns" if rotary.parameters() else "depends on the tokens"
            raise ValueError(
                f"inplace must be False for a rotation that {does}, {type(rotary).__name__}; "
                "got inplace=True"
            )
        super().__init__(encoding, params)
        self.rotary = rotary
        self.inplace = inplace

    @hinted("RotateQK")
    def forward(
        self,
        q: Tensor,
        k: Tensor,
        q_pos: Positions[Tensor],
        k_pos: Positions[Tensor] | None = None,
        *,
        features: Features[Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Rotate q and k to positions (seq,) or (batch, seq); k_pos is q_pos unless given.

        features   (…, seq, feature_dim) of q and k, or a pair of them; for what `needs` them
        """
        floating("q", q)
        floating("k", k)
        q_pos, k_pos = as_arrays(q_pos, q_pos if k_pos is None else k_pos, like=q)
        if q.shape[-1] != k.shape[-1]:
            raise ValueError(f"q and k must have one head dim; got {q.shape[-1]} and {k.shape[-1]}")
        rotary = at_length_of(self.rotary, q_pos, k_pos)
        if not self.rotary.fits_any_length:
            _all_keys(k, q_pos, k_pos)
        takes = rotary.needs or features is not None
        needed = read_needs(rotary, features=features) if takes else {}
        if self.inplace:
            _in_place(rotary, q, k, q_pos, k_pos)
        else:
            q, k = rotate_both(rotary, q, k, q_pos, k_pos, self.tensors() or None, **needed)
        for wrapper in wrappers(self.encoding):
            factors = wrapper.row_factors(q, q_pos)
            if factors is not None:
                q = q.mul_(factors) if self.inplace else q * factors
        return q, k

    if TYPE_CHECKING:

        @property  # a call has the types of `forward`
        def __call__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.forward

    def extra_repr(self) -> str:
        """The encoding."""
        return f"{self.encoding}, inplace={self.inplace}"


def _all_keys(k: Tensor, *positions: Tensor) -> None:
    """Say that keys are missing: those of a cache were turned for a shorter text."""
    length = span(*positions) if any(p.numel() for p in positions) else 0
    if k.shape[-2] < length:
        raise ValueError(
            "k must hold all keys, unrotated, for an encoding that depends on the length (or "
            "settle it with encoding.at(length)); "
            f"got {k.shape[-2]} keys for positions up to {length - 1}"
        )


def _in_place(rotary: Rotary, q: Tensor, k: Tensor, q_pos: Tensor, k_pos: Tensor) -> None:
    """Turn q and k where they lie, once both are known to fit."""
    for name, x in (("q", q), ("k", k)):
        if torch.is_grad_enabled() and x.requires_grad:
            raise ValueError(f"{name} must not require a gradient to be turned in place")
        if _overlaps_itself(x):
            raise ValueError(f"{name} must not be expanded to be turned in place")
    if torch.compiler.is_compiling():  # no memory to look at; the compiler does without temporaries
        q.copy_(rotary.rotate(q, q_pos))
        k.copy_(rotary.rotate_keys(k, k_pos))
        return
    if _share_memory(q, k):
        raise ValueError("q and k must not share their memory to be turned in place")
    queries = rotary.tables_for(q, q_pos)
    keys = rotary.tables_for(k, k_pos, keys=True)
    for x, (cos, sin, rotated) in ((q, queries), (k, keys)):
        turn_in_place(x, cos, sin, pairing=rotary.pairing, trailing=rotated == "trailing")


def _overlaps_itself(x: Tensor) -> bool:
    """Whether two places of x may be one in memory: a step within what smaller steps span."""
    span = 0
    for step, size in sorted(zip(x.stride(), x.shape, strict=True)):
        if size > 1:
            if step <= span:
                return True
            span += step * (size - 1)
    return False


def _share_memory(q: Tensor, k: Tensor) -> bool:
    """Whether a number of q is one of k, which parts of a joint projection do not have."""
    if not (q.numel() and k.numel()) or q.device != k.device or q.is_meta:
        return False
    (q_first, q_end), (k_first, k_end) = (_extent(x) for x in (q, k))
    if q_end <= k_first or k_end <= q_first:
        return False
    return np.shares_memory(np.asarray(_Addresses(q)), np.asarray(_Addresses(k)))


def _extent(x: Tensor) -> tuple[int, int]:
    """The first address of x and the one past its last."""
    span = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape, strict=True))
    return x.data_ptr(), x.data_ptr() + (span + 1) * x.element_size()


class _Addresses:
    """Where a tensor lies, for NumPy, which compares addresses without reading what is there."""

    def __init__(self, x: Tensor):
        width = x.element_size()
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(x.shape),
            "strides": tuple(step * width for step in x.stride()),
            "typestr": f"|V{width}",
            "data": (x.data_ptr(), False),
        }
