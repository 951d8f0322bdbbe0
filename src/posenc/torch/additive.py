"""The module that adds an encoding to the token embeddings."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from posenc import rules
from posenc.mechanisms import Additive


class AddPositions(nn.Module):
    """x + e(p) for x (batch, …, seq, dim), with dropout after it.

    What is learned is a parameter of the module; what is not is no state at all, so no cast of the
    module, no autocast and no meta device can change an angle. `scale_input` multiplies x by
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
        self.params = nn.ParameterDict(
            {name: nn.Parameter(torch.empty(values.shape)) for name, values in drawn.items()}
        )
        self._names = tuple(drawn)  # a ParameterDict is no Mapping, and torch.compile minds
        self._fill(drawn)

    def reset_parameters(self) -> None:
        """Draw the learned parameters anew (after `to_empty`, say), from PyTorch's generator."""
        self._fill(self.encoding.init(_rng()))

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """X + e(positions); positions are (seq,) or (batch, seq), 0, 1, … unless given."""
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        if self.scale_input:
            x = x * math.sqrt(x.shape[-1])
        params = {name: self.params[name] for name in self._names}
        return self.dropout(self.encoding.add(x, positions, params))

    def extra_repr(self) -> str:
        """The encoding and what is not its default."""
        return f"{self.encoding}, scale_input={self.scale_input}"

    @torch.no_grad()
    def _fill(self, drawn: dict[str, np.ndarray]) -> None:
        for name, values in drawn.items():
            if not self.params[name].is_meta:
                self.params[name].copy_(torch.from_numpy(values))


def _rng() -> np.random.Generator:
    """A NumPy generator that `torch.manual_seed` governs."""
    seed = torch.empty((), dtype=torch.int64, device="cpu").random_()
    return np.random.default_rng(int(seed))
