"""What is compared for each rotary class: our encoding, the positions, and how theirs is fed.

A class that has no row in `KNOWN` is taken for a plain text model. That is no licence: it is
compared like the others, and a module that mixes axes without being known here is an error.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import posenc as pe
from tests.conformance import readings as r
from tests.conformance.theirs import Tables
from tests.conformance.walk import Model

NEAR, FAR = (0, 1, 2, 5, 17, 100), (511, 1000, 2047)
POSITIONS = np.array([*NEAR, *FAR])
LENGTH = 2048


@dataclass(frozen=True)
class Fed:
    """The output of a rotary module of theirs, its positions, and how those were put to it."""

    out: Any
    points: np.ndarray
    ids: torch.Tensor | None = None


Ours = pe.RoPE | pe.AxialRoPE
Feed = Callable[[Any, Any, str | None], Fed]


def scattered(axes: int) -> np.ndarray:
    """Points (seq, axes) whose coordinates all differ, the near ones first."""
    return np.stack([np.r_[np.roll(NEAR, a), np.roll(FAR, a)] for a in range(axes)], axis=-1)


def called(module: Any, ids: torch.Tensor, layer_type: str | None) -> Any:
    """Call a module that takes (x, position_ids), and the kind of layer where it wants that."""
    x = torch.zeros(1, 1, 8)
    wants = "layer_type" in inspect.signature(module.forward).parameters
    return module(x, ids, layer_type=layer_type) if wants and layer_type else module(x, ids)


def one_axis(module: Any, config: Any, layer_type: str | None) -> Fed:
    ids = torch.from_numpy(POSITIONS)[None]
    out = called(module, ids, layer_type)
    mixed = called(module, torch.from_numpy(scattered(3).T.copy())[:, None], layer_type)
    tables = mixed if torch.is_tensor(mixed) else mixed[0]
    if len(tables) != 3:
        raise ValueError("the module mixes several axes, and no reading here says how")
    return Fed(out, POSITIONS, ids)


def axes_first(axes: int) -> Feed:
    """(axes, batch, seq): how the text models of vision-language models take their positions."""

    def feed(module: Any, config: Any, layer_type: str | None) -> Fed:
        points = scattered(axes)
        ids = torch.from_numpy(points.T.copy())[:, None]
        return Fed(called(module, ids, layer_type), points, ids)

    return feed


def axes_last(axes: int, *, batched: bool = False) -> Feed:
    """(seq, axes) or (batch, seq, axes): how vision towers take them."""

    def feed(module: Any, config: Any, layer_type: str | None) -> Fed:
        points = scattered(axes)
        ids = torch.from_numpy(points)
        ids = ids[None] if batched else ids
        return Fed(called(module, ids, layer_type), points, ids)

    return feed


def image(module: Any, config: Any, layer_type: str | None) -> Fed:
    """An image of 3 x 5 patches, whose centres DINOv3 puts into [-1, 1]."""
    size = config.patch_size if isinstance(config.patch_size, int) else config.patch_size[0]
    rows, columns = (2 * (np.arange(n) + 0.5) / n - 1 for n in (3, 5))
    points = np.stack(np.meshgrid(rows, columns, indexing="ij"), -1).reshape(-1, 2)
    return Fed(module(torch.zeros(1, 3, 3 * size, 5 * size)), points)


def features(module: Any, config: Any, layer_type: str | None) -> Fed:
    """A map of features that is aggregated to 40 x 50; rows and columns count from 1."""
    kernel, stride = config.q_aggregation_kernel_size, config.q_aggregation_stride
    height, width = ((n - 1) * stride + kernel for n in (40, 50))
    cos, sin = module(torch.zeros(1, 1, height, width))
    out = tuple(table.flatten(1, 2) for table in (cos, sin))
    return Fed(out, np.asarray(pe.grid(40, 50)).reshape(-1, 2) + 1)


def llama4_image(module: Any, config: Any, layer_type: str | None) -> Fed:
    """All patches of an image, counted from 1, and the class token, which is not turned."""
    side = config.image_size // config.patch_size
    points = np.asarray(pe.grid(side, side)).reshape(-1, 2) + 1
    return Fed(module(torch.zeros(1)), np.vstack([points, [[0, 0]]]))


def atoms(module: Any, config: Any, layer_type: str | None) -> Fed:
    """Atoms somewhere in space (in ångström), and the number of their molecule."""
    where = np.random.default_rng(0).uniform(-100, 100, size=(9, 3)).astype(np.float32)
    uid = torch.arange(9)
    out = module(torch.from_numpy(where)[None], uid[None], torch.get_default_dtype())
    return Fed(out, np.c_[where.astype(np.float64), np.arange(9)])


def counted(module: Any, config: Any, layer_type: str | None) -> Fed:
    """Modules that count positions themselves, and return angles (CLVP)."""
    angles = module(torch.zeros(1, LENGTH, 8))
    return Fed((angles.cos(), angles.sin()), np.arange(LENGTH), torch.arange(LENGTH)[None])


def counted_tables(module: Any, config: Any, layer_type: str | None) -> Fed:
    """Modules that count positions themselves, and return cosines on sines (the Conformers)."""
    return Fed(module(torch.zeros(1, LENGTH, 8)), np.arange(LENGTH))


def gptj_tables(module: Any, config: Any, layer_type: str | None) -> Fed:
    width = config.rotary_dim or config.hidden_size // config.num_attention_heads
    sin, cos = module.create_sinusoidal_positions(LENGTH, width)[POSITIONS].chunk(2, -1)
    return Fed((cos[None], sin[None]), POSITIONS)


def roformer_tables(module: Any, config: Any, layer_type: str | None) -> Fed:
    width = config.hidden_size // config.num_attention_heads
    table = module.RoFormerSinusoidalPositionalEmbedding(LENGTH, width).create_weight()[POSITIONS]
    sin, cos = table.to(torch.get_default_dtype()).chunk(2, -1)
    return Fed((cos[None], sin[None]), POSITIONS)


@dataclass(frozen=True)
class Known:
    """A class with a convention: our reading of its config, its positions, and a remark."""

    read: r.Reading
    feed: Feed
    remark: str = ""
    by_folder: bool = False
    """Whether its pairing is the folder's, as it is for text models."""

    def encoding(self, model: Model, config: Any, layer_type: str | None, function: str) -> Ours:
        """Our encoding for it, settled for the length, paired as `function` pairs."""
        one = self.read(config, layer_type).at(LENGTH)
        assert isinstance(one, pe.RoPE | pe.AxialRoPE)
        if self.by_folder:
            one = replace(one, pairing=r.pairing(model.folder, function))
        if model.folder in TRAILING:
            one = replace(one, rotated="trailing")
        return one


CHUNKED = Known(r.mrope((16, 24, 24)), axes_first(3), "M-RoPE in chunks", True)
SHORT_CHUNKED = Known(r.mrope((8, 12, 12)), CHUNKED.feed, CHUNKED.remark, True)
TURNS = Known(
    r.mrope((24, 20, 20), interleaved=True), axes_first(3), "M-RoPE whose axes take turns", True
)
SHORT_TURNS = Known(r.mrope((11, 11, 10), interleaved=True), TURNS.feed, TURNS.remark, True)
TOWER = Known(r.qwen2_vl_vision, axes_last(2), "rows, then columns, by halves")
SAM = Known(r.sam, axes_last(2), "first and second axis by blocks, neighbours")
DINO = Known(r.dinov3, image, "patch centres in [-1, 1], 2 pi over the period")
CONFORMER = Known(r.text, counted_tables, "turns the input of the projections, not q and k")

KNOWN = {
    "ClvpRotaryPositionalEmbedding": Known(r.clvp, counted, "turns the values as well"),
    "CohereCompassRotaryEmbedding": TURNS,
    "Cosmos3EdgeTextRotaryEmbedding": TURNS,
    "DINOv3ViTRopePositionEmbedding": DINO,
    "EdgeTamVideoVisionRotaryEmbedding": SAM,
    "EfficientLoFTRRotaryEmbedding": Known(
        r.efficientloftr, features, "turns all heads as one vector; counts from 1"
    ),
    "EomtDinov3RotaryEmbedding": DINO,
    "Ernie4_5_VLMoeTextRotaryEmbedding": Known(
        r.ernie_vl, axes_first(3), "height and width take turns, then time", True
    ),
    "EsmFold2RotaryEmbedding": Known(r.esmfold2, atoms, "three coordinates and a number"),
    "Gemma4VisionRotaryEmbedding": Known(
        r.qwen2_vl_vision, axes_last(2, batched=True), "by halves within each axis's block"
    ),
    "Glm4vMoeTextRotaryEmbedding": SHORT_CHUNKED,
    "Glm4vTextRotaryEmbedding": SHORT_CHUNKED,
    "GlmImageTextRotaryEmbedding": SHORT_CHUNKED,
    "GlmOcrTextRotaryEmbedding": SHORT_CHUNKED,
    "HunYuanVLRotaryEmbedding": Known(r.mrope(()), axes_first(4), "M-RoPE of four axes", True),
    "Kimi_K25VisionRotaryEmbedding": Known(r.kimi, axes_last(2), "column and row take turns"),
    "Llama4VisionRotaryEmbedding": Known(
        r.llama4_vision, llama4_image, "columns, then rows, counted from 1; complex"
    ),
    "MiniMaxM3VLVisionRotaryEmbedding": Known(r.minimax_vision, axes_last(3), "three axes"),
    "NeoMMERotaryEmbedding": Known(r.neomme, axes_first(2), "row and column take turns"),
    "PaddleOCRRotaryEmbedding": CHUNKED,
    "PixtralVisionRotaryEmbedding": Known(
        r.pixtral, axes_last(2), "even frequencies for rows, odd for columns"
    ),
    "Qwen2VLRotaryEmbedding": CHUNKED,
    "Qwen2_5OmniRotaryEmbedding": CHUNKED,
    "Qwen2_5_VLRotaryEmbedding": CHUNKED,
    "Qwen3OmniMoeTalkerRotaryEmbedding": TURNS,
    "Qwen3OmniMoeThinkerTextRotaryEmbedding": TURNS,
    "Qwen3VLMoeTextRotaryEmbedding": TURNS,
    "Qwen3VLTextRotaryEmbedding": TURNS,
    "Qwen3_5MoeTextRotaryEmbedding": SHORT_TURNS,
    "Qwen3_5TextRotaryEmbedding": SHORT_TURNS,
    "Qwen4ExpTextRotaryEmbedding": SHORT_TURNS,
    "Sam2VideoVisionRotaryEmbedding": SAM,
    "Sam3TrackerVideoVisionRotaryEmbedding": SAM,
    "Sam3ViTRotaryEmbedding": SAM,
    "Sapiens2RopePositionEmbedding": DINO,
    "SeamlessM4TConformerRotaryPositionalEmbedding": CONFORMER,
    "Wav2Vec2BertRotaryPositionalEmbedding": CONFORMER,
    "Wav2Vec2ConformerRotaryPositionalEmbedding": CONFORMER,
}

TRAILING = {"deepseek_v4", "mistral4"}
PLAIN = Known(r.text, one_axis, by_folder=True)
REMARKS = {
    "mistral4": "the trailing channels",
    "deepseek_v4": "the trailing channels; turns its outputs back",
    "nanochat": "turns the other way: our inverse",
}

WITHOUT_CLASS = {
    # models that rotate without a rotary module: the functions they keep instead
    "codegen": Known(r.gptj, gptj_tables, "a table of sines and cosines, no module"),
    "gptj": Known(r.gptj, gptj_tables, "a table of sines and cosines, no module"),
    "roformer": Known(r.roformer, roformer_tables, "the original; a table, no module"),
}


def known(rotary: str, config: Any) -> Known:
    """What is known of a class: its own row, the row of vision towers, or that of text models."""
    if rotary in KNOWN:
        return KNOWN[rotary]
    rope = getattr(config, "rope_parameters", None) or {}
    return TOWER if rope.get("rope_type") == "axial" else PLAIN


def appliers(model: Model, rotary: str) -> list[tuple[str, Any]]:
    """The functions of a model that rotate queries and keys with this class's tables."""
    module = model.module
    names = [name for name in model.functions if name in model.called]
    homes = [module, *(home for home in vars(module).values() if inspect.isclass(home))]
    found = [(n, next((vars(h)[n] for h in homes if n in vars(h)), None)) for n in names]
    functions = [
        (name, getattr(function, "__func__", function))
        for name, function in found
        if callable(function)
    ]
    seen = [f for f in functions if any(word in f[0] for word in ("vision", "multidim", "2d"))]
    other = [f for f in functions if f not in seen]
    return (seen if "Vision" in rotary and seen else other) or seen


def conformer(model: Model, fed: Fed, q: torch.Tensor, k: torch.Tensor) -> Tables:
    """The method of a Conformer's attention that turns its input (batch, seq, heads * dim)."""
    kind = next(c for c in vars(model.module).values() if hasattr(c, "_apply_rotary_embedding"))
    itself = SimpleNamespace(num_heads=q.shape[1], head_size=q.shape[3])
    flat = [x.transpose(1, 2).flatten(2) for x in (q, k)]
    one, other = (kind._apply_rotary_embedding(itself, x, fed.out) for x in flat)
    return tuple(x.unflatten(2, q.shape[1::2]).transpose(1, 2) for x in (one, other))


def rotated(rotary: str, folder: str, function: str, encoding: Ours, x: Any, fed: Fed) -> Any:
    """Rotate x (batch, heads, seq, dim) with ours, and put channels where theirs leaves them."""
    if rotary == "Gemma4VisionRotaryEmbedding":
        # their blocks are (a b)(c d), by halves in each; ours are by halves in all: (a c)(b d)
        blocks = x.reshape(*x.shape[:-1], 2, 2, -1).swapaxes(-3, -2).reshape(x.shape)
        out = encoding.rotate(blocks, fed.points)
        return out.reshape(*x.shape[:-1], 2, 2, -1).swapaxes(-3, -2).reshape(x.shape)
    out = encoding.rotate(x, fed.points, inverse=folder == "nanochat")
    if not function.endswith("_interleave"):
        return out
    kept, part = apart(out, encoding)  # takes neighbours, leaves halves: scores are the same
    return np.concatenate([kept, part[..., 0::2], part[..., 1::2]], axis=-1)


def apart(x: Any, encoding: Ours) -> tuple[Any, Any]:
    """The channels of x (…, dim) that stay, and those that turn."""
    count = width(encoding)
    if encoding.rotated == "trailing":
        return x[..., : encoding.dim - count], x[..., encoding.dim - count :]
    return x[..., count:], x[..., :count]


def width(encoding: Ours) -> int:
    """How many channels turn."""
    return 2 * len(encoding.frequencies())
