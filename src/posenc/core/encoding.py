"""What every encoding states about itself, once. Tools read it; no tool knows a class."""

import dataclasses
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import Array, is_array, is_floating, namespace, send
from posenc.core.frequencies import wavelengths
from posenc.core.values import UNSTATED

Params = Mapping[str, Array]
"""Learned parameters by name, as `init` draws them."""

SIZES: dict[str, Any] = {
    "dim": 64,
    "heads": 8,
    "length": 512,
    "axes": 2,
    "reach": 16,
    "window": (7, 7),
}
"""Sizes of an `example`, for the fields that must be given."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an encoding: its shape, and whether it is trained or kept as drawn."""

    shape: tuple[int, ...]
    trained: bool = True


class Encoding(ABC):  # noqa: B024 (its mechanisms have the abstract methods)
    """A positional encoding: a value (equal fields mean equal encodings) that acts in one place."""

    dim: int | None = UNSTATED
    """Channels of what it acts on: an embedding, or a query and key of one head; None: any."""
    heads: int | None = UNSTATED
    """Attention heads; None: any number."""
    axes: int | None = UNSTATED
    """Numbers in a position, the size of the last axis of positions; None: a plain number."""
    feature_dim: int | None = UNSTATED
    """Channels of the features that it `needs`."""
    needs: frozenset[str] = frozenset()
    """What depends on the tokens: "features", their hidden states; "mask", which pairs are seen."""
    unit_positions: bool = False
    """Whether positions are coordinates from 0 to 1, not numbers of tokens, rows and columns."""
    scaled: bool = True
    """Whether the products of queries and keys are divided by sqrt(dim); T5 does not."""
    causal_only: bool = False
    """Whether it is meant for keys at or behind their query only."""
    two_sided_hint: str = ""
    """How to make one for keys on both sides, said where a causal one is refused."""
    fits_any_length: bool = True
    """Whether it is the same in a text of any length, so that rotated keys may be cached."""
    library: str | None = None
    """The one library whose arrays a foreign function takes ("numpy", "torch"); None: any."""
    about: About = About()
    """Its paper, the models that use it, and what no check can measure."""

    @property
    def traits(self) -> Traits:
        """What this encoding claims; nothing, unless it says so."""
        return Traits()

    @property
    def inner(self) -> "Encoding | None":
        """The encoding that this one wraps (a temperature's, say); None if it wraps none."""
        return None

    @property
    def limit(self) -> int | None:
        """How many positions there are, 0 .. limit - 1; None: no end."""
        return None

    @property
    def trained_length(self) -> int | None:
        """The length of the texts that it was made for, where it says so."""
        return self.limit

    def frequencies(self) -> np.ndarray | None:
        """Radians per position of each wave, (pair,), where it is made of waves; else None."""
        return None

    def wavelengths(self) -> np.ndarray | None:
        """Positions per turn of each wave, 2 pi / w; infinite where it stands still."""
        w = self.frequencies()
        return None if w is None else wavelengths(w)

    def parameters(self) -> Mapping[str, Parameter]:
        """The shape of each parameter by name, and whether it is trained.

        An encoding of your own that only has `init` need not state them: it is asked once.
        """
        if type(self).init is Encoding.init:
            return {}
        drawn = self.init(np.random.default_rng(0))
        return {name: Parameter(tuple(values.shape)) for name, values in drawn.items()}

    def init(self, rng: np.random.Generator, *, like: Array | None = None) -> dict[str, Array]:
        """Draw fresh parameters by name, as arrays of the library of `like` (NumPy's without)."""
        rules.generator("rng", rng)
        return {}

    def read_params(self, params: Params | None) -> dict[str, Array]:
        """`params` by name, or a sentence: none missing, none unknown, each of its shape."""
        return read_params(params, {name: p.shape for name, p in self.parameters().items()})

    def other_layout(self) -> "tuple[Encoding, np.ndarray] | None":
        """The same encoding with its channels in the other order, where there are two in use.

        Returns that encoding and, for each of its channels, the one here that it stands for:
        (dim,). None if there is one layout only.
        """
        return None

    def cast_module(self, dtype: Any) -> "Encoding | None":
        """The same encoding with the module that computes it cast to `dtype`, by a copy.

        None if no module does (adapted encodings have one), or one that is trained.
        """
        return None

    def row_factors(self, x: Array, q_pos: Array) -> Array | None:
        """Factors on the rows of x (…, q, channel) that this encoding adds to the one it wraps.

        None where there are none: only a wrapper that does no more than multiply has some.
        """
        return None

    def at(self, length: int) -> Self:
        """This encoding for a text of `length` tokens: itself, unless it depends on that."""
        rules.whole("length", length, least=1, most=2**40)
        return self

    @classmethod
    def example(cls, **sizes: Any) -> Self:
        """A useful instance: what lists, checks and pictures of a name take.

        `sizes` (dim, heads, length, …) are for the fields that must be given.

        >>> from posenc import ALiBi
        >>> ALiBi.example().heads, ALiBi.example(heads=4, dim=8).heads
        (8, 4)
        """
        wanted = SIZES | sizes
        given = {name: wanted[name] for name in _required_fields(cls) if name in wanted}
        try:
            return cls(**given)
        except TypeError as error:
            raise ValueError(
                f"{cls.__name__} must be given as a value, not by name: {error}"
            ) from error


EncodingT = TypeVar("EncodingT", bound=Encoding)


def unwrap(encoding: Encoding) -> Encoding:
    """The encoding at the centre: what is left when every wrapper is taken off.

    >>> from posenc import Llama4Temperature, RoPE, Tempered
    >>> unwrap(Tempered(Tempered(RoPE(8), Llama4Temperature()), Llama4Temperature()))
    RoPE(8)
    """
    while encoding.inner is not None:
        encoding = encoding.inner
    return encoding


def params_like(drawn: Mapping[str, Any], like: Array | None) -> dict[str, Array]:
    """Drawn parameters in float32, as arrays of the library and on the device of `like`."""
    arrays = {name: np.asarray(values, dtype=np.float32) for name, values in drawn.items()}
    return arrays if like is None else {name: send(x, like) for name, x in arrays.items()}


def read_params(params: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """`params` by name in the order of `shapes`, checked against them.

    >>> read_params({"slope": 1.0}, {})
    Traceback (most recent call last):
    ValueError: params must be None, for nothing is learned; got the names ['slope']
    """
    if not shapes and params is None:
        return {}
    rules.known_params(params, *shapes)
    return {name: _read_param(params, name, shape) for name, shape in shapes.items()}


def _read_param(params: Any, name: str, shape: tuple[int, ...]) -> Array:
    keyed = hasattr(params, "keys")  # a Mapping, or PyTorch's ParameterDict
    if params is None or not keyed or name not in params:
        got = f"the names {sorted(params.keys())}" if keyed and params is not None else repr(params)
        raise ValueError(f"params must hold {name!r}, as init(rng) makes it; got {got}")
    value = params[name]
    if not is_array(value):
        raise TypeError(f"params[{name!r}] must be an array; got {value!r}")
    if not is_floating(namespace(params=value), value.dtype):
        raise TypeError(f"params[{name!r}] must be floating; got {value.dtype}")
    if tuple(value.shape) != shape:
        raise ValueError(f"params[{name!r}] must be {shape}; got shape {tuple(value.shape)}")
    return value


def _required_fields(kind: type) -> list[str]:
    """The names of the fields without a default."""
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return [
        field.name
        for field in fields
        if field.init and field.default is missing and field.default_factory is missing
    ]
