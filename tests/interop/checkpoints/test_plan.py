"""The tensors of every rotary model type of transformers are found, or refused with a reason."""

import json
import warnings

import pytest

import posenc as pe
from posenc.core.encoding import unwrap
from posenc.interop.checkpoints.plan import plan_conversion
from posenc.interop.conventions import ROTARY, TOWERS
from tests.interop.checkpoints.models import MODELS

OTHER = {"halves": "interleaved", "interleaved": "halves"}
NOT_FOUND = {  # built by transformers with defaults, and still refused, with the reason
    "deepseek_v32", "deepseek_v4", "glm_moe_dsa", "axk2", "hy_v4", "jetmoe", "longcat_flash",
    "moonshine", "zaya",
    "csm", "hrm_text", "mimi",  # several stacks of layers
    "kyutai_speech_to_text", "moshi",  # projections of their own kind
    "zamba2", "granitemoehybrid",  # without rotation by default
    "bamba", "glm4_moe", "glm4v_moe_text",  # defaults that are no model
}  # fmt: skip


def shapes_of(name):
    """The config of a model type and the shapes of its tensors; None where there is no such."""
    import torch
    import transformers

    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            config = transformers.CONFIG_MAPPING[name]()
            state = transformers.AutoModel.from_config(config).state_dict()
    except Exception:  # no class of its own, or defaults that make no model
        return None
    values = json.loads(config.to_json_string(use_diff=False))
    return values, {key: tuple(value.shape) for key, value in state.items()}


@pytest.mark.conformance
def test_the_tensors_of_every_model_type_are_found_or_refused():
    found, refused = [], {}
    for name in ROTARY:
        if (made := shapes_of(name)) is None:
            continue
        config, shapes = made
        try:
            ropes = [unwrap(layer) for layer in pe.read_config(config).layers]
            pairing = next((r.pairing for r in ropes if hasattr(r, "pairing")), "halves")
            plan = plan_conversion(config, shapes, to=OTHER[pairing])
        except ValueError as error:
            refused[name] = str(error)
            continue
        assert {plan.places[key].layer for key in plan.rows} == plan.layers.keys(), name
        found.append(name)
    assert refused.keys() <= NOT_FOUND
    assert len(found) >= 115


def test_layers_that_predict_further_tokens_are_converted_too():
    model = MODELS["latent"]
    shapes = {key: value.shape for key, value in model.state(layers=3).items()}
    config = model.config | {"num_nextn_predict_layers": 1}
    assert sorted(plan_conversion(config, shapes, to="halves").layers) == [0, 1, 2]
    with pytest.raises(ValueError, match="must have the 2 layers of the config; it has a layer 2"):
        plan_conversion(model.config, shapes, to="halves")


def test_layers_without_keys_of_their_own():
    """Gemma 3n: the last layers use the keys of an earlier one."""
    model = MODELS["grouped heads"]
    shapes = {key: value.shape for key, value in model.state().items()}
    del shapes["model.layers.1.self_attn.k_proj.weight"]
    config = model.config | {"num_kv_shared_layers": 1}
    assert len(plan_conversion(config, shapes, to="interleaved").rows) == 3


@pytest.mark.parametrize("name", TOWERS)
def test_a_tower_is_not_converted(name):
    with pytest.raises(ValueError, match=f"^{name} cannot be converted: its tower has names"):
        plan_conversion({"model_type": name}, {}, to="interleaved")


def test_projections_under_a_name_that_is_not_known_are_a_sentence():
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 1}
    with pytest.raises(ValueError, match="layer 0 rotates, so the checkpoint must have its quer"):
        plan_conversion(config, {"model.layers.0.attn.c_attn.weight": (192, 64)}, to="interleaved")


def test_layers_counted_from_the_embedding_are_a_sentence():
    config = {"model_type": "mixformer-sequential", "n_layer": 1, "n_embd": 128, "n_head": 4}
    with pytest.raises(ValueError, match="its files count the embedding as layer 0"):
        plan_conversion(config, {"layers.1.mixer.Wqkv.weight": (384, 128)}, to="interleaved")


@pytest.mark.parametrize(
    ("fields", "rows"),
    [({"multi_query": True}, 48), ({"multi_query": False}, 96), ({}, 96), ({"n_head_kv": 2}, 64)],
)
def test_the_key_heads_of_refined_web(fields, rows):
    config = {"model_type": "RefinedWeb", "n_layer": 1, "hidden_size": 32, "n_head": 4}
    name = "transformer.h.0.self_attention.query_key_value.weight"
    found = plan_conversion(config | fields, {name: (rows, 32)}, to="interleaved").rows[name]
    assert found.count == rows


def test_chatglm_without_multi_query_attention_is_a_sentence():
    model = MODELS["fused, blocks of ChatGLM"]
    shapes = {key: value.shape for key, value in model.state().items()}
    config = model.config | {"multi_query_attention": False}
    with pytest.raises(ValueError, match="multi_query_attention must be true to convert a che"):
        plan_conversion(config, shapes, to="halves")
