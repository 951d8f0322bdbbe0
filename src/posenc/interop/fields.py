"""Read the fields of a config under any of their names, check them, and note each default."""

from collections.abc import Mapping, Sized
from typing import Any

from posenc.core import rules
from posenc.i18n import N_, Note, translatable
from posenc.interop.conventions import ABSOLUTE, NO_SIZES, ROTARY, TOWERS

LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HIDDEN = ("hidden_size", "n_embd", "d_model")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
HEAD_DIM = ("head_dim", "kv_channels", "attention_head_dim")
LENGTH = ("max_position_embeddings", "n_positions", "max_seq_len", "model_max_length", "seq_length")
TRAINED = "max_trained_positions"
"""The length that nomic_bert was trained on, beside that of its tables."""
MOST_LAYERS = 10_000
MOST_LENGTH = 2**40
MOST_SIDE = 2**20
MOST_DIFFERENT = 2**10
MOST_CHANNELS = 2**16
"""Limits on the different rotary encodings of a model, and on the sum of their head dims: each pair
of channels has a frequency, which takes time and memory. Large models have a few thousand."""
MOST_ENTRIES = 2**10
"""Limit on the entries of rope_parameters, which are searched for each layer type."""


class Fields:
    """The fields of a model's config, and the notes made while reading them.

    >>> fields = Fields({"n_head": 8, "num_attention_heads": 16}, "gpt2")
    >>> fields.first("num_attention_heads", "n_head")
    Traceback (most recent call last):
    ValueError: num_attention_heads and n_head must agree; got num_attention_heads=16, n_head=8
    """

    def __init__(self, values: Mapping[str, Any], model_type: str) -> None:
        self.values = values
        self.model_type = model_type
        tables = (ROTARY, ABSOLUTE, TOWERS)
        convention = next((table[model_type] for table in tables if model_type in table), None)
        self.sizes = NO_SIZES if convention is None else convention.sizes
        self.notes: list[Note] = []
        self.parts: tuple[str, ...] = ()
        self._different = self._channels = 0

    def first(self, *names: str) -> tuple[str, Any] | None:
        """The first of `names` that the file has, with its value; all that it has must agree.

        A name with a dot is a field of an object: attn_config.rope_theta.
        """
        found = [(n, value) for n in names if (value := self._find(n)) is not None]
        for other in found[1:]:
            require_agreement(found[0], other)
        return found[0] if found else None

    def _find(self, name: str) -> Any:
        outer, _, inner = name.partition(".")
        value = self.values.get(outer)
        return (
            value.get(inner) if inner and isinstance(value, Mapping) else None if inner else value
        )

    def get(self, *names: str, default: object = None) -> Any:
        """The value of the first of `names` that the file has, else `default`."""
        found = self.first(*names)
        return default if found is None else found[1]

    def get_or_note(self, name: str, default: object) -> Any:
        """The value of a field; if the file has none, the default, with a note."""
        value = self.values.get(name)
        if value is None and default is not None:
            self.note_default(name, value := default)
        return value

    def add_note(self, template: str, /, **values: object) -> None:
        """Add a note unless it is there already."""
        note = Note.of(template, **values)
        if note not in self.notes:
            self.notes.append(note)

    def note_default(self, name: str, value: object) -> None:
        """Add a note that a value is the default of the config class."""
        text = f"{value:,.10g}" if isinstance(value, int | float) else repr(value)
        template = N_("{name} {value} is the default of {model}; the file does not set it")
        self.add_note(template, name=name, value=text, model=self.model_type)

    def missing(self, name: object) -> Exception:
        """The error for a field that the file must have."""
        template = N_("{name} must be in the config of {model_type!r}; it is missing")
        return translatable(ValueError, template, name=name, model_type=self.model_type)

    def whole(self, *names: str, default: int = 0, most: int | None = None) -> int:
        """A whole number of at least 1; if the file has none, the default, with a note."""
        found = self.first(*names)
        if found is not None:
            return rules.whole(*found, least=1, most=most)
        if not default:
            raise self.missing(names[0])
        self.note_default(names[0], default)
        return default

    def flag(self, name: str, *, default: bool) -> bool:
        """The value of a boolean field."""
        value = self.values.get(name)
        if value is None:
            return default
        rules.flag(name, value)
        return value

    def layers(self) -> int:
        """The number of layers, or of the types that the file lists (Nemotron-H)."""
        listed = self.values.get("layers_block_type")
        if self.first(*LAYERS) is None and isinstance(listed, list) and listed:
            return rules.whole("len(layers_block_type)", len(listed), least=1, most=MOST_LAYERS)
        return self.whole(*LAYERS, default=self.sizes.layers, most=MOST_LAYERS)

    def heads(self) -> int:
        """The number of heads of a layer."""
        return self.whole(*HEADS, default=self.sizes.heads, most=MOST_LAYERS)

    def hidden_size(self) -> int:
        """The hidden size of the model."""
        return self.whole(*HIDDEN, default=self.sizes.hidden, most=rules.MOST_CHANNELS)

    def length(self) -> int | None:
        """The number of positions, if the file or the config class states one.

        Lengths do not affect the angles, so the first is used where two differ.
        """
        stated = [name for name in (TRAINED, *LENGTH) if self.values.get(name) is not None]
        if not stated and not self.sizes.length:
            return None
        for other in stated[1:]:
            if (value := self.values[other]) != self.values[stated[0]]:
                template = N_(
                    "{name} is the length that is used; the file also has {other}={value!r}"
                )
                self.add_note(template, name=stated[0], other=other, value=value)
        return self.whole(*stated[:1] or LENGTH, default=self.sizes.length, most=MOST_LENGTH)

    def head_dim(self, *, widen: int = 1) -> int:
        """Channels of a head: head_dim, or the class's default, or widen * hidden_size / heads."""
        if self.first(*HEAD_DIM) is not None or self.sizes.head_dim:
            most = rules.MOST_CHANNELS
            return self.whole(*HEAD_DIM, default=self.sizes.head_dim, most=most)
        hidden, heads = self.hidden_size(), self.heads()
        if widen * hidden % heads:
            template = N_(
                "head_dim must be given if hidden_size is not a multiple of num_attention_heads; "
                "got hidden_size={hidden_size}, num_attention_heads={heads}"
            )
            raise translatable(ValueError, template, hidden_size=hidden, heads=heads)
        return widen * hidden // heads

    def count_encoding(self, dim: int) -> None:
        """Count one more different encoding with heads of `dim` channels, or refuse it."""
        self._different += 1
        self._channels += dim
        if self._different > MOST_DIFFERENT:
            template = N_(
                "the layers of a config must have at most {most:,} different encodings; got more"
            )
            raise translatable(ValueError, template, most=MOST_DIFFERENT)
        if self._channels > MOST_CHANNELS:
            template = N_(
                "the heads of a config's different encodings must have at most {most:,} channels "
                "in total; got {count:,}"
            )
            raise translatable(ValueError, template, most=MOST_CHANNELS, count=self._channels)

    def sides(self, name: str, default: int | None = None) -> tuple[int, int]:
        """Height and width, from a list of two numbers or one number for both."""
        value = self.get_or_note(name, default)
        both = value if isinstance(value, list | tuple) and len(value) == 2 else (value, value)
        height, width = (rules.whole(name, side, least=1, most=MOST_SIDE) for side in both)
        return height, width

    def note_stacks(self, encoder: int, decoder: int) -> None:
        """Record which layers are in the encoder and which in the decoder."""
        if encoder + decoder > MOST_LAYERS:
            template = N_(
                "the encoder and the decoder must have at most {most:,} layers in total; got "
                "{encoder:,} and {decoder:,}"
            )
            counts = {"most": MOST_LAYERS, "encoder": encoder, "decoder": decoder}
            raise translatable(ValueError, template, **counts)
        self.parts = ("encoder",) * encoder + ("decoder",) * decoder
        template = N_("layers 0-{end} are in the encoder, {start}-{last} in the decoder")
        self.add_note(template, end=encoder - 1, start=encoder, last=encoder + decoder - 1)

    def per_layer(self, name: str, layers: int) -> list[Any] | None:
        """A list with an entry for each layer, or None if the file has none."""
        value = self.values.get(name)
        if not value and not isinstance(value, str):
            return None
        if not isinstance(value, list | tuple) or len(value) < layers:
            template = N_(
                "{name} must be a list with an entry for each of the {layers} layers; got "
                "{name}={value}"
            )
            text = repr(value)
            text = text if len(text) < 80 else f"{text[:77]}..."
            raise translatable(ValueError, template, name=name, layers=layers, value=text)
        return list(value)[:layers]


def require_few(name: str, values: Sized, most: int = MOST_LAYERS) -> None:
    """Raise an error if a field has more entries than any model needs."""
    if len(values) > most:
        template = N_("{name} must have at most {most:,} entries; got {count:,}")
        raise translatable(ValueError, template, name=name, most=most, count=len(values))


def require_agreement(one: tuple[str, object], other: tuple[str, object]) -> None:
    """Raise an error if two fields, each with its value, differ."""
    if one[1] != other[1]:
        raise disagreement(one, other)


def disagreement(one: tuple[str, object], other: tuple[str, object]) -> Exception:
    """The error for two fields, each with its value, that contradict each other."""
    template = N_("{name} and {other} must agree; got {name}={value!r}, {other}={other_value!r}")
    named = {"name": one[0], "value": one[1], "other": other[0], "other_value": other[1]}
    return translatable(ValueError, template, **named)


def shorten(text: str, most: int = 256) -> str:
    """Shorten a text to one line of at most `most` characters, for a message.

    >>> shorten("a" * 1000)[-4:], len(shorten("a" * 1000))
    ('aaa…', 256)
    """
    line = " ".join(text.splitlines())
    return line if len(line) <= most else line[: most - 1] + "…"
