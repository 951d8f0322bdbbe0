"""Read learned positional parameters from a checkpoint with Hugging Face's parameter names."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from posenc.core.arrays import Array, is_array
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.encodings.learned import Learned
from posenc.encodings.swin import SwinBias, SwinV2Bias
from posenc.encodings.t5 import T5Bias
from posenc.interop.biases import read_swin_stages
from posenc.interop.config import read_config, read_fields
from posenc.interop.conventions import ABSOLUTE, SWIN
from posenc.interop.loading import Config
from posenc.interop.model import ModelPositions

Layer = tuple[Encoding, dict[str, Array]]
Names = dict[str, str]
"""The end of each parameter's name in a checkpoint, in which * matches anything."""

TABLES = (
    ".wpe.weight",
    ".positions_embed.weight",
    ".embed_positions.weight",
    ".position_embedding.weight",
    ".position_embedding",
    ".position_embeddings.weight",
    ".position_embeddings",
    ".pos_embed",
)
"""Ends of the names of learned tables: GPT-2, GPT, BART, CLIP, BLIP, BERT and XLM, ViT, MGP-STR."""
TOWER = re.compile(r"vision|visual|image|audio|speech|qformer|\bmit\.")
"""In the names of parameters of another tower than the text model; `mit` is X-CLIP's, of frames."""


@hinted("from_state_dict")
def from_state_dict(config: Config, state_dict: Mapping[str, Array]) -> tuple[Layer, ...]:
    """Read the encoding of each layer of a model and its parameters from a checkpoint.

    config      a path, the text of the file, or a dict, as in `read_config`
    state_dict  arrays by Hugging Face's parameter names, with any prefix (`swin.`, `model.`)

    The parameters have the names and shapes that the encoding's `init` returns and keep the
    library of their arrays; an encoding that learns nothing has none. Layers that share a table
    have the same array. Rows for class tokens and offsets of positions are those of the notes of
    `read_config`.

    >>> import numpy as np
    >>> config = {"model_type": "t5", "num_heads": 2, "num_layers": 3, "is_encoder_decoder": False,
    ...           "relative_attention_num_buckets": 4, "relative_attention_max_distance": 8}
    >>> name = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    >>> layers = from_state_dict(config, {name: np.arange(8.0).reshape(4, 2)})
    >>> encoding, params = layers[2]
    >>> encoding.bias(np.arange(3), np.arange(3), params)[0]
    array([[0., 6., 6.],
           [2., 0., 6.],
           [2., 2., 0.]])
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict must map names to arrays; got {type(state_dict).__name__}")
    model = read_config(config)
    if any(isinstance(layer, Learned) for layer in model.layers):
        return _take_tables(model, state_dict)
    places = _locate_parameters(config, model.model_type, model.layers)
    layers: list[Layer] = []
    for layer, names in zip(model.layers, places, strict=True):
        shapes = layer.parameters()
        params = {key: _take(state_dict, name, shapes[key].shape) for key, name in names.items()}
        layers.append((layer, params))
    return tuple(layers)


def _take_tables(model: ModelPositions, state_dict: Mapping[str, object]) -> tuple[Layer, ...]:
    """The learned tables that a model adds to its embeddings, one for each of its stacks."""
    parts = model.parts or ("",) * len(model.layers)
    params: dict[tuple[str, Encoding], dict[str, Array]] = {}
    for part, layer in dict.fromkeys(zip(parts, model.layers, strict=True)):
        shapes = {key: parameter.shape for key, parameter in layer.parameters().items()}
        params[part, layer] = {
            key: _check_shape(_find_table(state_dict, part, model.model_type), state_dict, shape)
            for key, shape in shapes.items()
        }
    return tuple(
        (layer, params[part, layer]) for part, layer in zip(parts, model.layers, strict=True)
    )


def _find_table(state_dict: Mapping[str, object], part: str, model_type: str) -> str:
    """The name of the table of a stack, or of the model that is read beside other towers."""
    names = [key for key in state_dict if f".{key}".endswith(TABLES)]
    if part:
        names = [name for name in names if _find_stack(name) == part]
    if len(names) > 1 and not part:
        seen = model_type in ABSOLUTE and ABSOLUTE[model_type].rows == "patches"
        names = [name for name in names if bool(TOWER.search(name)) == seen]
    if len(names) != 1:
        place = f"{part}.*." if part else ""
        wanted = " or ".join(f"{place}{table[1:]}" for table in TABLES)
        got = ", ".join(sorted(names)) or "none"
        raise ValueError(f"state_dict must hold one table of positions, {wanted}; got {got}")
    return names[0]


def _find_stack(name: str) -> str | None:
    """The stack that a parameter is in: a BERT within a decoder has an encoder too."""
    return next((word for word in name.split(".") if word in ("encoder", "decoder")), None)


def _locate_parameters(
    config: Config, model_type: str, layers: tuple[Encoding, ...]
) -> list[Names]:
    """The names of each layer's parameters in a checkpoint."""
    if model_type in SWIN:
        stages = enumerate(read_swin_stages(read_fields(config)))
        modules = [f"layers.{i}.blocks.{j}" for i, (depth, _) in stages for j in range(depth)]
    else:
        encoder = sum(isinstance(layer, T5Bias) and layer.bidirectional for layer in layers)
        stacks = [("encoder", i) for i in range(encoder)]
        stacks += [("decoder", i) for i in range(len(layers) - encoder)]
        shared = model_type != "umt5"
        # the * matches LongT5's LocalSelfAttention; T5 checkpoints also have an unused table in
        # EncDecAttention
        inside = "{}.block.{}.layer.0.*SelfAttention"
        if model_type == "pix2struct_text_model":  # a decoder, with or without that prefix
            inside = "layer.{1}.self_attention.attention"
        modules = [inside.format(stack, 0 if shared else i) for stack, i in stacks]
    return [_name_parameters(layer, module) for layer, module in zip(layers, modules, strict=True)]


def _name_parameters(encoding: Encoding, module: str) -> Names:
    match encoding:
        case T5Bias():
            return {"table": f"{module}.relative_attention_bias.weight"}
        case SwinBias():
            # attention.self before transformers 5, attention.relative_position_bias since
            return {"table": f"{module}.attention.*.relative_position_bias_table"}
        case SwinV2Bias():
            name = f"{module}.attention.self.continuous_position_bias_mlp"
            return {"w1": f"{name}.0.weight", "b1": f"{name}.0.bias", "w2": f"{name}.2.weight"}
        case _:
            return {}


def _take(state_dict: Mapping[str, object], name: str, shape: tuple[int, ...]) -> Array:
    """The one array whose name ends in `name`, if it has this shape."""
    keys = [key for key in state_dict if fnmatchcase(f".{key}", f"*.{name}")]
    if len(keys) != 1:
        got = ", ".join(sorted(keys)) or "none"
        raise ValueError(f"state_dict must hold one array whose name ends in {name}; got {got}")
    return _check_shape(keys[0], state_dict, shape)


def _check_shape(name: str, state_dict: Mapping[str, object], shape: tuple[int, ...]) -> Array:
    """The array of this name, if it has this shape."""
    value = state_dict[name]
    if not is_array(value):
        raise TypeError(f"{name} must be an array; got {type(value).__name__}")
    if tuple(value.shape) == (1, *shape):  # ViT's, of every image in a batch
        return value[0]
    if tuple(value.shape) != shape:
        raise ValueError(f"{name} must be {shape}; got shape {tuple(value.shape)}")
    return value
