"""The positional encodings of a model, layer by layer."""

from dataclasses import dataclass

from posenc.core.encoding import Encoding
from posenc.i18n import Note


@dataclass(frozen=True, repr=False)
class ModelPositions:
    """The positional encoding of each layer of a model, and the length it was trained on.

    An encoding that is added to the embeddings is listed at every layer, though it acts before the
    first. In an encoder-decoder model the encoder's layers come first.

    `print(model)` shows the summary that the command `posenc config` prints.
    """

    model_type: str
    layers: tuple[Encoding, ...]
    trained_length: int | None
    heads: int | None
    head_dim: int | None
    notes: tuple[Note, ...] = ()
    parts: tuple[str, ...] = ()
    """The part of the model that each layer is in, if there are several: "encoder" or "decoder", or
    the layer's type."""

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(type(layer).__name__ for layer in self.layers))
        layers = f"{len(self.layers)} layers ({names})"
        length = "unknown" if self.trained_length is None else f"{self.trained_length:,}"
        return f"<ModelPositions {self.model_type}: {layers}, trained length {length}>"

    def __str__(self) -> str:
        from posenc.interop.describe import describe
        from posenc.interop.summary import summarise

        return "\n".join(summarise(describe(self)))

    def _repr_html_(self) -> str:
        from posenc.interop.describe import describe
        from posenc.interop.summary import summarise_html

        return summarise_html(describe(self))


def group_layers(layers: tuple[Encoding, ...]) -> list[tuple[Encoding, list[int]]]:
    """Each different encoding with the numbers of the layers that have it."""
    groups: dict[Encoding, list[int]] = {}
    known: dict[int, list[int]] = {}  # by identity: hashing a LongRoPE hashes hundreds of factors
    for i, encoding in enumerate(layers):
        if id(encoding) not in known:
            known[id(encoding)] = groups.setdefault(encoding, [])
        known[id(encoding)].append(i)
    return list(groups.items())


def label_groups(model: ModelPositions) -> list[tuple[Encoding, Note | None]]:
    """Each different encoding with the part of the model that has it; None if all layers share one.

    >>> from posenc import read_config
    >>> model = read_config({"model_type": "t5", "num_heads": 8, "num_layers": 2})
    >>> [str(part) for _, part in label_groups(model)]
    ['encoder', 'decoder']
    """
    groups = group_layers(model.layers)
    if len(groups) == 1:
        return [(groups[0][0], None)]
    return [(encoding, _label(model, where)) for encoding, where in groups]


def _label(model: ModelPositions, where: list[int]) -> Note:
    """The name of a group of layers."""
    kinds = {model.parts[i] for i in where} if model.parts else set[str]()
    if kinds == {"encoder"}:
        return Note.of("encoder")
    if kinds == {"decoder"}:
        return Note.of("decoder")
    if kinds and all(_is_local(kind) for kind in kinds):
        return Note.of("local layers")
    if kinds == {"full_attention"} and any(map(_is_local, model.parts)):
        return Note.of("global layers")
    return Note.of("layers {where}", where=format_ranges(where))


def _is_local(kind: str) -> bool:
    return any(word in kind for word in ("sliding", "chunked", "local"))


def format_ranges(numbers: list[int]) -> str:
    """Numbers in increasing order, with runs written as ranges.

    >>> format_ranges([0, 1, 2, 4, 5, 9])
    '0-2, 4-5, 9'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][-1] == n - 1:
            runs[-1] = [runs[-1][0], n]
        else:
            runs.append([n])
    return ", ".join("-".join(map(str, run)) for run in runs)
