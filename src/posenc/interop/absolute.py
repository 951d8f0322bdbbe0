"""Models that add positions to their embeddings: learned and sinusoidal tables."""

from posenc.core.encoding import Encoding
from posenc.encodings.learned import Learned
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.i18n import translatable
from posenc.interop.conventions import AbsoluteConvention
from posenc.interop.fields import LENGTH, Fields

Layers = tuple[Encoding, ...]


def read_absolute(fields: Fields, convention: AbsoluteConvention) -> tuple[Layers, int | None]:
    """The table that a model adds to its embeddings, for each layer, and its length."""
    kind = fields.get("position_embedding_type", default="absolute")
    if kind != "absolute":
        raise translatable(
            ValueError,
            "position_embedding_type must be 'absolute'; got position_embedding_type={kind!r}",
            kind=kind,
        )
    dim = fields.whole(*[n for n in convention.dim if n in fields.values][:1] or convention.dim)
    if convention.rows == "patches":
        size, patch = (fields.sides(name) for name in ("image_size", "patch_size"))
        length = (size[0] // patch[0]) * (size[1] // patch[1])
        table: Encoding = Learned(length + convention.extra, dim)
        fields.add_note(
            "rows: {extra} for class tokens, then one for each patch", extra=convention.extra
        )
    elif convention.kind == "sinusoidal" or fields.flag("sinusoidal_pos_embds", default=False):
        length = fields.whole(*LENGTH, "max_source_positions")
        table = Sinusoidal(dim, layout=convention.layout, spacing=convention.spacing)
    else:
        rows = fields.whole(*LENGTH) + convention.extra
        length = rows - convention.offset
        table = Learned(rows, dim)
    if convention.offset:
        fields.add_note(
            "the first token has position {offset}: add {offset} to positions",
            offset=convention.offset,
        )
    fields.add_note("added once, before the first layer")
    return (table,) * _count_layers(fields, convention.stacks), length


def read_whisper(fields: Fields) -> tuple[Layers, int]:
    """Whisper: sinusoidal in the audio encoder, a learned table in the text decoder."""
    dim = fields.whole("d_model", "hidden_size")
    audio = fields.whole("max_source_positions")
    text = fields.whole("max_target_positions")
    encoder, decoder = _read_stacks(fields)
    fields.add_note(
        "the encoder has {audio:,} positions, the decoder {text:,}", audio=audio, text=text
    )
    fields.add_note("added once, before the first layer of each stack")
    sines = Sinusoidal(dim, layout="concat", spacing="t2t")
    return (sines,) * encoder + (Learned(text, dim),) * decoder, text


def _count_layers(fields: Fields, stacks: bool) -> int:
    return sum(_read_stacks(fields)) if stacks else fields.layers()


def _read_stacks(fields: Fields) -> tuple[int, int]:
    encoder = fields.whole("encoder_layers", most=10_000)
    decoder = fields.whole("decoder_layers", most=10_000)
    fields.note_stacks(encoder, decoder)
    return encoder, decoder
