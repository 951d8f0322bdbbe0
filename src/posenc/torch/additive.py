"""The module that adds an encoding to the token embeddings."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from posenc.core import rules
from posenc.core.arrays import Array, Positions
from posenc.core.hints import hinted
from posenc.core.inputs import check_floating, positions_for
from posenc.core.mechanisms import Additive
from posenc.torch.parameters import FusedModule, Impl, choose_fused, of_kind


class AddPositions(FusedModule):
    """x + e(p) for x (batch, …, seq, dim), with dropout after it.

    No cast of the module, no autocast and no meta device can change an angle. x is batch-first.
    Without positions a sequence starts at 0: decoding token by token must say where it is.
    `scale_input` multiplies x by sqrt(dim) first, as Vaswani et al. (2017) do.

    impl   "auto", the compiled kernels where they are active and take the call; "fused", these or
           an error; "reference", PyTorch's own operators

    >>> import posenc as pe
    >>> add = AddPositions(pe.Sinusoidal(64)).to(torch.bfloat16)
    >>> x = torch.zeros(1, 4096, 64, dtype=torch.bfloat16)
    >>> len(torch.unique(add(x)[0].float(), dim=0))
    4096
    """

    kernel_fields = ("_fused", "_packed")

    @hinted("AddPositions")
    def __init__(
        self,
        encoding: Additive,
        *,
        scale_input: bool = False,
        dropout: float = 0.0,
        impl: Impl = "auto",
        params: Mapping[str, Array] | None = None,
    ):
        super().__init__(of_kind(encoding, Additive), params)
        rules.flag("scale_input", scale_input)
        if rules.real("dropout", dropout, least=0) >= 1:
            raise ValueError(f"dropout must be at least 0 and below 1; got dropout={dropout}")
        self.additive = encoding
        self.scale_input = scale_input
        self._factor = math.sqrt(encoding.dim) if scale_input else 1.0
        self.impl: Impl = impl
        self.dropout = float(dropout)
        self._set_kernels()

    def _set_kernels(self) -> None:
        fused = choose_fused(self.impl, self.additive.fuse(), self.additive)
        self._fused = fused
        self._packed = None if fused is None else fused.pack_addition(self._factor)

    @hinted("AddPositions")
    def forward(self, x: Tensor, positions: Positions[Tensor] | None = None) -> Tensor:
        """x + e(positions); positions are (seq,) or (batch, seq), 0, 1, … unless given."""
        if positions is None and isinstance(x, Tensor) and x.ndim > 1:
            positions = torch.arange(x.shape[-2], device=x.device)
        added, packed = None, self._packed
        if self._fused is not None and packed is not None:
            added = self._fused.try_add(x, positions, self._factor, packed)
        if added is None:
            added = self._add(x, positions)
        if self.dropout and self.training:
            return nn.functional.dropout(added, self.dropout)
        return added

    def _add(self, x: Tensor, positions: Positions[Tensor] | None) -> Tensor:
        """The sum, with every argument checked."""
        check_floating("x", x)
        assert positions is not None
        if self.impl == "fused" and self._fused is not None:
            at = positions_for("x", x, positions, axes=self.additive.axes)
            if reason := self._fused.why_refused(x, at):
                raise ValueError(f"impl='fused' is unavailable: {reason}")
        by_table = self.impl == "reference"
        add = self.additive.add_encoded if by_table else self.additive.add
        return add(x, positions, self.tensors(), scale=self._factor)

    if TYPE_CHECKING:

        @property  # a call has the types of `forward`
        def __call__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.forward

    def extra_repr(self) -> str:
        """The encoding and its options."""
        return f"{self.encoding}, scale_input={self.scale_input}, dropout={self.dropout:g}"
