"""The module that adds an encoding to the token embeddings."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from posenc.core import rules
from posenc.core.arrays import Array, Positions
from posenc.core.hints import hinted
from posenc.core.inputs import floating
from posenc.core.mechanisms import Additive
from posenc.torch.parameters import EncodingModule, of_kind


class AddPositions(EncodingModule):
    """x + e(p) for x (batch, …, seq, dim), with dropout after it.

    No cast of the module, no autocast and no meta device can change an angle. x is batch-first.
    Without positions a sequence starts at 0: decoding token by token must say where it is.
    `scale_input` multiplies x by sqrt(dim) first, as Vaswani et al. (2017) do.

    >>> import posenc as pe
    >>> add = AddPositions(pe.Sinusoidal(64)).to(torch.bfloat16)
    >>> x = torch.zeros(1, 4096, 64, dtype=torch.bfloat16)
    >>> len(torch.unique(add(x)[0].float(), dim=0))
    4096
    """

    @hinted("AddPositions")
    def __init__(
        self,
        encoding: Additive,
        *,
        scale_input: bool = False,
        dropout: float = 0.0,
        params: Mapping[str, Array] | None = None,
    ):
        super().__init__(of_kind(encoding, Additive), params)
        rules.flag("scale_input", scale_input)
        if rules.real("dropout", dropout, least=0) >= 1:
            raise ValueError(f"dropout must be at least 0 and below 1; got dropout={dropout}")
        self.additive = encoding
        self.scale_input = scale_input
        self.dropout = nn.Dropout(dropout)

    @hinted("AddPositions")
    def forward(self, x: Tensor, positions: Positions[Tensor] | None = None) -> Tensor:
        """x + e(positions); positions are (seq,) or (batch, seq), 0, 1, … unless given."""
        floating("x", x)
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        scale = math.sqrt(x.shape[-1]) if self.scale_input else 1.0
        return self.dropout(self.additive.add(x, positions, self.tensors(), scale=scale))

    if TYPE_CHECKING:

        @property  # a call has the types of `forward`
        def __call__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.forward

    def extra_repr(self) -> str:
        """The encoding and what is not its default."""
        return f"{self.encoding}, scale_input={self.scale_input}"
