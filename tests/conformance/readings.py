"""Our reading of a config: the encoding that a model of theirs ought to have.

Written from the papers and the configs, not from their code's output; where a model has a
convention of its own (an order of axes, a pairing), it is named here and measured afterwards.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import posenc as pe
from posenc.core.frequencies import geometric
from posenc.core.rotation import Pairing
from posenc.core.scaling import Scaling

Reading = Callable[[Any, str | None], pe.RoPE | pe.AxialRoPE]

NEIGHBOURS = {
    # the folders whose text models pair neighbours; the others pair by halves
    *("blt", "codegen", "cohere", "cohere2", "cohere2_moe", "deepseek_v2", "deepseek_v4"),
    *("ernie4_5", "ernie4_5_moe", "ernie4_5_vl_moe", "glm", "glm4", "glm4v", "glm_ocr", "gptj"),
    *("helium", "llama4", "moonshine", "moonshine_streaming", "openai_privacy_filter"),
    *("pe_audio", "pe_audio_video", "pe_video", "roformer"),
}


def pairing(folder: str, function: str = "") -> Pairing:
    """Which channels make a pair: some folders have a function for either way."""
    return "interleaved" if folder in NEIGHBOURS or function.endswith("_interleave") else "halves"


def rope_of(config: Any, layer_type: str | None) -> dict[str, Any]:
    """The rotary parameters of a config, or of one kind of its layers."""
    rope = getattr(config, "rope_parameters", None) or {}
    return (rope[layer_type] if layer_type else rope) or {}


def base_of(config: Any, layer_type: str | None = None) -> float:
    named = rope_of(config, layer_type).get("rope_theta")
    return float(named or getattr(config, "rope_theta", None) or config.rotary_embedding_base)


def head_dim(config: Any, layer_type: str | None = None) -> int:
    written = config.to_dict()
    if layer_type is not None and "per_layer_config" in written:
        layer = config.layer_types.index(layer_type)
        own = written["per_layer_config"].get(f"{layer:02}", {})
        return own.get("head_dim", written["head_dim"])
    if named := getattr(config, "head_dim", None):
        return named
    if hasattr(config, "memory_attention_hidden_size"):
        heads = (
            config.memory_attention_downsample_rate * config.memory_attention_num_attention_heads
        )
        return config.memory_attention_hidden_size // heads
    heads = getattr(config, "speech_encoder_attention_heads", None) or config.num_attention_heads
    return (getattr(config, "embed_dim", None) or config.hidden_size) // heads


def scaling(config: Any, layer_type: str | None) -> Scaling | None:
    """The scaling that the rotary parameters name."""
    rope = rope_of(config, layer_type)
    named = rope.get("original_max_position_embeddings")
    length = named or getattr(config, "max_position_embeddings", None)
    kind = rope.get("rope_type", "default")
    if kind not in SCALINGS:
        raise ValueError(f"no reading of rope_type={kind!r}")
    return SCALINGS[kind](rope, config, length)


def _dynamic(rope: dict[str, Any], config: Any, length: int) -> Scaling:
    """HunYuan's alpha is NTK that does not depend on the length."""
    alpha = rope.get("alpha")
    return pe.NTK(alpha) if alpha else pe.DynamicNTK(rope["factor"], config.max_position_embeddings)


def _long(rope: dict[str, Any], config: Any, length: int) -> Scaling:
    return pe.LongRoPE(
        tuple(rope["short_factor"]),
        tuple(rope["long_factor"]),
        length,
        factor=rope.get("factor") or config.max_position_embeddings / length,
        attention_factor=rope.get("attention_factor"),
    )


def _yarn(rope: dict[str, Any], config: Any, length: int) -> pe.YaRN:
    return pe.YaRN(
        rope.get("factor") or config.max_position_embeddings / length,
        length,
        rope.get("beta_fast") or 32.0,
        rope.get("beta_slow") or 1.0,
        truncate=rope.get("truncate", True),
        mscale=rope.get("mscale"),
        mscale_all_dim=rope.get("mscale_all_dim"),
        attention_factor=rope.get("attention_factor"),
    )


SCALINGS: dict[str, Callable[[dict[str, Any], Any, Any], Scaling | None]] = {
    "default": lambda rope, config, length: None,
    "linear": lambda rope, config, length: pe.Interpolation(rope["factor"]),
    "proportional": lambda rope, config, length: pe.Proportional(
        rope.get("partial_rotary_factor", 1.0), rope.get("factor", 1.0)
    ),
    "llama3": lambda rope, config, length: pe.Llama3(
        rope["factor"], length, rope["low_freq_factor"], rope["high_freq_factor"]
    ),
    "dynamic": _dynamic,
    "longrope": _long,
    "yarn": _yarn,
}


def text(config: Any, layer_type: str | None) -> pe.RoPE:
    """One axis, leading channels, paired by halves until the folder says otherwise."""
    dim, how = head_dim(config, layer_type), scaling(config, layer_type)
    share = rope_of(config, layer_type).get("partial_rotary_factor") or 1.0
    return pe.RoPE(
        dim,
        base=base_of(config, layer_type),
        pairing="halves",
        rotary_dim=dim if isinstance(how, pe.Proportional) else int(dim * share),
        scaling=how,
    )


def mrope(default: tuple[int, ...], *, interleaved: bool = False) -> Reading:
    """M-RoPE whose sections are `default` where the config has none."""

    def read(config: Any, layer_type: str | None) -> pe.AxialRoPE:
        one = text(config, layer_type)
        sections = rope_of(config, layer_type).get("mrope_section") or default
        return pe.AxialRoPE.mrope(
            one.dim,
            sections=tuple(sections),
            interleaved=interleaved,
            base=one.base,
            rotary_dim=one.rotary_dim,
            scaling=one.scaling,
        )

    return read


def by_pairs(
    dim: int,
    axis_of_pair: tuple[int, ...],
    w: np.ndarray,
    pairing: Pairing,
) -> pe.AxialRoPE:
    """A layout that is written out, of as many channels as it has pairs for."""
    layout = pe.PairTable(axis_of_pair, tuple(w.tolist()))
    return pe.AxialRoPE(dim, layout, pairing=pairing, rotary_dim=2 * len(w))


def ernie_vl(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    """Ernie 4.5 VL: height and width take turns on the fast pairs, time has the slow ones."""
    height, width, time = rope_of(config, None).get("mrope_section", (22, 22, 20))
    assert height == width
    dim = head_dim(config)
    w = geometric(dim, base=base_of(config))
    return by_pairs(dim, (1, 2) * height + (0,) * time, w, "interleaved")


def neomme(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    """NeoMME: rows have the even frequencies, columns the odd ones, in one series."""
    one = text(config, layer_type)
    w = one.frequencies()
    return by_pairs(one.dim, (0, 1) * (len(w) // 2), w, "halves")


def qwen2_vl_vision(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    return pe.AxialRoPE.qwen2_vl_vision(head_dim(config), base=base_of(config))


def pixtral(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    return pe.AxialRoPE.pixtral(head_dim(config), base=base_of(config))


def sam(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    return pe.AxialRoPE.split(head_dim(config), base=base_of(config))


def kimi(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    """Kimi K2.5's vision tower: column and row take turns, with the same frequency for both."""
    dim = head_dim(config)
    w = np.repeat(geometric(dim // 2, base=base_of(config)), 2)
    return by_pairs(dim, (1, 0) * (dim // 4), w, "halves")


def minimax_vision(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    """MiniMax M3's vision tower: three axes; channels that do not divide by six are left over."""
    dim = head_dim(config)
    shares = (dim // 6,) * 3
    return pe.AxialRoPE.split(dim, axes=3, base=base_of(config), pairing="halves", shares=shares)


def dinov3(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    return pe.AxialRoPE.dinov3(head_dim(config), base=base_of(config))


def efficientloftr(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    """EfficientLoFTR: the whole hidden vector turns; row and column take turns."""
    share = rope_of(config, None).get("partial_rotary_factor", 1.0)
    w = np.repeat(geometric(int(head_dim(config) * share), base=base_of(config)), 2)
    return by_pairs(config.hidden_size, (0, 1) * (len(w) // 2), w, "interleaved")


def llama4_vision(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    return pe.AxialRoPE.rope_vit(head_dim(config), base=base_of(config))


def esmfold2(config: Any, layer_type: str | None) -> pe.AxialRoPE:
    """ESMFold 2: three coordinates in space and a molecule's number; the last pairs stand still."""
    space, uid = config.num_spatial_rope_pairs_per_axis, config.num_uid_rope_pairs
    still = config.head_dim // 2 - 3 * space - uid
    near = geometric(2 * space, base=config.spatial_rope_base_frequency)
    w = [
        *np.tile(near, 3),
        *geometric(2 * uid, base=config.uid_rope_base_frequency),
        *[0.0] * still,
    ]
    axis = np.repeat([0, 1, 2, 3, 0], [space, space, space, uid, still])
    return by_pairs(config.head_dim, tuple(axis.tolist()), np.asarray(w), "halves")


def clvp(config: Any, layer_type: str | None) -> pe.RoPE:
    """CLVP's encoder: at least 32 of the leading channels, base 10,000."""
    width = max(config.projection_dim // (config.num_attention_heads * 2), 32)
    return pe.RoPE(head_dim(config), pairing="halves", rotary_dim=width)


def gptj(config: Any, layer_type: str | None) -> pe.RoPE:
    return pe.RoPE(config.hidden_size // config.num_attention_heads, rotary_dim=config.rotary_dim)


def roformer(config: Any, layer_type: str | None) -> pe.RoPE:
    return pe.RoPE(config.hidden_size // config.num_attention_heads)
