"""What the config.json of well-known models says, with the fields that once misled a reader.

A row has the config and the encoding of all its layers, of some of them by number, or words of the
sentence by which it is refused. Sizes are the real ones.
"""

from collections.abc import Mapping

import posenc as pe

HALVES = {"pairing": "halves"}
MLA = {"rotary_dim": 64, "rotated": "trailing"}


def sized(name, layers, hidden, heads, length=4096, **fields):
    return {"model_type": name, "num_hidden_layers": layers, "hidden_size": hidden,
            "num_attention_heads": heads, "max_position_embeddings": length, **fields}  # fmt: skip


def llama3(factor, high=4.0):
    return {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0,
            "high_freq_factor": high, "original_max_position_embeddings": 8192}  # fmt: skip


def yarn(factor, length, **more):
    return {"type": "yarn", "factor": factor, "original_max_position_embeddings": length, **more}


LATENT = {"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
SHARED_LATENT = {"mscale": 1.0, "mscale_all_dim": 1.0}
SCOUT = {"model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120,
         "num_attention_heads": 40, "head_dim": 128, "attn_temperature_tuning": 4,
         "attn_scale": 0.1, "floor_scale": 8192, "no_rope_layers": [], "rope_theta": 5e5,
         "rope_scaling": llama3(16.0, high=1.0), "max_position_embeddings": 10485760}  # fmt: skip
COHERE = {"position_embedding_type": "rope_gptj", "rope_theta": 50000, "rotary_pct": 1.0,
          "sliding_window": 4096, "sliding_window_pattern": 4, "order_of_interleaved_layers":
          "local_attn_first", "rope_scaling": None, "head_dim": 128}  # fmt: skip
LONG = {"type": "longrope", "long_factor": [2.0] * 48, "short_factor": [1.0] * 48}
LONGROPE = pe.LongRoPE((1.0,) * 48, (2.0,) * 48, 4096, factor=32.0)
SWIN = {"model_type": "donut-swin", "depths": [2, 2, 14, 2], "num_heads": [4, 8, 16, 32],
        "embed_dim": 128, "image_size": [1280, 960], "window_size": 10, "patch_size": 4,
        "use_absolute_embeddings": False}  # fmt: skip
MBART = {"model_type": "mbart", "is_decoder": True, "d_model": 1024, "decoder_layers": 4,
         "encoder_layers": 12, "max_position_embeddings": 768}  # fmt: skip
GEMMA = sized("t5_gemma_module", 26, 2304, 8, 8192, head_dim=256, rope_theta=10000.0)

ROTARY = {
    "GPT-J-6B": (
        {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "n_positions": 2048}
        | {"rotary": True, "rotary_dim": 64},
        pe.RoPE(256, rotary_dim=64),
    ),
    "CodeGen-350M": (
        {"model_type": "codegen", "n_embd": 1024, "n_head": 16, "n_layer": 20, "n_ctx": 2048}
        | {"rotary_dim": 32, "n_positions": 2048},
        pe.RoPE(64, rotary_dim=32),
    ),
    "GPT-NeoX-20B": (
        sized("gpt_neox", 44, 6144, 64, 2048, rotary_pct=0.25, rotary_emb_base=10000),
        pe.RoPE(96, rotary_dim=24, **HALVES),
    ),
    "Command-R7B": (
        sized("cohere2", 32, 4096, 32, 8192, **COHERE),
        {0: pe.RoPE(128, base=5e4), 3: pe.NoPE(), 31: pe.NoPE()},
    ),
    "Command-A": (
        sized("cohere2", 64, 12288, 96, 131072, **COHERE),
        {62: pe.RoPE(128, base=5e4), 63: pe.NoPE()},
    ),
    "Granite-4.0-H-Small": (
        sized("granitemoehybrid", 40, 4096, 32, position_embedding_type="nope", rope_theta=10000)
        | {"layer_types": ["mamba", "attention"] * 20},
        pe.NoPE(),
    ),
    "Granite-4.0-Micro": (
        sized("granitemoehybrid", 40, 2560, 40, position_embedding_type="rope", rope_theta=1e7)
        | {"layer_types": ["attention"] * 40},
        pe.RoPE(64, base=1e7, **HALVES),
    ),
    "nomic-embed-v1.5": (
        {"model_type": "nomic_bert", "n_embd": 768, "n_head": 12, "n_layer": 12}
        | {"n_positions": 8192, "max_trained_positions": 2048, "rotary_emb_base": 1000}
        | {"rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False}
        | {"rotary_emb_scale_base": None, "rotary_scaling_factor": None},
        pe.RoPE(64, base=1000, **HALVES),
    ),
    "Hunyuan-7B": (
        sized("hunyuan_v1_dense", 32, 4096, 32, 32768, head_dim=128, attention_head_dim=128)
        | {"use_rotary_pos_emb": True, "position_embedding_xdrope": False, "rope_theta": 10000.0}
        | {"rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32,
                            "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 0.0}},
        pe.RoPE(128, scaling=pe.NTK(1000.0), **HALVES),
    ),
    "Llama-4-Scout": (
        {"model_type": "llama4", "text_config": SCOUT, "vision_config": {"image_size": 336}},
        {0: pe.RoPE(128, base=5e5, scaling=pe.Llama3(16.0, 8192, 1.0, 1.0)),
         47: pe.Tempered(pe.NoPE(), pe.Llama4Temperature(8192, 0.1))},
    ),
    "Bamba-9B": (
        sized("bamba", 32, 4096, 32, 262144, attn_layer_indices=[9, 18, 27], attn_rotary_emb=64),
        {8: pe.NoPE(), 9: pe.RoPE(128, rotary_dim=64, **HALVES)},
    ),
    "DBRX": (
        {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40}
        | {"max_seq_len": 32768, "attn_config": {"clip_qkv": 8, "rope_theta": 500000}},
        pe.RoPE(128, base=5e5, **HALVES),
    ),
    "MiniMax-Text-01": (
        sized("minimax_text_01", 80, 6144, 64, 10240000, head_dim=128, rotary_dim=64)
        | {"rope_theta": 10000000, "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10},
        {6: pe.NoPE(), 7: pe.RoPE(128, base=1e7, rotary_dim=64, **HALVES)},
    ),
    "MiniMax-M2": (
        sized("minimax_m2", 62, 3072, 48, 196608, head_dim=128, rotary_dim=64, rope_theta=5e6)
        | {"attn_type_list": [1] * 62},
        pe.RoPE(128, base=5e6, rotary_dim=64, **HALVES),
    ),
    "MiMo-V2-Flash": (
        sized("mimo_v2_flash", 6, 4096, 64, 262144, head_dim=192, partial_rotary_factor=0.334)
        | {"hybrid_layer_pattern": [0, 1, 1, 1, 1, 0], "rope_theta": 5e6, "swa_rope_theta": 1e4},
        {0: pe.RoPE(192, base=5e6, rotary_dim=64, **HALVES),
         1: pe.RoPE(192, rotary_dim=64, **HALVES), 5: pe.RoPE(192, base=5e6, rotary_dim=64,
                                                              **HALVES)},
    ),
    "Kimi-K2": (
        sized("kimi_k2", 61, 7168, 64, 131072, rope_theta=50000.0, **LATENT)
        | {"rope_scaling": yarn(32.0, 4096, beta_fast=1.0, beta_slow=1.0, **SHARED_LATENT)},
        pe.RoPE(192, base=5e4, scaling=pe.YaRN(32.0, 4096, 1.0, 1.0, **SHARED_LATENT), **MLA),
    ),
    "DeepSeek-V3": (
        sized("deepseek_v3", 61, 7168, 128, 163840, rope_theta=10000, **LATENT)
        | {"rope_scaling": yarn(40, 4096, beta_fast=32, beta_slow=1, **SHARED_LATENT)},
        pe.RoPE(192, scaling=pe.YaRN(40.0, 4096, **SHARED_LATENT), **MLA),
    ),
    "DeepSeek-VL2-tiny": (
        {"model_type": "deepseek_vl_v2", "language_config": sized("deepseek_v2", 12, 1280, 10)
         | {"use_mla": False, "kv_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0}},
        pe.RoPE(128, **HALVES),
    ),
    "DeepSeek-R1-Distill-Qwen-7B": (
        sized("qwen2", 28, 3584, 28, 131072, rope_theta=10000, use_mrope=False)
        | {"use_sliding_window": False, "sliding_window": 4096},
        pe.RoPE(128, **HALVES),
    ),
    "ChatGLM3-6B": (
        {"model_type": "chatglm", "hidden_size": 4096, "num_attention_heads": 32}
        | {"num_layers": 28, "kv_channels": 128, "seq_length": 8192, "original_rope": True},
        pe.RoPE(128, rotary_dim=64),
    ),
    "InternLM2.5-7B": (
        sized("internlm2", 32, 4096, 32, 32768, rope_theta=1000000)
        | {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        pe.RoPE(128, base=1e6, scaling=pe.DynamicNTK(2.0, 32768), **HALVES),
    ),
    "Llama-3.1-8B": (
        sized("llama", 32, 4096, 32, 131072, rope_theta=500000.0, rope_scaling=llama3(8.0)),
        pe.RoPE(128, base=5e5, scaling=pe.Llama3(8.0, 8192), **HALVES),
    ),
    "Yarn-Llama-2-128k": (
        sized("llama", 32, 4096, 32, 131072, rope_scaling=yarn(32.0, 4096, finetuned=True)),
        pe.RoPE(128, scaling=pe.YaRN(32.0, 4096), **HALVES),
    ),
    "Phi-3-mini-128k": (
        sized("phi3", 32, 3072, 32, 131072, original_max_position_embeddings=4096)
        | {"rope_scaling": LONG, "rope_theta": 10000.0},
        pe.RoPE(96, scaling=LONGROPE, **HALVES),
    ),
    "Phi-4-mini": (
        sized("phi3", 32, 3072, 24, 131072, original_max_position_embeddings=4096)
        | {"rope_scaling": LONG, "rope_theta": 10000.0, "partial_rotary_factor": 0.75},
        pe.RoPE(128, rotary_dim=96, scaling=LONGROPE, **HALVES),
    ),
    "Minitron-4B": (
        sized("nemotron", 32, 3072, 24, head_dim=128, partial_rotary_factor=0.5, rope_percent=0.5)
        | {"rope_theta": 10000.0},
        pe.RoPE(128, rotary_dim=64, **HALVES),
    ),
    "StableLM-3B-4E1T": (
        sized("stablelm_epoch", 32, 2560, 32, rope_pct=0.25, rope_theta=10000)
        | {"rotary_scaling_factor": 1.0},
        pe.RoPE(80, rotary_dim=20, **HALVES),
    ),
    "gpt-oss-20b": (
        sized("gpt_oss", 24, 2880, 64, 131072, head_dim=64, rope_theta=150000)
        | {"rope_scaling": yarn(32.0, 4096, truncate=False, beta_fast=32.0, beta_slow=1.0)},
        pe.RoPE(64, base=1.5e5, scaling=pe.YaRN(32.0, 4096, truncate=False), **HALVES),
    ),
    "Gemma-3-27B": (
        {"model_type": "gemma3", "text_config": sized("gemma3_text", 62, 5376, 32, head_dim=128)
         | {"rope_scaling": {"rope_type": "linear", "factor": 8.0}, "sliding_window": 1024}},
        {0: pe.RoPE(128, **HALVES),
         5: pe.RoPE(128, base=1e6, scaling=pe.Interpolation(8.0), **HALVES)},
    ),
    "Qwen3-VL-8B": (
        {"model_type": "qwen3_vl", "text_config": sized("qwen3_vl_text", 36, 4096, 32, 262144)
         | {"head_dim": 128, "rope_theta": 5000000, "rope_scaling": {"mrope_interleaved": True,
            "mrope_section": [24, 20, 20], "rope_type": "default"}}},
        pe.AxialRoPE.mrope(128, sections=(24, 20, 20), interleaved=True, base=5e6, **HALVES),
    ),
    "DINOv3-ViT-L": (
        {"model_type": "dinov3_vit", "hidden_size": 1024, "num_attention_heads": 16}
        | {"num_hidden_layers": 24, "patch_size": 16, "image_size": 224, "rope_theta": 100.0},
        pe.AxialRoPE.dinov3(64, base=100.0),
    ),
    "Qwen2-VL's tower": (
        {"model_type": "qwen2_vl", "depth": 32, "embed_dim": 1280, "num_heads": 16}
        | {"hidden_size": 3584, "patch_size": 14},
        pe.AxialRoPE.qwen2_vl_vision(80),
    ),
    "Pixtral's tower": (
        sized("pixtral", 24, 1024, 16, head_dim=64, patch_size=16, rope_theta=10000.0),
        pe.AxialRoPE.pixtral(64),
    ),
    "T5Gemma-2b-2b": (
        {"model_type": "t5gemma", "encoder": GEMMA, "decoder": GEMMA},
        {0: pe.RoPE(256, **HALVES), 51: pe.RoPE(256, **HALVES)},
    ),
}  # fmt: skip

OTHERS = {
    "Donut": (
        {"model_type": "vision-encoder-decoder", "encoder": SWIN, "decoder": MBART},
        {0: pe.SwinBias(4, (10, 10)), 19: pe.SwinBias(32, (10, 10)), 20: pe.Learned(770, 1024),
         23: pe.Learned(770, 1024)},
    ),
    "CLIP-B/32": (
        {"model_type": "clip", "text_config": {"model_type": "clip_text_model", "dropout": 0.0}},
        pe.Learned(77, 512),
    ),
    "MPT-7B": (
        {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "max_seq_len": 2048}
        | {"attn_config": {"alibi": True, "alibi_bias_max": 8}, "learned_pos_emb": True},
        pe.ALiBi(32),
    ),
    "Jamba": (sized("jamba", 32, 4096, 32, attn_layer_period=8), pe.NoPE()),
    "OPT-350m": (
        sized("opt", 24, 1024, 16, 2048, word_embed_proj_dim=512), pe.Learned(2050, 1024),
    ),
}  # fmt: skip

REFUSED: Mapping[str, tuple[dict[str, object], str]] = {
    "SAM": ({"model_type": "sam", "vision_config": {"a": 1}}, "one of: vision_config"),
    "ChatGLM-6B": (
        {"model_type": "chatglm", "hidden_size": 4096, "position_encoding_2d": True},
        "the first ChatGLM rotates each half of a head by a position of its own",
    ),
    "Mamba-2.8B": ({"model_type": "mamba", "state_size": 16}, "mamba has no attention"),
    "Mamba without a type": (
        {"d_model": 2560, "n_layer": 64, "ssm_cfg": {"d_state": 16}},
        "ssm_cfg={'d_state': 16}: layers without attention, which have no positions",
    ),
    "RWKV-6": ({"model_type": "rwkv6"}, "rwkv6 has no attention"),
    "DeBERTa-v3": ({"model_type": "deberta-v2"}, "(disentangled attention), which posenc does"),
    "XLNet": ({"model_type": "xlnet"}, "XLNet's form of Transformer-XL"),
    "wav2vec2": ({"model_type": "wav2vec2"}, "a convolution of its inputs as positions"),
    "speech encoder": (
        {"model_type": "speech-encoder-decoder", "encoder": {"model_type": "wav2vec2"}}
        | {"decoder": MBART},
        "to read the decoder alone, pass the object under 'decoder'",
    ),
    "mistral_large4": (
        {"model_type": "mistral_large4"}, "learned frequencies w_i e^(alpha_i) and multiplies",
    ),
    "nomic-embed-v1": (
        {"model_type": "nomic_bert", "rotary_scaling_factor": 2},
        "rotary_scaling_factor must agree with the rotary encoding of 'nomic_bert'",
    ),
    "OpenELM": (
        {"model_type": "openelm", "rope_freq_constant": 10000},
        "rope_freq_constant=10000: about positions, under names of its own code",
    ),
    "Llama with latents": (
        sized("llama", 2, 64, 4, kv_lora_rank=16), "kv_lora_rank must be a field that 'llama' has",
    ),
    "Llama with a local base": (
        sized("llama", 2, 64, 4, rope_local_base_freq=1e4),
        "rope_local_base_freq must be a field that 'llama' has",
    ),
    "Llama with layers that do not rotate": (
        sized("llama", 2, 64, 4, no_rope_layers=[1, 0]), "no_rope_layers must be a field that",
    ),
    "Llama with a temperature": (
        sized("llama", 2, 64, 4, attn_temperature_tuning=4), "attn_temperature_tuning must be a",
    ),
}  # fmt: skip
