"""Models with a bias on their attention logits: ALiBi, T5's buckets, Swin's windows."""

from collections.abc import Mapping

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.encodings.alibi import ALiBi
from posenc.encodings.swin import SwinBias, SwinV2Bias
from posenc.encodings.t5 import T5Bias
from posenc.i18n import N_, translatable
from posenc.interop.fields import MOST_LAYERS, Fields, require_few

Layers = tuple[Encoding, ...]


def read_alibi(fields: Fields) -> Layers | None:
    """The ALiBi bias of each layer, or None if the config names another encoding."""
    match fields.model_type:
        case "mpt":
            _require_plain_alibi(fields.get("attn_config", default={}))
        case "bert":  # Jina's embeddings v2 ship their own modelling code
            if fields.get("position_embedding_type") != "alibi":
                return None
            fields.add_note("keys after the query have the same bias as those before it")
        case "baichuan":  # its two sizes have one type, and the config class of either its length
            if fields.get("max_position_embeddings") is not None:
                return None
            fields.whole("model_max_length")
            fields.add_note(
                "the file has model_max_length alone: Baichuan of 13B, which has ALiBi; that of 7B "
                "has max_position_embeddings and RoPE"
            )
        case "falcon" | "RefinedWeb" | "RefinedWebModel":
            if not fields.flag("alibi", default=False):
                return None
            fields.add_note(
                "transformers rounds the slopes and biases of Falcon to bfloat16: they are exact "
                "only while slope x position fits in 8 bits"
            )
            return (ALiBi.falcon(fields.heads(), fields.head_dim()),) * fields.layers()
        case _:
            pass
    return (ALiBi(fields.heads()),) * fields.layers()


def _require_plain_alibi(options: object) -> None:
    """Check the attn_config of MPT."""
    if not isinstance(options, Mapping):
        template = N_("attn_config must be an object; got attn_config={options!r}")
        raise translatable(TypeError, template, options=options)
    if not options.get("alibi", True):
        raise translatable(ValueError, "attn_config.alibi must be true; got alibi=False")
    if (most := options.get("alibi_bias_max", 8)) != 8:
        template = N_("attn_config.alibi_bias_max must be 8; got alibi_bias_max={most!r}")
        raise translatable(ValueError, template, most=most)


def read_t5(fields: Fields) -> Layers:
    """T5's bias: bidirectional in the encoder, causal in the decoder; logits are not scaled."""
    heads = fields.whole("num_heads", "num_attention_heads")
    buckets = fields.get_or_note("relative_attention_num_buckets", 32)
    far = fields.get_or_note("relative_attention_max_distance", 128)
    both, back = (
        T5Bias(heads, buckets=buckets, max_distance=far, bidirectional=way, scaled=False)
        for way in (True, False)
    )
    layers = fields.whole("num_layers", "num_hidden_layers", most=MOST_LAYERS)
    if fields.model_type == "umt5":
        fields.add_note("each layer has its own table")
    else:
        fields.add_note("the layers of a stack share one table")
    if fields.get("encoder_attention_type") == "transient-global":
        fields.add_note("the separate table for block averages is not read")
    if fields.flag("is_decoder", default=fields.model_type == "pix2struct_text_model"):
        return (back,) * layers
    if not fields.flag("is_encoder_decoder", default=True):
        return (both,) * layers
    name = "num_decoder_layers"
    decoder = rules.whole(name, fields.get(name, default=layers), least=1, most=MOST_LAYERS)
    fields.note_stacks(layers, decoder)
    return (both,) * layers + (back,) * decoder


def read_swin(fields: Fields) -> Layers:
    """The bias of each layer of a Swin, stage by stage."""
    return tuple(bias for depth, bias in read_swin_stages(fields) for _ in range(depth))


def read_swin_stages(fields: Fields) -> tuple[tuple[int, Encoding], ...]:
    """The number of layers in each stage of a Swin, and the bias that they share."""
    if fields.flag("use_absolute_embeddings", default=False):
        template = N_("use_absolute_embeddings must be false; got use_absolute_embeddings=True")
        raise translatable(ValueError, template)
    depths = _read_list(fields, "depths", (2, 2, 6, 2))
    if sum(depths) > MOST_LAYERS:
        template = N_("depths must add up to at most {most:,} layers; got {count:,}")
        raise translatable(ValueError, template, most=MOST_LAYERS, count=sum(depths))
    heads = _read_list(fields, "num_heads", (3, 6, 12, 24), count=len(depths))
    window = fields.whole("window_size", default=7, most=2**10)
    image, patch = fields.sides("image_size", 224), fields.sides("patch_size", 4)
    fields.add_note("positions are rows and columns within a window: grid(height, width)")
    if fields.model_type == "swinv2":
        rows = image[0] // patch[0]
        return tuple(zip(depths, _build_swin_v2(fields, heads, window, rows), strict=True))
    lowest = min(-(-size // step) for size, step in zip(image, patch, strict=True))
    for _ in depths[1:]:
        lowest = (lowest + 1) // 2
    if lowest < window:
        template = N_(
            "the last feature map has side {lowest}, smaller than the window: transformers fails "
            "there"
        )
        fields.add_note(template, lowest=lowest)
    return tuple((n, SwinBias(h, (window, window))) for n, h in zip(depths, heads, strict=True))


def _build_swin_v2(fields: Fields, heads: tuple[int, ...], window: int, rows: int) -> Layers:
    """The bias of each stage of Swin-v2, whose window is at most as high as the feature map."""
    count = len(heads)
    if rows >> (count - 1) < 1:
        template = N_(
            "image_size must leave at least one row of patches after {count} stages; got {rows} "
            "rows of patches"
        )
        raise translatable(ValueError, template, count=count, rows=rows)
    fields.add_note(
        "cosine attention: q and k are normalised and their products multiplied by a learned "
        "temperature (logit_scale)"
    )
    before = _read_list(fields, "pretrained_window_sizes", (0,) * count, least=0, count=count)
    sides = [min(rows >> stage, window) for stage in range(count)]
    return tuple(
        SwinV2Bias(h, (side, side), pretrained_window=(old, old) if old else None)
        for h, side, old in zip(heads, sides, before, strict=True)
    )


def _read_list(
    fields: Fields, name: str, default: tuple[int, ...], *, least: int = 1, count: int | None = None
) -> tuple[int, ...]:
    """A list of whole numbers, one for each stage; surplus entries are ignored."""
    value = fields.get_or_note(name, default)
    if not isinstance(value, list | tuple) or not value or len(value) < (count or 1):
        template = N_("{name} must be a list with a number for each stage; got {name}={value!r}")
        if count is not None:
            template = N_(
                "{name} must be a list with a number for each of the {count} stages; "
                "got {name}={value!r}"
            )
        raise translatable(ValueError, template, name=name, count=count, value=value)
    require_few(name, value)
    bounds = {"least": least, "most": MOST_LAYERS}
    return tuple(rules.whole(f"each of {name}", entry, **bounds) for entry in value[:count])
