"""Configs of real models, cut down to what tells positions, in the spellings of both versions."""

import posenc as pe

SIZE = {"hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 4096}

LLAMA = {"model_type": "llama", "num_hidden_layers": 2, **SIZE}

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}

YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}


def model(name, layers=2, **fields):
    return {"model_type": name, "num_hidden_layers": layers, **SIZE, **fields}


def without(config, *names):
    return {name: value for name, value in config.items() if name not in names}


HALVES = {"pairing": "halves"}

SHARED = {  # a config, and the encoding that all its layers share
    "llama v4": (LLAMA | {"rope_theta": 5e5}, pe.RoPE(16, base=5e5, **HALVES)),
    "llama v5": (
        LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
        pe.RoPE(16, base=5e5, **HALVES),
    ),
    "llama without a word": (LLAMA, pe.RoPE(16, base=1e4, **HALVES)),
    "llama with a head_dim": (LLAMA | {"head_dim": 32}, pe.RoPE(32, **HALVES)),
    "llama of null": (LLAMA | {"rope_scaling": None, "head_dim": None}, pe.RoPE(16, **HALVES)),
    "llama 3": (
        LLAMA | {"rope_theta": 5e5, "rope_scaling": LLAMA3},
        pe.RoPE(16, base=5e5, scaling=pe.Llama3(8.0, 512), **HALVES),
    ),
    "llama 4 scout's scaling": (
        LLAMA | {"rope_scaling": LLAMA3 | {"low_freq_factor": 0.5, "high_freq_factor": 2.0}},
        pe.RoPE(16, scaling=pe.Llama3(8.0, 512, 0.5, 2.0), **HALVES),
    ),
    "linear": (
        LLAMA | {"rope_scaling": {"type": "linear", "factor": 2}},
        pe.RoPE(16, scaling=pe.Interpolation(2.0), **HALVES),
    ),
    "dynamic": (
        LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        pe.RoPE(16, scaling=pe.DynamicNTK(2.0, 4096), **HALVES),
    ),
    "hunyuan's dynamic": (
        model(
            "hunyuan_v1_dense",
            rope_scaling={"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32},
        ),
        pe.RoPE(16, scaling=pe.NTK(1000.0), **HALVES),
    ),
    "qwen2 yarn": (
        model("qwen2", rope_theta=1e6, rope_scaling=YARN),
        pe.RoPE(16, base=1e6, scaling=pe.YaRN(4.0, 1024), **HALVES),
    ),
    "gpt_neox": (
        model("gpt_neox", rotary_pct=0.5, rotary_emb_base=25_000),
        pe.RoPE(16, base=25_000, rotary_dim=8, **HALVES),
    ),
    "gpt_neox's own share": (model("gpt_neox"), pe.RoPE(16, rotary_dim=4, **HALVES)),
    "phi": (
        model("phi", partial_rotary_factor=0.25),
        pe.RoPE(16, rotary_dim=4, **HALVES),
    ),
    "glm": (model("glm", head_dim=16), pe.RoPE(16, rotary_dim=8, pairing="interleaved")),
    "gptj": (
        {"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2, "rotary_dim": 8},
        pe.RoPE(16, rotary_dim=8, pairing="interleaved"),
    ),
    "phi3 longrope": (
        model(
            "phi3",
            original_max_position_embeddings=1024,
            rope_scaling={"type": "su", "short_factor": [1.0] * 8, "long_factor": [2.0] * 8},
        ),
        pe.RoPE(16, scaling=pe.LongRoPE((1.0,) * 8, (2.0,) * 8, 1024, factor=4.0), **HALVES),
    ),
    "phimoe": (
        model(
            "phimoe",
            rope_scaling={
                "type": "longrope",
                "short_factor": [1.0] * 8,
                "long_factor": [2.0] * 8,
                "original_max_position_embeddings": 1024,
                "short_mscale": 1.25,
                "long_mscale": 1.25,
            },
        ),
        pe.RoPE(
            16,
            base=1e6,
            scaling=pe.LongRoPE((1.0,) * 8, (2.0,) * 8, 1024, factor=4.0, attention_factor=1.25),
            **HALVES,
        ),
    ),
    "deepseek_v3": (
        model(
            "deepseek_v3",
            qk_nope_head_dim=16,
            qk_rope_head_dim=8,
            rope_theta=10_000,
            rope_scaling=YARN | {"factor": 40, "mscale": 1.0, "mscale_all_dim": 0.5},
        ),
        pe.RoPE(
            24,
            base=10_000,
            rotary_dim=8,
            rotated="trailing",
            scaling=pe.YaRN(40.0, 1024, mscale=1.0, mscale_all_dim=0.5),
        ),
    ),
    "deepseek_v3 by halves": (
        model("deepseek_v3", qk_nope_head_dim=16, qk_rope_head_dim=8, rope_interleave=False),
        pe.RoPE(24, rotary_dim=8, rotated="trailing", **HALVES),
    ),
    "gpt_oss": (
        model("gpt_oss", head_dim=64, rope_scaling=YARN | {"truncate": False}),
        pe.RoPE(64, base=150_000.0, scaling=pe.YaRN(4.0, 1024, truncate=False), **HALVES),
    ),
    "gpt_oss without a word": (
        model("gpt_oss"),
        pe.RoPE(64, base=150_000.0, scaling=pe.YaRN(32.0, 4096, truncate=False), **HALVES),
    ),
    "ministral3": (
        model(
            "ministral3",
            head_dim=16,
            rope_parameters=YARN
            | {"rope_type": "yarn", "rope_theta": 1e6, "llama_4_scaling_beta": 0.2},
        ),
        pe.Tempered(
            pe.RoPE(16, base=1e6, scaling=pe.YaRN(4.0, 1024), **HALVES),
            pe.MinistralTemperature(1024, 0.2),
        ),
    ),
    "mistral4": (
        model(
            "mistral4",
            qk_nope_head_dim=8,
            qk_rope_head_dim=8,
            rope_parameters=YARN
            | {"rope_theta": 1e4, "partial_rotary_factor": 0.5, "llama_4_scaling_beta": 0.1},
        ),
        pe.Tempered(
            pe.RoPE(16, base=1e4, rotary_dim=8, rotated="trailing", scaling=pe.YaRN(4.0, 1024)),
            pe.MinistralTemperature(1024, 0.1),
        ),
    ),
    "qwen2_vl, flat as in version 4": (
        model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]}),
        pe.AxialRoPE.mrope(16, sections=(2, 3, 3), base=1e6),
    ),
    "qwen2_vl, nested as in version 5": (
        {
            "model_type": "qwen2_vl",
            "text_config": model(
                "qwen2_vl_text",
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 5e4,
                    "mrope_section": [2, 3, 3],
                },
            ),
        },
        pe.AxialRoPE.mrope(16, sections=(2, 3, 3), base=5e4),
    ),
    "qwen3_vl": (
        {
            "model_type": "qwen3_vl",
            "text_config": model(
                "qwen3_vl_text",
                head_dim=16,
                rope_scaling={
                    "mrope_interleaved": True,
                    "mrope_section": [4, 2, 2],
                    "rope_type": "default",
                },
            ),
        },
        pe.AxialRoPE.mrope(16, sections=(4, 2, 2), interleaved=True, base=5e5),
    ),
    "ernie4_5_vl_moe": (
        model("ernie4_5_vl_moe_text", rope_parameters={"mrope_section": [3, 3, 2]}),
        pe.AxialRoPE(16, pe.SpaceThenTime((2, 3, 3), base=5e5)),
    ),
    "bert": (model("bert"), pe.Learned(4096, 64)),
    "electra": (model("electra", embedding_size=32), pe.Learned(4096, 32)),
    "gpt2": (
        {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 1024},
        pe.Learned(1024, 64),
    ),
    "opt": (model("opt"), pe.Learned(4098, 64)),
    "roberta": (model("roberta") | {"max_position_embeddings": 514}, pe.Learned(514, 64)),
    "vit": (model("vit", image_size=224, patch_size=16), pe.Learned(197, 64)),
    "marian": (
        {
            "model_type": "marian",
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 1,
            "max_position_embeddings": 512,
        },
        pe.Sinusoidal(64, layout="concat"),
    ),
    "m2m_100": (
        {
            "model_type": "m2m_100",
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 1,
            "max_position_embeddings": 512,
        },
        pe.Sinusoidal(64, layout="concat", spacing="t2t"),
    ),
    "bloom": ({"model_type": "bloom", "n_head": 8, "n_layer": 2}, pe.ALiBi(8)),
    "mpt": (
        {"model_type": "mpt", "n_heads": 8, "n_layers": 2, "attn_config": {"alibi": True}},
        pe.ALiBi(8),
    ),
    "falcon with alibi": (model("falcon", alibi=True), pe.ALiBi.falcon(4, 16)),
    "jina": (model("bert", position_embedding_type="alibi"), pe.ALiBi(4)),
    "falcon": (model("falcon", alibi=False), pe.RoPE(16, **HALVES)),
    "esm with a table": (model("esm") | {"max_position_embeddings": 1026}, pe.Learned(1026, 64)),
    "esm": (model("esm", position_embedding_type="rotary"), pe.RoPE(16, **HALVES)),
    "granitemoehybrid": (model("granitemoehybrid"), pe.NoPE()),
    "jamba": (model("jamba"), pe.NoPE()),
}


def bases(config):
    layers = pe.read_config(config).layers
    return [getattr(layer, "base", None) for layer in layers]


SHARED_GEMMA = model("gemma3_text", 7, head_dim=16, sliding_window=512)

SWIN = {"model_type": "swin", "image_size": 32, "patch_size": 2, "window_size": 4}

SWIN |= {"depths": [2, 1], "num_heads": [2, 4], "num_layers": 2}
