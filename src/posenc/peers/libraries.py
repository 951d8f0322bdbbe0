"""Encodings of small libraries, and layers of large ones."""

from __future__ import annotations  # PyTorch is not imported before it is used

from typing import TYPE_CHECKING, Any

from posenc import adapt
from posenc.core.about import Traits
from posenc.peers.adapters import ModuleAdapter, find_table_sides, import_library, split_runs

if TYPE_CHECKING:
    from torch import Tensor

SINE = Traits(unique=True, bounded=True, ordered=True)
ALIBI = Traits(unique=True, relative=True, ordered=True)


def rotary_embedding_torch(dim: int = 64, *, shared: bool = False) -> adapt.AdaptedRotary:
    """`RotaryEmbedding(dim)`: a module for each dtype, or one for all if `shared`."""
    kind = import_library("rotary_embedding_torch").RotaryEmbedding
    torch, modules = import_library("torch"), dict[Any, Any]()

    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        module = modules.setdefault(None if shared else x.dtype, kind(dim))
        parts = [
            module.rotate_queries_or_keys(x[..., part, :], offset=start)
            for start, part in split_runs(positions)
        ]
        return torch.cat(parts, dim=-2)

    name = "rotary-embedding-torch" + (", one module for all dtypes" if shared else "")
    return adapt.rotary(rotate, dim=dim, name=name, library="torch")


def x_transformers(dim: int = 64) -> adapt.AdaptedRotary:
    """`RotaryEmbedding(dim)` of x-transformers, and its `apply_rotary_pos_emb`."""
    theirs = import_library("x_transformers.x_transformers", "x-transformers")

    def rotate(module: Any, x: Tensor, positions: Tensor) -> Tensor:
        return theirs.apply_rotary_pos_emb(x[None], module(positions)[0])[0]

    fn = ModuleAdapter(theirs.RotaryEmbedding(dim), rotate)
    return adapt.rotary(fn, dim=dim, name="x-transformers: rotary")


def x_transformers_alibi(heads: int = 8) -> adapt.AdaptedBias:
    """`AlibiPositionalBias(heads)` of x-transformers."""
    module = import_library("x_transformers.x_transformers", "x-transformers").AlibiPositionalBias(
        heads
    )
    fn = module.forward_custom_pos
    return adapt.bias(fn, heads=heads, name="x-transformers: ALiBi", library="torch", claims=ALIBI)


def positional_encodings(dim: int = 64, axes: int = 1) -> adapt.AdaptedAdditive:
    """`PositionalEncoding1D`, `2D` or `3D` of positional-encodings, which encode a whole grid."""
    theirs = import_library("positional_encodings.torch_encodings", "positional-encodings")

    def encode(module: Any, positions: Tensor) -> Tensor:
        where = positions.reshape(-1, axes)
        whole = find_table_sides(where, axes)
        grid = module(module.inv_freq.new_zeros(1, *whole, dim))[0]
        return grid[tuple(where.T)].reshape(*positions.shape[: 1 if axes > 1 else None], dim)

    fn = ModuleAdapter(getattr(theirs, f"PositionalEncoding{axes}D")(dim), encode)
    name = f"positional-encodings: {axes}-D, {dim} channels"
    return adapt.additive(fn, dim=dim, name=name, axes=axes if axes > 1 else None, claims=SINE)


def torchtune(dim: int = 64, *, length: int = 4096) -> adapt.AdaptedRotary:
    """`RotaryPositionalEmbeddings(dim, length)` of torchtune."""
    module = import_library("torchtune.modules", "torchtune").RotaryPositionalEmbeddings(
        dim, length
    )

    def rotate(module: Any, x: Tensor, positions: Tensor) -> Tensor:
        return module(x[None, :, None], input_pos=positions[None])[0, :, 0]

    return adapt.rotary(ModuleAdapter(module, rotate), dim=dim, name="torchtune: rotary")


def timm_rotary(dim: int = 64) -> adapt.AdaptedRotary:
    """`RotaryEmbeddingCat(dim, in_pixels=False)` of timm, on a grid."""
    theirs = import_library("timm.layers.pos_embed_sincos", "timm")

    def rotate(module: Any, x: Tensor, positions: Tensor) -> Tensor:
        whole = find_table_sides(positions, 2)
        table = module.get_embed(whole).reshape(*whole, -1)
        return theirs.apply_rot_embed_cat(x, table[tuple(positions.T)])

    fn = ModuleAdapter(theirs.RotaryEmbeddingCat(dim, in_pixels=False), rotate)
    return adapt.rotary(fn, dim=dim, name="timm: rotary, 2-D", axes=2)


def keras_hub_sine(dim: int = 64, policy: str = "float32") -> adapt.AdaptedAdditive:
    """`SinePositionEncoding` of keras-hub under a dtype policy, on any backend of Keras."""
    keras, hub = import_library("keras"), import_library("keras_hub", "keras-hub")
    layer = hub.layers.SinePositionEncoding(dtype=policy)

    def encode(positions: Tensor) -> Tensor:
        parts = [
            layer(keras.ops.zeros((1, part.stop - part.start, dim)), start_index=start)[0]
            for start, part in split_runs(positions)
        ]
        values = keras.ops.convert_to_numpy(
            keras.ops.cast(keras.ops.concatenate(parts, 0), "float32")
        )
        return import_library("torch").from_numpy(values)

    name = f"keras-hub: sine, {policy}"
    return adapt.additive(encode, dim=dim, name=name, library="torch", claims=SINE)


def keras_hub_rotary(dim: int = 64, policy: str = "float32") -> adapt.AdaptedRotary:
    """`RotaryEmbedding` of keras-hub under a dtype policy, with Keras on PyTorch."""
    layer = import_library("keras_hub", "keras-hub").layers.RotaryEmbedding(dtype=policy)

    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        return layer(x[None], positions=positions[None])[0]

    return adapt.rotary(rotate, dim=dim, name=f"keras-hub: rotary, {policy}", library="torch")
