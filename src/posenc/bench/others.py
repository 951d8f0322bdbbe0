"""Rotary embeddings of others: the common forms in plain PyTorch, and the libraries themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

import torch
from torch import Tensor

from posenc.bench.case import Bound
from posenc.core.rotation import Pairing
from posenc.peers.adapters import import_library

QK = tuple[Tensor, Tensor]
Table = tuple[Tensor, Tensor]

BASE = 10_000.0


@dataclass(frozen=True)
class Rotation:
    """Another implementation, for queries and keys (batch, heads, seq, dim) at its positions.

    pairing   which channels are turned together
    rounds    to what cosines, products and sums are rounded: float32, or the dtype of q and k
    source    the library, or that it is its formula
    """

    apply: Callable[[Tensor, Tensor], QK]
    pairing: Pairing
    rounds: Literal["float32", "dtype"]
    source: str = "plain PyTorch"

    def bound(self, x: Tensor, largest: float, last: int) -> Bound:
        """How far it may be off by the way it rounds, for |x| <= `largest` and p <= `last`.

        Angles p w in float32: w = base^(-2i/dim) is within 4 units of rounding u, and the product
        within one. The first w is 1, which is exact, so an angle is off by 5 u p base^(-2/dim); a
        cosine, a product and a sum add 3 u. Rounding to the dtype of x in between adds 3 of its
        units, and at the end 1 of the result.
        """
        single = torch.finfo(torch.float32).eps / 2
        unit = torch.finfo(x.dtype).eps / 2
        between = 3 * unit if self.rounds == "dtype" else 0.0
        angle = 5 * last * BASE ** (-2 / x.shape[-1])
        return Bound(2 * largest * (single * (angle + 3) + between), unit)

    def convention(self, dtype: torch.dtype) -> str:
        """What is rounded where ours is not."""
        if self.rounds == "dtype" and dtype != torch.float32:
            return f"angles in float32, cosines and products in {str(dtype).removeprefix('torch.')}"
        return "angles in float32"


@cache
def hugging_face(dim: int, *, direct: bool) -> tuple[Any, Any, str]:
    """How transformers makes a table and applies it, and where these two functions are from.

    table(x, positions)      cosines and sines (batch, seq, dim), in the dtype of x
    apply(q, k, cos, sin)    q and k turned, in halves

    Not `direct`, or without transformers: the same operations, written out.
    """
    if direct:
        try:
            llama = import_library("transformers.models.llama.modeling_llama", "transformers")
        except ModuleNotFoundError:
            pass
        else:
            rope = {"rope_type": "default", "rope_theta": BASE}
            config = llama.LlamaConfig(head_dim=dim, rope_parameters=rope)
            module = llama.LlamaRotaryEmbedding(config)
            return module, llama.apply_rotary_pos_emb, f"transformers {version('transformers')}"
    inverse = _frequencies(dim)

    def table(x: Tensor, positions: Tensor) -> Table:
        angles = (inverse[None, :, None] @ positions[:, None].float()).transpose(1, 2)
        doubled = torch.cat((angles, angles), dim=-1)
        return doubled.cos().to(x.dtype), doubled.sin().to(x.dtype)

    def apply(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> QK:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        return q * cos + _turn_halves(q) * sin, k * cos + _turn_halves(k) * sin

    return table, apply, "its operations in plain PyTorch"


def _turn_halves(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def hf_apply(x: Tensor, positions: Tensor, *, direct: bool = False) -> Rotation:
    """Hugging Face's apply, its table ready: what every layer but the first does."""
    table, apply, source = hugging_face(x.shape[-1], direct=direct)
    cos, sin = table(x, positions[None])
    return Rotation(lambda q, k: apply(q, k, cos, sin), "halves", "dtype", source)


def hf_with_table(x: Tensor, positions: Tensor, *, direct: bool = False) -> Rotation:
    """Hugging Face's table and apply: what the first layer does."""
    table, apply, source = hugging_face(x.shape[-1], direct=direct)
    return Rotation(lambda q, k: apply(q, k, *table(q, positions[None])), "halves", "dtype", source)


def hf_compile(x: Tensor, positions: Tensor, *, direct: bool = False) -> Rotation:
    """Hugging Face's apply, its table ready, by torch.compile for this shape."""
    table, apply, source = hugging_face(x.shape[-1], direct=direct)
    cos, sin = table(x, positions[None])
    compiled: Any = torch.compile(apply, dynamic=False)
    return Rotation(lambda q, k: compiled(q, k, cos, sin), "halves", "dtype", source)


def complex_form(x: Tensor, positions: Tensor) -> Rotation:
    """Pairs as complex numbers, times e^(i p w) kept in a table, as Llama was published."""
    angles = torch.outer(positions.float(), _frequencies(x.shape[-1]))
    turns = torch.polar(torch.ones_like(angles), angles)

    def turn(x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turns).flatten(-2).type_as(x)

    return Rotation(lambda q, k: (turn(q), turn(k)), "interleaved", "float32")


def table_lookup(x: Tensor, positions: Tensor) -> Rotation:
    """Rows of a table of cosines and sines by index_select, as servers such as vLLM keep it."""
    reach = torch.arange(int(positions.max()) + 1).float()
    angles = torch.outer(reach, _frequencies(x.shape[-1]))
    kept = torch.cat((angles.cos(), angles.sin()), dim=-1).to(x.dtype)

    def apply(q: Tensor, k: Tensor) -> QK:
        cos, sin = kept.index_select(0, positions).chunk(2, dim=-1)
        return _turn_chunks(q, cos, sin), _turn_chunks(k, cos, sin)

    return Rotation(apply, "halves", "dtype")


def _turn_chunks(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def _frequencies(dim: int) -> Tensor:
    return 1.0 / BASE ** (torch.arange(0, dim, 2).float() / dim)


def rotary_embedding_torch(x: Tensor, positions: Tensor) -> Rotation:
    """The module of rotary-embedding-torch, which keeps its angles."""
    module = import_library("rotary_embedding_torch").RotaryEmbedding(x.shape[-1])
    first, turn = int(positions[0]), module.rotate_queries_or_keys
    return Rotation(
        lambda q, k: (turn(q, offset=first), turn(k, offset=first)),
        "interleaved",
        "float32",
        f"rotary-embedding-torch {version('rotary-embedding-torch')}",
    )


def x_transformers(x: Tensor, positions: Tensor) -> Rotation:
    """The function of x-transformers, its angles ready, as its layers share them."""
    theirs = import_library("x_transformers.x_transformers", "x-transformers")
    angles, _ = theirs.RotaryEmbedding(x.shape[-1])(positions)
    turn = theirs.apply_rotary_pos_emb
    return Rotation(
        lambda q, k: (turn(q, angles), turn(k, angles)),
        "interleaved",
        "float32",
        f"x-transformers {version('x-transformers')}",
    )


def torchtune(x: Tensor, positions: Tensor) -> Rotation:
    """The module of torchtune, for (batch, seq, heads, dim), with a table that is long enough."""
    theirs = import_library("torchtune.modules", "torchtune")
    module = theirs.RotaryPositionalEmbeddings(x.shape[-1], int(positions.max()) + 1)
    where = positions[None]

    def turn(x: Tensor) -> Tensor:
        return module(x.transpose(1, 2), input_pos=where).transpose(1, 2)

    return Rotation(
        lambda q, k: (turn(q), turn(k)),
        "interleaved",
        "float32",
        f"torchtune {version('torchtune')}",
    )


PEERS: dict[str, Callable[[Tensor, Tensor], Rotation]] = {
    "rotary-embedding-torch": rotary_embedding_torch,
    "x-transformers": x_transformers,
    "torchtune": torchtune,
}
"""Libraries that are timed with --peers."""
