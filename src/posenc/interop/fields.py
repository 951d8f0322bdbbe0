"""Read the fields of a config under any of their names, check them, and note each default."""

from collections.abc import Mapping
from typing import Any

from posenc.core import rules
from posenc.i18n import Note, translatable
from posenc.interop.defaults import SIZES

LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HIDDEN = ("hidden_size", "n_embd", "d_model")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
HEAD_DIM = ("head_dim", "kv_channels", "attention_head_dim")
LENGTH = ("max_position_embeddings", "n_positions", "max_seq_len", "model_max_length", "seq_length")
MOST_LAYERS = 10_000
MOST_LENGTH = 2**40
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
        self.notes: list[Note] = []
        self.parts: tuple[str, ...] = ()
        self._different = self._channels = 0

    def first(self, *names: str) -> tuple[str, Any] | None:
        """The first of `names` that the file has, with its value; all that it has must agree."""
        found = [(n, self.values[n]) for n in names if self.values.get(n) is not None]
        for name, value in found[1:]:
            if value != found[0][1]:
                raise disagreement(found[0][0], found[0][1], name, value)
        return found[0] if found else None

    def get(self, *names: str, default: object = None) -> Any:
        """The value of the first of `names` that the file has, else `default`."""
        found = self.first(*names)
        return default if found is None else found[1]

    def add_note(self, template: str, /, **values: object) -> None:
        """Add a note unless it is there already."""
        note = Note.of(template, **values)
        if note not in self.notes:
            self.notes.append(note)

    def whole(self, *names: str, default: int | None = None, most: int | None = None) -> int:
        """A whole number of at least 1; if the file has none, the default, with a note."""
        found = self.first(*names)
        if found is not None:
            return rules.whole(found[0], found[1], least=1, most=most)
        if not default:
            raise translatable(
                ValueError,
                "{name} must be in the config of {model_type!r}; it is missing",
                name=names[0],
                model_type=self.model_type,
            )
        self.note_default(names[0], default)
        return default

    def note_default(self, name: str, value: object) -> None:
        """Add a note that a value is the default of the config class."""
        text = f"{value:,.10g}" if isinstance(value, int | float) else repr(value)
        self.add_note(
            "{name} {value} is the default of {model}; the file does not set it",
            name=name,
            value=text,
            model=self.model_type,
        )

    def flag(self, name: str, *, default: bool) -> bool:
        """The value of a boolean field."""
        value = self.values.get(name)
        if value is None:
            return default
        rules.flag(name, value)
        return value

    def layers(self) -> int:
        """The number of layers."""
        sizes = SIZES.get(self.model_type)
        return self.whole(*LAYERS, default=sizes and sizes.layers, most=MOST_LAYERS)

    def heads(self) -> int:
        """The number of heads of a layer."""
        sizes = SIZES.get(self.model_type)
        return self.whole(*HEADS, default=sizes and sizes.heads, most=MOST_LAYERS)

    def hidden(self) -> int:
        """The hidden size of the model."""
        sizes = SIZES.get(self.model_type)
        return self.whole(*HIDDEN, default=sizes and sizes.hidden, most=rules.MOST_CHANNELS)

    def length(self) -> int | None:
        """The number of positions, if the file or the config class states one."""
        sizes = SIZES.get(self.model_type)
        if self.first(*LENGTH) is None and not (sizes and sizes.length):
            return None
        return self.whole(*LENGTH, default=sizes and sizes.length, most=MOST_LENGTH)

    def head_dim(self, *, widen: int = 1) -> int:
        """Channels of a head: head_dim, or the class's default, or widen * hidden_size / heads."""
        found, sizes = self.first(*HEAD_DIM), SIZES.get(self.model_type)
        if found is not None:
            return rules.dim(*found)
        if sizes and sizes.head_dim:
            self.note_default("head_dim", sizes.head_dim)
            return sizes.head_dim
        hidden, heads = widen * self.hidden(), self.heads()
        if hidden % heads:
            raise translatable(
                ValueError,
                "head_dim must be given if hidden_size is not a multiple of num_attention_heads; "
                "got hidden_size={hidden_size}, num_attention_heads={heads}",
                hidden_size=hidden // widen,
                heads=heads,
            )
        return hidden // heads

    def count_encoding(self, dim: int) -> None:
        """Count one more different encoding with heads of `dim` channels, or refuse it."""
        self._different += 1
        self._channels += dim
        if self._different > MOST_DIFFERENT:
            raise translatable(
                ValueError,
                "the layers of a config must have at most {most:,} different encodings; got more",
                most=MOST_DIFFERENT,
            )
        if self._channels > MOST_CHANNELS:
            raise translatable(
                ValueError,
                "the heads of a config's different encodings must have at most {most:,} channels "
                "in total; got {count:,}",
                most=MOST_CHANNELS,
                count=self._channels,
            )

    def sides(self, name: str, default: int | None = None) -> tuple[int, int]:
        """Height and width, from a list of two numbers or one number for both."""
        value = self.get(name)
        if value is None and default is not None:
            self.note_default(name, value := default)
        both = value if isinstance(value, list | tuple) and len(value) == 2 else (value, value)
        height, width = (rules.whole(name, side, least=1) for side in both)
        return height, width

    def note_stacks(self, encoder: int, decoder: int) -> None:
        """Record which layers are in the encoder and which in the decoder."""
        self.parts = ("encoder",) * encoder + ("decoder",) * decoder
        self.add_note(
            "layers 0-{end} are in the encoder, {start}-{last} in the decoder",
            end=encoder - 1,
            start=encoder,
            last=encoder + decoder - 1,
        )

    def per_layer(self, name: str, layers: int) -> list[Any] | None:
        """A list with an entry for each layer, or None if the file has none."""
        value = self.values.get(name)
        if not value and not isinstance(value, str):
            return None
        if not isinstance(value, list | tuple) or len(value) < layers:
            raise translatable(
                ValueError,
                "{name} must be a list with an entry for each of the {layers} layers; got "
                "{name}={value}",
                name=name,
                layers=layers,
                value=_shorten(value),
            )
        return list(value)[:layers]


def disagreement(name: str, value: object, other: str, other_value: object) -> Exception:
    """The error for two fields that contradict each other."""
    return translatable(
        ValueError,
        "{name} and {other} must agree; got {name}={value!r}, {other}={other_value!r}",
        name=name,
        value=value,
        other=other,
        other_value=other_value,
    )


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
