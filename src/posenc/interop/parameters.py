"""Read the rope_parameters of a layer, called rope_scaling before transformers 5."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.frequencies import geometric
from posenc.i18n import phrase, translatable
from posenc.interop.fields import MOST_LENGTH, Fields, disagreement
from posenc.scalings import (
    NTK,
    DynamicNTK,
    Interpolation,
    Llama3,
    LongRoPE,
    Proportional,
    Scaling,
    YaRN,
)

ALIASES = {"su": "longrope", "mrope": "default"}
EVERYWHERE = {
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    "mrope_section",
    "mrope_interleaved",
    "interleaved",
    "llama_4_scaling_beta",
    "max_position_embeddings",
    "finetuned",
}
"""Keys that any type may have."""

MOST_NUMBER = 1e12
_ORIGINAL = "original_max_position_embeddings"
KEYS: dict[str, tuple[set[str], set[str]]] = {
    "default": (set(), set()),
    "linear": ({"factor"}, set()),
    "dynamic": ({"factor"}, {_ORIGINAL, "alpha"}),
    "yarn": (
        {"factor", _ORIGINAL},
        {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"},
    ),
    "longrope": (
        {"short_factor", "long_factor", _ORIGINAL},
        {"factor", "attention_factor", "short_mscale", "long_mscale"},
    ),
    "llama3": ({"factor", _ORIGINAL, "low_freq_factor", "high_freq_factor"}, set()),
    "proportional": (set(), {"factor"}),
}
"""The required and the optional keys of each type."""


@dataclass(frozen=True)
class Backwards(Scaling):
    """No scaling, but pairs rotate the other way: w_i = -base^(-2i/dim), as in nanochat.

    >>> Backwards().frequencies(4, base=10_000.0)
    array([-1.  , -0.01])
    """

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        return -geometric(dim, base=base)


class Parameters:
    """One dict of rope parameters, whose type and keys are checked."""

    def __init__(self, values: Mapping[str, Any], fields: Fields, name: str) -> None:
        self.values = {key: value for key, value in values.items() if value is not None}
        self.fields = fields
        self.name = name
        self.type = self._read_type()
        self._check_keys()

    def get(self, key: str, default: object = None) -> Any:
        """The value of `key`, or `default`."""
        return self.values.get(key, default)

    def _read_type(self) -> str:
        types = [(key, self.values[key]) for key in ("rope_type", "type") if key in self.values]
        known, names = (*KEYS, *ALIASES), list[str]()
        for key, value in types:
            if not isinstance(value, str) or value not in known:
                raise translatable(
                    ValueError,
                    "{name}.{key} must be one of {known}; got {key}={value!r}",
                    name=self.name,
                    key=key,
                    known=", ".join(known),
                    value=value,
                )
            names.append(ALIASES.get(value, value))
        if len(set(names)) > 1:
            (key, value), other = types
            raise disagreement(f"{self.name}.{key}", value, *other)
        return names[0] if names else "default"

    def _check_keys(self) -> None:
        needed, optional = KEYS[self.type]
        outer = self.fields.values.get(_ORIGINAL) if _ORIGINAL in needed else None
        if outer is not None and self.values.setdefault(_ORIGINAL, outer) != outer:
            name, value = f"{self.name}.{_ORIGINAL}", self.values[_ORIGINAL]
            raise disagreement(_ORIGINAL, outer, name, value)
        for key in sorted(needed - self.values.keys()):
            raise translatable(
                ValueError,
                "{name} of type {type!r} must have {key!r}",
                name=self.name,
                key=key,
                type=self.type,
            )
        if self.get("alpha"):  # Hunyuan's checkpoints have YaRN's keys without using them
            optional = optional | {"beta_fast", "beta_slow", "mscale", "mscale_all_dim"}
        for key in sorted(self.values.keys() - needed - optional - EVERYWHERE):
            raise translatable(
                ValueError,
                "{name} of type {type!r} must have no unknown keys; got {key!r}={value!r}",
                name=self.name,
                type=self.type,
                key=key,
                value=self.values[key],
            )

    def number(self, key: str, *, least: float | None = None, default: object = None) -> Any:
        """The finite number under `key`, as a float."""
        if key not in self.values:
            return default
        return rules.real(f"{self.name}.{key}", self.values[key], least=least, most=MOST_NUMBER)

    def original_length(self) -> int | None:
        """The length before scaling, if this type has one."""
        if self.type == "dynamic":
            return self.fields.length()
        value = self.get(_ORIGINAL)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return rules.whole(f"{self.name}.{_ORIGINAL}", value, least=2, most=MOST_LENGTH)

    def scaling(self, *, pairs: int, share: float) -> Scaling | None:
        """The scaling that these parameters describe.

        pairs  number of pairs that rotate
        share  fraction of the pairs that rotate, for p-RoPE
        """
        match self.type:
            case "default":
                scaling = None
            case "linear":
                scaling = Interpolation(self._read_factor())
            case "proportional":
                scaling = Proportional(share, self._read_factor())
            case "dynamic":
                scaling = self._build_dynamic()
            case "longrope":
                scaling = self._build_longrope(pairs)
            case "llama3":
                low, high = self.number("low_freq_factor"), self.number("high_freq_factor")
                scaling = Llama3(self._read_factor(), self._require_original_length(), low, high)
            case _:
                scaling = self._build_yarn()
        return scaling

    def _read_factor(self) -> float:
        factor = self.number("factor", least=1, default=1.0)
        whole, length = self.fields.length(), self.original_length()
        if self.type == "yarn" and whole and length and whole / length not in (1, factor):
            self.fields.add_note(
                "factor {factor:g} differs from max_position_embeddings / original length = "
                "{whole:,} / {length:,}; the factor is used",
                factor=factor,
                whole=whole,
                length=length,
            )
        return factor

    def _require_original_length(self) -> int:
        length = self.original_length()
        if length is None:
            raise translatable(
                ValueError,
                "max_position_embeddings must be given for the type {type!r}",
                type=self.type,
            )
        return length

    def _build_yarn(self) -> Scaling:
        truncate = self.get("truncate", True)
        rules.flag(f"{self.name}.truncate", truncate)
        return YaRN(
            self._read_factor(),
            self._require_original_length(),
            self.number("beta_fast") or 32.0,
            self.number("beta_slow") or 1.0,
            truncate=truncate,
            mscale=self.number("mscale"),
            mscale_all_dim=self.number("mscale_all_dim"),
            attention_factor=self.number("attention_factor", least=0),
        )

    def _build_dynamic(self) -> Scaling:
        if self.get("alpha"):
            return NTK(self.number("alpha", least=1))
        return DynamicNTK(self._read_factor(), self._require_original_length())

    def _build_longrope(self, pairs: int) -> Scaling:
        short, long = (self._read_factors(key, pairs) for key in ("short_factor", "long_factor"))
        length = self._require_original_length()
        factor = self.number("factor", least=1e-6)
        if factor is None and (whole := self.fields.length()):
            factor = whole / length
        attention = self.number("attention_factor", least=0)
        mscales = [self.number(key) for key in ("short_mscale", "long_mscale")]
        if mscales != [None, None]:
            if mscales[0] != mscales[1]:
                raise translatable(
                    ValueError,
                    "{name}.short_mscale and long_mscale must be equal, since one attention "
                    "factor serves all lengths; got {short} and {long}",
                    name=self.name,
                    short=mscales[0],
                    long=mscales[1],
                )
            attention = mscales[0]
        return LongRoPE(short, long, length, factor=factor, attention_factor=attention)

    def _read_factors(self, key: str, pairs: int) -> tuple[float, ...]:
        values = self.values[key]
        if not isinstance(values, list | tuple) or len(values) != pairs:
            listed = isinstance(values, list | tuple)
            got = phrase("{count} entries", count=len(values)) if listed else repr(values)
            raise translatable(
                ValueError,
                "{name}.{key} must be a list with a factor for each of the {pairs} pairs; "
                "got {got}",
                name=self.name,
                key=key,
                pairs=pairs,
                got=got,
            )
        return tuple(
            rules.real(f"each of {self.name}.{key}", value, least=1e-6, most=MOST_NUMBER)
            for value in values
        )
