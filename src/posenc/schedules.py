"""Which layer has which encoding."""

from collections.abc import Iterator
from dataclasses import dataclass

from posenc.core import rules
from posenc.core.hints import hint_arguments
from posenc.core.mechanisms import Encoding

PATTERNS: dict[str, tuple[str, ...]] = {
    "llama4": ("local", "local", "local", "global"),
    "smollm3": ("local", "local", "local", "global"),
    "cohere2": ("local", "local", "local", "global"),
    "gemma3": ("local", "local", "local", "local", "local", "global"),
    "gemma4": ("local", "local", "local", "local", "local", "global"),
    "modernbert": ("global", "local", "local"),
}
"""The order in which models alternate two kinds of layer, from the first layer on.

Llama 4 (iRoPE) and SmolLM 3: RoPE, and nothing on every fourth layer. Cohere 2: RoPE within a
sliding window, nothing on the global layers. Gemma 3 and 4: RoPE of base 10,000 within a window, of
base 1,000,000 on the global layers (in Gemma 4 there `Proportional(0.25)`). ModernBERT: base
160,000 on the global layers, 10,000 on the local ones.
"""


@dataclass(frozen=True)
class Schedule:
    """The encoding of each layer of a model, by its number from 0.

    >>> from posenc import NoPE, RoPE
    >>> layers = Schedule.of("llama4", 48, local=RoPE(128, base=500_000.0), everywhere=NoPE())
    >>> layers[2] == RoPE(128, base=500_000.0), layers[3], len(layers)
    (True, NoPE(), 48)
    """

    layers: tuple[Encoding, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.layers, tuple) or not self.layers:
            raise TypeError(f"layers must be a tuple of encodings; got layers={self.layers!r}")
        for encoding in self.layers:
            if not isinstance(encoding, Encoding):
                raise TypeError(f"each of layers must be an Encoding; got {encoding!r}")

    @classmethod
    def of(cls, model: str, layers: int, *, local: Encoding, everywhere: Encoding) -> "Schedule":
        """The schedule of a model of PATTERNS: `local` layers and those that look everywhere."""
        rules.one_of("model", model, tuple(PATTERNS))
        kinds, pattern = {"local": local, "global": everywhere}, PATTERNS[model]
        count = rules.whole("layers", layers, least=1, most=100_000)
        return cls(tuple(kinds[pattern[i % len(pattern)]] for i in range(count)))

    def __getitem__(self, layer: int) -> Encoding:
        if not 0 <= rules.whole("layer", layer) < len(self.layers):
            raise ValueError(f"layer must be one of 0 .. {len(self.layers) - 1}; got layer={layer}")
        return self.layers[layer]

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Encoding]:
        return iter(self.layers)


hint_arguments(Schedule)
