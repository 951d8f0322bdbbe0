"""A config that is being changed: which of its fields say an encoding, and in which dialect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from posenc.core import rules
from posenc.core.encoding import Encoding, unwrap
from posenc.core.rotation import Pairing
from posenc.core.scaling import Scaling
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.rope import RoPE
from posenc.interop.config import read_fields
from posenc.interop.conventions import ROTARY, RotaryConvention
from posenc.interop.fields import LENGTH
from posenc.interop.layers import read_layer_types
from posenc.interop.loading import NESTED, select_stacks
from posenc.interop.model import ModelPositions
from posenc.interop.rotary import BASES, LOCAL_BASES, SHARES
from posenc.interop.scaling_fields import ORIGINAL, scaling_fields
from posenc.layouts import Sections
from posenc.temperatures import MinistralTemperature

Dialect = Literal["rope_parameters", "rope_scaling"]
DIALECTS: tuple[Dialect, ...] = ("rope_parameters", "rope_scaling")
KEPT = ("partial_rotary_factor", "mrope_section", "mrope_interleaved", "interleaved")
"""Keys beside the scaling's that a dict of rope parameters keeps."""
BASE_NAMES = {
    "gpt_neox": ("rotary_emb_base", ""),
    "gpt_neox_japanese": ("rotary_emb_base", ""),
    "modernbert": ("global_rope_theta", "local_rope_theta"),
    "modernbert-decoder": ("global_rope_theta", "local_rope_theta"),
    "deepseek_v4": ("compress_rope_theta", "rope_theta"),
}
"""The fields of transformers 4 for the base of all or the global layers, and of the local ones,
where they are not rope_theta and rope_local_base_freq."""
ACCEPTED = {
    "phi3": ("default", "longrope"),
    "phi4_multimodal": ("default", "longrope"),
    "hunyuan_v1_moe": ("default", "linear", "dynamic"),
}
"""The rope_types that a config class accepts, if not all."""
FIXED = frozenset(
    {"chatglm", "baichuan", "xverse", "qwen", "phi-msft", "mixformer-sequential"}
    | {"RefinedWeb", "RefinedWebModel"}
)
"""Rotary model types whose code has no field for the base or a scaling."""
CODE, WEIGHTS = "the code", "the weights"
OWN_ORIGINAL = frozenset({"phi3", "phi4_multimodal"})
"""Model types whose config class has the original length, which overrides that of the scaling."""


def rope_parts(encoding: Encoding) -> tuple[float, Scaling | None]:
    """The base and the scaling of a RoPE or of an M-RoPE."""
    under = unwrap(encoding)
    if isinstance(under, AxialRoPE):
        return cast(Any, under.layout).base, under.layout.scaling
    assert isinstance(under, RoPE)
    return under.base, under.scaling


@dataclass
class Draft:
    """A config that is being changed: the dict of its text model, and what decides its meaning."""

    text: dict[str, Any]
    model_type: str
    convention: RotaryConvention
    types: list[str]
    dialect: Dialect

    @classmethod
    def of(cls, values: dict[str, Any], pairing: Pairing | None) -> "Draft":
        """The draft of a config; `values` is changed with it."""
        if select_stacks(values) is not None:
            raise ValueError(
                "like must be the config of one stack; it has an encoder and a decoder, so pass "
                "the object under 'encoder' and that under 'decoder' by themselves"
            )
        fields = read_fields(values, pairing)
        text = values
        while name := next((n for n in NESTED if isinstance(text.get(n), Mapping)), None):
            text[name] = dict(text[name])
            text = text[name]
        convention = ROTARY.get(fields.model_type, RotaryConvention())
        rotary = fields.model_type in ROTARY or pairing is not None
        types = read_layer_types(fields, convention) if rotary else []
        return cls(text, fields.model_type, convention, types, _find_dialect(values, text))

    def choose_layers(self, model: ModelPositions, layer_type: str | None) -> list[int]:
        """The numbers of the layers to change, which share one encoding."""
        rotating = [
            i for i, e in enumerate(model.layers) if isinstance(unwrap(e), RoPE | AxialRoPE)
        ]
        if not rotating or not self.types or self.model_type in FIXED:
            names = ", ".join(dict.fromkeys(type(e).__name__ for e in model.layers))
            raise ValueError(
                f"like must be the config of a rotary model: the {names} of {self.model_type!r} is "
                "fixed by its weights or its code"
            )
        types = list(dict.fromkeys(self.types[i] for i in rotating))
        if layer_type is not None:
            rules.one_of("layer_type", layer_type, tuple(types))
            rotating = [i for i in rotating if self.types[i] == layer_type]
        if any(model.layers[i] != model.layers[rotating[0]] for i in rotating):
            raise ValueError(
                "layer_type must be given, since the layers differ: one of "
                f"{', '.join(map(repr, types))}; got layer_type={layer_type!r}"
            )
        return rotating

    def require_expressible(self, old: Encoding, new: Encoding) -> None:
        """Refuse what the weights or the code of the model type fix."""
        was, is_ = unwrap(old), unwrap(new)
        if not isinstance(was, RoPE | AxialRoPE) or type(is_) is not type(was):
            kind = type(was).__name__
            raise ValueError(
                f"encoding must be a {kind}, as the code of {self.model_type!r} has; got {new!r}"
            )
        assert isinstance(is_, RoPE | AxialRoPE)
        self._require_same("dim", was.dim, is_.dim, WEIGHTS)
        if "rope_interleave" not in self.text:
            self._require_same("pairing", was.pairing, is_.pairing, CODE)
        self._require_same("rotated", was.rotated, is_.rotated, CODE)
        if not self._has_share():
            cause = WEIGHTS if self.convention.latent else CODE
            self._require_same("rotary_dim", was.rotary_dim, is_.rotary_dim, cause)
        if isinstance(was, AxialRoPE) and isinstance(is_, AxialRoPE):
            kinds = [type(each.layout).__name__ for each in (was, is_)]
            self._require_same("layout", kinds[0], kinds[1], CODE)
            orders = [getattr(each.layout, "interleaved", None) for each in (was, is_)]
            self._require_same("interleaved", orders[0], orders[1], CODE)
        temperature = new.temperature
        beta = isinstance(temperature, MinistralTemperature)
        if temperature != old.temperature and not (
            self.convention.temperature == "ministral" and (temperature is None or beta)
        ):
            self._require_same("temperature", old.temperature, temperature, CODE)

    def _require_same(self, name: str, was: object, given: object, cause: str) -> None:
        if was != given:
            verb = "fixes" if cause == CODE else "fix"
            raise ValueError(
                f"{name} must be {was!r}, which {cause} of {self.model_type!r} {verb}; "
                f"got {name}={given!r}"
            )

    def _has_share(self) -> bool:
        """Whether a field of this model type says how many channels rotate."""
        if self.convention.latent is not None:
            return False
        names = ("partial_rotary_factor", "rotary_pct", "rotary_dim")
        stated = any(name in self.text for name in names) or any(
            "partial_rotary_factor" in each for each in self._dicts()
        )
        return stated or self.convention.share != 1.0 or self.convention.rotary_dim is not None

    def _dicts(self) -> list[Mapping[str, Any]]:
        """The dicts of rope parameters in the file: one, or one for each layer type."""
        values = self.text.get("rope_parameters") or self.text.get("rope_scaling") or {}
        nested = [each for each in values.values() if isinstance(each, Mapping)]
        return nested or [values]

    def write(
        self, before: ModelPositions, changed: Sequence[int], new: Encoding, dialect: Dialect
    ) -> None:
        """Write `new` for the layers `changed`."""
        if "rope_interleave" in self.text:
            self.text["rope_interleave"] = cast(Any, unwrap(new)).pairing == "interleaved"
        kinds = list(dict.fromkeys(self.types[i] for i in changed))
        local = [kind for kind in kinds if self._is_local(kind)]
        nested = self._is_nested()
        if dialect == "rope_parameters" and self.dialect != dialect and self._has_local():
            self._nest(before)
            nested = True
        if nested and dialect == "rope_scaling":
            raise ValueError(
                "dialect must be 'rope_parameters' for parameters by layer type, which "
                f"transformers 4 does not have; got dialect={dialect!r}"
            )
        if nested:
            every = self.text["rope_parameters" if "rope_parameters" in self.text else dialect]
            for kind in kinds:
                label = self._label(kind, every)
                every[label] = self._fields(new, every.get(label) or {}, with_base=True)
        else:
            for kind in local:
                self._write_local(kind, new)
            if len(local) < len(kinds):
                self._write_flat(new, dialect)
        self._write_lengths(before, new, whole=len(local) < len(kinds))

    def _is_nested(self) -> bool:
        return any(
            isinstance(each, Mapping)
            for name in DIALECTS
            for each in (self.text.get(name) or {}).values()
        )

    def _has_local(self) -> bool:
        return self.convention.local_base is not None and len(set(self.types)) > 1

    def _is_local(self, kind: str) -> bool:
        return self.convention.local_base is not None and "sliding" in kind

    def _label(self, kind: str, every: Mapping[str, Any]) -> str:
        if kind not in every and {"main", "compress"} <= every.keys():  # DeepSeek-V4
            return "main" if "sliding" in kind else "compress"
        return kind

    def _nest(self, before: ModelPositions) -> None:
        """Turn the fields of transformers 4 into parameters by layer type."""
        old = self.text.pop("rope_scaling", None) or {}
        for name in (*BASES, *LOCAL_BASES):
            self.text.pop(name, None)
        firsts = {kind: before.layers[self.types.index(kind)] for kind in dict.fromkeys(self.types)}
        self.text["rope_parameters"] = {
            kind: self._fields(encoding, old, with_base=True)
            for kind, encoding in firsts.items()
            if isinstance(unwrap(encoding), RoPE | AxialRoPE)
        }

    def _fields(self, new: Encoding, old: Mapping[str, Any], *, with_base: bool) -> dict[str, Any]:
        """The rope parameters of an encoding, with what stays of the old ones."""
        base, scaling = rope_parts(new)
        fields = {name: old[name] for name in KEPT if old.get(name) is not None}
        fields |= {"rope_theta": base} if with_base else {}
        under = unwrap(new)
        if isinstance(under, AxialRoPE):
            fields |= self._sections(under, old)
        elif self._has_share() and fields.get("partial_rotary_factor") is not None:
            fields["partial_rotary_factor"] = _share(cast(RoPE, under))
        if isinstance(new.temperature, MinistralTemperature):
            fields["llama_4_scaling_beta"] = new.temperature.beta
        fields |= scaling_fields(scaling, self.model_type)
        accepted = ACCEPTED.get(self.model_type)
        if accepted is not None and fields["rope_type"] not in accepted:
            raise ValueError(
                f"scaling must be of a rope_type that the config class of {self.model_type!r} "
                f"accepts: {', '.join(accepted)}; got {scaling!r}"
            )
        return fields

    def _sections(self, rope: AxialRoPE, old: Mapping[str, Any]) -> dict[str, Any]:
        layout = rope.layout
        if isinstance(layout, Sections):
            sections = list(layout.sections)
        else:  # ERNIE's file has height, width, time
            time, height, width = cast(Any, layout).sections
            sections = [height, width, time]
        given = old.get("mrope_section") is not None
        same = sections == list(self.convention.sections or ())
        return {} if same and not given else {"mrope_section": sections}

    def _write_local(self, kind: str, new: Encoding) -> None:
        base, scaling = rope_parts(new)
        if scaling is not None and not self.convention.local_scaled:
            raise ValueError(
                f"scaling must be None for layers of type {kind!r}, which flat parameters do not "
                f"scale in {self.model_type!r}; with dialect='rope_parameters' each type has its "
                f"own; got {scaling!r}"
            )
        self.text[self._base_name(LOCAL_BASES, 1)] = base

    def _base_name(self, names: tuple[str, ...], place: int) -> str:
        """The field for a base: the one that the file has, else that of the config class."""
        default = ("rope_theta", "rope_local_base_freq")
        own = BASE_NAMES.get(self.model_type, default)[place]
        return own if own in self.text else next((n for n in names if n in self.text), own)

    def _write_flat(self, new: Encoding, dialect: Dialect) -> None:
        text = self.text
        old: Mapping[str, Any] = next((text[n] for n in DIALECTS if text.get(n)), {})
        base, _ = rope_parts(new)
        self._write_share(new, old)
        fields = self._fields(new, old, with_base=dialect == "rope_parameters")
        for name in DIALECTS:
            text.pop(name, None)
        if dialect == "rope_parameters":
            self._write_inner(base)
            for name in BASES:
                text.pop(name, None)
            text[dialect] = fields
            return
        if "partial_rotary_factor" in fields and fields["rope_type"] != "proportional":
            text["partial_rotary_factor"] = fields.pop("partial_rotary_factor")
        if not self._write_inner(base):
            text[self._base_name(BASES, 0)] = base
        if "type" in old and "rope_type" not in old:  # before transformers 4.43
            kind = fields.pop("rope_type")
            mrope = kind == "default" and old["type"] == "mrope"
            fields = {"type": "mrope" if mrope else kind, **fields}
        plain = list(fields.values()) == ["default"] and self.convention.parameters is None
        text[dialect] = None if plain else fields

    def _write_inner(self, base: float) -> bool:
        """Write the base into attn_config, where DBRX has it; whether the file has it there."""
        inner = self.text.get("attn_config")
        if not isinstance(inner, Mapping) or inner.get("rope_theta") is None:
            return False
        self.text["attn_config"] = {**inner, "rope_theta": base}
        return True

    def _write_share(self, new: Encoding, old: Mapping[str, Any]) -> None:
        """Write how many channels rotate, in the field that says it."""
        rope = unwrap(new)
        if not isinstance(rope, RoPE) or not self._has_share():
            return
        if self.text.get("rotary_dim") is not None or self.convention.rotary_dim is not None:
            self.text["rotary_dim"] = rope.rotary_dim
        for name in SHARES:
            if self.text.get(name) is not None and int(rope.dim * self.text[name]) != cast(
                int, rope.rotary_dim
            ):
                self.text[name] = _share(rope)
        stated = any(self.text.get(name) for name in SHARES)
        elsewhere = stated or "partial_rotary_factor" in old or self.text.get("rotary_dim")
        if not elsewhere and int(rope.dim * self.convention.share) != rope.rotary_dim:
            self.text["partial_rotary_factor"] = _share(rope)

    def _write_lengths(self, before: ModelPositions, new: Encoding, *, whole: bool) -> None:
        """Write the trained length and, for the whole model, how far the scaling reaches."""
        _, scaling = rope_parts(new)
        original = None if scaling is None else scaling.original_length
        kind = scaling_fields(scaling, self.model_type)["rope_type"]
        name = next((n for n in LENGTH if self.text.get(n) is not None), LENGTH[0])
        has_original = kind in ("yarn", "llama3", "longrope")
        if has_original and (ORIGINAL in self.text or self.model_type in OWN_ORIGINAL):
            self.text[ORIGINAL] = original
        if not whole:
            return
        length = before.trained_length
        if has_original and original is not None:
            factor: float = cast(Any, scaling).factor
            length = round(factor * original)
            given = self.text.get(name)
            if kind == "llama3" and isinstance(given, int) and given > original:
                length = given  # Llama 3.1 reaches 16 times its original length by a factor of 8
        elif original is not None:
            length = original
        if length is not None:
            self.set_length(length)

    def get_length(self) -> int | None:
        """The number of positions that the file states, None without one."""
        return next((n for name in LENGTH if isinstance(n := self.text.get(name), int)), None)

    def set_length(self, length: int) -> None:
        """Write the number of positions, under each name that the file has for it."""
        names = [n for n in LENGTH if self.text.get(n) is not None] or [LENGTH[0]]
        self.text.update(dict.fromkeys(names, length))


def _share(rope: RoPE) -> float:
    """The fraction of the channels that rotate, such that int(dim * share) is their number."""
    count = cast(int, rope.rotary_dim)
    share = count / rope.dim
    return share if int(rope.dim * share) == count else (count + 0.5) / rope.dim


def _find_dialect(values: Mapping[str, Any], text: Mapping[str, Any]) -> Dialect:
    if text.get("rope_parameters") is not None:
        return "rope_parameters"
    if text.get("rope_scaling") is not None or any(name in text for name in BASES):
        return "rope_scaling"
    version = str(values.get("transformers_version", ""))
    return "rope_parameters" if version.startswith("5") else "rope_scaling"
