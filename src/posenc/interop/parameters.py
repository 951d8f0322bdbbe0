"""Read the rope_parameters of a layer, called rope_scaling before transformers 5."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc import scalings
from posenc.core import rules
from posenc.core.frequencies import geometric
from posenc.i18n import N_, phrase, translatable
from posenc.interop.fields import MOST_LENGTH, Fields, require_agreement

ALIASES = {"su": "longrope", "mrope": "default"}
EVERYWHERE = (
    "rope_type type rope_theta partial_rotary_factor mrope_section mrope_interleaved interleaved "
    "llama_4_scaling_beta max_position_embeddings finetuned"
)
"""Keys that any type may have."""

MOST_NUMBER = 1e12
_ORIGINAL = "original_max_position_embeddings"
_YARN = "beta_fast beta_slow mscale mscale_all_dim"
KEYS = {
    "default": ("", ""),
    "linear": ("factor", ""),
    "dynamic": ("factor", f"{_ORIGINAL} alpha"),
    "yarn": (f"factor {_ORIGINAL}", f"attention_factor truncate {_YARN}"),
    "longrope": (
        f"short_factor long_factor {_ORIGINAL}",
        "factor attention_factor short_mscale long_mscale",
    ),
    "llama3": (f"factor {_ORIGINAL} low_freq_factor high_freq_factor", ""),
    "proportional": ("", "factor"),
}
"""The required and the optional keys of each type."""


@dataclass(frozen=True)
class Backwards(scalings.Scaling):
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
        found = [(key, self.values[key]) for key in ("rope_type", "type") if key in self.values]
        known = (*KEYS, *ALIASES)
        for key, value in found:
            if not isinstance(value, str) or value not in known:
                template = N_("{name}.{key} must be one of {known}; got {key}={value!r}")
                listed = {"known": ", ".join(known), "value": value}
                raise translatable(ValueError, template, name=self.name, key=key, **listed)
        types = [ALIASES.get(value) or str(value) for _, value in found]
        if len(set(types)) > 1:
            (key, value), other = found
            require_agreement((f"{self.name}.{key}", value), other)
        return types[0] if types else "default"

    def _check_keys(self) -> None:
        needed, optional = (set(keys.split()) for keys in KEYS[self.type])
        optional |= {*EVERYWHERE.split()}
        outer = self.fields.values.get(_ORIGINAL) if _ORIGINAL in needed else None
        if outer is not None:
            inner = self.values.setdefault(_ORIGINAL, outer)
            require_agreement((_ORIGINAL, outer), (f"{self.name}.{_ORIGINAL}", inner))
        # Phi-3's config class has a default of its own
        if self.type in ("yarn", "llama3") and not self.fields.model_type.startswith("phi"):
            self._default_original_length()
        named = {"name": self.name, "type": self.type}
        for key in sorted(needed - self.values.keys()):
            template = N_("{name} of type {type!r} must have {key!r}")
            raise translatable(ValueError, template, key=key, **named)
        if self.get("alpha"):  # Hunyuan's checkpoints have YaRN's keys without using them
            optional |= set(_YARN.split())
        for key in sorted(self.values.keys() - needed - optional):
            template = N_(
                "{name} of type {type!r} must have no unknown keys; got {key!r}={value!r}"
            )
            raise translatable(ValueError, template, key=key, value=self.values[key], **named)

    def _default_original_length(self) -> None:
        """Take the length of the model for that before scaling, as transformers does."""
        length = self.fields.length()
        if _ORIGINAL in self.values or length is None:
            return
        self.values[_ORIGINAL] = length
        template = N_(
            "{name} of type {type!r} has no {key}; {length:,}, the length of the model, is used as "
            "in transformers"
        )
        named = {"name": self.name, "type": self.type, "key": _ORIGINAL}
        self.fields.add_note(template, length=length, **named)

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

    def scaling(self, *, pairs: int, share: float) -> scalings.Scaling | None:
        """The scaling that these parameters describe.

        pairs  number of pairs that rotate
        share  fraction of the pairs that rotate, for p-RoPE
        """
        scaling: scalings.Scaling | None = None
        match self.type:
            case "linear":
                scaling = scalings.Interpolation(self._read_factor())
            case "proportional":
                scaling = scalings.Proportional(share, self._read_factor())
            case "dynamic" if self.get("alpha"):
                scaling = scalings.NTK(self.number("alpha", least=1))
            case "dynamic":
                scaling = scalings.DynamicNTK(self._read_factor(), self._require_original_length())
            case "longrope":
                scaling = self._build_longrope(pairs)
            case "llama3":
                low, high = self.number("low_freq_factor"), self.number("high_freq_factor")
                factor, length = self._read_factor(), self._require_original_length()
                scaling = scalings.Llama3(factor, length, low, high)
            case "yarn":
                scaling = self._build_yarn()
            case _:
                pass
        return scaling

    def _read_factor(self) -> float:
        factor = self.number("factor", least=1, default=1.0)
        whole, length = self.fields.length(), self.original_length()
        if self.type == "yarn" and whole and length and whole / length not in (1, factor):
            template = N_(
                "factor {factor:g} differs from max_position_embeddings / original length = "
                "{whole:,} / {length:,}; the factor is used"
            )
            self.fields.add_note(template, factor=factor, whole=whole, length=length)
        return factor

    def _require_original_length(self) -> int:
        length = self.original_length()
        if length is None:
            template = N_("max_position_embeddings must be given for the type {type!r}")
            raise translatable(ValueError, template, type=self.type)
        return length

    def _build_yarn(self) -> scalings.Scaling:
        truncate = self.get("truncate", True)
        rules.flag(f"{self.name}.truncate", truncate)
        return scalings.YaRN(
            self._read_factor(),
            self._require_original_length(),
            self.number("beta_fast") or 32.0,
            self.number("beta_slow") or 1.0,
            truncate=truncate,
            mscale=self.number("mscale"),
            mscale_all_dim=self.number("mscale_all_dim"),
            attention_factor=self.number("attention_factor", least=0),
        )

    def _build_longrope(self, pairs: int) -> scalings.Scaling:
        short, long = (self._read_factors(key, pairs) for key in ("short_factor", "long_factor"))
        length = self._require_original_length()
        factor = self.number("factor", least=1e-6)
        if factor is None and (whole := self.fields.length()):
            factor = whole / length
        attention = self.number("attention_factor", least=0)
        mscales = [self.number(key) for key in ("short_mscale", "long_mscale")]
        if mscales[0] != mscales[1]:
            template = N_(
                "{name}.short_mscale and long_mscale must be equal, since one attention "
                "factor serves all lengths; got {short} and {long}"
            )
            both = {"short": mscales[0], "long": mscales[1]}
            raise translatable(ValueError, template, name=self.name, **both)
        attention = attention if mscales[0] is None else mscales[0]
        return scalings.LongRoPE(short, long, length, factor=factor, attention_factor=attention)

    def _read_factors(self, key: str, pairs: int) -> tuple[float, ...]:
        values, name = self.values[key], f"{self.name}.{key}"
        listed = isinstance(values, list | tuple)
        if not listed or len(values) != pairs:
            template = N_(
                "{name}.{key} must be a list with a factor for each of the {pairs} pairs; got {got}"
            )
            got = phrase("{count} entries", count=len(values)) if listed else repr(values)
            raise translatable(ValueError, template, name=self.name, key=key, pairs=pairs, got=got)
        bounds = {"least": 1e-6, "most": MOST_NUMBER}
        return tuple(rules.real(f"each of {name}", value, **bounds) for value in values)
