"""Proof by the logits of models of transformers, of every layout that it has."""

import json
import warnings

import pytest
import torch

import posenc as pe
from posenc.core.encoding import unwrap
from posenc.interop.checkpoints.plan import plan_conversion
from posenc.interop.checkpoints.run_model import CannotRun, verify_model
from tests.interop.checkpoints.models import MODELS

OTHER = {"halves": "interleaved", "interleaved": "halves"}
SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 64,
         "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0,
         "bos_token_id": 0, "eos_token_id": 0}  # fmt: skip
GROUPED = SMALL | {"num_key_value_heads": 2}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8,
          "v_head_dim": 16, "first_k_dense_replace": 2, "num_key_value_heads": 4,
          "head_dim": 8}  # fmt: skip
TYPES = {
    "llama": GROUPED,
    "qwen2": GROUPED,
    "qwen3": GROUPED | {"head_dim": 16},
    "olmo2": GROUPED,
    "cohere": GROUPED,
    "gemma3_text": GROUPED | {"head_dim": 16},
    "stablelm": GROUPED,
    "phi3": GROUPED,
    "gpt_neox": SMALL,
    "persimmon": SMALL,
    "falcon": SMALL | {"num_kv_heads": 2, "new_decoder_architecture": True},
    "smollm3": GROUPED,
    "llama4_text": GROUPED | {"head_dim": 16, "num_local_experts": 2, "intermediate_size_mlp": 64},
    "deepseek_v3": SMALL | LATENT,
}  # fmt: skip


def build(name):
    """A config and weights that are not those of initialisation, so that everything matters."""
    import transformers

    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = transformers.CONFIG_MAPPING[name](**TYPES[name])
        model = transformers.AutoModel.from_config(config)
    values = json.loads(config.to_json_string(use_diff=False))
    state = {key: 0.2 * torch.randn(value.shape).double() for key, value in
             model.state_dict().items()}  # fmt: skip
    return values, {key: value.numpy() for key, value in state.items()}


def plan_of(config, state):
    ropes = [unwrap(layer) for layer in pe.read_config(config).layers]
    to = OTHER[next(rope.pairing for rope in ropes if hasattr(rope, "pairing"))]
    return plan_conversion(config, {key: value.shape for key, value in state.items()}, to=to)


@pytest.mark.parametrize("name", TYPES)
def test_the_model_has_the_same_logits(name):
    config, state = build(name)
    plan = plan_of(config, state)
    changed = pe.convert(state, config, to=plan.to)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proof = verify_model(config, state, changed, plan)
        assert proof.holds, proof
        key = next(iter(plan.rows))
        broken = verify_model(config, state, {**changed, key: state[key]}, plan)
    assert not broken.holds, broken


def test_a_model_that_cannot_be_run_says_why():
    model = MODELS["grouped heads"]
    state = model.state()
    plan = plan_of(model.config, state)
    with pytest.raises(CannotRun, match="parameters"):
        verify_model(model.config | {"intermediate_size": 10**9}, state, state, plan)


@pytest.mark.parametrize("name", ["llama", "deepseek_v3"])
def test_weights_that_are_converted_back_have_the_same_logits(name):
    """Then it is the new weights that the model's own code is for."""
    config, state = build(name)
    to = plan_of(config, state).to
    changed, shapes = pe.convert(state, config, to=to), {k: v.shape for k, v in state.items()}
    plan = plan_conversion(config, shapes, to=OTHER[to], pairing=to)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert verify_model(config, changed, state, plan).holds
        assert not verify_model(config, changed, changed, plan).holds
