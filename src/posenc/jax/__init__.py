"""Attention with any encoding in JAX. Needs the extra `jax`."""

from importlib.util import find_spec

if find_spec("jax") is None:
    raise ModuleNotFoundError("posenc.jax needs JAX: pip install jax")

from posenc.jax.attention import attend

__all__ = ["attend"]
