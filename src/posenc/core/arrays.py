"""Arrays of any library: their namespace, the dtype of results, and values the host can read.

NumPy (2.0 and later), JAX and array-api-strict implement the array API standard themselves; PyTorch
does through array-api-compat, which is imported with the first tensor.
"""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, SupportsFloat, TypeAlias, TypeGuard, TypeVar

import numpy as np

Array: TypeAlias = Any
"""An array of NumPy, PyTorch, JAX or another library of the array API standard."""

Dtype: TypeAlias = Any
"""A dtype of the library of the input array."""


class StandardArray(Protocol):
    """What every array has, of whatever library."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> Dtype: ...
    def __getitem__(self, key: object, /) -> Any: ...


if TYPE_CHECKING:
    import jax
    import torch
    from typing_extensions import TypeVar as DefaultTypeVar

    # Constraints, not a bound: a result has neither the shape nor the dtype of positions, which the
    # type of an ndarray holds. The most general one is first, so that a library that is missing
    # hides none of the others.
    ArrayT = DefaultTypeVar(
        "ArrayT", StandardArray, jax.Array, torch.Tensor, np.ndarray, default=np.ndarray
    )
else:
    ArrayT = TypeVar("ArrayT")

Numbers: TypeAlias = (
    Sequence[SupportsFloat]
    | Sequence[Sequence[SupportsFloat]]
    | Sequence[Sequence[Sequence[SupportsFloat]]]
)
Positions: TypeAlias = Numbers | ArrayT
"""Positions as an array, or as lists and ranges, which become NumPy's if nothing else is given."""


def is_torch(array: object) -> bool:
    """Whether `array` is a PyTorch tensor, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_array(value: object) -> TypeGuard[Array]:
    """Whether `value` is an array of a supported library."""
    return isinstance(value, np.ndarray) or is_torch(value) or follows_standard(value)


def follows_standard(value: object) -> bool:
    """Whether `value` says which namespace of the array API standard it belongs to."""
    return hasattr(value, "__array_namespace__")


def namespace(**arrays: Array) -> ModuleType:
    """The array API namespace of all these arrays, given by name; raise an error if they differ.

    >>> namespace(x=np.zeros(2)).__name__
    'numpy'
    """
    first: ModuleType | None = None
    mixed = False
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):  # first, as the most common case
            xp = np
        elif is_torch(array):
            if type(array).__name__ == "DTensor":  # `is_dtensor`, without one more call
                refuse_dtensor(name, array)
            import array_api_compat.torch as xp
        elif follows_standard(array):
            xp = array.__array_namespace__()
        else:
            raise TypeError(
                f"{name} must be an array (NumPy, PyTorch, JAX, …); got {type(array).__name__}"
            )
        mixed = mixed or (first is not None and xp.__name__ != first.__name__)
        first = first or xp
    if mixed:
        listed = ", ".join(f"{name} of {library(array)}" for name, array in arrays.items())
        hint = "; position builders take like=x" if "positions" in arrays else ""
        if "params" in arrays:  # either may be meant
            hint = "; convert the params"
            hint += ", or give the positions as a list" if "positions" in arrays else ""
        raise TypeError(
            f"{' and '.join(arrays)} must come from the same array library; got {listed}{hint}"
        )
    assert first is not None
    return first


def is_dtensor(array: object) -> bool:
    """Whether `array` is one of PyTorch's that are shared out to several devices."""
    return type(array).__name__ == "DTensor"  # by name: its module may not be imported


def refuse_dtensor(name: str, array: Array) -> None:
    """Raise an error for a DTensor, whose parts have positions that are not known here."""
    if is_dtensor(array):
        raise TypeError(
            f"{name} must be a tensor of this rank; got a DTensor: give {name}.to_local() "
            "with the positions of its part"
        )


def library(array: Array) -> str:
    """The name of the library that `array` is from, for messages."""
    return type(array).__module__.partition(".")[0].removesuffix("lib")


def same_library(name: str, array: Array, positions: Array) -> None:
    """Raise an error unless `array` is of the library of the positions."""
    if namespace(array=array).__name__ != namespace(positions=positions).__name__:
        raise TypeError(
            f"{name} must be of the library of the positions, {library(positions)}; "
            f"got an array of {library(array)}"
        )


def send(values: np.ndarray, like: Array, *, dtype: Dtype = None) -> Array:
    """Host values as an array of the library and on the device of `like`."""
    xp = namespace(like=like)
    if xp is np:
        return values if dtype is None else values.astype(dtype, copy=False)
    if is_torch(like):
        # from_numpy, not asarray: inside `with torch.device("meta")` asarray drops the values
        sent = sys.modules["torch"].from_numpy(values).to(like.device)
        return sent if dtype is None else sent.to(dtype)
    return xp.asarray(values, dtype=dtype, device=None if is_traced(like) else like.device)


def cast(array: Array, dtype: Dtype) -> Array:
    """`array` in `dtype`, without a copy if it already has it."""
    if isinstance(array, np.ndarray):
        return array.astype(dtype, copy=False)
    return namespace(array=array).astype(array, dtype, copy=False)


def detach(array: Array) -> Array:
    """`array` as a constant, with no gradient."""
    if is_torch(array):
        return array.detach()
    jax = sys.modules.get("jax")
    return (
        array if jax is None or not isinstance(array, jax.Array) else jax.lax.stop_gradient(array)
    )


def clip(x: Array, *, least: float | None = None, most: float | None = None) -> Array:
    """Clip x in its dtype; array-api-compat's version for PyTorch cannot be compiled."""
    if is_torch(x):
        return x.clamp(min=least, max=most)
    return namespace(x=x).clip(x, min=least, max=most)


def take_along_last(x: Array, index: Array) -> Array:
    """x[…, index], for shapes that differ only in the last axis.

    `torch.take_along_dim` would specialise symbolic sizes: one compiled graph for each length.
    """
    if is_torch(x):
        return x.gather(-1, index)
    return namespace(x=x).take_along_axis(x, index, axis=-1)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), without overflow."""
    xp = namespace(x=x)
    small = xp.exp(-abs(x))
    return xp.where(x >= 0, 1 / (1 + small), small / (1 + small))


def is_traced(array: Array) -> bool:
    """Whether JAX is tracing `array`, so that it has no values yet."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.core.Tracer)


def is_plain_tensor(*arrays: Array) -> bool:
    """Whether these are ordinary PyTorch tensors, and nothing is being compiled or traced."""
    torch = sys.modules.get("torch")
    # another thread may be in the middle of importing it
    if torch is None or not hasattr(torch, "compiler"):
        return False
    if any(type(array) not in (torch.Tensor, torch.nn.Parameter) for array in arrays):
        return False
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return False
    # vmap and grad of torch.func pass wrappers whose type is Tensor
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return not any(wrapped(array) for array in arrays) and not has_tangent(*arrays)


def has_tangent(*arrays: Array) -> bool:
    """Whether one of these is a dual tensor of `torch.autograd.forward_ad` or `torch.func.jvp`."""
    forward_ad = sys.modules["torch.autograd.forward_ad"]
    if forward_ad._current_level < 0:  # no tangents exist; looking at each tensor takes long
        return False
    return any(forward_ad.unpack_dual(array).tangent is not None for array in arrays)


def host(array: Array) -> np.ndarray | None:
    """The values of `array` if the host can read them at once, else None.

    None for arrays on an accelerator (reading would block) or being compiled, exported or traced.
    """
    if isinstance(array, np.ndarray):
        return array
    if is_torch(array):
        if not is_plain_tensor(array) or array.device.type != "cpu":
            return None
        try:
            return array.detach().numpy()
        except (RuntimeError, TypeError):  # functional transforms, bfloat16
            return None
    if is_traced(array) or "cpu" not in str(getattr(array, "device", "cpu")).lower():
        return None
    return np.asarray(array)


def is_integer(array: Array) -> bool:
    """Whether `array` has an integer dtype; bool does not count."""
    if isinstance(array, np.ndarray):
        return array.dtype.kind in "iu"
    return namespace(array=array).isdtype(array.dtype, "integral")


def is_half(dtype: Dtype) -> bool:
    """Whether `dtype` has 16 bits or fewer: float16, bfloat16, float8."""
    if isinstance(dtype, type):  # np.float16 and jnp.bfloat16 are classes, not dtypes
        dtype = np.dtype(dtype)
    # array-api-strict has no halves, and its dtypes have no itemsize; comparing names is slow
    return getattr(dtype, "itemsize", 4) <= 2 and "float" in str(dtype)


def default_float(like: Array) -> Dtype:
    """The default dtype of results: float64 in NumPy, float32 in PyTorch.

    JAX has float64 only if enabled. `torch.set_default_dtype` is ignored: it is meant for the
    parameters of models, and bfloat16 cannot represent far positions.
    """
    if isinstance(like, np.ndarray):
        return np.dtype(np.float64)
    xp = namespace(like=like)
    return xp.float32 if is_torch(like) else xp.asarray(0.0).dtype


def disable_autocast(*arrays: Array) -> AbstractContextManager[object]:
    """A context that disables PyTorch's autocast, which rounds the operands of a matmul."""
    torch = sys.modules.get("torch")
    device = next((array.device.type for array in arrays if is_torch(array)), "meta")
    if torch is None or device == "meta" or not torch.is_autocast_enabled(device):
        return nullcontext()
    return torch.autocast(device, enabled=False)


def has_float64(like: Array) -> bool:
    """Whether the library and device of `like` support float64 (JAX only if enabled)."""
    if isinstance(like, np.ndarray):
        return True
    if is_torch(like):
        return like.device.type != "mps"
    xp = namespace(like=like)
    return xp.__name__ != "jax.numpy" or default_float(like) == xp.float64


def working(xp: ModuleType, dtype: Dtype) -> Dtype:
    """The dtype to compute in for a result of `dtype`: at least float32."""
    return xp.float32 if is_half(dtype) else dtype


def float_dtype(name: str, dtype: Dtype, like: Array) -> Dtype:
    """`dtype` as a floating dtype of the library of `like`; raise an error if it is not one."""
    xp = namespace(like=like)
    resolved, right = dtype, False
    try:
        resolved = np.dtype(dtype) if xp.__name__ in ("numpy", "jax.numpy") else dtype
        right = is_floating(xp, resolved)
    except (TypeError, ValueError, AttributeError):
        pass
    if not right:
        raise TypeError(f"{name} must be a floating dtype of {library(like)}; got {name}={dtype!r}")
    if resolved == xp.float64 and not has_float64(like):
        raise TypeError(
            f"{name} must be a dtype that {library(like)} supports here; got {name}={dtype!r}"
        )
    return resolved


def is_floating(xp: ModuleType, dtype: Dtype) -> bool:
    """Whether `dtype` is real floating; NumPy's isdtype does not know bfloat16 of ml_dtypes."""
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return True
    return is_half(dtype) or xp.isdtype(dtype, "real floating")


def whole_dtype(xp: ModuleType) -> Dtype:
    """int64, or int32 in JAX without 64-bit types."""
    return xp.asarray(0).dtype if xp.__name__ == "jax.numpy" else xp.int64
