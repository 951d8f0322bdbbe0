"""Fields that real files have and that were once refused or misread."""

import re

import pytest

import posenc as pe
from tests.interop import real_files
from tests.interop.configs import HALVES, LLAMA, model, without

HARMLESS = {
    "GPT-J": (
        {"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2, "rotary_dim": 8}
        | {"rotary": True, "n_positions": 2048},
        pe.RoPE(16, rotary_dim=8),
    ),
    "Command-R7B": (
        model("cohere2", 3, position_embedding_type="rope_gptj", rope_theta=5e4),
        pe.RoPE(16, base=5e4),
    ),
    "Command-R": (
        model("cohere", position_embedding_type="rope_gptj", rope_theta=8e6),
        pe.RoPE(16, base=8e6),
    ),
    "Granite-4.0-H": (
        model("granitemoehybrid", position_embedding_type="nope", rope_theta=1e4),
        pe.NoPE(),
    ),
    "nomic-embed-v1.5": (
        without(model("nomic_bert"), "max_position_embeddings")
        | {"rotary_emb_fraction": 0.5, "rotary_emb_interleaved": False, "rotary_emb_base": 1000}
        | {"n_positions": 8192, "max_position_embeddings": 2048, "rotary_emb_scale_base": None},
        pe.RoPE(16, base=1000, rotary_dim=8, **HALVES),
    ),
    "Hunyuan-7B": (
        model("hunyuan_v1_dense", use_rotary_pos_emb=True, position_embedding_xdrope=False),
        pe.RoPE(16, **HALVES),
    ),
    "Bamba-9B": (
        model("bamba", 1, attn_layer_indices=[0], attn_rotary_emb=8),
        pe.RoPE(16, rotary_dim=8, **HALVES),
    ),
    "YaRN without the length before": (
        LLAMA | {"rope_scaling": {"type": "yarn", "factor": 4.0}},
        pe.RoPE(16, scaling=pe.YaRN(4.0, 4096), **HALVES),
    ),
    "CLIP without sizes": (
        {"model_type": "clip", "text_config": {"projection_dim": 512}},
        pe.Learned(77, 512),
    ),
    "DBRX": (
        {"model_type": "dbrx", "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128}
        | {"attn_config": {"kv_n_heads": 2, "rope_theta": 500_000}},
        pe.RoPE(16, base=5e5, **HALVES),
    ),
    "Kimi-K2": (
        model("kimi_k2", rope_theta=5e4, kv_lora_rank=512, qk_nope_head_dim=128)
        | {"qk_rope_head_dim": 64},
        pe.RoPE(192, base=5e4, rotary_dim=64, rotated="trailing"),
    ),
    "ChatGLM3": (
        {"model_type": "chatglm", "hidden_size": 64, "num_attention_heads": 4, "num_layers": 2}
        | {"kv_channels": 16, "seq_length": 8192, "original_rope": True, "rope_ratio": 1},
        pe.RoPE(16, rotary_dim=8),
    ),
    "InternLM2": (model("internlm2", rope_theta=1e6), pe.RoPE(16, base=1e6, **HALVES)),
    "Baichuan2-7B": (model("baichuan", model_max_length=4096), pe.RoPE(16, **HALVES)),
    "Baichuan2-13B": (
        {"model_type": "baichuan", "hidden_size": 64, "num_attention_heads": 4}
        | {"num_hidden_layers": 2, "model_max_length": 4096},
        pe.ALiBi(4),
    ),
    "XVERSE-13B": (model("xverse"), pe.RoPE(16, **HALVES)),
    "Yi-6B": (model("Yi"), pe.RoPE(16, base=5e6, **HALVES)),
    "Aquila-7B": (model("aquila"), pe.RoPE(16, **HALVES)),
    "Orion-14B": (model("orion", rope_theta=1e4), pe.RoPE(16, **HALVES)),
    "DeepSeek-MoE-16B": (model("deepseek", rope_theta=1e4), pe.RoPE(16, **HALVES)),
    "StableLM-3B-4E1T": (
        model("stablelm_epoch", rope_pct=0.25, rope_theta=1e4),
        pe.RoPE(16, rotary_dim=4, **HALVES),
    ),
    "Phi-1.5": (
        {"model_type": "phi-msft", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 2048}
        | {"rotary_dim": 8},
        pe.RoPE(16, rotary_dim=8, **HALVES),
    ),
    "Falcon-7B of 2023": (
        {"model_type": "RefinedWebModel", "hidden_size": 64, "n_head": 4, "n_layer": 2}
        | {"alibi": False},
        pe.RoPE(16, **HALVES),
    ),
    "Falcon-RW-1B of 2023": (
        {"model_type": "RefinedWeb", "hidden_size": 64, "n_head": 4, "n_layer": 2, "alibi": True},
        pe.ALiBi.falcon(4, 16),
    ),
    "Qwen-7B": (
        model("qwen", kv_channels=16, rotary_emb_base=1e4, use_dynamic_ntk=False)
        | {"use_logn_attn": False},
        pe.RoPE(16, **HALVES),
    ),
    "TrOCR": (
        {"model_type": "trocr", "d_model": 64, "decoder_layers": 2, "decoder_attention_heads": 4}
        | {"max_position_embeddings": 512},
        pe.Learned(514, 64),
    ),
    "Zamba": (model("zamba"), pe.NoPE()),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_is_read(name):
    config, expected = HARMLESS[name]
    assert pe.from_config(config) == expected


REAL = real_files.ROTARY | real_files.OTHERS


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_is_read(name):
    config, expected = REAL[name]
    layers = pe.read_config(config).layers
    if not isinstance(expected, dict):
        assert set(layers) == {expected}
        return
    assert {i: layers[i] for i in expected} == expected
    assert len(layers) == sum(_count_layers(part) for part in _stacks(config))


def _stacks(config):
    stacks = [config[name] for name in ("encoder", "decoder") if name in config]
    return stacks or [config.get("text_config", config)]


def _count_layers(config):
    depths = config.get("depths")
    return sum(depths) if depths else config.get("num_hidden_layers") or config["decoder_layers"]


@pytest.mark.parametrize("name", real_files.REFUSED)
def test_a_real_file_is_refused_by_what_it_has(name):
    config, words = real_files.REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(words)):
        pe.read_config(config)


def test_the_advice_of_the_error_does_not_lead_astray():
    kimi, expected = real_files.ROTARY["Kimi-K2"]
    assert pe.from_config(kimi | {"model_type": "mine"}, pairing="interleaved") == expected
    dino, _ = real_files.ROTARY["DINOv3-ViT-L"]
    with pytest.raises(ValueError, match="patches of an image have two axes"):
        pe.from_config(dino | {"model_type": "mine"}, pairing="halves")
    local = model("mine", rope_theta=1e6, rope_local_base_freq=1e4)
    with pytest.raises(ValueError, match="rope_local_base_freq must be a field that 'mine' has"):
        pe.from_config(local, pairing="halves")


def test_a_message_quotes_little_of_a_large_value():
    with pytest.raises(ValueError, match=r"rope_mine=\[1, 1") as raised:
        pe.read_config(LLAMA | {"rope_mine": [1] * 10**5})
    assert len(str(raised.value)) < 400


def test_what_was_assumed_is_noted():
    yarn = pe.read_config(HARMLESS["YaRN without the length before"][0])
    assert any("4,096, the length of the model, is used" in note for note in yarn.notes)
    nomic = pe.read_config(HARMLESS["nomic-embed-v1.5"][0])
    assert nomic.trained_length == 2048
    assert any("the file also has n_positions=8192" in note for note in nomic.notes)
    real = pe.read_config(real_files.ROTARY["nomic-embed-v1.5"][0])
    assert real.trained_length == 2048
    assert any("max_trained_positions is the length that is used" in note for note in real.notes)
    hy = pe.read_config(model("hy_v4"))
    assert any("measures interleaved as right" in note for note in hy.notes)


@pytest.mark.parametrize(("value", "tuned"), [(4, True), (True, True), (0, False), (False, False)])
def test_llama_4_scout_writes_4_for_true(value, tuned):
    config = model("llama4_text", 4, attn_temperature_tuning=value)
    assert isinstance(pe.from_config(config, layer=3), pe.Tempered) is tuned
    with pytest.raises(ValueError, match="attn_temperature_tuning must be a whole number"):
        pe.read_config(config | {"attn_temperature_tuning": -1})


def test_beam_tempers_its_layers_without_rotation():
    still = pe.from_config(model("beam", 6), layer=5)
    assert still == pe.Tempered(pe.NoPE(), pe.PowerTemperature(2048.0, 0.1))
    assert isinstance(pe.from_config(model("beam", 6), layer=0), pe.RoPE)


def test_minimax_text_01_lists_its_layers_as_zeros_and_ones():
    config = model("minimax_text_01", 3, attn_type_list=[0, 0, 1], rotary_dim=8, head_dim=16)
    found = pe.read_config(config).layers
    assert found == (pe.NoPE(), pe.NoPE(), pe.RoPE(16, base=1e6, rotary_dim=8, **HALVES))
    assert pe.read_config(config | {"model_type": "minimax_m1"}).layers == found
    ported = pe.read_config(config | {"model_type": "minimax"})
    assert ported.layers == found
    assert any("transformers 5.22.2 ignores it in minimax" in note for note in ported.notes)
    with pytest.raises(ValueError, match=re.escape("each of attn_type_list must be 0 or 1; got")):
        pe.read_config(config | {"attn_type_list": [0, 2, 1]})
    with pytest.raises(ValueError, match="attn_type_list must be a list with an entry for each"):
        pe.read_config(config | {"attn_type_list": [0]})


def test_gemma_4_has_one_schedule_and_writes_wide_heads_layer_by_layer():
    config = model("gemma4_text", 8, head_dim=16, sliding_window_pattern=2, sliding_window=None)
    wide = {"05": {"head_dim": 64}, "07": {"head_dim": 64}}
    found = pe.read_config(config | {"per_layer_config": wide})
    assert [layer.dim for layer in found.layers] == [16] * 5 + [64, 16, 64]
    with pytest.raises(ValueError, match="per_layer_config must have the same head_dim in each"):
        pe.read_config(config | {"per_layer_config": wide | {"07": {"head_dim": 32}}})


DONUT = {
    "model_type": "vision-encoder-decoder",
    "encoder": {"model_type": "donut-swin", "depths": [1, 1], "num_heads": [2, 4]},
    "decoder": {"model_type": "mbart", "d_model": 64, "decoder_layers": 3, "encoder_layers": 12}
    | {"max_position_embeddings": 128, "is_decoder": True, "is_encoder_decoder": False},
}


def test_both_stacks_of_donut_and_t5gemma():
    donut = pe.read_config(DONUT)
    assert [type(layer).__name__ for layer in donut.layers] == ["SwinBias"] * 2 + ["Learned"] * 3
    assert donut.parts == ("encoder",) * 2 + ("decoder",) * 3
    assert donut.model_type == "vision-encoder-decoder"
    stacks = {"encoder": model("t5_gemma_module"), "decoder": model("t5_gemma_module", 3)}
    gemma = pe.read_config({"model_type": "t5gemma", **stacks})
    assert len(gemma.layers) == 5
    assert "layers 0-1 are in the encoder, 2-4 in the decoder" in gemma.notes


def test_a_stack_that_is_not_read_is_named():
    speech = DONUT | {"encoder": {"model_type": "wav2vec2"}}
    with pytest.raises(ValueError, match=r"^the encoder needs a config that can be read: wav2vec2"):
        pe.read_config(speech)


HUGE = [
    ({"model_type": "clip_vision_model", "image_size": 10**30},
     "image_size must be a whole number of at least 1 and at most 1,048,576"),
    ({"model_type": "bert", "max_position_embeddings": 10**30},
     "max_position_embeddings must be a whole number of at least 1 and at most 1,099,511,627,776"),
    ({"model_type": "bert", "hidden_size": 10**9}, "hidden_size must be a whole number"),
    ({"model_type": "nemotron_h", "layers_block_type": ["moe"] * 10_001},
     "len(layers_block_type) must be a whole number of at least 1 and at most 10,000"),
    (DONUT | {"decoder": DONUT["decoder"] | {"decoder_layers": 9_999}},
     "the encoder and the decoder must have at most 10,000 layers in total; got 2 and 9,999"),
    ({"model_type": "t5", "num_heads": 2, "num_layers": 6_000},
     "the encoder and the decoder must have at most 10,000 layers in total; got 6,000 and 6,000"),
    (model("gemma4_text", 8, per_layer_config={str(i): {"head_dim": i} for i in range(10**5)}),
     "per_layer_config must have the same head_dim in each global layer; got"),
    (model("gemma4_text", 8, per_layer_config={"5": {"head_dim": 10**12}}),
     "per_layer_config.head_dim must be a whole number of at least 1 and at most 1,048,576"),
    ({"model_type": "qwen2_vl_vision", "depth": 2, "embed_dim": 2**20, "num_heads": 1},
     "must have at most 65,536 channels in total; got 1,048,576"),
    ({"model_type": "swin", "depths": [1] * 10_001}, "depths must have at most 10,000 entries"),
    (model("bamba", attn_layer_indices=[0] * 10_001), "attn_layer_indices must have at most"),
    (model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [1] * 9}),
     "mrope_section must have at most 8 entries; got 9"),
    (DONUT | {"encoder": DONUT}, "the encoder must be one stack; it has an encoder and a decoder"),
    ({"model_type": "x" * 10**6}, "model_type must be a known one, unless pairing is given"),
    (model("minimax", 9_999, attn_type_list=[2] * 9_999), "each of attn_type_list must be 0 or 1"),
    ({"model_type": "sam"} | {f"{'x' * 10_000}{i}_config": {"a": 1} for i in range(100)},
     "sam has several parts with positions of their own; pass the object under one of: xxx"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "message"), HUGE)
def test_huge_sizes_and_their_sums_are_refused_before_any_work(config, message):
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        pe.read_config(config)
    assert len(str(raised.value)) < 600


def test_the_two_meanings_of_a_rope_ratio_are_told_apart_by_nobody():
    """ChatGLM2-32k divides positions by it, ChatGLM3-32k and GLM-4 multiply the base by it."""
    config, _ = HARMLESS["ChatGLM3"]
    with pytest.raises(ValueError, match=r"rope_ratio must be 1, since .*; got rope_ratio=50"):
        pe.read_config(config | {"rope_ratio": 50})
