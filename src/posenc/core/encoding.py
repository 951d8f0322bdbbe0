"""The base class of encodings: the facts that each states about itself, for tools to read."""

import dataclasses
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import Array, ArrayT, is_array, is_floating, namespace, send
from posenc.core.frequencies import wavelengths
from posenc.core.values import UNSTATED
from posenc.i18n import N_

Params: TypeAlias = Mapping[str, ArrayT] | None
"""Learned parameters by name, as `init` draws them; None if there are none."""

Mechanism: TypeAlias = Literal["additive", "rotary", "bias", "scores"]

MECHANISMS: dict[Mechanism, str] = {
    "additive": N_("added to the embeddings"),
    "rotary": N_("rotates queries and keys"),
    "bias": N_("added to the logits"),
    "scores": N_("computes the logits"),
}
"""What each mechanism does, to be translated."""

SIZES: dict[str, Any] = {
    "dim": 64,
    "heads": 8,
    "length": 512,
    "axes": 2,
    "reach": 16,
    "window": (7, 7),
    "feature_dim": 64,
}
"""Values of required fields in an `example`."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an encoding: its shape, and whether it is trained or kept as drawn."""

    shape: tuple[int, ...]
    trained: bool = True


class Encoding(ABC):  # noqa: B024 (its mechanisms have the abstract methods)
    """A positional encoding: a value (equal fields mean equal encodings) that acts in one place."""

    mechanism: ClassVar[Mechanism | None] = None
    """Where it acts; Additive, Rotary, Bias and Scores each state theirs."""
    dim: int | None = UNSTATED
    """Channels of its input: an embedding, or a query and key of one head; None: any."""
    heads: int | None = UNSTATED
    """Attention heads; None: any number."""
    axes: int | None = UNSTATED
    """Numbers in a position, the size of the last axis of positions; None: a plain number."""
    feature_dim: int | None = UNSTATED
    """Channels of the features, if it `needs` them; None: any."""
    temperature: object | None = UNSTATED
    """What multiplies the logits of each query, given its position; None: nothing."""
    needs: frozenset[str] = frozenset()
    """What it takes of the tokens: "features", hidden states; "mask", which keys are visible."""
    unit_positions: bool = False
    """Whether positions are coordinates in [0, 1] rather than indices of tokens or pixels."""
    scaled: bool = True
    """Whether the products of queries and keys are divided by sqrt(dim); T5 does not."""
    causal_only: bool = False
    """Whether it is meant only for keys at or behind their query."""
    two_sided_hint: str = ""
    """How to get a bidirectional variant, for the error that refuses a causal one."""
    fits_any_length: bool = True
    """Whether it does not depend on the length of the text, so that rotated keys may be cached."""
    library: str | None = None
    """The only library that a foreign function supports ("numpy" or "torch"); None: any."""
    about: About = About()
    """Its paper, the models that use it, and notes that no check can measure."""

    @property
    def traits(self) -> Traits:
        """The properties that this encoding claims; none by default."""
        return Traits()

    @property
    def inner(self) -> "Encoding | None":
        """The encoding that this one wraps, as `Tempered` does; None if it wraps none."""
        return None

    @property
    def limit(self) -> int | None:
        """Positions must be below this; None: no limit."""
        return None

    @property
    def trained_length(self) -> int | None:
        """The length of text that it was made for; None if unknown."""
        return self.limit

    def frequencies(self) -> np.ndarray | None:
        """Frequency of each wave in radians per position, (pair,); None if it has no waves."""
        return None

    def wavelengths(self) -> np.ndarray | None:
        """Positions per turn of each wave, 2 pi / w; infinite where w is 0."""
        w = self.frequencies()
        return None if w is None else wavelengths(w)

    def parameters(self) -> Mapping[str, Parameter]:
        """The shape of each parameter by name, and whether it is trained.

        An encoding of your own that defines `init` need not override this: by default, shapes are
        those that `init` draws.
        """
        if type(self).init is Encoding.init:
            return {}
        drawn = self.init(np.random.default_rng(0))
        return {name: Parameter(tuple(values.shape)) for name, values in drawn.items()}

    def init(self, rng: "np.random.Generator", *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        """Draw fresh parameters by name, in float32; empty if nothing is learned.

        rng    a NumPy generator: equal seeds give equal parameters in every library
        like   an array whose library and device the parameters have; None: NumPy
        """
        rules.generator("rng", rng)
        return {}

    def read_params(self, params: Params[ArrayT]) -> dict[str, ArrayT]:
        """`params` by name; raise an error if one is missing, unknown or of the wrong shape."""
        return read_params(params, {name: p.shape for name, p in self.parameters().items()})

    def read_param(self, params: Params[ArrayT], name: str) -> ArrayT:
        """The one parameter that a method uses; the others need not be given, but are known."""
        shapes = {each: p.shape for each, p in self.parameters().items()}
        rules.known_params(params, *shapes)
        return _read_param(params, name, shapes[name])

    def other_layout(self) -> "tuple[Encoding, np.ndarray] | None":
        """The same encoding in the other layout of its channels, if two layouts are in use.

        Returns that encoding and, for each of its channels, the corresponding channel here: (dim,).
        None if there is only one layout.
        """
        return None

    def cast_module(self, dtype: object) -> "Encoding | None":
        """A copy of this encoding whose module is cast to `dtype`.

        None if it has no module (only adapted encodings do), or if the module is trained.
        """
        return None

    def row_factors(self, x: Array, q_pos: Array) -> Array | None:
        """Factors on the rows of x (…, q, channel) that this encoding adds to the one it wraps.

        None where there are none: only a wrapper that does no more than multiply has some.
        """
        return None

    def at(self, length: int) -> Self:
        """This encoding for a text of `length` tokens; itself unless it depends on the length."""
        rules.whole("length", length, least=1, most=2**40)
        return self

    def _repr_html_(self) -> str:
        """What it states about itself, for a notebook."""
        acts = self.mechanism
        sizes = {name: getattr(self, name) for name in ("dim", "heads", "axes", "feature_dim")}
        learned = (
            f"{name} {each.shape}{'' if each.trained else ', not trained'}"
            for name, each in self.parameters().items()
        )
        facts = {
            "mechanism": "" if acts is None else f"{acts}: {MECHANISMS[acts]}",
            "sizes": ", ".join(
                f"{name}={size}" for name, size in sizes.items() if size is not None
            ),
            "positions": "" if self.limit is None else f"below {self.limit:,}",
            "needs": ", ".join(sorted(self.needs)),
            "parameters": "; ".join(learned) or "none",
            "claims": ", ".join(self.traits.claims()).replace("_", " ") or "none",
        }
        return self.about.to_html(repr(self), facts)

    @classmethod
    def example(cls, **sizes: object) -> Self:
        """A useful instance, for lists, checks and figures that are given only a name.

        sizes   values of the fields without a default (dim, heads, length, …); others are ignored

        >>> from posenc import ALiBi
        >>> ALiBi.example().heads, ALiBi.example(heads=4, dim=8).heads
        (8, 4)
        """
        wanted = SIZES | sizes
        given = {name: wanted[name] for name in required_fields(cls) if name in wanted}
        try:
            return cls(**given)
        except TypeError as error:
            raise ValueError(
                f"{cls.__name__} must be given as a value, not by name: {error}"
            ) from error


EncodingT = TypeVar("EncodingT", bound=Encoding)


def unwrap(encoding: Encoding) -> Encoding:
    """The innermost encoding, with all wrappers removed.

    >>> from posenc import Llama4Temperature, RoPE, Tempered
    >>> unwrap(Tempered(Tempered(RoPE(8), Llama4Temperature()), Llama4Temperature()))
    RoPE(8)
    """
    while encoding.inner is not None:
        encoding = encoding.inner
    return encoding


def params_like(drawn: Mapping[str, object], like: Array | None) -> dict[str, Array]:
    """Drawn parameters in float32, as arrays of the library and on the device of `like`."""
    arrays = {name: np.asarray(values, dtype=np.float32) for name, values in drawn.items()}
    return arrays if like is None else {name: send(x, like) for name, x in arrays.items()}


def read_params(params: object, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, ArrayT]:
    """`params` by name in the order of `shapes`, checked against them.

    >>> read_params({"slope": 1.0}, {})
    Traceback (most recent call last):
    ValueError: params must be None, since nothing is learned; got the names ['slope']
    """
    if not shapes and params is None:
        return {}
    rules.known_params(params, *shapes)
    return {name: _read_param(params, name, shape) for name, shape in shapes.items()}


def _read_param(params: object, name: str, shape: tuple[int, ...]) -> Array:
    if not rules.has_names(params) or name not in params:
        got = f"the names {sorted(params.keys())}" if rules.has_names(params) else repr(params)
        raise ValueError(f"params must hold {name!r}, as init(rng) makes it; got {got}")
    value = params[name]
    if not is_array(value):
        raise TypeError(f"params[{name!r}] must be an array; got {value!r}")
    if not is_floating(namespace(params=value), value.dtype):
        raise TypeError(f"params[{name!r}] must be floating; got {value.dtype}")
    if tuple(value.shape) != shape:
        raise ValueError(f"params[{name!r}] must be {shape}; got shape {tuple(value.shape)}")
    return value


def required_fields(kind: type) -> list[str]:
    """The names of the fields without a default."""
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return [
        field.name
        for field in fields
        if field.init and field.default is missing and field.default_factory is missing
    ]


def suggest_making(given: object) -> str:
    """A suffix for errors about what is no encoding but the name or the class of one; else empty.

    >>> suggest_making("rope"), suggest_making(7)
    ('; pe.make makes one by its name', '')
    """
    if isinstance(given, str):
        return "; pe.make makes one by its name"
    if isinstance(given, type) and issubclass(given, Encoding):
        return f"; did you mean {given.__name__}(…)?"
    return ""
