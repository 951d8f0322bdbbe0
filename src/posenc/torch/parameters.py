"""What the modules share: an encoding and the parameters that it learns."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from posenc.mechanisms import Encoding

Kind = TypeVar("Kind", bound=Encoding)


class EncodingModule(nn.Module):
    """An encoding with its parameters, drawn as its paper says unless `params` are given.

    What is learned is a parameter of the module; what is drawn and kept (the matrix of Fourier
    features) is a buffer that no cast rounds; all else is no state.
    """

    def __init__(self, encoding: Encoding, params: Mapping[str, Any] | None = None):
        super().__init__()
        self.encoding = encoding
        drawn = encoding.init(rng())
        self.params = nn.ParameterDict()
        for name, values in drawn.items():
            empty = torch.empty(values.shape)
            if name in encoding.fixed:
                self.register_buffer(name, empty)
            else:
                self.params[name] = nn.Parameter(empty)
        self._names = tuple(drawn)
        self._fill(drawn if params is None else _given(params, drawn))

    def reset_parameters(self) -> None:
        """Draw the learned parameters anew (after `to_empty`, say), from PyTorch's generator."""
        self._fill(self.encoding.init(rng()))

    def tensors(self) -> dict[str, Tensor]:
        """The parameters by the names that the encoding has for them."""
        return {name: self._tensor(name) for name in self._names}

    def extra_repr(self) -> str:
        """The encoding."""
        return str(self.encoding)

    def _tensor(self, name: str) -> Tensor:
        return self.get_buffer(name) if name in self.encoding.fixed else self.params[name]

    @torch.no_grad()
    def _fill(self, drawn: Mapping[str, Any]) -> None:
        for name, values in drawn.items():
            tensor = self._tensor(name)
            if not tensor.is_meta:
                tensor.copy_(torch.as_tensor(values, device="cpu"))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "EncodingModule":
        """Move the fixed tensors with the module, but never round them."""
        before = {name: self.get_buffer(name) for name in self.encoding.fixed}
        super()._apply(fn, recurse)
        for name, tensor in before.items():
            after = self.get_buffer(name)
            if after.dtype != tensor.dtype:
                setattr(self, name, tensor.to(after.device))
        return self


def of_kind(encoding: Any, kind: type[Kind]) -> Kind:
    """`encoding`, or a sentence that says of which mechanism it must be."""
    if not isinstance(encoding, kind):
        raise TypeError(f"encoding must be {kind.__name__}; got {type(encoding).__name__}")
    return encoding


def rng() -> np.random.Generator:
    """A NumPy generator that `torch.manual_seed` governs."""
    seed = torch.empty((), dtype=torch.int64, device="cpu").random_()
    return np.random.default_rng(int(seed))


def _given(params: Mapping[str, Any], drawn: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
    if not hasattr(params, "keys") or set(params.keys()) != set(drawn):
        got = sorted(params.keys()) if hasattr(params, "keys") else repr(params)
        raise ValueError(f"params must hold the names {sorted(drawn)}; got {got}")
    for name, values in drawn.items():
        shape = tuple(np.shape(params[name]))
        if shape != values.shape:
            raise ValueError(f"params[{name!r}] must be {values.shape}; got shape {shape}")
    return params
