"""Which rows of which tensors of a checkpoint move when its pairing changes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from posenc.core import rules
from posenc.core.encoding import Encoding, unwrap
from posenc.core.rotation import Pairing
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.rope import PAIRINGS, RoPE
from posenc.interop.checkpoints.names import (
    FALCONS,
    FAMILIES,
    LATENT,
    LATENT_KEY,
    REFUSED,
    SEPARATE,
    Family,
    Place,
    find_places,
)
from posenc.interop.checkpoints.rows import Heads, Rows, rows_of
from posenc.interop.config import read_config, read_fields
from posenc.interop.conventions import ROTARY, TOWERS, RotaryConvention
from posenc.interop.fields import MOST_LAYERS, Fields
from posenc.interop.loading import Config
from posenc.interop.rotary import drop_latent

Shape = tuple[int, ...]
Rotation = RoPE | AxialRoPE
KEY_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
UNEVEN = frozenset({"laguna", "mimo_v2_flash", "gemma4_text", "gemma4_unified_text", "step3p5",
                    "diffusion_gemma_text", "embedding_gemma2_text"})  # fmt: skip
"""Model types whose layers have different numbers of heads, which their tensors tell."""


@dataclass(frozen=True)
class Plan:
    """What a conversion does: the rows of each tensor that rotate; the other tensors stay.

    layers  the rotation of each layer that rotates, by number, in the pairing that the weights have
    heads   the sizes of each of them
    places  where each tensor stands
    """

    to: Pairing
    rows: dict[str, Rows]
    layers: dict[int, Rotation]
    heads: dict[int, Heads]
    places: dict[str, Place]


def plan_conversion(
    config: Config, shapes: Mapping[str, Shape], *, to: Pairing, pairing: Pairing | None = None
) -> Plan:
    """Find the tensors to convert, given the shapes of all; anything doubtful is an error.

    pairing  of the weights, if it is not that of the model type
    """
    rules.one_of("to", to, PAIRINGS)
    fields, model = read_fields(config, pairing), read_config(config, pairing=pairing)
    layers = {
        i: rope for i, layer in enumerate(model.layers) if (rope := _rotation(layer)) is not None
    }
    if not layers:
        raise ValueError(f"config must be of a model that rotates; {model.model_type} does not")
    if (why := REFUSED.get(model.model_type)) is not None:
        raise ValueError(f"{model.model_type} cannot be converted: {why}")
    if model.model_type in TOWERS:
        raise ValueError(
            f"{model.model_type} cannot be converted: its tower has names and numbers of heads of "
            "its own; convert the text model, which leaves towers as they are"
        )
    _refuse_same(layers, to, model.model_type)
    convention = ROTARY.get(fields.model_type, RotaryConvention())
    latent = drop_latent(fields, convention).latent is not None
    family = LATENT if latent else FAMILIES.get(model.model_type, SEPARATE)
    names = [*family.modules, *family.norms, *([LATENT_KEY] if latent else [])]
    places = find_places(shapes, names)
    last, present = len(model.layers) - 1, {place.layer for place in places.values()}
    name = "num_nextn_predict_layers"
    extra = rules.whole(name, fields.get(name, default=0), least=0, most=MOST_LAYERS)
    for i in present & {*range(last + 1, last + 1 + extra)}:
        if last in layers:
            layers[i] = layers[last]  # they predict further tokens, each with a layer like the last
    if (beyond := max(present, default=0)) > last + extra:
        raise ValueError(
            f"the checkpoint must have the {last + 1 + extra} layers of the config; it has a layer "
            f"{beyond}, which would not be converted"
        )
    places = {name: place for name, place in places.items() if place.layer in layers}
    reader = _Reader(fields, family, shapes, places)
    heads = {i: reader.read_heads(i, rope) for i, rope in layers.items()}
    rows = {name: reader.read_rows(name, heads[place.layer]) for name, place in places.items()}
    moved = {name: found for name, found in rows.items() if found is not None}
    return Plan(to, moved, layers, heads, places)


def _rotation(layer: Encoding) -> Rotation | None:
    inner = unwrap(layer)
    return inner if isinstance(inner, RoPE | AxialRoPE) else None


def _refuse_same(layers: Mapping[int, Rotation], to: Pairing, model_type: str) -> None:
    if any(rope.pairing == to for rope in layers.values()):
        raise ValueError(
            f"to must be the other pairing than that of the weights, and those of {model_type} are "
            f"in {to} already; got to={to!r} (if these are not, give pairing (--pairing))"
        )


class _Reader:
    """Reads the sizes of the layers off the config and the tensors, which must agree."""

    def __init__(
        self,
        fields: Fields,
        family: Family,
        shapes: Mapping[str, Shape],
        places: Mapping[str, Place],
    ) -> None:
        self.fields, self.family, self.shapes = fields, family, shapes
        self.latent = family is LATENT
        self.names = {(p.layer, p.module, p.leaf): name for name, p in places.items()}
        self.places = places
        self.queries = fields.heads()
        shared = fields.get("num_kv_shared_layers", default=0)  # Gemma 3n: of an earlier layer
        self.first_shared = fields.layers() - rules.whole("num_kv_shared_layers", shared, least=0)
        self.keys = self._read_key_heads()

    def read_heads(self, layer: int, rope: Rotation) -> Heads:
        """The sizes of a layer, whose projections must be there."""
        trailing = rope.rotated == "trailing"
        width = rope.rotary_dim or rope.dim
        heads = Heads(self.queries, self.keys or self.queries, rope.dim, width, trailing)
        q, k = self._find(layer, "q"), self._find(layer, "k")
        if k == "k_proj":
            self._require_values(layer)
        if q is not None and k is not None and q != k and not self.latent:
            queries = self._count(layer, q, rope.dim, self.queries)
            heads = replace(heads, queries=queries, keys=self._count(layer, k, rope.dim, self.keys))
        if heads.queries % heads.keys:
            raise ValueError(
                f"the heads of queries must be a multiple of those of keys; layer {layer} has "
                f"{heads.queries} and {heads.keys}"
            )
        return heads

    def _require_values(self, layer: int) -> None:
        """Refuse keys that are values too (some layers of Gemma 4): those must not be reordered."""
        name = self.names[layer, "k_proj", "weight"]
        if name.replace("k_proj", "v_proj") not in self.shapes:
            raise ValueError(
                f"{name} must make keys alone, but the layer has no v_proj: its keys are its values"
            )

    def _find(self, layer: int, role: str) -> str | None:
        """The module that makes the queries or keys of a layer; None of keys of another layer."""
        modules = [name for name, (made, _) in self.family.modules.items() if role in made]
        modules = [LATENT_KEY] if self.latent and role == "k" else modules
        found = [name for name in modules if (layer, name, "weight") in self.names]
        if not found and role == "k" and layer >= self.first_shared:
            return None
        if len(found) != 1:
            named = " or ".join(f"{name}.weight" for name in modules)
            kind = {"q": "queries", "k": "keys"}[role]
            raise ValueError(
                f"layer {layer} rotates, so the checkpoint must have its {kind} as {named}; got "
                f"{', '.join(found) or 'none'}"
            )
        return found[0]

    def _count(self, layer: int, module: str, dim: int, stated: int | None) -> int:
        """The number of heads of a projection: as stated, or else as its rows tell."""
        if stated is not None and self.fields.model_type not in UNEVEN:
            return stated
        name = self.names[layer, module, "weight"]
        rows = self.shapes[name][0] if self.shapes[name] else 0
        block = 2 * dim if self.family.modules[module][1] == "gated" else dim
        if rows % block or not rows:
            raise ValueError(f"{name} must have a multiple of {block} rows; got {rows}")
        return rows // block

    def _read_key_heads(self) -> int | None:
        """The number of key heads, if the config states it."""
        fields, name = self.fields, self.fields.model_type
        if name in FALCONS and not self._has_groups():
            shared = fields.flag("multi_query", default=name == "falcon")
            return 1 if shared else self.queries
        if name == "chatglm" and not fields.flag("multi_query_attention", default=False):
            raise ValueError(
                "multi_query_attention must be true to convert a checkpoint of chatglm: without it "
                "its heads have another order"
            )
        found = fields.first(*KEY_HEADS)
        inner = fields.values.get("attn_config")
        if found is None and isinstance(inner, Mapping) and "kv_n_heads" in inner:
            found = ("attn_config.kv_n_heads", inner["kv_n_heads"])
        if found is None:
            return None
        keys = rules.whole(*found, least=1, most=self.queries)
        if self.queries % keys:
            raise ValueError(
                f"{found[0]} must divide the {self.queries} heads of queries; got {keys}"
            )
        return keys

    def _has_groups(self) -> bool:
        """Whether a Falcon has groups of queries; before it was one, n_head_kv said so."""
        if self.fields.model_type == "falcon":
            return self.fields.flag("new_decoder_architecture", default=False)
        return self.fields.values.get("n_head_kv") is not None

    def read_rows(self, name: str, heads: Heads) -> Rows | None:
        """The rows of a tensor that rotate; None if it stays as it is."""
        place, shape = self.places[name], self.shapes[name]
        if place.module in self.family.norms:
            return self._read_norms(name, heads)
        if place.leaf not in ("weight", "bias"):
            if math.prod(shape) == 1:  # one scale for the whole tensor
                return None
            raise ValueError(
                f"{name} must be the weight or the bias of a projection: quantized weights and "
                "adapters are not converted, so merge or dequantize them first"
            )
        if place.module == LATENT_KEY:
            rank = self.fields.whole("kv_lora_rank", default=512)
            rows = Rows(rank + heads.rotary_dim, (rank,), heads.rotary_dim)
        else:
            role, order = self.family.modules[place.module]
            rows = rows_of(order, heads, role="k" if role == "k" else "q")
        if not shape or shape[0] != rows.count:
            raise ValueError(
                f"{name} must have {rows.count} rows, as the config says; got shape {shape}"
            )
        return rows

    def _read_norms(self, name: str, heads: Heads) -> Rows:
        """Norms of one head, which all share, or of each head (also as several tensors)."""
        shape, role = self.shapes[name], self.family.norms[self.places[name].module]
        count = heads.queries if role == "q" else heads.keys
        size = math.prod(shape)
        for number in (1, count):
            if size == number * heads.dim:
                own = replace(heads, queries=number, keys=number)
                return rows_of("heads", own)
        raise ValueError(
            f"{name} must have {heads.dim} or {count * heads.dim} numbers, as the config says; got "
            f"shape {shape}"
        )
