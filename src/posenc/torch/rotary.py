"""The module that turns queries and keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from posenc.core import rules
from posenc.core.arrays import Array, Positions
from posenc.core.encoding import Encoding, Params, unwrap
from posenc.core.fused_torch import FusedRotation, is_at_rest, learns
from posenc.core.hints import hinted
from posenc.core.inputs import Features, at_length_of, check_floating, read_needs, span
from posenc.core.logits import rotate_both
from posenc.core.mechanisms import Rotary, Scores
from posenc.core.positions import as_arrays, exact
from posenc.core.rotation import rotate
from posenc.core.rotation_torch import FEW, turn, turn_few, turn_in_place
from posenc.torch.given import wrappers
from posenc.torch.parameters import FusedModule, Impl, choose_fused


@dataclass(frozen=True, eq=False)
class Prepared:
    """Positions and their cosines and sines, made once by `RotateQK.prepare` for all layers."""

    rotary: Rotary
    q_pos: Tensor
    k_pos: Tensor
    tables: tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]] | None
    """Cosines and sines of q and of k; None where the kernels are active."""
    few: tuple[tuple[Tensor, ...], tuple[Tensor, ...]] | None = None
    """The same for `turn_few`, where there are few of them."""


class RotateQK(FusedModule):
    """R(p) q and R(p) k for q (batch, heads, seq, dim) and k, whose heads may be fewer.

    Owns what a learned rotation learns; others have no state. With `inplace` the results are
    written over q and k, which is for inference: neither may require a gradient, and the rotation
    must not be a learned one. An encoding whose angles depend on the
    length of the text (dynamic NTK, LongRoPE) wants all keys, unrotated, in every call.

    impl   "auto", the compiled kernels where they are active and take the call; "fused", these or
           an error; "reference", PyTorch's own operators

    >>> import posenc as pe
    >>> rotate = RotateQK(pe.RoPE(64))
    >>> q, k = torch.randn(1, 8, 5, 64), torch.randn(1, 2, 5, 64)
    >>> q, k = rotate(q, k, torch.arange(5))
    """

    kernel_fields = ("_waves", "_fused")

    @hinted("RotateQK")
    def __init__(
        self,
        encoding: Rotary | Scores,
        *,
        inplace: bool = False,
        impl: Impl = "auto",
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
        self.impl: Impl = impl
        self._wrappers = wrappers(encoding)
        self._set_kernels()

    def _set_kernels(self) -> None:
        # angles that depend on the length of the text are settled for each call
        self._waves = self.rotary.fuse() if self.rotary.fits_any_length else None
        self._fused = choose_fused(self.impl, self._waves, self.rotary)

    @hinted("RotateQK")
    def forward(
        self,
        q: Tensor,
        k: Tensor,
        q_pos: Positions[Tensor] | Prepared,
        k_pos: Positions[Tensor] | None = None,
        *,
        features: Features[Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Rotate q and k to positions (seq,) or (batch, seq); k_pos is q_pos unless given.

        q_pos      positions of q, or what `prepare` has made of those of q and k
        k_pos      positions of k
        features   (…, seq, feature_dim) of q and k, or a pair of them; for what `needs` them
        """
        if isinstance(q_pos, Prepared):
            return self._apply_prepared(q, k, q_pos)
        if self._waves is not None and not (features is not None or self._wrappers):
            rotated = self._try(self._waves, q, k, q_pos, k_pos)
            if rotated is not None:
                return rotated
        return self._forward(q, k, q_pos, k_pos, features)

    def _try(
        self, waves: FusedRotation, q: Tensor, k: Tensor, q_pos: Any, k_pos: Any
    ) -> tuple[Tensor, Tensor] | None:
        """What ordinary tensors get, with few checks; None if it takes more."""
        if self._fused is None:
            return None if self.inplace else _rotate_few(waves, q, k, q_pos, k_pos)
        k_pos = q_pos if k_pos is None else k_pos
        if not self.inplace:
            return self._fused.try_both(q, k, q_pos, k_pos)
        return (q, k) if self._fused.try_in_place(q, k, q_pos, k_pos) else None

    def prepare(
        self,
        q_pos: Positions[Tensor],
        k_pos: Positions[Tensor] | None = None,
        *,
        dtype: torch.dtype = torch.float32,
    ) -> Prepared:
        """Cosines and sines for q and k of every layer that rotates alike.

        q_pos   positions of queries, (seq,) or (batch, seq)
        k_pos   positions of keys; those of queries unless given
        dtype   that of the queries and keys

        The compiled kernels take the positions out of it and need no tables. Without them, layers
        share what would take most of the time of a token. For rotations that do not learn.

        >>> import posenc as pe
        >>> rotate = RotateQK(pe.RoPE(64))
        >>> prepared = rotate.prepare(torch.arange(5))
        >>> q, k = torch.randn(2, 1, 8, 5, 64)
        >>> torch.equal(rotate(q, k, prepared)[0], rotate(q, k, torch.arange(5))[0])
        True
        """
        if self.rotary.parameters() or self.rotary.needs or self.rotary.dim is None:
            raise TypeError(
                "encoding must be a rotation of a stated dim that neither learns nor depends on "
                f"the tokens to be prepared; got {type(self.rotary).__name__}"
            )
        like = torch.empty(0)
        q_pos, k_pos = as_arrays(q_pos, q_pos if k_pos is None else k_pos, like=like)
        rotary = at_length_of(self.rotary, q_pos, k_pos)
        if self._fused is not None:
            return Prepared(self.rotary, exact(q_pos), exact(k_pos), None)
        of_q, of_k = (
            rotary.tables_for(_queries_at(p, rotary, dtype), exact(p), keys=keys)[:2]
            for p, keys in ((q_pos, False), (k_pos, True))
        )
        waves = self._waves if is_at_rest() else None
        few = [waves and waves.tables_for_few(p, dtype) for p in (q_pos, k_pos)]
        both = (few[0], few[1]) if few[0] and few[1] else None
        return Prepared(self.rotary, q_pos, k_pos, (of_q, of_k), both)

    def _apply_prepared(self, q: Tensor, k: Tensor, prepared: Prepared) -> tuple[Tensor, Tensor]:
        if prepared.rotary is not self.rotary and prepared.rotary != self.rotary:
            raise ValueError(
                f"q_pos must be prepared for {self.rotary}; got what is for {prepared.rotary}"
            )
        if prepared.tables is None or self.inplace or self._wrappers or not is_at_rest():
            return self.forward(q, k, prepared.q_pos, prepared.k_pos)
        few = prepared.few if q.numel() + k.numel() <= FEW and not learns(q, k) else None
        if few is not None and self._fits(q, few[0][0]) and self._fits(k, few[1][0]):
            return turn_few(q, few[0]), turn_few(k, few[1])
        (q_cos, q_sin), (k_cos, k_sin) = prepared.tables
        if not (self._fits(q, q_cos) and self._fits(k, k_cos)):
            return self.forward(q, k, prepared.q_pos, prepared.k_pos)
        pairing, trailing = self.rotary.pairing, self.rotary.rotated == "trailing"
        q = turn(q, q_cos, q_sin, pairing=pairing, trailing=trailing)
        return q, turn(k, k_cos, k_sin, pairing=pairing, trailing=trailing)

    def _fits(self, x: Tensor, table: Tensor) -> bool:
        """Whether a prepared table, (seq, …) or (batch, 1, seq, …), is for x, and as exact."""
        shape, rows = x.shape, table.shape
        exact = table.dtype in (torch.float64, torch.complex128)
        if (x.dtype == torch.float64) != exact or shape[-1:] != (self.rotary.dim,):
            return False
        if not x.is_floating_point() or not (type(x) is Tensor or type(x) is torch.nn.Parameter):
            return False
        if len(rows) == 2:
            return shape[-2:-1] == rows[:1]
        return len(shape) == 4 and shape[2] == rows[2] and rows[0] in (1, shape[0])

    def _forward(
        self,
        q: Tensor,
        k: Tensor,
        q_pos: Positions[Tensor],
        k_pos: Positions[Tensor] | None,
        features: Features[Tensor] | None,
    ) -> tuple[Tensor, Tensor]:
        """`forward` with every argument checked."""
        _check_tensor("q", q)
        _check_tensor("k", k)
        q_pos, k_pos = as_arrays(q_pos, q_pos if k_pos is None else k_pos, like=q)
        if q.shape[-1] != k.shape[-1]:
            raise ValueError(
                f"q and k must have the same head dim; got {q.shape[-1]} and {k.shape[-1]}"
            )
        rotary = at_length_of(self.rotary, q_pos, k_pos)
        if not self.rotary.fits_any_length:
            _all_keys(k, q_pos, k_pos)
        pairs = (q, q_pos), (k, k_pos)
        if self.impl == "fused" and self._fused is not None:
            for x, positions in pairs:
                if reason := self._fused.why_refused(x, positions):
                    raise ValueError(f"impl='fused' is unavailable: {reason}")
        fused = self._fused
        if fused is not None and not all(fused.takes(x, positions) for x, positions in pairs):
            fused = None
        takes = rotary.needs or features is not None
        needed = read_needs(rotary, features=features) if takes else {}
        if self.inplace:
            _in_place(rotary, q, k, q_pos, k_pos, fused)
        elif fused is not None:
            for x, positions in pairs:
                rotary.check_call(x, exact(positions))
            q, k = fused.rotate_both(q, k, q_pos, k_pos)
        else:
            by_tables = self.impl == "reference" or (self._waves is not None and is_at_rest())
            by_tables = by_tables and rotary.fuse() is not None
            rotate = _rotate_by_tables if by_tables else rotate_both
            q, k = rotate(rotary, q, k, q_pos, k_pos, self.tensors() or None, **needed)
        for wrapper in self._wrappers:
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


def _check_tensor(name: str, x: object) -> None:
    """Raise an error unless x is a tensor of floating numbers."""
    check_floating(name, x)
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor; got {type(x).__name__}")


def _queries_at(positions: Tensor, rotary: Rotary, dtype: torch.dtype) -> Tensor:
    """Queries (batch, head, seq, dim) of these positions, of which only the shape matters."""
    rows = positions.shape if rotary.axes is None else positions.shape[:-1]
    return torch.empty((*rows[:-1], 1, rows[-1], rotary.dim or 0), dtype=dtype, device="meta")


def _rotate_few(
    waves: FusedRotation, q: Tensor, k: Tensor, q_pos: Any, k_pos: Any
) -> tuple[Tensor, Tensor] | None:
    """R(p) q and R(p) k of few tokens by PyTorch's own operators; None where it takes more."""
    if k_pos is None or k_pos is q_pos:
        both = waves.rotate_few(q_pos, q, k)
        return None if both is None else (both[0], both[1])
    of_q, of_k = waves.rotate_few(q_pos, q), waves.rotate_few(k_pos, k)
    return None if of_q is None or of_k is None else (of_q[0], of_k[0])


def _rotate_by_tables(
    rotary: Rotary,
    q: Tensor,
    k: Tensor,
    q_pos: Tensor,
    k_pos: Tensor,
    params: Params[Tensor],
    features: tuple[Tensor | None, Tensor | None] = (None, None),
) -> tuple[Tensor, Tensor]:
    """R(p) q and R(p) k of waves with PyTorch's own operators."""
    of_q = rotary.tables_for(q, q_pos, params, features=features[0])
    if k_pos is q_pos and k.dtype == q.dtype and k.ndim == q.ndim:  # waves turn keys as queries
        rotary.check_call(k, k_pos)
        of_k = of_q
    else:
        of_k = rotary.tables_for(k, k_pos, params, keys=True, features=features[1])
    rotated = (
        rotate(x, cos, sin, pairing=rotary.pairing, rotated=part)
        for x, (cos, sin, part) in ((q, of_q), (k, of_k))
    )
    return next(rotated), next(rotated)


def _all_keys(k: Tensor, *positions: Tensor) -> None:
    """Say that keys are missing: those of a cache were turned for a shorter text."""
    length = span(*positions) if any(p.numel() for p in positions) else 0
    if k.shape[-2] < length:
        raise ValueError(
            "k must hold all keys, unrotated, for an encoding that depends on the length (or "
            "settle it with encoding.at(length)); "
            f"got {k.shape[-2]} keys for positions up to {length - 1}"
        )


def _in_place(
    rotary: Rotary,
    q: Tensor,
    k: Tensor,
    q_pos: Tensor,
    k_pos: Tensor,
    fused: FusedRotation | None,
) -> None:
    """Turn q and k where they lie, once both are known to fit."""
    for name, x in (("q", q), ("k", k)):
        if torch.is_grad_enabled() and x.requires_grad:
            raise ValueError(f"{name} must not require a gradient to be turned in place")
        if _overlaps_itself(x):
            raise ValueError(f"{name} must not be expanded to be turned in place")
    compiling = torch.compiler.is_compiling()  # no memory to look at
    if not compiling and _share_memory(q, k):
        raise ValueError("q and k must not share their memory to be turned in place")
    if fused is not None:
        for x, positions in ((q, q_pos), (k, k_pos)):
            rotary.check_call(x, exact(positions))
        fused.rotate_in_place(q, k, q_pos, k_pos)
        return
    if compiling:  # the compiler does without temporaries
        q.copy_(rotary.rotate(q, q_pos))
        k.copy_(rotary.rotate_keys(k, k_pos))
        return
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
