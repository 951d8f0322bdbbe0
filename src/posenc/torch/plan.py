"""How the keys of an encoding are kept in a cache: rotated, or as projected."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import working
from posenc.core.encoding import Encoding, unwrap
from posenc.core.fused_torch import FusedRotation, has_kernels, transform_level
from posenc.core.mechanisms import Additive, Rotary, Unbiased
from posenc.torch.given import Layout, unpack_encoding, wrappers
from posenc.torch.parameters import EncodingModule


@dataclass(frozen=True, eq=False)
class Plan:
    """How an encoding wants keys kept: rotated if there is a `rotary`, else as projected."""

    given: Any
    """The encoding as the caller gave it, a value or a module."""
    encoding: Encoding
    """What acts in attention; Unbiased in place of an additive encoding."""
    axes: int | None
    rotary: Rotary | None
    factors: tuple[Encoding, ...]
    """The wrappers of `rotary`, whose factors queries are multiplied by."""
    values: Mapping[str, Tensor] | None
    learned: tuple[Tensor, ...]
    """The parameters, to see whether they are trained or written to."""
    waves: FusedRotation | None = None
    """The rotation, if it is made of waves, for the short ways to it."""
    by_kernels: bool = False
    """Whether the compiled operators do what is to be done to keys, which may be nothing."""
    by_order: bool = False
    """Whether positions say nothing here: points whose encoding was added to the embeddings."""
    layout: Layout = "bhsd"
    """How the caller's queries, keys and values lie; keys are kept heads first."""

    @property
    def value(self) -> Encoding:
        """The encoding as a value."""
        return self.given.encoding if isinstance(self.given, EncodingModule) else self.given

    @property
    def is_additive(self) -> bool:
        """Whether positions were added to the embeddings, so that keys and values hold them."""
        return isinstance(self.value, Additive)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy finds the kernels of its own process, which may have none."""
        owns = isinstance(self.given, EncodingModule)
        return make_plan, (self.given, None if owns else self.values, self.layout)

    def keeps_as(self, other: "Plan") -> bool:
        """Whether keys of both are kept alike: one encoding, with the same parameters."""
        if type(self.value) is not type(other.value) or self.value != other.value:
            return False
        pairs = zip(self.learned, other.learned, strict=False)
        return all(mine is theirs or torch.equal(mine, theirs) for mine, theirs in pairs)

    @property
    def params(self) -> Mapping[str, Tensor] | None:
        """The parameters by name; a module is asked again, for its graph may be another."""
        if self.learned and isinstance(self.given, EncodingModule):
            return self.given.tensors()
        return self.values

    @property
    def version(self) -> tuple[object, ...] | None:
        """What changes when a parameter is replaced or written to; None if they do not say so.

        The tensors are held in it, so that no other gets their identity, and come last: they are
        compared only where their identities agree.
        """
        if not self.learned:
            return ()
        if isinstance(self.given, EncodingModule):  # functional_call puts others there
            now = tuple(vars(self.given.params)["_parameters"].values())
        else:
            now = self.learned
        marks: list[object] = []
        for x in now:
            if x.is_inference() or transform_level() is not None:
                return None
            marks += (id(x), x.data_ptr(), x._version)
        return *marks, now

    @property
    def learns(self) -> bool:
        """Whether a parameter requires a gradient."""
        return any(x.requires_grad for x in self.learned)

    def rotate_keys(self, k: Tensor, positions: Tensor) -> Tensor:
        """R(p) k."""
        assert self.rotary is not None
        made = self._rotate_waves(k, positions)
        if made is not None:
            return made
        return self.rotary.rotate_keys(k, positions, self.params if self.learned else None)

    def rotate_queries(self, q: Tensor, positions: Tensor) -> Tensor:
        """R(p) q times the factors of the wrappers, rounded once."""
        assert self.rotary is not None
        wide = q.to(working(torch, q.dtype)) if self.factors else q
        made = self._rotate_waves(wide, positions)
        if made is None:
            made = self.rotary.rotate(wide, positions, self.params if self.learned else None)
        for wrapper in self.factors:
            factors = wrapper.row_factors(made, positions)
            made = made if factors is None else made * factors
        return made.to(q.dtype)

    @property
    def newest_waves(self) -> FusedRotation | None:
        """The rotation of a query, if that is all that is done to it and the kernels do it."""
        return None if self.factors or not self.by_kernels else self.waves

    def _rotate_waves(self, x: Tensor, positions: Tensor) -> Tensor | None:
        """R(p) x with no more checks than a token can pay for; None where more are needed."""
        waves = self.waves
        if waves is None:
            return None
        if self.by_kernels:
            return waves.try_one(x, positions)
        made = waves.rotate_few(positions, x)
        return None if made is None else made[0]


def make_plan(given: object, params: Mapping[str, object] | None, layout: Layout = "bhsd") -> Plan:
    """The plan for an encoding, or a sentence that says why there is none."""
    value = given.encoding if isinstance(given, EncodingModule) else given
    if isinstance(value, Additive):
        return Plan(
            given,
            Unbiased(),
            None,
            None,
            (),
            None,
            (),
            by_kernels=has_kernels(),
            by_order=value.axes is not None,
            layout=layout,
        )
    encoding, tensors = unpack_encoding(given, params)
    if "features" in encoding.needs:
        raise TypeError(
            "encoding must not depend on features of the tokens, which a cache does not hold; "
            f"got {type(encoding).__name__}"
        )
    inner, around = unwrap(encoding), tuple(wrappers(encoding))
    rotary = inner if isinstance(inner, Rotary) else None
    if not encoding.fits_any_length or encoding.needs:
        rotary = None
    if any(type(wrapper).row_factors is Encoding.row_factors for wrapper in around):
        rotary = None  # a wrapper that does more than multiply
    owned = given.parameters() if isinstance(given, EncodingModule) else (tensors or {}).values()
    waves = None if rotary is None else rotary.fuse()
    if rotary is None:
        by_kernels = has_kernels()
    else:
        by_kernels = waves is not None and waves.why_unavailable() is None
    learned = tuple(owned)
    return Plan(
        given,
        encoding,
        encoding.axes,
        rotary,
        around,
        tensors,
        learned,
        waves,
        by_kernels,
        layout=layout,
    )
