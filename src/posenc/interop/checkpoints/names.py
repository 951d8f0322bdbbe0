"""The names of the tensors of each model type whose rows are rotated channels."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from posenc.interop.checkpoints.rows import Order

Role = Literal["q", "k", "qkv"]


NORMS: Mapping[str, Role] = {
    **dict.fromkeys(("q_norm", "q_layernorm", "q_layer_norm", "query_layernorm"), "q"),
    **dict.fromkeys(("k_norm", "k_layernorm", "k_layer_norm", "key_layernorm"), "k"),
}
"""Norms of queries and keys, of one head or of all channels."""


@dataclass(frozen=True)
class Family:
    """The modules of an attention layer that make queries and keys, and their norms.

    modules  each module's name, with what it makes and the order of its heads
    """

    modules: Mapping[str, tuple[Role, Order]]
    norms: Mapping[str, Role] = field(default_factory=lambda: NORMS)


def _separate(q: str = "q_proj", k: str = "k_proj", *, order: Order = "heads") -> Family:
    return Family({q: ("q", order), k: ("k", "heads")})


def _build_fused(name: str, order: Order) -> Family:
    return Family({name: ("qkv", order)})


SEPARATE = _separate()
LATENT = Family({"q_proj": ("q", "heads"), "q_b_proj": ("q", "heads")}, norms={})
"""Multi-head latent attention; its key is in `LATENT_KEY`."""
LATENT_KEY = "kv_a_proj_with_mqa"

FALCONS = ("falcon", "RefinedWeb", "RefinedWebModel")
_GATED = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
FAMILIES = {
    **dict.fromkeys(_GATED, _separate(order="gated")),
    **dict.fromkeys(("esm", "roformer"), _separate("query", "key")),
    **dict.fromkeys(("gpt_neox", "gpt_neox_japanese", "persimmon", *FALCONS),
                    _build_fused("query_key_value", "groups")),
    **dict.fromkeys(("phi3", "phi4_multimodal"), _build_fused("qkv_proj", "blocks")),
    **dict.fromkeys(("dbrx", "modernbert", "phi-msft"), _build_fused("Wqkv", "blocks")),
    "baichuan": _build_fused("W_pack", "blocks"),
    "qwen": _build_fused("c_attn", "blocks"),
    "chatglm": _build_fused("query_key_value", "blocks"),
    "codegen": _build_fused("qkv_proj", "codegen"),
    "internlm2": _build_fused("wqkv", "groups"),
}  # fmt: skip
"""The model types that are not `SEPARATE`."""

_INDEXER = "an indexer beside its attention has a rotation of its own"
_STACKS = "it has an encoder and a decoder"
REFUSED = {
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa", "axk2", "hy_v4"), _INDEXER),
    **dict.fromkeys(("dia_encoder", "dia_decoder", "moonshine", "moonshine_streaming"), _STACKS),
    **dict.fromkeys(("t5_gemma_module", "t5gemma2_text", "t5gemma2_decoder"), _STACKS),
    "deepseek_v4": "values are rotated too, and rotated back after attention",
    "jetmoe": "each expert has queries of its own",
    "longcat_flash": "each layer has two attentions",
    "mixformer-sequential": "its files count the embedding as layer 0",
    "zamba2": "its attention layers share weights",
    "zaya": "convolutions mix the channels of queries and keys before they rotate",
}
"""The model types whose checkpoints are not converted, and why."""

_LAYER = re.compile(
    r"^(?P<stack>(?:.*\.)?(?:layers|layer|h|blocks))\.(?P<layer>\d+)\.(?P<inside>.+)$"
)
_OTHER_TOWER = re.compile(r"vision|visual|image|audio|speech|video|depth|protein|\bmtp\b")
_CROSS = re.compile(r"cross_?att|encoder_attn|encdec", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where a tensor stands: `stack`.`layer`.`path`.`module`.`leaf`."""

    stack: str
    layer: int
    path: str
    module: str
    leaf: str


def find_places(names: Iterable[str], modules: Iterable[str]) -> dict[str, Place]:
    """The tensors of these modules in the layers of the text model, by name.

    >>> name = "model.layers.3.self_attn.q_proj.weight"
    >>> find_places([name, "lm_head.weight"], ["q_proj"])[name]
    Place(stack='model.layers', layer=3, path='self_attn', module='q_proj', leaf='weight')
    """
    wanted = set(modules)
    found = {name: place for name in names if (place := _parse(name, wanted)) is not None}
    stacks = sorted({place.stack for place in found.values()})
    if len(stacks) > 1:
        stacks = [stack for stack in stacks if not _OTHER_TOWER.search(stack)]
    if len(stacks) > 1:
        raise ValueError(
            f"the checkpoint must have one stack of layers that rotates; got {', '.join(stacks)}"
        )
    return {name: place for name, place in found.items() if place.stack in stacks}


def _parse(name: str, modules: set[str]) -> Place | None:
    match = _LAYER.match(name)
    if match is None or _CROSS.search(match["inside"]):
        return None
    parts = match["inside"].split(".")
    at = next((i for i, part in enumerate(parts) if part in modules), None)
    if at is None:
        return None
    path, leaf = ".".join(parts[:at]), ".".join(parts[at + 1 :])
    return Place(match["stack"], int(match["layer"]), path, parts[at], leaf)
