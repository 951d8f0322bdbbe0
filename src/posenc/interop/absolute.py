"""Models that add positions to their embeddings: learned and sinusoidal tables."""

from posenc.core.encoding import Encoding
from posenc.core.rules import MOST_CHANNELS
from posenc.encodings.learned import Learned
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.i18n import N_, translatable
from posenc.interop.conventions import AbsoluteConvention
from posenc.interop.fields import LENGTH, MOST_LAYERS, MOST_LENGTH, Fields

Layers = tuple[Encoding, ...]


def read_absolute(fields: Fields, convention: AbsoluteConvention) -> tuple[Layers, int | None]:
    """The table that a model adds to its embeddings, for each layer, and its length."""
    kind = fields.get("position_embedding_type", default="absolute")
    if kind != "absolute":
        template = N_(
            "position_embedding_type must be 'absolute'; got position_embedding_type={kind!r}"
        )
        raise translatable(ValueError, template, kind=kind)
    if not fields.flag("use_learned_position_embeddings", default=True):
        template = N_(
            "use_learned_position_embeddings must be true, since TrOCR's sinusoids are not read; "
            "got use_learned_position_embeddings=False"
        )
        raise translatable(ValueError, template)
    stated = [name for name in convention.dim if name in fields.values][:1]
    dim = fields.whole(*stated or convention.dim, default=fields.sizes.hidden, most=MOST_CHANNELS)
    extra, offset = convention.extra, convention.offset
    if convention.rows == "patches":
        size, patch = (fields.sides(name) for name in ("image_size", "patch_size"))
        length = (size[0] // patch[0]) * (size[1] // patch[1])
        table: Encoding = Learned(length + extra, dim)
        fields.add_note("rows: {extra} for class tokens, then one for each patch", extra=extra)
    elif convention.kind == "sinusoidal" or fields.flag("sinusoidal_pos_embds", default=False):
        names = (*LENGTH, "max_source_positions")
        length = fields.whole(*names, default=fields.sizes.length, most=MOST_LENGTH)
        table = Sinusoidal(dim, layout="concat", spacing=convention.spacing)
    else:
        rows = fields.whole(*LENGTH, default=fields.sizes.length, most=MOST_LENGTH) + extra
        length, table = rows - offset, Learned(rows, dim)
    if offset:
        template = N_("the first token has position {offset}: add {offset} to positions")
        fields.add_note(template, offset=offset)
    fields.add_note("added once, before the first layer")
    return (table,) * _count_layers(fields, convention), length


def _count_layers(fields: Fields, convention: AbsoluteConvention) -> int:
    """The layers of both stacks, or of the decoder alone where it is part of another model."""
    if not convention.stacks:
        return fields.layers()
    # TrOCR is a decoder, whatever its file says
    if fields.model_type == "trocr" or not fields.flag("is_encoder_decoder", default=True):
        return fields.whole("decoder_layers", default=fields.sizes.layers, most=MOST_LAYERS)
    return sum(_read_stacks(fields))


def read_whisper(fields: Fields) -> tuple[Layers, int]:
    """Whisper: sinusoidal in the audio encoder, a learned table in the text decoder."""
    dim = fields.whole("d_model", "hidden_size")
    audio = fields.whole("max_source_positions")
    text = fields.whole("max_target_positions")
    encoder, decoder = _read_stacks(fields)
    template = N_("the encoder has {audio:,} positions, the decoder {text:,}")
    fields.add_note(template, audio=audio, text=text)
    fields.add_note("added once, before the first layer of each stack")
    sines = Sinusoidal(dim, layout="concat", spacing="t2t")
    return (sines,) * encoder + (Learned(text, dim),) * decoder, text


def read_led(fields: Fields) -> tuple[Layers, int]:
    """LED: a learned table in the encoder and a shorter one in the decoder."""
    dim = fields.whole("d_model", "hidden_size", most=MOST_CHANNELS)
    long, short = (
        fields.whole(f"max_{part}_position_embeddings", default=rows, most=MOST_LENGTH)
        for part, rows in (("encoder", 16384), ("decoder", 1024))
    )
    encoder, decoder = _read_stacks(fields)
    template = N_("the encoder has {audio:,} positions, the decoder {text:,}")
    fields.add_note(template, audio=long, text=short)
    fields.add_note("added once, before the first layer of each stack")
    return (Learned(long, dim),) * encoder + (Learned(short, dim),) * decoder, short


def _read_stacks(fields: Fields) -> tuple[int, int]:
    encoder = fields.whole("encoder_layers", most=MOST_LAYERS)
    decoder = fields.whole("decoder_layers", most=MOST_LAYERS)
    fields.note_stacks(encoder, decoder)
    return encoder, decoder
