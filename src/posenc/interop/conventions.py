"""Conventions of each model type that a config.json leaves to the model's code, as data.

Taken from the classes of transformers 5.22.2, which differ in pairing, base, the channels that
rotate and the layers that have positions at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from posenc.core.rotation import Pairing, Rotated

NO_ATTENTION = frozenset(
    {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "moe", "mlp", "gdn", "kda"}
)
"""Layer types without attention, which therefore have no positions."""


def _nothing() -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class RotaryConvention:
    """How a model type rotates, as far as its config class and its code decide it."""

    pairing: Pairing = "halves"
    base: float = 10_000.0
    """Default of the config class, for its global layers if it has two kinds."""
    local_base: float | None = None
    """Default of the local layers, if they have their own parameters."""
    share: float = 1.0
    """Default partial rotary factor: the fraction of a head's channels that rotate."""
    local_share: float | None = None
    """The same for the local layers, if it differs."""
    rotated: Rotated = "leading"
    latent: tuple[int, int] | None = None
    """Multi-head latent attention: channels of a head without and with rotation, by default."""
    widen: int = 1
    """Head dim as a multiple of hidden_size / heads."""
    every: int | None = None
    """If the file has no `layer_types`, every n-th layer is global and the local_type local."""
    every_field: str = "sliding_window_pattern"
    global_first: bool = False
    """Whether the first layer is global (ModernBERT)."""
    global_last: Literal["counted", "always"] | None = None
    """Whether the last layer is global too: if the file has no `layer_types` (Beam), or whatever
    the file says (Gemma 4)."""
    local_type: str = "sliding_attention"
    """The type of the local layers."""
    local_scaled: bool = False
    """Whether the scaling of the global layers applies to the local ones (ModernBERT)."""
    unrotated: frozenset[str] = frozenset()
    """Layer types that do not rotate."""
    unrotated_every: int | None = None
    """If the file has no `no_rope_layers`, every n-th layer does not rotate."""
    required: tuple[str, ...] = ()
    """Fields of which the file must have one, since the config class has no usable default."""
    global_head_dim: int | None = None
    sections: tuple[int, ...] | None = None
    """M-RoPE's default number of pairs for each axis."""
    section_order: Literal["chunked", "interleaved", "ernie"] = "chunked"
    """Order of the axes over the pairs."""
    only_if: tuple[str, Any, Any] | None = None
    """A field, the value with which the model rotates, and the default of the config class."""
    parameters: Mapping[str, Any] = field(default_factory=_nothing)
    """Default rope_parameters of the config class."""
    backwards: bool = False
    """Rotates by -p w (nanochat)."""
    temperature: Literal["llama4", "ministral"] | None = None


def _llama3(
    factor: float, length: int, *, low: float = 1.0, high: float = 4.0
) -> Mapping[str, Any]:
    """Default parameters of a config class with Llama 3's scaling."""
    return {
        "rope_type": "llama3",
        "factor": factor,
        "original_max_position_embeddings": length,
        "low_freq_factor": low,
        "high_freq_factor": high,
    }


def _yarn(factor: float, length: int, **more: object) -> Mapping[str, Any]:
    """Default parameters of a config class with YaRN."""
    named = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": length}
    return named | {"beta_fast": 32.0, "beta_slow": 1.0} | more


_C = RotaryConvention
_FULL = frozenset({"full_attention"})
_MINISTRAL = {"mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}

_ROTARY: tuple[tuple[RotaryConvention, str], ...] = (
    (
        _C(),
        "llama mistral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 olmo olmo2 olmoe starcoder2 "
        "phi3 phi4_multimodal granite granitemoe granitemoeshared arcee aria_text "
        "chameleon dbrx deepseek_ocr2_text dia_decoder dia_encoder diffllama doge dots1 esmc "
        "eurobert falcon falcon_h1 gpt_neox_japanese granite_swa granitemoe_swa hrm_text "
        "hunyuan_v1_dense hunyuan_v1_moe hyperclovax idefics jais2 jetmoe kyutai_speech_to_text "
        "mimi ministral molmo2_text moshi pocket_tts "
        "qwen3_omni_moe_talker_code_predictor seed_oss t5_gemma_module unlimited_ocr_text "
        "vaultgemma gradium_phonon_tts",
    ),
    (_C(required=("layer_types",)), "olmo_hybrid"),
    (_C(base=1_000.0), "nomic_bert"),
    (_C(base=20_000.0), "jina_embeddings_v3"),
    (_C(base=160_000.0), "gte"),
    (_C(base=500_000.0), "bitnet csm csm_depth_decoder_model evolla flex_olmo mllama_text_model"),
    (_C(base=500_000.0), "muse_glimmer_assistant"),
    (_C(base=1_000_000.0), "emu3_text_model mixtral phimoe solar_open"),
    (_C(base=1_000_000.0, required=("layer_types", "full_attn_idxs")), "lfm2 lfm2_moe"),
    (_C(base=1_000_000.0, required=("layer_types",)), "minimax"),
    (_C(base=2_000_000.0, unrotated_every=4), "smollm3"),
    (_C(base=5_000_000.0), "minimax_m2 minimax_m3_vl_text"),
    (_C(base=11_158_840.0), "hy_v3"),
    (_C(base=12_000_000.0, parameters=_llama3(8.0, 8192)), "apertus"),
    (_C(base=1_000_000.0, parameters=_llama3(16.0, 8192)), "cwm"),
    (_C(base=500_000.0, parameters=_llama3(32.0, 1024, low=0.125, high=0.5)), "higgs_audio_v2"),
    (_C(base=150_000.0, parameters=_yarn(32.0, 4096, truncate=False)), "gpt_oss"),
    (
        _C(
            base=1_000_000.0,
            temperature="ministral",
            parameters=_yarn(16.0, 16_384, **_MINISTRAL),
        ),
        "ministral3",
    ),
    (_C(backwards=True), "nanochat"),
    (_C(widen=2, only_if=("use_mem_rope", True, False)), "zamba2"),
    (_C(only_if=("position_embedding_type", "rope", None)), "granitemoehybrid"),
    (_C(only_if=("position_embedding_type", "rotary", "absolute")), "esm"),
    # partial rotary
    (_C(share=0.25), "gpt_neox stablelm"),
    (
        _C(
            share=0.25,
            every=4,
            every_field="full_attention_interval",
            local_type="linear_attention",
        ),
        "qwen3_next",
    ),
    (_C(share=0.5), "persimmon phi nemotron glm4_moe"),
    (_C(share=0.5, required=("layer_types", "attn_layer_indices")), "bamba"),
    (_C(share=0.5, required=("layer_types", "block_types")), "recurrent_gemma"),
    (_C(pairing="interleaved", share=0.5), "glm glm4"),
    (_C(pairing="interleaved", share=0.9), "moonshine"),
    (_C(pairing="interleaved", share=0.8), "moonshine_streaming"),
    # adjacent channels are paired
    (_C(pairing="interleaved"), "gptj codegen roformer blt_patcher"),
    (_C(pairing="interleaved", base=100_000.0), "helium"),
    (
        _C(pairing="interleaved", base=500_000.0),
        "cohere ernie4_5 ernie4_5_moe blt_local_encoder blt_local_decoder blt_global_transformer",
    ),
    (
        _C(
            pairing="interleaved",
            base=150_000.0,
            parameters=_yarn(32.0, 4096, truncate=False),
        ),
        "openai_privacy_filter",
    ),
    # local and global layers, layers without rotation
    (
        _C(pairing="interleaved", base=500_000.0, unrotated_every=4, temperature="llama4"),
        "llama4_text",
    ),
    (_C(pairing="interleaved", every=4, unrotated=_FULL), "cohere2 cohere2_moe"),
    (_C(every=4, unrotated=_FULL), "exaone4 exaone_moe"),
    (_C(every=4, every_field="global_attn_every_n_layers", unrotated=_FULL), "afmoe"),
    (_C(every=5, unrotated=_FULL), "kolibri1"),
    (_C(unrotated=_FULL, required=("layer_types",)), "flint"),
    (_C(every=6, global_last="counted", unrotated=_FULL), "beam"),
    (_C(base=500_000.0, required=("layer_rope_theta",)), "muse_spark_text"),
    (_C(required=("layer_rope_theta",)), "muse_glimmer_text"),
    (_C(base=1_000_000.0, local_base=10_000.0, every=6), "gemma3_text t5gemma2_text"),
    (_C(base=1_000_000.0, local_base=10_000.0, every=6), "t5gemma2_decoder"),
    (_C(base=1_000_000.0, local_base=10_000.0, every=5), "gemma3n_text"),
    (
        _C(
            base=1_000_000.0,
            local_base=10_000.0,
            every=6,
            global_last="always",
            global_head_dim=512,
            parameters={"rope_type": "proportional", "partial_rotary_factor": 0.25},
        ),
        "gemma4_text gemma4_unified_text diffusion_gemma_text",
    ),
    (
        _C(
            base=1_000_000.0,
            local_base=10_000.0,
            every=6,
            global_last="always",
            global_head_dim=512,
        ),
        "embedding_gemma2_text",
    ),
    (
        _C(
            base=160_000.0,
            local_base=10_000.0,
            every=3,
            every_field="global_attn_every_n_layers",
            global_first=True,
            local_scaled=True,
        ),
        "modernbert modernbert-decoder",
    ),
    (_C(base=500_000.0, local_base=500_000.0, every=4), "olmo3"),
    (_C(base=2_560_000.0, local_base=10_000.0, every=3), "ultrabert"),
    (_C(base=500_000.0, local_base=10_000.0), "mellum"),
    (
        _C(base=500_000.0, local_base=10_000.0, share=0.5, local_share=1.0),
        "laguna",
    ),
    (
        _C(base=5_000_000.0, local_base=10_000.0, share=0.334, required=("layer_types",)),
        "mimo_v2_flash",
    ),
    (_C(base=5_000_000.0, local_base=10_000.0, share=0.5), "zaya"),
    (_C(), "step3p5"),
    (
        _C(
            pairing="interleaved",
            base=160_000.0,
            local_base=10_000.0,
            share=0.125,
            rotated="trailing",
        ),
        "deepseek_v4",
    ),
    # multi-head latent attention: only some channels of a head carry positions
    (_C(pairing="interleaved", rotated="trailing", latent=(128, 64)), "deepseek_v2 deepseek_v3"),
    (_C(pairing="interleaved", rotated="trailing", latent=(128, 64)), "deepseek_v32 axk1 youtu"),
    (_C(pairing="interleaved", rotated="trailing", latent=(192, 64)), "glm4_moe_lite glm_moe_dsa"),
    (_C(pairing="interleaved", rotated="trailing", latent=(64, 32)), "axk2"),
    (
        _C(pairing="interleaved", rotated="trailing", latent=(128, 64), base=10_000_000.0),
        "longcat_flash",
    ),
    (
        _C(
            pairing="interleaved",
            rotated="trailing",
            latent=(128, 64),
            base=6_000_000.0,
            required=("layer_types",),
        ),
        "bailing_hybrid",
    ),
    (
        _C(
            pairing="interleaved",
            rotated="trailing",
            latent=(64, 64),
            temperature="ministral",
            parameters=_yarn(128.0, 8192, **_MINISTRAL),
        ),
        "mistral4",
    ),
    (_C(rotated="trailing", latent=(64, 32)), "minicpm3"),
    (_C(rotated="trailing", latent=(192, 64)), "hy_v4"),
    # multimodal: a position has several axes
    (_C(base=1_000_000.0, sections=(16, 24, 24)), "qwen2_vl_text qwen2_5_vl_text"),
    (_C(base=1_000_000.0, sections=(16, 24, 24)), "qwen2_5_omni_text qwen2_5_omni_talker"),
    (_C(base=500_000.0, sections=(16, 24, 24)), "paddleocr_vl_text"),
    (
        _C(base=500_000.0, sections=(24, 20, 20), section_order="interleaved"),
        "qwen3_vl_text qwen3_vl_moe_text",
    ),
    (
        _C(base=1_000_000.0, sections=(24, 20, 20), section_order="interleaved"),
        "qwen3_omni_moe_text",
    ),
    (_C(sections=(24, 20, 20), section_order="interleaved"), "qwen3_omni_moe_talker_text"),
    (
        _C(base=100_000_000.0, sections=(24, 20, 20), section_order="interleaved"),
        "cosmos3_edge_text",
    ),
    (
        _C(
            sections=(11, 11, 10),
            section_order="interleaved",
            share=0.25,
            every=4,
            every_field="full_attention_interval",
            local_type="linear_attention",
        ),
        "qwen3_5_text qwen3_5_moe_text",
    ),
    (_C(sections=(8, 12, 12), share=0.5), "glm4v_moe_text glm_image_text"),
    (_C(pairing="interleaved", sections=(8, 12, 12), share=0.5), "glm4v_text"),
    (_C(pairing="interleaved", sections=(8, 12, 12)), "glm_ocr_text"),
    (
        _C(pairing="interleaved", base=500_000.0, sections=(22, 22, 20), section_order="ernie"),
        "ernie4_5_vl_moe_text",
    ),
)

ROTARY: Mapping[str, RotaryConvention] = MappingProxyType(
    {name: convention for convention, names in _ROTARY for name in names.split()}
)
"""The convention of each text model type that rotates."""


@dataclass(frozen=True, kw_only=True)
class AbsoluteConvention:
    """How a model type adds positions to its embeddings."""

    kind: Literal["learned", "sinusoidal"]
    rows: Literal["positions", "patches"] = "positions"
    offset: int = 0
    """The row of the first token; no token uses the rows before it."""
    extra: int = 0
    """Rows in addition to max_position_embeddings, or to the patches (class tokens)."""
    dim: tuple[str, ...] = ("hidden_size", "n_embd", "d_model", "dim")
    layout: Literal["interleaved", "concat"] = "concat"
    spacing: Literal["paper", "t2t"] = "paper"
    stacks: bool = False
    """Whether it has an encoder and a decoder."""


_A = AbsoluteConvention
_WORDS = ("embedding_size", "hidden_size")

_ABSOLUTE: tuple[tuple[AbsoluteConvention, str], ...] = (
    (
        _A(kind="learned"),
        "bert distilbert gpt2 gpt_neo gpt_bigcode openai-gpt imagegpt clip_text_model ernie "
        "siglip_text_model layoutlm megatron-bert big_bird splinter mobilebert",
    ),
    (_A(kind="learned", dim=_WORDS), "electra albert convbert"),
    (
        _A(kind="learned", offset=2),
        "roberta xlm-roberta camembert xlm-roberta-xl roberta-prelayernorm data2vec-text "
        "longformer xmod",
    ),
    (_A(kind="learned", offset=2, extra=2), "opt biogpt"),
    (_A(kind="learned", offset=2, extra=2, stacks=True), "bart mbart plbart mvp"),
    (_A(kind="learned", stacks=True), "blenderbot blenderbot-small bigbird_pegasus"),
    (_A(kind="learned", rows="patches", extra=1), "vit vit_mae dinov2"),
    (_A(kind="learned", rows="patches", extra=2), "deit"),
    (_A(kind="sinusoidal", stacks=True), "marian pegasus"),
    (_A(kind="sinusoidal", spacing="t2t", offset=2, stacks=True), "m2m_100 nllb-moe fsmt"),
    (_A(kind="sinusoidal", spacing="t2t", offset=2), "xglm"),
    (_A(kind="sinusoidal", spacing="t2t", offset=2, stacks=True), "speech_to_text"),
)

ABSOLUTE: Mapping[str, AbsoluteConvention] = MappingProxyType(
    {name: convention for convention, names in _ABSOLUTE for name in names.split()}
)
"""The convention of each model type that adds positions to its embeddings."""

ALIBI = frozenset({"bloom", "mpt", "falcon", "bert"})
"""Model types with ALiBi: falcon and bert if the file says so, mpt unless it says not."""

T5 = frozenset(
    {"t5", "mt5", "umt5", "longt5", "switch_transformers", "pop2piano", "pix2struct_text_model"}
)
"""Model types with T5's relative bias."""

SWIN = frozenset({"swin", "swinv2", "donut-swin", "maskformer-swin"})
"""Model types with the window biases of Swin."""

NO_POSITIONS = frozenset({"jamba", "nemotron_h", "kimi_linear"})
"""Model types whose attention has no positional encoding."""
