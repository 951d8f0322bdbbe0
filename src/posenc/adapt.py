"""Adapters: wrap a foreign function or module as an encoding, for use with every tool.

>>> import numpy as np
>>> import posenc as pe
>>> def theirs(x, positions):                        # pairs of halves, one frequency
...     c, s = np.cos(positions)[:, None], np.sin(positions)[:, None]
...     a, b = np.split(x, 2, axis=-1)
...     return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)
>>> pe.check(rotary(theirs, dim=4)).failed
()
>>> pe.check(rotary(lambda x, positions: theirs(x, positions) * 1.01, dim=4)).failed
('identity_at_zero', 'norm_preserving', 'composes')
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from posenc.core import rules
from posenc.core.about import Traits
from posenc.core.arrays import Array, ArrayT, Dtype, Positions, is_torch
from posenc.core.encoding import Params
from posenc.core.hints import hinted
from posenc.core.inputs import check_needs
from posenc.core.mechanisms import Additive, Bias, Rotary
from posenc.encodings.tables import MOST_HEADS

Library = Literal["numpy", "torch"]
ROTARY = Traits(relative=True, norm_preserving=True, unique=True, bounded=True, ordered=True)
ADDITIVE = Traits(unique=True, ordered=True)
BIAS = Traits(ordered=True)


class Facts(TypedDict):
    """What the caller states about any foreign function."""

    name: str
    claims: Traits
    library: Library


@dataclass(frozen=True, repr=False)
class Adapted:
    """A foreign function or module `fn`, with the facts that the caller states about it."""

    fn: Callable[..., Array]
    name: str = field(kw_only=True)
    claims: Traits = field(kw_only=True)
    library: Library = field(kw_only=True)
    axes: int | None = field(default=None, kw_only=True)

    @property
    def traits(self) -> Traits:
        return self.claims

    @property
    def module(self) -> Any:
        """The module, if fn is one."""
        return self.fn if _is_module(self.fn) else None

    def cast_module(self, dtype: object) -> Any:
        """A copy of this encoding whose module is cast to `dtype`; None if trained or no module."""
        if self.module is None or any(x.requires_grad for x in self.module.parameters()):
            return None
        return replace(self, fn=copy.deepcopy(self.module).to(dtype))

    def __repr__(self) -> str:
        size = "dim" if isinstance(self, Additive | Rotary) else "heads"
        fields = {name: getattr(self, name) for name in (size, "library", "axes")}
        stated = (f"{name}={value!r}" for name, value in fields.items() if value is not None)
        return f"{type(self).__name__}({', '.join([repr(self.name), *stated])})"


@dataclass(frozen=True, repr=False)
class AdaptedRotary(Adapted, Rotary):
    """A rotation fn(x, positions) -> (seq, dim), for x (seq, dim)."""

    dim: int
    keys: Callable[[Array, Array], Array] | None = field(default=None, kw_only=True)

    def cos_sin(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> tuple[ArrayT, ArrayT]:
        raise TypeError(f"cos_sin is unavailable: {self.name} rotates, but has no table of angles")

    def _rotate(
        self,
        x: Array,
        positions: Array,
        params: Params[Array],
        features: Array | None,
        *,
        inverse: bool,
        keys: bool,
    ) -> Array:
        self.read_params(params)
        check_needs(self, features=features)
        if inverse:
            raise ValueError(f"inverse must be False for a foreign rotation; got inverse={inverse}")
        return (self.keys or self.fn if keys else self.fn)(x, positions)


@dataclass(frozen=True, repr=False)
class AdaptedAdditive(Adapted, Additive):
    """An additive encoding fn(positions) -> (seq, dim)."""

    dim: int

    def encode(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> ArrayT:
        self.read_params(params)
        made = self.fn(positions)
        if dtype is None:
            return made
        return made.to(dtype) if is_torch(made) else made.astype(dtype)


@dataclass(frozen=True, repr=False)
class AdaptedBias(Adapted, Bias):
    """A bias fn(q_pos, k_pos) -> (heads, q, k)."""

    heads: int

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        self.read_params(params)
        return self.fn(q_pos, k_pos)


@hinted("adapt.rotary")
def rotary(
    fn: Callable[[Array, Array], Array],
    *,
    dim: int,
    keys: Callable[[Array, Array], Array] | None = None,
    name: str | None = None,
    claims: Traits = ROTARY,
    library: Library | None = None,
    axes: int | None = None,
) -> AdaptedRotary:
    """Adapt a function that rotates queries and keys.

    fn        fn(x, positions) -> rotated x, for x (seq, dim) and positions (seq,)
    dim       channels of x
    keys      the same for keys, if they are rotated differently; None: `fn`
    name      what reports call it; None: the name of `fn`
    claims    the traits that `check` holds it to; by default those of every rotation
    library   "numpy" or "torch", the arrays that `fn` takes; None: torch for a module, else NumPy
    axes      numbers in a position, for positions (seq, axis); None: positions (seq,)
    """
    dim = rules.dim("dim", dim)
    return AdaptedRotary(fn, dim, keys=keys, axes=axes, **_check_fields(fn, name, library, claims))


@hinted("adapt.additive")
def additive(
    fn: Callable[[Array], Array],
    *,
    dim: int,
    name: str | None = None,
    claims: Traits = ADDITIVE,
    library: Library | None = None,
    axes: int | None = None,
) -> AdaptedAdditive:
    """Adapt a function that computes encodings to be added to embeddings.

    fn        fn(positions) -> (seq, dim), for positions (seq,)
    dim       channels of the result
    name      what reports call it; None: the name of `fn`
    claims    the traits that `check` holds it to; by default unique and ordered
    library   "numpy" or "torch", the arrays that `fn` takes; None: torch for a module, else NumPy
    axes      numbers in a position, for positions (seq, axis); None: positions (seq,)
    """
    dim = rules.dim("dim", dim)
    return AdaptedAdditive(fn, dim, axes=axes, **_check_fields(fn, name, library, claims))


@hinted("adapt.bias")
def bias(
    fn: Callable[[Array, Array], Array],
    *,
    heads: int,
    name: str | None = None,
    claims: Traits = BIAS,
    library: Library | None = None,
    axes: int | None = None,
) -> AdaptedBias:
    """Adapt a function that computes a bias on the attention logits.

    fn        fn(q_pos, k_pos) -> (heads, q, k), for positions (q,) and (k,)
    heads     number of attention heads, at least 1
    name      what reports call it; None: the name of `fn`
    claims    the traits that `check` holds it to; by default ordered
    library   "numpy" or "torch", the arrays that `fn` takes; None: torch for a module, else NumPy
    axes      numbers in a position, for positions (seq, axis); None: positions (seq,)
    """
    heads = rules.whole("heads", heads, least=1, most=MOST_HEADS)
    return AdaptedBias(fn, heads, axes=axes, **_check_fields(fn, name, library, claims))


def _check_fields(fn: object, name: str | None, library: Library | None, claims: object) -> Facts:
    """Check the fields that all three share; name and library default to those of fn."""
    if not callable(fn):
        raise TypeError(f"fn must be a function or a module; got {fn!r}")
    if not isinstance(claims, Traits):
        raise TypeError(f"claims must be Traits; got {claims!r}")
    if library is not None:
        rules.one_of("library", library, ("numpy", "torch"))
    return {
        "name": name or getattr(fn, "__qualname__", type(fn).__name__),
        "claims": claims,
        "library": library or ("torch" if _is_module(fn) else "numpy"),
    }


def _is_module(fn: object) -> bool:
    """Whether it has parameters, as PyTorch's modules and those of other libraries have."""
    return hasattr(fn, "parameters")
