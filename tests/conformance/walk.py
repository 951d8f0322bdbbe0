"""Find what rotates in the installed transformers, and the configs that build it.

Nothing here is a list of models. A model is rotary if its modelling file has a class named like a
rotary module or calls a function named like one that applies it.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import transformers

MODULE = re.compile(r"(Rotary|RoPE|Rope)\w*Embedding$")
APPLY = re.compile(
    r"^(vision_)?apply_(\w*rotary\w*|multidimensional_rope)$"
    r"|^rotate_queries_or_keys$|^apply_rotary_position_embeddings$"
)
MODELS = Path(transformers.__file__).parent / "models"

TINY: dict[str, dict[str, Any]] = {
    # what the defaults of these leave out, or where they contradict each other
    "HunYuanVLTextConfig": {
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [16, 16, 16, 16],
        },
        "head_dim": 128,
    },
    "EsmConfig": {"position_embedding_type": "rotary", "vocab_size": 33},
    "GraniteMoeHybridConfig": {
        "position_embedding_type": "rope",
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
    },
    "DeepseekV4Config": {
        "num_hidden_layers": 2,
        "layer_types": ["sliding_attention", "compressed_sparse_attention"],
    },
    "Zamba2Config": {"use_mem_rope": True},
    "MiniMaxM3VLTextConfig": {"rotary_dim": 64, "partial_rotary_factor": 0.5},
    "Glm4MoeConfig": {"head_dim": 128},
    "Qwen3OmniMoeTextConfig": {"head_dim": 128},
    "Qwen3OmniMoeTalkerTextConfig": {"head_dim": 128},
    "Qwen4ExpTextConfig": {"partial_rotary_factor": 0.25},
    "Glm4vTextConfig": {"partial_rotary_factor": 0.5},
    "Glm4vMoeTextConfig": {"head_dim": 128, "partial_rotary_factor": 0.5},
    "GlmImageTextConfig": {"partial_rotary_factor": 0.5},
    "LagunaConfig": {
        "num_hidden_layers": 4,
        "layer_types": ["full_attention", "sliding_attention"] * 2,
    },
    "MellumConfig": {
        "num_hidden_layers": 4,
        "layer_types": ["full_attention", "sliding_attention"] * 2,
    },
    "ZayaConfig": {
        "num_hidden_layers": 4,
        "sliding_window": 128,
        "layer_types": ["hybrid", "hybrid_sliding"] * 2,
    },
    "CohereCompassTextConfig": {
        "num_hidden_layers": 4,
        "layer_types": ["full_attention", "sliding_attention"] * 2,
        "rope_parameters": {
            "full_attention": None,
            "sliding_attention": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "mrope_section": [24, 20, 20],
            },
        },
    },
}

UNNAMED = {
    # classes whose code does not say which config they are built from
    "ClvpRotaryPositionalEmbedding": ("ClvpEncoderConfig",),
    "CsmRotaryEmbedding": ("CsmConfig", "CsmDepthDecoderConfig"),
    "DeepseekOcr2VisionRotaryEmbedding": ("DeepseekOcr2VisionEncoderConfig",),
    "EsmFold2RotaryEmbedding": ("EsmFold2AtomEncoderConfig",),
    "IdeficsRotaryEmbedding": ("IdeficsConfig",),
    "SeamlessM4TConformerRotaryPositionalEmbedding": ("SeamlessM4TConfig",),
    "Wav2Vec2BertRotaryPositionalEmbedding": ("Wav2Vec2BertConfig",),
    "Wav2Vec2ConformerRotaryPositionalEmbedding": ("Wav2Vec2ConformerConfig",),
}


@dataclass(frozen=True)
class Model:
    """A folder of transformers.models with rotary code in it."""

    folder: str
    tree: ast.Module
    classes: tuple[str, ...]
    functions: tuple[str, ...]
    called: frozenset[str]

    @property
    def rotates(self) -> bool:
        """Whether any of it runs: a function that is never called is a leftover."""
        return bool(self.classes or self.called)

    @property
    def module(self) -> ModuleType:
        return importlib.import_module(f"transformers.models.{self.folder}.modeling_{self.folder}")


@cache
def models() -> tuple[Model, ...]:
    """Every model with rotary code, in the order of the alphabet."""
    paths = sorted(MODELS.glob("*/modeling_*.py"))
    found = (_model(path) for path in paths if path.stem == f"modeling_{path.parent.name}")
    return tuple(model for model in found if model.classes or model.functions)


def _model(path: Path) -> Model:
    tree = ast.parse(path.read_text())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and APPLY.search(node.name)
    ]
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = {f.id if isinstance(f, ast.Name) else getattr(f, "attr", "") for f in calls}
    return Model(
        path.parent.name,
        tree,
        tuple(node.name for node in classes if MODULE.search(node.name)),
        tuple(dict.fromkeys(functions)),
        frozenset(names & set(functions)),
    )


def configs(model: Model, rotary: str) -> Iterator[Any]:
    """A config of each kind that the rotary class is built from, with its defaults or nearly."""
    for name in dict.fromkeys(_config_names(model, rotary)):
        kind = _config_class(model, name)
        if kind is not None:
            yield kind(**TINY.get(name, {}))


def _config_names(model: Model, rotary: str) -> Iterator[str]:
    if rotary in UNNAMED:
        yield from UNNAMED[rotary]
        return
    classes = {node.name: node for node in model.tree.body if isinstance(node, ast.ClassDef)}
    named = [_annotation(classes[rotary])]
    for node in classes.values():
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == rotary:
                named.append(_part(model, _annotation(node), ast.unparse(call)))
    users = [name for name in named[1:] if name] or named
    for names in users:
        for name in re.split(r"\s*\|\s*", names or ""):
            yield from _parts_with_rope(model, name)


def _annotation(node: ast.ClassDef) -> str | None:
    """What a class calls the type of its config."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            for argument in part.args.args:
                if argument.arg.endswith("config") and argument.annotation is not None:
                    return ast.unparse(argument.annotation).strip("'\"")
        if isinstance(part, ast.AnnAssign) and ast.unparse(part.target) == "config":
            return ast.unparse(part.annotation).strip("'\"")
    return None


def _part(model: Model, whole: str | None, call: str) -> str | None:
    """The type of config.text_config, where a rotary module is built from that."""
    part = re.search(r"config\.(\w*config\w*)", call)
    kind = _config_class(model, whole or "")
    parts = getattr(kind, "sub_configs", {})
    return parts[part.group(1)].__name__ if part and part.group(1) in parts else whole


def _parts_with_rope(model: Model, name: str) -> Iterator[str]:
    """The config itself, or those of its parts that have rotary parameters if it has none."""
    kind = _config_class(model, name)
    if kind is None:
        return
    parts = getattr(kind, "sub_configs", {}).values()
    inner = [part.__name__ for part in parts if hasattr(part, "rope_parameters")]
    yield from [name] if hasattr(kind, "rope_parameters") or not inner else inner


def _config_class(model: Model, name: str) -> Any:
    if not name.endswith("Config") or name == "PreTrainedConfig":
        return None
    homes: list[Any] = [model.module, transformers]
    if (MODELS / model.folder / f"configuration_{model.folder}.py").exists():
        homes.append(
            importlib.import_module(
                f"transformers.models.{model.folder}.configuration_{model.folder}"
            )
        )
    kinds = (getattr(home, name, None) for home in homes)
    return next((kind for kind in kinds if inspect.isclass(kind)), None)


@cache
def config_classes() -> dict[str, Any]:
    """The class of each model type, the text parts of larger models included."""
    classes: dict[str, Any] = {}
    for path in sorted(MODELS.glob("*/configuration_*.py")):
        module = importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == module.__name__:
                classes.setdefault(getattr(kind, "model_type", ""), kind)
    return classes


def layer_types(config: Any) -> list[str | None]:
    """The kinds of layers that rotate in their own way; None where all do it alike.

    Sorted, since some config classes go through a set of them.
    """
    rope = getattr(config, "rope_parameters", None)
    items = rope.items() if isinstance(rope, dict) else ()
    nested = sorted(kind for kind, value in items if isinstance(value, dict))
    return [kind for kind in nested if rope[kind]] or [None]
