"""Learned positions out of checkpoints; those of real models are in tests/conformance."""

import re

import numpy as np
import pytest

import posenc as pe
from tests.libraries import numpy_of

T5 = {"model_type": "t5", "num_heads": 2, "num_layers": 2, "num_decoder_layers": 3}
SWIN = {"model_type": "swin", "depths": [2, 1], "num_heads": [2, 4], "window_size": 3}
V2 = SWIN | {"model_type": "swinv2"}
UMT5 = T5 | {"model_type": "umt5"}
LONG = T5 | {"model_type": "longt5", "encoder_attention_type": "transient-global"}
PIX = {"model_type": "pix2struct", "text_config": T5 | {"model_type": "pix2struct_text_model"}}

MLP = "continuous_position_bias_mlp"
BLOCKS = ["layers.0.blocks.0", "layers.0.blocks.1", "layers.1.blocks.0"]
PLACES = {  # where each layer's parameters are
    "t5": (
        T5,
        [{"table": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}] * 2
        + [{"table": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}] * 3,
    ),
    "umt5": (
        UMT5,
        [
            {"table": f"{stack}.block.{i}.layer.0.SelfAttention.relative_attention_bias.weight"}
            for stack, count in (("encoder", 2), ("decoder", 3))
            for i in range(count)
        ],
    ),
    "longt5": (
        LONG,
        [
            {
                "table": "encoder.block.0.layer.0.TransientGlobalSelfAttention"
                ".relative_attention_bias.weight"
            }
        ]
        * 2
        + [{"table": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}] * 3,
    ),
    "pix2struct": (
        PIX,
        [{"table": "decoder.layer.0.self_attention.attention.relative_attention_bias.weight"}] * 2,
    ),
    "swin": (
        SWIN,
        [
            {"table": f"encoder.{b}.attention.relative_position_bias.relative_position_bias_table"}
            for b in BLOCKS
        ],
    ),
    "swin of transformers 4": (
        SWIN,
        [{"table": f"encoder.{b}.attention.self.relative_position_bias_table"} for b in BLOCKS],
    ),
    "swinv2": (
        V2,
        [
            {
                "w1": f"encoder.{b}.attention.self.{MLP}.0.weight",
                "b1": f"encoder.{b}.attention.self.{MLP}.0.bias",
                "w2": f"encoder.{b}.attention.self.{MLP}.2.weight",
            }
            for b in BLOCKS
        ],
    ),
}
BESIDE = (  # what stands in real checkpoints too, and is not meant
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
    "encoder.block.0.layer.0.TransientGlobalSelfAttention.global_relative_attention_bias.weight",
    "encoder.block.10.layer.0.SelfAttention.relative_attention_bias.weight",
    "encoder.layers.0.blocks.10.attention.self.relative_position_bias_table",
    "encoder.layers.0.blocks.0.attention.self.relative_position_index",
    "encoder.layers.0.blocks.0.attention.self.logit_scale",
)


def checkpoint(config, places, prefix=""):
    """Arrays as the encodings would draw them, under these names."""
    rng, found = np.random.default_rng(0), {prefix + name: np.zeros(1) for name in BESIDE}
    for encoding, names in zip(pe.read_config(config).layers, places, strict=True):
        drawn = encoding.init(rng)
        assert drawn.keys() == names.keys()
        found |= {prefix + name: drawn[param] for param, name in names.items()}
    return found


@pytest.mark.parametrize("prefix", ["", "swin.", "module.model."])
@pytest.mark.parametrize("name", PLACES)
def test_parameters_are_found_under_their_names(name, prefix):
    config, places = PLACES[name]
    state_dict = checkpoint(config, places, prefix)
    layers = pe.from_state_dict(config, state_dict)
    assert tuple(encoding for encoding, _ in layers) == pe.read_config(config).layers
    for (_, params), names in zip(layers, places, strict=True):
        assert params.keys() == names.keys()
        for param, where in names.items():
            assert params[param] is state_dict[prefix + where]


def test_arrays_stay_in_their_library(xp):
    config, places = PLACES["swin"]
    plain = checkpoint(config, places)
    given = {name: xp.array(value) for name, value in plain.items()}
    (encoding, params), *_ = pe.from_state_dict(config, given)
    assert type(params["table"]) is type(xp.array(np.zeros(1)))
    points = pe.grid(3, 3)
    expected = encoding.bias(points, points, pe.from_state_dict(config, plain)[0][1])
    ours = encoding.bias(xp.array(points), xp.array(points), params)
    assert np.array_equal(numpy_of(ours), expected)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "bloom", "n_head": 8, "n_layer": 2},
        {"model_type": "mpt", "n_heads": 8, "n_layers": 2},
        {"model_type": "falcon", "alibi": True},
        {"model_type": "llama"},
        {"model_type": "jamba", "num_hidden_layers": 2},
    ],
    ids=lambda config: config["model_type"],
)
def test_what_learns_nothing_has_no_parameters(config):
    layers = pe.from_state_dict(config, {"lm_head.weight": np.zeros(2)})
    assert layers == tuple((encoding, {}) for encoding in pe.read_config(config).layers)


def test_a_model_without_its_decoder():
    config, places = PLACES["t5"]
    half = {k: v for k, v in checkpoint(config, places).items() if k.startswith("encoder")}
    with pytest.raises(ValueError, match="ends in decoder"):
        pe.from_state_dict(config, half)
    assert len(pe.from_state_dict(config | {"is_encoder_decoder": False}, half)) == 2


GPT2 = {"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 2, "n_positions": 16}
BERT = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2,
        "max_position_embeddings": 16}  # fmt: skip
VIT = {"model_type": "vit", "hidden_size": 8, "num_hidden_layers": 2, "image_size": 8,
       "patch_size": 2}  # fmt: skip
BART = {"model_type": "bart", "d_model": 8, "encoder_layers": 1, "decoder_layers": 2,
        "max_position_embeddings": 14}  # fmt: skip
WHISPER = {"model_type": "whisper", "d_model": 8, "encoder_layers": 1, "decoder_layers": 1,
           "max_source_positions": 20, "max_target_positions": 16}  # fmt: skip


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.model."])
@pytest.mark.parametrize(
    ("config", "name"),
    [(GPT2, "wpe.weight"), (BERT, "embeddings.position_embeddings.weight"),
     (VIT, "embeddings.position_embeddings")],
    ids=["gpt2", "bert", "vit"],
)  # fmt: skip
def test_learned_tables(config, name, prefix):
    layer = pe.read_config(config).layers[0]
    table = np.random.default_rng(0).normal(size=(layer.length, 8))
    given = table[None] if config is VIT else table
    for encoding, params in pe.from_state_dict(config, {prefix + name: given}):
        assert encoding == layer
        assert np.array_equal(encoding.encode([3], params)[0], table[3])


def test_each_stack_has_its_table():
    tables = [np.full((16, 8), 1.0), np.full((16, 8), 2.0)]
    names = [f"model.{stack}.embed_positions.weight" for stack in ("encoder", "decoder")]
    layers = pe.from_state_dict(BART, dict(zip(names, tables, strict=True)))
    assert [params["table"][0, 0] for _, params in layers] == [1, 2, 2]
    sines = np.zeros((20, 8))
    first, second = pe.from_state_dict(WHISPER, {names[0]: sines, names[1]: tables[1]})
    assert first[1] == {}
    assert second[1]["table"] is tables[1]


TABLE = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
ERRORS = [
    (T5, {}, "state_dict must hold one array whose name ends in "
     "encoder.block.0.layer.0.*SelfAttention.relative_attention_bias.weight; got none"),
    (T5, {f"a.{TABLE}": np.zeros((32, 2)), f"b.{TABLE}": np.zeros((32, 2))},
     f"relative_attention_bias.weight; got a.{TABLE}, b.{TABLE}"),
    (T5, {TABLE: np.zeros((2, 32))}, f"{TABLE} must be (32, 2); got shape (2, 32)"),
    (T5, {TABLE: [[0.0]]}, f"{TABLE} must be an array; got list"),
    (SWIN, {}, "ends in layers.0.blocks.0.attention.*.relative_position_bias_table; got none"),
    (V2, {}, f"ends in layers.0.blocks.0.attention.self.{MLP}.0.weight; got none"),
    (GPT2, {}, "state_dict must hold one table of positions, wpe.weight or positions_embed.weight"),
    (GPT2, {"wpe.weight": np.zeros((8, 16))}, "wpe.weight must be (16, 8); got shape (8, 16)"),
    (GPT2, {"wpe.weight": np.zeros((16, 8)), "embed_positions.weight": np.zeros((16, 8))},
     "got embed_positions.weight, wpe.weight"),
    (T5, [TABLE], "state_dict must map names to arrays; got list"),
    (T5, None, "state_dict must map names to arrays; got NoneType"),
    ({"model_type": "t6"}, {}, "model_type must be a known one"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "state_dict", "message"), ERRORS)
def test_errors_name_the_key_and_the_rule(config, state_dict, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        pe.from_state_dict(config, state_dict)


@pytest.mark.parametrize(
    ("name", "table"),
    [("xlm", "position_embeddings.weight"), ("mgp-str", "mgp_str.embeddings.pos_embed")],
)
def test_tables_of_other_names(name, table):
    config = {"model_type": name, "hidden_size": 8, "emb_dim": 8, "image_size": [8, 8]}
    config |= {"num_hidden_layers": 1, "max_position_embeddings": 5, "patch_size": 4}
    encoding = pe.read_config(config).layers[0]
    weights = np.arange(8.0 * encoding.length).reshape(-1, 8)
    [(_, params)] = pe.from_state_dict(config, {table: weights})
    assert np.array_equal(params["table"], weights)


TOWERS = {
    "git.embeddings.position_embeddings.weight": np.zeros((32, 8)),
    "git.image_encoder.vision_model.embeddings.position_embedding.weight": np.ones((5, 8)),
}
GIT = {"model_type": "git", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}


def test_the_table_of_the_text_is_told_from_those_of_other_towers():
    config = GIT | {"max_position_embeddings": 32}
    layers = pe.from_state_dict(config, TOWERS)
    assert [params["table"].shape for _, params in layers] == [(32, 8)] * 2
    vision = {"model_type": "git_vision_model", "hidden_size": 8, "num_hidden_layers": 1}
    vision |= {"num_attention_heads": 2, "image_size": 4, "patch_size": 2}
    ((_, params),) = pe.from_state_dict(vision, TOWERS)
    assert params["table"].shape == (5, 8)
    twice = TOWERS | {"other.embeddings.position_embeddings.weight": np.zeros((32, 8))}
    with pytest.raises(ValueError, match=r"must hold one table of positions, .*; got git\."):
        pe.from_state_dict(config, twice)


def test_a_stack_within_a_stack_belongs_to_the_outer_one():
    bert = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1}
    bert |= {"num_attention_heads": 2}
    config = {"model_type": "encoder-decoder"}
    config |= {"encoder": bert | {"max_position_embeddings": 4}}
    config |= {"decoder": bert | {"max_position_embeddings": 6}}
    state = {
        "encoder.embeddings.position_embeddings.weight": np.zeros((4, 8)),
        "decoder.bert.encoder.embeddings.position_embeddings.weight": np.zeros((6, 8)),
    }
    shapes = [params["table"].shape for _, params in pe.from_state_dict(config, state)]
    assert shapes == [(4, 8), (6, 8)]
