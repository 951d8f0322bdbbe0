"""What the modules share: an encoding and the parameters that it learns."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from posenc.core import rules
from posenc.core.arrays import is_dtensor
from posenc.core.encoding import Encoding, suggest_making
from posenc.core.fused_torch import Fused

Kind = TypeVar("Kind", bound=Encoding)
FusedT = TypeVar("FusedT", bound=Fused)

Impl = Literal["auto", "fused", "reference"]
"""The compiled kernels where they can, always or never; `reference` is PyTorch's own operators."""


class EncodingModule(nn.Module):
    """An encoding with its parameters, drawn as its paper says unless `params` are given.

    Trained parameters are parameters of the module; those that are drawn and kept (the matrix of
    Fourier features) are buffers that no cast rounds. Nothing else is state. A single number (c of
    FIRE) is stored as (1,), since FSDP cannot shard a tensor without an axis.
    """

    def __init__(self, encoding: Encoding, params: Mapping[str, Any] | None = None):
        super().__init__()
        self.encoding = encoding
        drawn = draw_params(encoding)
        self._fixed = tuple(name for name, p in encoding.parameters().items() if not p.trained)
        self.params = nn.ParameterDict()
        for name, values in drawn.items():
            if name in self._fixed:
                self.register_buffer(name, torch.empty(values.shape, dtype=torch.float32))
            else:  # in the default dtype, like the parameters of any module
                self.params[name] = nn.Parameter(torch.empty(values.shape or (1,)))
        self._shapes = {name: values.shape for name, values in drawn.items()}
        self.register_load_state_dict_pre_hook(_with_an_axis)
        self._fill(drawn if params is None else _check_given(params, drawn))

    def reset_parameters(self) -> None:
        """Draw the learned parameters anew (after `to_empty`, say), from PyTorch's generator."""
        self._fill(draw_params(self.encoding))

    def tensors(self) -> dict[str, Tensor]:
        """The parameters by the names that the encoding has for them."""
        if any(is_dtensor(parameter) for parameter in self.params.values()):
            raise RuntimeError(
                f"the parameters of {type(self.encoding).__name__} must be whole where they are "
                "used; FSDP has sharded them and gathers them for forward() only: shard the module "
                "that calls this one instead, or name the method that you call with "
                "register_fsdp_forward_method(module, 'attend')"
            )
        return {name: self._tensor(name).reshape(shape) for name, shape in self._shapes.items()}

    def extra_repr(self) -> str:
        """The encoding."""
        return str(self.encoding)

    def _tensor(self, name: str) -> Tensor:
        return self.get_buffer(name) if name in self._fixed else self.params[name]

    @torch.no_grad()
    def _fill(self, drawn: Mapping[str, object]) -> None:
        for name, values in drawn.items():
            tensor = self._tensor(name)
            if not tensor.is_meta:
                whole = torch.as_tensor(values, device="cpu").reshape(tensor.shape)
                tensor.copy_(_shard_like(tensor, whole) if is_dtensor(tensor) else whole)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "EncodingModule":
        """Move the fixed tensors with the module, but never round them."""
        before = {name: self.get_buffer(name) for name in self._fixed}
        super()._apply(fn, recurse)
        for name, tensor in before.items():
            after = self.get_buffer(name)
            if after.dtype != tensor.dtype:
                setattr(self, name, tensor.to(after.device))
        return self


class FusedModule(EncodingModule):
    """A module that calls the compiled kernels where they are active."""

    kernel_fields: tuple[str, ...]
    """The attributes that hold them."""

    @abstractmethod
    def _set_kernels(self) -> None:
        """Find the kernels of this process, and set the `kernel_fields`."""

    def __getstate__(self) -> dict[str, Any]:
        """All but the kernels, which the process that reads it may not have."""
        return {name: x for name, x in self.__dict__.items() if name not in self.kernel_fields}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_kernels()


def _shard_like(tensor: Any, whole: Tensor) -> Tensor:
    """The values that rank 0 has, sharded as `tensor` is; every rank must call it."""
    from torch.distributed.tensor import distribute_tensor

    whole = whole.to(tensor.device, tensor.dtype)
    return distribute_tensor(whole, tensor.device_mesh, tensor.placements)


def _with_an_axis(module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Take single numbers out of a state dict that has them without an axis."""
    for name, parameter in module.get_submodule("params").state_dict().items():
        key = f"{prefix}params.{name}"
        if key in state and not state[key].ndim:
            number = state[key].reshape(1)
            state[key] = _shard_like(parameter, number) if is_dtensor(parameter) else number


def choose_fused(impl: Impl, fused: FusedT | None, encoding: Encoding) -> FusedT | None:
    """`fused`, where the kernels are active and wanted; "fused" that cannot be had is an error."""
    rules.one_of("impl", impl, ("auto", "fused", "reference"))
    name = type(encoding).__name__
    why = f"{name} is not made of waves" if fused is None else fused.why_unavailable()
    if not encoding.fits_any_length:
        why = f"the angles of {name} depend on the length of the text"
    if impl == "fused" and why is not None:
        raise ValueError(f"impl='fused' is unavailable: {why}")
    return None if impl == "reference" or why is not None else fused


def of_kind(encoding: object, kind: type[Kind]) -> Kind:
    """`encoding`, or a sentence that says of which mechanism it must be."""
    if not isinstance(encoding, kind):
        got = encoding if isinstance(encoding, type) else type(encoding)
        hint = suggest_making(encoding)
        raise TypeError(f"encoding must be {kind.__name__}; got {got.__name__}{hint}")
    return encoding


def draw_params(encoding: Encoding) -> dict[str, np.ndarray]:
    """Fresh parameters; one without any takes nothing from PyTorch's generator."""
    return encoding.init(rng()) if encoding.parameters() else {}


def rng() -> "np.random.Generator":
    """A NumPy generator that `torch.manual_seed` governs."""
    seed = torch.empty((), dtype=torch.int64, device="cpu").random_()
    return np.random.default_rng(int(seed))


def _check_given(params: Mapping[str, Any], drawn: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
    if not rules.has_names(params) or set(params.keys()) != set(drawn):
        got = sorted(params.keys()) if rules.has_names(params) else repr(params)
        raise ValueError(f"params must hold the names {sorted(drawn)}; got {got}")
    for name, values in drawn.items():
        shape = tuple(np.shape(params[name]))
        if shape != values.shape:
            raise ValueError(f"params[{name!r}] must be {values.shape}; got shape {shape}")
    return params
