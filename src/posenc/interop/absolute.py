"""Models that add positions to their embeddings: learned and sinusoidal tables."""

from posenc.core.encoding import Encoding
from posenc.encodings.learned import Learned
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.i18n import N_, translatable
from posenc.interop.conventions import AbsoluteConvention
from posenc.interop.fields import LENGTH, MOST_LAYERS, Fields

Layers = tuple[Encoding, ...]


def read_absolute(fields: Fields, convention: AbsoluteConvention) -> tuple[Layers, int | None]:
    """The table that a model adds to its embeddings, for each layer, and its length."""
    kind = fields.get("position_embedding_type", default="absolute")
    if kind != "absolute":
        template = N_(
            "position_embedding_type must be 'absolute'; got position_embedding_type={kind!r}"
        )
        raise translatable(ValueError, template, kind=kind)
    dim = fields.whole(*[n for n in convention.dim if n in fields.values][:1] or convention.dim)
    extra, offset = convention.extra, convention.offset
    if convention.rows == "patches":
        size, patch = (fields.sides(name) for name in ("image_size", "patch_size"))
        length = (size[0] // patch[0]) * (size[1] // patch[1])
        table: Encoding = Learned(length + extra, dim)
        fields.add_note("rows: {extra} for class tokens, then one for each patch", extra=extra)
    elif convention.kind == "sinusoidal" or fields.flag("sinusoidal_pos_embds", default=False):
        length = fields.whole(*LENGTH, "max_source_positions")
        table = Sinusoidal(dim, layout="concat", spacing=convention.spacing)
    else:
        rows = fields.whole(*LENGTH) + extra
        length, table = rows - offset, Learned(rows, dim)
    if offset:
        template = N_("the first token has position {offset}: add {offset} to positions")
        fields.add_note(template, offset=offset)
    fields.add_note("added once, before the first layer")
    layers = sum(_read_stacks(fields)) if convention.stacks else fields.layers()
    return (table,) * layers, length


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


def _read_stacks(fields: Fields) -> tuple[int, int]:
    encoder = fields.whole("encoder_layers", most=MOST_LAYERS)
    decoder = fields.whole("decoder_layers", most=MOST_LAYERS)
    fields.note_stacks(encoder, decoder)
    return encoder, decoder
