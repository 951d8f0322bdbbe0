"""The array libraries that every formula is tested on."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@dataclass(frozen=True)
class Library:
    name: str
    array: Callable[..., Any]
    """A NumPy array as an array of this library."""
    run: Callable[..., Any]
    """Calls a function of arrays the way this library is used: jitted, compiled or plain."""
    dtypes: dict[str, Any]

    def call(self, function: Callable[..., Any], *arrays: np.ndarray) -> Any:
        """function(*arrays), on arrays of this library."""
        return self.run(function, *[self.array(array) for array in arrays])


def numpy_of(array: Any) -> np.ndarray:
    """Any library's array as float64 (or whole) NumPy values."""
    if type(array).__module__.startswith("torch"):
        array = array.detach()
        array = array.double() if array.is_floating_point() else array
    values = np.asarray(array)
    return values if values.dtype.kind in "iub" else values.astype(np.float64)


def plain(function: Callable[..., Any], *arrays: Any) -> Any:
    return function(*arrays)


def libraries() -> list[Library]:
    import array_api_strict
    import jax
    import jax.numpy as jnp
    import torch

    def jitted(function: Callable[..., Any], *arrays: Any) -> Any:
        return jax.jit(function)(*arrays)

    def dtypes(xp: Any, *names: str) -> dict[str, Any]:
        return {name: getattr(xp, name) for name in names}

    all_floats = ("float64", "float32", "float16", "bfloat16")
    return [
        Library("numpy", np.asarray, plain, dtypes(np, *all_floats[:3])),
        Library("torch", lambda a: torch.from_numpy(a.copy()), plain, dtypes(torch, *all_floats)),
        Library("jax", jnp.asarray, plain, dtypes(jnp, *all_floats[1:])),
        Library("jax.jit", jnp.asarray, jitted, dtypes(jnp, *all_floats[1:])),
        Library(
            "strict", array_api_strict.asarray, plain, dtypes(array_api_strict, *all_floats[:2])
        ),
    ]


def far_positions() -> np.ndarray:
    """Whole positions as far out as angles are exact, below 2^24: 60 drawn ones, and the ends."""
    drawn = np.random.default_rng(0).integers(-(2**24) + 1, 2**24, 60)
    return np.concatenate([drawn, [0, 1, 2**24 - 1]]).astype(np.int32)
