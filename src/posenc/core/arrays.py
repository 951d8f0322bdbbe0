"""Arrays of any library: which library they are from, what dtype goes out, what the host may read.

NumPy (2.0 and later), JAX and array-api-strict speak the array API standard themselves; PyTorch
speaks it through array-api-compat, which is imported when the first tensor comes in.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""An array of NumPy, PyTorch, JAX or another library of the array API standard."""

Dtype: TypeAlias = Any
"""A dtype of the library of the array that comes in."""


def is_torch(array: Any) -> bool:
    """Whether `array` is a PyTorch tensor, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_array(value: Any) -> bool:
    """Whether `value` is an array of a library that we know how to speak to."""
    return isinstance(value, np.ndarray) or is_torch(value) or hasattr(value, "__array_namespace__")


def namespace(**arrays: Array) -> ModuleType:
    """The one library of all these arrays, as a namespace of the array API standard.

    >>> namespace(x=np.zeros(2)).__name__
    'numpy'
    """
    first: ModuleType | None = None
    mixed = False
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):  # first, for it is asked most often
            xp = np
        elif is_torch(array):
            import array_api_compat.torch as xp
        elif hasattr(array, "__array_namespace__"):
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
            f"{' and '.join(arrays)} must come from one array library; got {listed}{hint}"
        )
    assert first is not None
    return first


def library(array: Array) -> str:
    """The name of the library that `array` is from, for messages."""
    return type(array).__module__.partition(".")[0].removesuffix("lib")


def same_library(name: str, array: Array, positions: Array) -> None:
    """Say that `array` must be of the library of the positions."""
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
        # from_numpy and not asarray: `with torch.device("meta")` must not swallow the values.
        sent = sys.modules["torch"].from_numpy(values).to(like.device)
        return sent if dtype is None else sent.to(dtype)
    return xp.asarray(values, dtype=dtype, device=None if traced(like) else like.device)


def cast(array: Array, dtype: Dtype) -> Array:
    """`array` in `dtype`: itself where it is so already."""
    if isinstance(array, np.ndarray):
        return array.astype(dtype, copy=False)
    return namespace(array=array).astype(array, dtype, copy=False)


def detached(array: Array) -> Array:
    """`array` as a constant: no gradient goes through it."""
    if is_torch(array):
        return array.detach()
    jax = sys.modules.get("jax")
    return (
        array if jax is None or not isinstance(array, jax.Array) else jax.lax.stop_gradient(array)
    )


def clip(x: Array, *, least: float | None = None, most: float | None = None) -> Array:
    """x within bounds, in its dtype; array-api-compat's form for PyTorch cannot be compiled."""
    if is_torch(x):
        return x.clamp(min=least, max=most)
    return namespace(x=x).clip(x, min=least, max=most)


def take_along_last(x: Array, index: Array) -> Array:
    """x[…, index], whose shapes differ in the last axis only.

    `torch.take_along_dim` would make numbers of symbolic sizes: a compiled graph for each length.
    """
    if is_torch(x):
        return x.gather(-1, index)
    return namespace(x=x).take_along_axis(x, index, axis=-1)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), whose exponential never overflows."""
    xp = namespace(x=x)
    small = xp.exp(-abs(x))
    return xp.where(x >= 0, 1 / (1 + small), small / (1 + small))


def traced(array: Array) -> bool:
    """Whether JAX is tracing `array`, so that it has no values yet."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.core.Tracer)


def is_plain_tensor(*arrays: Array) -> bool:
    """Whether these are PyTorch tensors with memory of their own, and nothing is being compiled."""
    torch = sys.modules.get("torch")
    # while another thread imports it, its parts are not there yet
    if torch is None or not hasattr(torch, "compiler") or torch.compiler.is_compiling():
        return False
    if torch._C._get_tracing_state() is not None:  # torch.jit.trace
        return False
    # vmap and grad of torch.func hand in wrappers whose type is Tensor
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return all(
        type(array) in (torch.Tensor, torch.nn.Parameter) and not wrapped(array) for array in arrays
    ) and not has_tangent(*arrays)


def has_tangent(*arrays: Array) -> bool:
    """Whether one of these is a dual tensor of `torch.autograd.forward_ad` or `torch.func.jvp`."""
    from torch.autograd.forward_ad import unpack_dual

    return any(unpack_dual(array).tangent is not None for array in arrays)


def host(array: Array) -> np.ndarray | None:
    """The values of `array` where the host can read them at once, else None.

    None means: on an accelerator (reading would wait for it), or being compiled, exported, traced.
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
    if traced(array) or "cpu" not in str(getattr(array, "device", "cpu")).lower():
        return None
    return np.asarray(array)


def is_integer(array: Array) -> bool:
    """Whether `array` holds whole numbers by its dtype (bool is not a number)."""
    if isinstance(array, np.ndarray):
        return array.dtype.kind in "iu"
    return namespace(array=array).isdtype(array.dtype, "integral")


def is_half(dtype: Dtype) -> bool:
    """Whether `dtype` has 16 bits or fewer: float16, bfloat16, float8."""
    if isinstance(dtype, type):  # np.float16 and jnp.bfloat16 are classes, not dtypes
        dtype = np.dtype(dtype)
    # array-api-strict's dtypes have no itemsize, and it has no halves; a name is slow
    return getattr(dtype, "itemsize", 4) <= 2 and "float" in str(dtype)


def default_float(like: Array) -> Dtype:
    """The float dtype of results that no argument decides: float64 of NumPy, float32 of PyTorch.

    JAX has float64 only when told to. `torch.set_default_dtype` does not count: it is for the
    parameters of models, and a bfloat16 cannot tell far positions apart.
    """
    if isinstance(like, np.ndarray):
        return np.dtype(np.float64)
    xp = namespace(like=like)
    return xp.float32 if is_torch(like) else xp.asarray(0.0).dtype


def unrounded(*arrays: Array) -> AbstractContextManager[Any]:
    """A context without PyTorch's autocast, which rounds what a matrix product is given."""
    torch = sys.modules.get("torch")
    device = next((array.device.type for array in arrays if is_torch(array)), "meta")
    if torch is None or device == "meta" or not torch.is_autocast_enabled(device):
        return nullcontext()
    return torch.autocast(device, enabled=False)


def has_float64(like: Array) -> bool:
    """Whether the library and device of `like` compute in float64 (JAX only when told to)."""
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
    """`dtype` as a floating dtype of the library of `like`, or a sentence that says it is none."""
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
        raise TypeError(f"{name} must be one that {library(like)} has here; got {name}={dtype!r}")
    return resolved


def is_floating(xp: ModuleType, dtype: Dtype) -> bool:
    """Whether `dtype` is real and floating (NumPy's isdtype does not know ml_dtypes' bfloat16)."""
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return True
    return is_half(dtype) or xp.isdtype(dtype, "real floating")


def whole_dtype(xp: ModuleType) -> Dtype:
    """int64, or what JAX has for it unless told otherwise."""
    return xp.asarray(0).dtype if xp.__name__ == "jax.numpy" else xp.int64
