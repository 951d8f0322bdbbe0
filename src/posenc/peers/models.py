"""Models of Hugging Face's transformers."""

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from posenc import adapt
from posenc.adapt import ROTARY
from posenc.peers.driving import Driven, imported, sides
from posenc.peers.libraries import ALIBI


def hugging_face(
    model: str = "llama", dim: int = 64, *, layer_type: str | None = None, **config: Any
) -> adapt.AdaptedRotary:
    """The rotary module of a text model by its type, turned by the model's own function.

    `config` goes to the model's config; for other modules there is `hugging_face_module`.
    """
    mapping = imported("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    if model not in mapping or not importlib.util.find_spec(f"transformers.models.{model}"):
        raise ValueError(f"model must be a type that transformers has a folder of; got {model!r}")
    theirs = imported(f"transformers.models.{model}.modeling_{model}")
    kinds = [name for name in vars(theirs) if name.endswith("RotaryEmbedding")]
    if len(kinds) != 1 or not hasattr(theirs, "apply_rotary_pos_emb"):
        raise ValueError(
            "model must be a type with one rotary module and apply_rotary_pos_emb; "
            f"got {model!r}, which has {', '.join(kinds) or 'none'}"
        )
    sizes = {"hidden_size": 2 * dim, "num_attention_heads": 2}
    if not isinstance(getattr(mapping[model], "head_dim", None), property):
        sizes["head_dim"] = dim
    built = mapping[model](**sizes | config)
    given = {} if layer_type is None else {"layer_type": layer_type}
    part = getattr(built, "rope_parameters", {}).get("partial_rotary_factor", 1.0)
    return hugging_face_module(
        getattr(theirs, kinds[0])(built),
        theirs.apply_rotary_pos_emb,
        dim,
        turned=int(dim * part),
        name=f"HF {model}: rotary",
        **given,
    )


def hugging_face_module(
    module: Any,
    apply: Callable[..., Any],
    dim: int,
    *,
    turned: int | None = None,
    name: str | None = None,
    **given: Any,
) -> adapt.AdaptedRotary:
    """A module (x, position_ids) -> (cos, sin) and a function (q, k, cos, sin) -> (q, k).

    Of dim channels the first `turned` go in. `given` goes to the module. A module with an
    attention factor, as YaRN has, makes vectors longer on purpose.
    """
    torch = imported("torch")

    def turn(module: Any, x: Any, positions: Any) -> Any:
        cos, sin = module(x[None], positions[None], **given)
        q, rest = x[None, None, :, :turned], x[..., dim if turned is None else turned :]
        return torch.cat([apply(q, q, cos, sin)[0][0, 0], rest], dim=-1)

    longer = getattr(module, "attention_scaling", 1.0) != 1
    claims = replace(ROTARY, norm_preserving=not longer)
    name = name or type(module).__name__
    return adapt.rotary(Driven(module, turn), dim=dim, name=name, claims=claims)


def vjepa2(dim: int = 64) -> adapt.AdaptedRotary:
    """`rotate_queries_or_keys` of V-JEPA 2 in transformers, as it is used for each of its axes."""
    theirs = imported("transformers.models.vjepa2.modeling_vjepa2")

    def turn(x: Any, positions: Any) -> Any:
        return theirs.rotate_queries_or_keys(x[None, None], positions[None, None])[0, 0]

    return adapt.rotary(turn, dim=dim, name="HF vjepa2: rotary", library="torch")


def bloom(heads: int = 16, dtype: str = "float32") -> adapt.AdaptedBias:
    """ALiBi of BLOOM in transformers, a line over the keys, as differences from the query's own.

    What all keys of a query share is invisible to a softmax. In a half no bias can tell all of its
    distances apart, so that is claimed of float32 only.
    """
    torch = imported("torch")
    theirs = imported("transformers.models.bloom.modeling_bloom")

    def bias(q_pos: Any, k_pos: Any) -> Any:
        (length,) = sides(torch.cat([q_pos, k_pos])[:, None], 1)
        mask = torch.ones(1, length, dtype=torch.long)
        line = theirs.build_alibi_tensor(mask, heads, getattr(torch, dtype))[:, 0].float()
        return line[:, None, k_pos] - line[:, q_pos, None]

    claims = replace(ALIBI, unique=dtype == "float32")
    name = f"HF bloom: ALiBi, {dtype}"
    return adapt.bias(bias, heads=heads, name=name, library="torch", claims=claims)
