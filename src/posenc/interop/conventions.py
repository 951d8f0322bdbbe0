"""Conventions of each model type that a config.json leaves to the model's code.

They are rows of model_types.toml; the classes here say what a row may state, and its default.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from posenc.core.rotation import Pairing, Rotated

NO_ATTENTION = frozenset(
    {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "moe", "mlp", "gdn", "kda"}
)
"""Layer types without attention, which therefore have no positions."""


class Sizes(NamedTuple):
    """Default sizes of a config class, which nested configs often leave out; 0 if it has none."""

    layers: int = 0
    hidden: int = 0
    heads: int = 0
    head_dim: int = 0
    length: int = 0


NO_SIZES = Sizes()


@dataclass(frozen=True, kw_only=True)
class RotaryConvention:
    """How a model type rotates, as far as its config class and its code decide it."""

    sizes: Sizes = NO_SIZES
    pairing: Pairing = "halves"
    base: float = 10_000.0
    """Default of the config class, for its global layers if it has two kinds."""
    local_base: float | None = None
    """Default of the local layers, if they have their own parameters."""
    share: float = 1.0
    """Default partial rotary factor: the fraction of a head's channels that rotate."""
    local_share: float | None = None
    """The same for the local layers, if it differs."""
    rotary_dim: int | None = None
    """Default number of channels that rotate, if the class states it instead of a share."""
    rotated: Rotated = "leading"
    latent: tuple[int, int] | None = None
    """Multi-head latent attention: channels of a head without and with rotation, by default."""
    widen: int = 1
    """Head dim as a multiple of hidden_size / heads."""
    every: int | None = None
    """If the file has no `layer_types`, every n-th layer is global and the local_type local."""
    every_field: str = "sliding_window_pattern"
    """The field that states another n; "" if the class does not read one (Gemma 4)."""
    global_first: bool = False
    """Whether the first layer is global (ModernBERT)."""
    global_last: Literal["counted", "always"] | None = None
    """Whether the last layer is global too: if the file has no `layer_types` (Beam), or whatever
    the file says (Gemma 4)."""
    local_type: str = "sliding_attention"
    """The type of the local layers."""
    local_scaled: bool = False
    """Whether the scaling of the global layers applies to the local ones (ModernBERT)."""
    rotates_globally: bool = True
    """Whether the global layers rotate."""
    unrotated_every: int | None = None
    """If the file has no `no_rope_layers`, every n-th layer does not rotate."""
    required: tuple[str, ...] = ()
    """Fields of which the file must have one, since the config class has no usable default."""
    global_head_dim: int | None = None
    sections: tuple[int, ...] | None = None
    """M-RoPE's default number of pairs for each axis."""
    section_order: Literal["chunked", "interleaved", "ernie"] = "chunked"
    """Order of the axes over the pairs."""
    only_if: tuple[str, object] | None = None
    """A field and the value with which the model rotates, which is not the default."""
    parameters: Mapping[str, Any] | None = None
    """Default rope_parameters of the config class."""
    backwards: bool = False
    """Rotates by -p w (nanochat)."""
    temperature: Literal["llama4", "ministral", "beam"] | None = None


@dataclass(frozen=True, kw_only=True)
class AbsoluteConvention:
    """How a model type adds positions to its embeddings."""

    sizes: Sizes = NO_SIZES
    kind: Literal["learned", "sinusoidal"] = "learned"
    rows: Literal["positions", "patches"] = "positions"
    offset: int = 0
    """The row of the first token; no token uses the rows before it."""
    extra: int = 0
    """Rows in addition to max_position_embeddings, or to the patches (class tokens)."""
    dim: tuple[str, ...] = ("hidden_size", "n_embd", "d_model", "dim")
    spacing: Literal["paper", "t2t"] = "paper"
    stacks: bool = False
    """Whether it has an encoder and a decoder."""


@dataclass(frozen=True, kw_only=True)
class TowerConvention:
    """How a tower for images or video rotates, whose positions have several axes."""

    sizes: Sizes = NO_SIZES
    layout: Literal["rows, columns", "even, odd", "centres", "time, rows, columns"] = (
        "rows, columns"
    )
    """The axis that each pair follows, and what a position is."""
    base: float = 10_000.0
    dim: tuple[str, ...] = ("hidden_size",)
    """The field for the channels of all heads."""


Convention = TypeVar("Convention", RotaryConvention, AbsoluteConvention, TowerConvention)


def _load_table(kind: Callable[..., Convention], rows: dict[str, Any]) -> Mapping[str, Convention]:
    """The convention of each model type in a table, with what its row takes over from another."""

    def merge(row: dict[str, Any]) -> dict[str, Any]:
        return merge(rows[row["like"]]) | row if "like" in row else row

    def build(row: dict[str, Any]) -> Convention:
        named = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
        named.pop("like", None)
        return kind(**named | ({"sizes": Sizes(*row["sizes"])} if "sizes" in row else {}))

    return MappingProxyType({name: build(merge(row)) for name, row in rows.items()})


_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("model_types.toml").read_text(encoding="utf-8")
)
ROTARY = _load_table(RotaryConvention, _TABLES["rotary"])
"""The convention of each text model type that rotates."""
ABSOLUTE = _load_table(AbsoluteConvention, _TABLES["absolute"])
"""The convention of each model type that adds positions to its embeddings."""
TOWERS = _load_table(TowerConvention, _TABLES["towers"])
"""The convention of each tower that rotates by the axes of patches."""
ALIBI, T5, SWIN, NO_POSITIONS = (
    frozenset[str](_TABLES[name]) for name in ("alibi", "t5", "swin", "no_positions")
)
KNOWN = frozenset(
    ROTARY.keys() | ABSOLUTE.keys() | TOWERS.keys() | ALIBI | T5 | SWIN | NO_POSITIONS
) | {"whisper", "led"}
"""Every model type that is read."""
REFUSED: Mapping[str, str] = MappingProxyType(
    {name: row["has"] for row in _TABLES["refused"] for name in row["types"]}
)
"""What each model type that is not read has: a message with {model} and perhaps {parts}."""
ALWAYS_REFUSED = frozenset[str](_TABLES["always"])
OUTSIDE = frozenset[str](_TABLES["outside"])
"""Model types that transformers does not have: their code comes with their weights."""
READ_FIELDS = frozenset[str](_TABLES["read_fields"])
SWITCHES: Mapping[str, bool | int] = MappingProxyType(_TABLES["switches"])
"""Fields of rotary models that must have one value, if the file has them."""
