"""The module that adds an encoding to the token embeddings."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from posenc import rules
from posenc.mechanisms import Additive, floating


class AddPositions(nn.Module):
    """x + e(p) for x (batch, …, seq, dim), with dropout after it.

    What is learned is a parameter of the module; what is drawn and kept (the matrix of Fourier
    features) is a buffer that no cast rounds; all else is no state, so no cast of the module, no
    autocast and no meta device can change an angle. x is batch-first. Without positions a sequence
    starts at 0: decoding token by token must say where it is. `scale_input` multiplies x by
    sqrt(dim) first, as Vaswani et al. (2017) do.

    >>> import posenc as pe
    >>> add = AddPositions(pe.Sinusoidal(64)).to(torch.bfloat16)
    >>> x = torch.zeros(1, 4096, 64, dtype=torch.bfloat16)
    >>> len(torch.unique(add(x)[0].float(), dim=0))
    4096
    """

    def __init__(self, encoding: Additive, *, scale_input: bool = False, dropout: float = 0.0):
        super().__init__()
        if not isinstance(encoding, Additive):
            raise TypeError(f"encoding must be Additive; got {type(encoding).__name__}")
        rules.flag("scale_input", scale_input)
        if rules.real("dropout", dropout, least=0) >= 1:
            raise ValueError(f"dropout must be at least 0 and below 1; got dropout={dropout}")
        self.encoding = encoding
        self.scale_input = scale_input
        self.dropout = nn.Dropout(dropout)
        drawn = encoding.init(_rng())
        self.params = nn.ParameterDict()
        for name, values in drawn.items():
            empty = torch.empty(values.shape)
            if name in encoding.fixed:
                self.register_buffer(name, empty)
            else:
                self.params[name] = nn.Parameter(empty)
        self._names = tuple(drawn)
        self._fill(drawn)

    def reset_parameters(self) -> None:
        """Draw the learned parameters anew (after `to_empty`, say), from PyTorch's generator."""
        self._fill(self.encoding.init(_rng()))

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """x + e(positions); positions are (seq,) or (batch, seq), 0, 1, … unless given."""
        floating("x", x)
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        if self.scale_input:
            x = x * math.sqrt(x.shape[-1])
        params = {name: self._tensor(name) for name in self._names}
        return self.dropout(self.encoding.add(x, positions, params))

    def extra_repr(self) -> str:
        """The encoding and what is not its default."""
        return f"{self.encoding}, scale_input={self.scale_input}"

    def _tensor(self, name: str) -> Tensor:
        return self.get_buffer(name) if name in self.encoding.fixed else self.params[name]

    @torch.no_grad()
    def _fill(self, drawn: dict[str, np.ndarray]) -> None:
        for name, values in drawn.items():
            tensor = self._tensor(name)
            if not tensor.is_meta:
                tensor.copy_(torch.from_numpy(values))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "AddPositions":
        """Move the fixed tensors with the module, but never round them."""
        before = {name: self.get_buffer(name) for name in self.encoding.fixed}
        super()._apply(fn, recurse)
        for name, tensor in before.items():
            after = self.get_buffer(name)
            if after.dtype != tensor.dtype:
                setattr(self, name, tensor.to(after.device))
        return self


def _rng() -> np.random.Generator:
    """A NumPy generator that `torch.manual_seed` governs."""
    seed = torch.empty((), dtype=torch.int64, device="cpu").random_()
    return np.random.default_rng(int(seed))
