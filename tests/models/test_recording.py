"""What happens inside a model, recorded."""

import torch

import posenc as pe
from posenc.models.recording import record
from posenc.models.swap import find_record
from tests.models.architectures import build

TOKENS = torch.arange(3, 8)[None]


def test_rotations_and_attention_are_recorded_by_layer_and_nothing_stays():
    from transformers import AttentionInterface
    from transformers.models.llama import modeling_llama

    model = pe.models.swap(build("llama"), pe.ALiBi(4))
    before = modeling_llama.apply_rotary_pos_emb, AttentionInterface()["posenc"]
    with torch.no_grad(), record(find_record(model).anatomy) as seen:
        model(TOKENS)
        assert modeling_llama.apply_rotary_pos_emb is not before[0]
    assert before == (modeling_llama.apply_rotary_pos_emb, AttentionInterface()["posenc"])
    assert [*seen.rotations] == [*seen.attention] == [0, 1]
    (q, q_out), (k, k_out), *ours = seen.rotations[1]
    assert torch.equal(q, q_out)  # cos 1 and sin 0
    assert torch.equal(k, k_out)
    assert [pair[0] is pair[1] for pair in ours] == [True, True]
    (call,) = seen.attention[1]
    assert call.query.shape == (1, 4, 5, 8)
    assert call.causal
    assert call.out.shape == (1, 5, 4, 8)
    assert not model.model.layers[0].self_attn._forward_pre_hooks.keys() - {
        key
        for key, hook in model.model.layers[0].self_attn._forward_pre_hooks.items()
        if hook.__name__ == "hand_over"
    }


def test_a_function_of_one_tensor_is_recorded_for_each():
    model = pe.models.swap(build("gptj"), pe.RoPE(8, rotary_dim=4))
    with torch.no_grad(), record(find_record(model).anatomy) as seen:
        model(TOKENS)
    assert [len(seen.rotations[layer]) for layer in (0, 1)] == [2, 2]
    assert not seen.attention
