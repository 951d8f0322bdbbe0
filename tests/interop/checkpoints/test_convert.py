"""Converted weights give the logits of the old ones, and the known mistakes do not."""

import re

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.core.encoding import unwrap
from posenc.interop.checkpoints.rows import Rows
from tests.interop.checkpoints.models import MODELS, config

OTHER = {"halves": "interleaved", "interleaved": "halves"}


def pairing_of(model):
    return unwrap(pe.read_config(model.config).layers[0]).pairing


def error(model, state, changed):
    """The largest difference of the logits of both layers."""
    old = pairing_of(model)
    differences = [
        np.abs(model.logits(state, old, i) - model.logits(changed, OTHER[old], i)).max()
        for i in (0, 1)
    ]
    return max(differences)


@pytest.mark.parametrize("name", MODELS)
def test_the_logits_stay(name):
    model = MODELS[name]
    state, old = model.state(), pairing_of(model)
    changed = pe.convert(state, model.config, to=OTHER[old])
    assert changed.keys() == state.keys()
    assert error(model, state, changed) < 1e-10
    assert error(model, state, state) > 1e-2  # the weights as they are, with the other pairing
    back = pe.convert(changed, model.config, to=old, pairing=OTHER[old])
    assert all(np.array_equal(back[key], state[key]) for key in state)


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_that_changes_matters(name):
    """Biases forgotten, norms forgotten, keys forgotten: each shows in the logits."""
    model = MODELS[name]
    state, old = model.state(), pairing_of(model)
    changed = pe.convert(state, model.config, to=OTHER[old])
    moved = [key for key in state if changed[key] is not state[key]]
    assert moved
    for key in moved:
        assert error(model, state, {**changed, key: state[key]}) > 1e-3, key


def test_keys_have_their_own_number_of_heads():
    """llama.cpp#3364: the rows of keys reordered as if there were as many heads as of queries."""
    model = MODELS["grouped heads"]
    state = model.state()
    changed = pe.convert(state, model.config, to="interleaved")
    wrong = Rows(16, (0, 4, 8, 12), 4).index("interleaved")  # 16 rows as 4 heads
    for i in (0, 1):
        key = f"model.layers.{i}.self_attn.k_proj.weight"
        changed[key] = state[key][wrong]
    assert error(model, state, changed) > 1e-2


def test_the_biases_of_values_stay():
    model = MODELS["biases"]
    state = model.state()
    changed = pe.convert(state, model.config, to="interleaved")
    for key, value in state.items():
        assert (changed[key] is value) == ("v_proj" in key)


def test_layers_that_do_not_rotate_stay():
    model, state = MODELS["grouped heads"], MODELS["grouped heads"].state()
    mixed = config("smollm3", model.sizes, no_rope_layers=[1, 0])
    changed = pe.convert(state, mixed, to="interleaved")
    assert {key.split(".")[2] for key in state if changed[key] is not state[key]} == {"0"}


def test_tensors_of_torch_stay_tensors_of_their_dtype():
    model = MODELS["head norms"]
    state = {key: torch.tensor(value).bfloat16() for key, value in model.state().items()}
    changed = pe.convert(state, model.config, to="interleaved")
    plain = {key: value.float().numpy() for key, value in state.items()}
    expected = pe.convert(plain, model.config, to="interleaved")
    for key, value in changed.items():
        assert value.dtype == torch.bfloat16
        assert np.array_equal(value.float().numpy(), expected[key])


def test_norms_of_each_head_in_two_dimensions():
    """Cohere's: (heads, channels), each head with its own."""
    model = MODELS["interleaved"]
    extra = {f"model.layers.{i}.self_attn.q_norm.weight": np.arange(32.0).reshape(4, 8)
             for i in (0, 1)}  # fmt: skip
    changed = pe.convert(model.state() | extra, model.config, to="halves")
    found = changed["model.layers.1.self_attn.q_norm.weight"]
    assert found[1].tolist() == [8, 10, 12, 14, 9, 11, 13, 15]


def test_the_tower_of_images_stays():
    model, state = MODELS["grouped heads"], MODELS["grouped heads"].state()
    tower = {key.replace("model.layers", "vision_tower.layers"): v for key, v in state.items()}
    changed = pe.convert(state | tower, model.config, to="interleaved")
    assert all(changed[key] is value for key, value in tower.items())


Q, K = (f"model.layers.1.self_attn.{n}_proj.weight" for n in "qk")
LLAMA = MODELS["grouped heads"]
ERRORS = [
    (LLAMA.config, {Q: None}, "layer 1 rotates, so the checkpoint must have its queries as "
     "q_proj.weight; got none"),
    (LLAMA.config, {K: None}, "must have its keys as k_proj.weight; got none"),
    (LLAMA.config, {K: np.zeros((32, 24))}, f"{K} must have 16 rows, as the config says; got shape "
     "(32, 24)"),
    (LLAMA.config, {Q: np.zeros(())}, f"{Q} must have 32 rows, as the config says; got shape ()"),
    (LLAMA.config | {"num_key_value_heads": 3}, {}, "num_key_value_heads must divide the 4 heads"),
    (LLAMA.config | {"num_hidden_layers": 1}, {}, "the checkpoint must have the 1 layers of the "
     "config; it has a layer 1, which would not be converted"),
    (LLAMA.config | {"num_nextn_predict_layers": 10**12}, {},
     "num_nextn_predict_layers must be a whole number of at least 0 and at most 10,000"),
    (LLAMA.config, {Q.replace("weight", "qweight"): np.zeros((8, 8))}, "quantized weights and"),
    (LLAMA.config, {Q.replace("q_proj", "q_norm"): np.zeros(9)}, "must have 8 or 32 numbers"),
    (LLAMA.config, {K.replace("k_proj", "v_proj"): None}, "its keys are its values"),
    (LLAMA.config, {"decoder.layers.0.self_attn.q_proj.weight": np.zeros((32, 24))},
     "one stack of layers that rotates; got decoder.layers, model.layers"),
    (LLAMA.config, {"a": [1]}, "a must be an array; got list"),
    ({"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_positions": 4}, {},
     "config must be of a model that rotates; gpt2 does not"),
    ({"model_type": "zaya"}, {}, "zaya cannot be converted: convolutions mix"),
    (LLAMA.config | {"model_type": "cohere"}, {}, "are in interleaved already"),
    (LLAMA.config | {"model_type": "mine"}, {}, "model_type must be a known one"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "changes", "message"), ERRORS)
def test_errors_say_what_is_wrong(config, changes, message):
    state = {k: v for k, v in (LLAMA.state() | changes).items() if v is not None}
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        pe.convert(state, config, to="interleaved")


def test_wrong_arguments():
    with pytest.raises(ValueError, match="to must be"):
        pe.convert(LLAMA.state(), LLAMA.config, to="adjacent")
    with pytest.raises(TypeError, match="state must map names to arrays; got list"):
        pe.convert([], LLAMA.config, to="halves")
    with pytest.raises(ValueError, match="are in interleaved already"):
        pe.convert(LLAMA.state(), LLAMA.config, to="interleaved", pairing="interleaved")


def test_a_scale_of_the_whole_tensor_stays():
    scale = {Q + "_scale": np.ones(())}
    changed = pe.convert(LLAMA.state() | scale, LLAMA.config, to="interleaved")
    assert changed[Q + "_scale"] is scale[Q + "_scale"]


def test_a_file_that_states_the_pairing_is_converted_back():
    """DeepSeek-V3's config has rope_interleave, which says nothing of converted weights."""
    model = MODELS[
        next(name for name in MODELS if MODELS[name].config["model_type"] == "deepseek_v3")
    ]
    config, state = model.config | {"rope_interleave": True}, model.state()
    new = pe.convert(state, config, to="halves")
    assert any(not np.array_equal(new[name], state[name]) for name in state)
    back = pe.convert(new, config, to="interleaved", pairing="halves")
    assert all(np.array_equal(back[name], state[name]) for name in state)
