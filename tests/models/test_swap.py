"""Encodings swapped into models of transformers, and undone."""

import copy
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import posenc as pe
from tests.models.architectures import build
from tests.models.nearness import bound_logits, swap_own
from tests.oracles import llama as oracle

TOKENS = torch.arange(3, 3 + 12)[None]


def run(model, tokens=TOKENS, **options):
    with torch.no_grad():
        return model(tokens, **options).logits


@pytest.fixture(scope="module")
def llama():
    return build("llama")


def same(model, truth, relative=2e-5):
    """Whether logits of TOKENS are those of the oracle, to float32 sums of a few dozen terms."""
    return np.abs(run(model)[0].numpy() - truth).max() <= relative * np.abs(truth).max()


@pytest.mark.parametrize("name", ["llama", "gemma3_text", "cohere", "deepseek_v3", "qwen2_vl"])
def test_what_a_model_has_gives_the_same_logits(name):
    model = build(name)
    before = run(model)
    bound = bound_logits(swap_own(model), run, TOKENS.shape[1])
    assert (run(model) - before).abs().max() <= bound < 1e-2 * before.abs().max()
    pe.models.restore(model)
    assert torch.equal(run(model), before)


def test_a_rotation_is_that_of_the_oracle(llama):
    truth = oracle.logits(llama, TOKENS[0].numpy(), base=500.0)
    model = pe.models.swap(copy.deepcopy(llama), pe.RoPE(8, base=500.0))
    assert same(model, truth)
    assert not same(pe.models.swap(model, pe.RoPE(8, base=501.0)), truth)


def test_pairs_are_those_of_the_model_whatever_the_pairing(llama):
    models = (
        pe.models.swap(copy.deepcopy(llama), pe.RoPE(8, base=500.0, pairing=pairing))
        for pairing in ("halves", "interleaved")
    )
    assert torch.equal(*map(run, models))


def test_alibi_is_that_of_the_oracle(llama):
    truth = oracle.logits(llama, TOKENS[0].numpy(), bias=oracle.alibi(4, np.arange(12)))
    model = pe.models.swap(copy.deepcopy(llama), pe.ALiBi(4))
    assert same(model, truth)
    assert not same(pe.models.swap(model, pe.NoPE()), truth)


def test_alibi_in_a_window_is_that_of_the_oracle():
    model = build("mistral")
    bias = oracle.alibi(4, np.arange(12))
    truth = oracle.logits(model, TOKENS[0].numpy(), bias=bias, window=6)
    pe.models.swap(model, pe.ALiBi(4))
    assert same(model, truth)
    assert not same(model, oracle.logits(model, TOKENS[0].numpy(), bias=bias))


def test_nothing_is_that_of_the_oracle(llama):
    model = pe.models.swap(copy.deepcopy(llama), pe.NoPE())
    assert same(model, oracle.logits(llama, TOKENS[0].numpy()))


def test_a_users_own_bias():
    class Recent(pe.Bias):
        heads = 4

        def bias(self, q_pos, k_pos, params=None):
            return -0.5 * abs(q_pos[..., None, :, None] - k_pos[..., None, None, :])

    model = build("llama")
    at = np.arange(12)
    bias = np.broadcast_to(-0.5 * abs(at[:, None] - at), (4, 12, 12))
    truth = oracle.logits(model, TOKENS[0].numpy(), bias=bias)
    assert same(pe.models.swap(model, Recent()), truth)


@pytest.mark.parametrize("encoding", [pe.RoPE(8), pe.ALiBi(4), pe.FIRE(4)], ids=str)
def test_generation_with_padding_on_the_left(llama, encoding):
    model = pe.models.swap(copy.deepcopy(llama), encoding)
    options = {"max_new_tokens": 5, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    alone = model.generate(TOKENS, **options)
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.int64), TOKENS], dim=1)
    batch = torch.cat([padded, padded.flip(1)])
    mask = torch.ones_like(batch)
    mask[0, :3] = 0
    made = model.generate(batch, attention_mask=mask, **options)
    assert torch.equal(made[:1, 3:], alone)
    whole = run(model, alone)  # and without a cache
    assert torch.equal(whole[0, 11:-1].argmax(-1), alone[0, 12:])


def test_what_is_learned_is_shared_trained_saved_and_loaded(llama, tmp_path):
    model = pe.models.swap(copy.deepcopy(llama), pe.KERPLE(4))
    learned = [name for name, _ in model.named_parameters() if "encodings" in name]
    assert learned
    assert all(name.startswith("model.rotary_emb.encodings.0.params.") for name in learned)
    run_loss = lambda: model(TOKENS, use_cache=False).logits.square().mean()  # noqa: E731
    run_loss().backward()
    grads = {name: p.grad.clone() for name, p in model.named_parameters()}
    assert all(grads[name].abs().max() > 0 for name in learned)
    model.zero_grad()
    model.train()
    model.gradient_checkpointing_enable()
    run_loss().backward()
    for name, p in model.named_parameters():
        assert torch.allclose(p.grad, grads[name], atol=1e-6), name
    model.eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.01 * p.grad)
    model.save_pretrained(tmp_path)
    again = pe.models.swap(type(model).from_pretrained(tmp_path), pe.KERPLE(4))
    again.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(run(again), run(model))


def test_a_second_swap_replaces_the_first_and_undo_gives_the_model_back(llama):
    model = copy.deepcopy(llama)
    state, modules = model.state_dict(), [*model.named_modules()]
    for encoding in (pe.ALiBi(4), pe.FIRE(4), pe.RoPE(8, base=2.0), pe.T5Bias(4)):
        assert pe.models.swap(model, encoding) is model
    assert model.config._attn_implementation == "posenc"
    assert pe.models.restore(model) is model
    assert model.config._attn_implementation == llama.config._attn_implementation
    assert [*model.named_modules()] == modules
    assert model.state_dict().keys() == state.keys()
    assert torch.equal(run(model), run(llama))
    assert all(not layer.self_attn._forward_pre_hooks for layer in model.model.layers)
    with pytest.raises(ValueError, match="model must have been swapped before"):
        pe.models.restore(model)


def test_a_swap_that_is_refused_leaves_the_model_as_it_was(llama):
    model = pe.models.swap(copy.deepcopy(llama), pe.ALiBi(4))
    before = run(model)
    with pytest.raises(ValueError, match="turn 4 pairs"):
        pe.models.swap(model, pe.RoPE(128))
    assert torch.equal(run(model), before)


def test_copies_and_pickles_are_models_of_their_own(llama):
    model = pe.models.swap(copy.deepcopy(llama), pe.FIRE(4))
    before = run(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(run(other), before)
        with torch.no_grad():
            for p in other.model.rotary_emb.parameters():
                p.add_(1)
        assert not torch.equal(run(other), before)
        pe.models.restore(other)
    assert torch.equal(run(model), before)


def test_a_cast_of_the_model_does_not_round_its_angles(llama):
    model = pe.models.swap(copy.deepcopy(llama), pe.RoPE(8)).to(torch.bfloat16)
    cos, _ = model.model.rotary_emb(torch.zeros(1), torch.tensor([[1_000_003]]))
    truth = np.cos(1_000_003 * 10_000.0 ** (-np.arange(4) / 4))
    assert np.abs(cos[0, 0, :4].numpy() - truth).max() < 1e-6


def test_a_table_that_attention_stores():
    model = build("gptj")
    before, table = run(model), model.transformer.h[0].attn.embed_positions
    bound = bound_logits(swap_own(model), run, TOKENS.shape[1])
    assert (run(model) - before).abs().max() <= bound < 1e-2 * before.abs().max()
    pe.models.swap(model, pe.NoPE())
    assert (run(model) - before).abs().max() > 0.1
    pe.models.restore(model)
    assert torch.equal(run(model), before)
    assert model.transformer.h[0].attn.embed_positions is table


def test_what_is_not_a_model_is_refused():
    with pytest.raises(TypeError, match="model must be a PreTrainedModel; got Linear"):
        pe.models.swap(torch.nn.Linear(2, 2), pe.RoPE(8))
    for function in (pe.models.restore, pe.models.verify):
        with pytest.raises(TypeError, match="model must be a PreTrainedModel; got NoneType"):
            function(None)
