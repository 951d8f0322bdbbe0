"""Encodings of models in Hugging Face's transformers."""

from __future__ import annotations  # PyTorch is not imported before it is used

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from posenc import adapt
from posenc.adapt import ROTARY
from posenc.peers.adapters import ModuleAdapter, find_table_sides, import_library
from posenc.peers.libraries import ALIBI

if TYPE_CHECKING:
    from torch import Tensor


def hugging_face(
    model: str = "llama", dim: int = 64, *, layer_type: str | None = None, **config: object
) -> adapt.AdaptedRotary:
    """The rotary module of a text model, applied by the model's own function.

    model       the model's type, such as "llama"
    dim         channels of a head
    layer_type  passed to modules that rotate each layer type differently
    config      further fields of the model's config

    For other modules use `hugging_face_module`.
    """
    mapping = import_library("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    if model not in mapping or not importlib.util.find_spec(f"transformers.models.{model}"):
        raise ValueError(
            f"model must be a type with a folder in transformers.models; got {model!r}"
        )
    theirs = import_library(f"transformers.models.{model}.modeling_{model}")
    kinds = [name for name in vars(theirs) if name.endswith("RotaryEmbedding")]
    if len(kinds) != 1 or "apply_rotary_pos_emb" not in vars(theirs):
        raise ValueError(
            "model must be a type with one rotary module and apply_rotary_pos_emb; "
            f"got {model!r}, which has {', '.join(kinds) or 'none'}"
        )
    sizes = {"hidden_size": 2 * dim, "num_attention_heads": 2}
    if not isinstance(getattr(mapping[model], "head_dim", None), property):
        sizes["head_dim"] = dim
    built = mapping[model](**sizes | config)
    options = {} if layer_type is None else {"layer_type": layer_type}
    part = getattr(built, "rope_parameters", {}).get("partial_rotary_factor", 1.0)
    return hugging_face_module(
        getattr(theirs, kinds[0])(built),
        theirs.apply_rotary_pos_emb,
        dim,
        rotary_dim=int(dim * part),
        name=f"HF {model}: rotary",
        **options,
    )


def hugging_face_module(
    module: Any,
    apply: Callable[..., Any],
    dim: int,
    *,
    rotary_dim: int | None = None,
    name: str | None = None,
    **options: Any,
) -> adapt.AdaptedRotary:
    """A module (x, position_ids) -> (cos, sin) with a function (q, k, cos, sin) -> (q, k).

    dim         channels of a head
    rotary_dim  how many of them, from the first, `apply` is given; all by default
    options     passed to the module

    A module with an attention factor, such as YaRN's, changes the length of vectors on purpose.
    """
    torch = import_library("torch")

    def rotate(module: Any, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = module(x[None], positions[None], **options)
        q, rest = x[None, None, :, :rotary_dim], x[..., dim if rotary_dim is None else rotary_dim :]
        return torch.cat([apply(q, q, cos, sin)[0][0, 0], rest], dim=-1)

    scaled = getattr(module, "attention_scaling", 1.0) != 1
    claims = replace(ROTARY, norm_preserving=not scaled)
    name = name or type(module).__name__
    return adapt.rotary(ModuleAdapter(module, rotate), dim=dim, name=name, claims=claims)


def vjepa2(dim: int = 64) -> adapt.AdaptedRotary:
    """`rotate_queries_or_keys` of V-JEPA 2 in transformers, as it is used for each of its axes."""
    theirs = import_library("transformers.models.vjepa2.modeling_vjepa2")

    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        return theirs.rotate_queries_or_keys(x[None, None], positions[None, None])[0, 0]

    return adapt.rotary(rotate, dim=dim, name="HF vjepa2: rotary", library="torch")


def bloom(heads: int = 16, dtype: str = "float32") -> adapt.AdaptedBias:
    """ALiBi of BLOOM in transformers, a line over the keys, relative to the query's own key.

    A softmax ignores what all keys of a query have in common. In 16 bits no bias can tell all of
    its distances apart, so uniqueness is claimed for float32 only.
    """
    torch = import_library("torch")
    theirs = import_library("transformers.models.bloom.modeling_bloom")

    def bias(q_pos: Tensor, k_pos: Tensor) -> Tensor:
        (length,) = find_table_sides(torch.cat([q_pos, k_pos])[:, None], 1)
        mask = torch.ones(1, length, dtype=torch.long)
        line = theirs.build_alibi_tensor(mask, heads, getattr(torch, dtype))[:, 0].float()
        return line[:, None, k_pos] - line[:, q_pos, None]

    claims = replace(ALIBI, unique=dtype == "float32")
    name = f"HF bloom: ALiBi, {dtype}"
    return adapt.bias(bias, heads=heads, name=name, library="torch", claims=claims)
