"""Models that do not rotate: learned and sinusoidal tables, ALiBi, T5's bias."""

from collections.abc import Mapping
from typing import Any

from posenc import rules
from posenc.encodings import ALiBi, Learned, Sinusoidal, T5Bias
from posenc.interop.conventions import AbsoluteConvention
from posenc.interop.fields import LENGTH, Fields
from posenc.mechanisms import Encoding

Layers = tuple[Encoding, ...]


def absolute_layers(fields: Fields, convention: AbsoluteConvention) -> tuple[Layers, int | None]:
    """The table of a model that adds positions to its embeddings, and its length."""
    kind = fields.get("position_embedding_type", default="absolute")
    if kind != "absolute":
        raise ValueError(
            f"position_embedding_type must be 'absolute' to be read; "
            f"got position_embedding_type={kind!r}"
        )
    dim = fields.whole(*[n for n in convention.dim if n in fields.values][:1] or convention.dim)
    if convention.rows == "patches":
        size, patch = (_side(fields, name) for name in ("image_size", "patch_size"))
        length = (size[0] // patch[0]) * (size[1] // patch[1])
        table: Encoding = Learned(length + convention.extra, dim)
        fields.note(f"rows: {convention.extra} for class tokens, then one for each patch")
    elif convention.kind == "sinusoidal" or fields.flag("sinusoidal_pos_embds", default=False):
        length = fields.whole(*LENGTH, "max_source_positions")
        table = Sinusoidal(dim, layout=convention.layout, spacing=convention.spacing)
    else:
        rows = fields.whole(*LENGTH) + convention.extra
        length = rows - convention.offset
        table = Learned(rows, dim)
    if convention.offset:
        fields.note(f"the first token has position {convention.offset}: add that to positions")
    fields.note("added once, before the first layer")
    return (table,) * _depth(fields, convention.stacks), length


def whisper_layers(fields: Fields) -> tuple[Layers, int]:
    """Whisper: sines over the sound, a learned table over the text."""
    dim = fields.whole("d_model", "hidden_size")
    sound = fields.whole("max_source_positions")
    text = fields.whole("max_target_positions")
    encoder, decoder = _stacks(fields)
    fields.note(f"the encoder has {sound:,} positions, the decoder {text:,}")
    fields.note("added once, before the first layer of each")
    sines = Sinusoidal(dim, layout="concat", spacing="t2t")
    return (sines,) * encoder + (Learned(text, dim),) * decoder, text


def alibi_layers(fields: Fields) -> Layers | None:
    """ALiBi's layers, or None where the model is told to rotate instead."""
    options: Any = fields.get("attn_config", default={})
    if fields.model_type == "mpt":
        if not isinstance(options, Mapping):
            raise TypeError(f"attn_config must be an object; got attn_config={options!r}")
        if not options.get("alibi", True):
            raise ValueError("attn_config.alibi must be true to be read; got alibi=False")
        if (most := options.get("alibi_bias_max", 8)) != 8:
            raise ValueError(f"attn_config.alibi_bias_max must be 8; got alibi_bias_max={most!r}")
    if fields.model_type == "falcon":
        if not fields.flag("alibi", default=False):
            return None
        fields.note("Falcon divides the bias by sqrt(head_dim) too, with the logits")
    return (ALiBi(fields.heads()),) * fields.layers()


def t5_layers(fields: Fields) -> Layers:
    """T5's bias: both ways in the encoder, backwards only in the decoder."""
    heads = fields.whole("num_heads", "num_attention_heads")
    buckets = fields.get("relative_attention_num_buckets")
    far = fields.get("relative_attention_max_distance")
    if buckets is None:
        fields.defaulted("relative_attention_num_buckets", buckets := 32)
    if far is None:
        fields.defaulted("relative_attention_max_distance", far := 128)
    both, back = (
        T5Bias(heads, buckets=buckets, max_distance=far, bidirectional=way) for way in (True, False)
    )
    encoder = fields.whole("num_layers", "num_hidden_layers", most=10_000)
    decoder = rules.whole(
        "num_decoder_layers",
        fields.get("num_decoder_layers", default=encoder),
        least=1,
        most=10_000,
    )
    own = fields.model_type == "umt5"
    fields.note("each layer has its own table" if own else "the layers of a stack share one table")
    _stacked(fields, encoder, decoder)
    return (both,) * encoder + (back,) * decoder


def _depth(fields: Fields, stacks: bool) -> int:
    return sum(_stacks(fields)) if stacks else fields.layers()


def _stacks(fields: Fields) -> tuple[int, int]:
    encoder = fields.whole("encoder_layers", most=10_000)
    decoder = fields.whole("decoder_layers", most=10_000)
    _stacked(fields, encoder, decoder)
    return encoder, decoder


def _stacked(fields: Fields, encoder: int, decoder: int) -> None:
    fields.note(
        f"layers 0-{encoder - 1} are the encoder's, {encoder}-{encoder + decoder - 1} the decoder's"
    )


def _side(fields: Fields, name: str) -> tuple[int, int]:
    value = fields.get(name)
    sides = value if isinstance(value, list | tuple) and len(value) == 2 else (value, value)
    height, width = (rules.whole(name, side, least=1) for side in sides)
    return height, width
