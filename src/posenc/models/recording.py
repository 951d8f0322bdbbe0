"""Record what happens inside a model: its rotations and its attention, layer by layer."""

import importlib
import inspect
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from transformers import AttentionInterface

from posenc.models.anatomy import Anatomy
from posenc.models.attention import NAME, attend_in_model
from posenc.models.turning import find_replaced


@dataclass(frozen=True, eq=False)
class Attended:
    """A call of our attention: q, k, v, the mask, the options, and the output.

    causal   whether a query sees no further than itself, where there is no mask
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    options: dict[str, Any]
    out: Tensor
    causal: bool


@dataclass(frozen=True, eq=False)
class Recorded:
    """What was seen, by the number of a layer.

    rotations   pairs of a tensor before and after the model's own function turned it: of the
                queries first or of the keys, in the order of its code; once more where a kernel
                takes the place of that function
    attention   the calls of our attention
    """

    rotations: dict[int, list[tuple[Tensor, Tensor]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    attention: dict[int, list[Attended]] = field(default_factory=lambda: defaultdict(list))


@contextmanager
def record(anatomy: Anatomy) -> Generator[Recorded]:
    """While it is open, rotations and attention of the model are recorded.

    The model's functions are replaced in the module that defines its attention, and our attention
    in the registry of transformers, for as long; other threads should not run models of its kind.
    """
    seen, current = Recorded(), [-1]
    home = importlib.import_module(type(anatomy.layers[0].attention).__module__)
    theirs = {name: value for name, value in vars(home).items() if _is_rotation(name, value)}

    def enter(number: int) -> Callable[..., None]:
        return lambda *_: current.__setitem__(0, number)

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        made = attend_in_model(module, query, key, value, mask, **options)
        causal = bool(getattr(module, "is_causal", True))
        call = Attended(query, key, value, mask, options, made[0], causal)
        seen.attention[current[0]].append(call)
        return made

    hooks = [
        layer.attention.register_forward_pre_hook(enter(layer.number)) for layer in anatomy.layers
    ]
    try:
        for name, function in theirs.items():
            setattr(home, name, _recording(function, seen, current))
        AttentionInterface.register(NAME, attend)
        yield seen
    finally:
        AttentionInterface.register(NAME, attend_in_model)
        for name, function in theirs.items():
            setattr(home, name, function)
        for hook in hooks:
            hook.remove()


def _is_rotation(name: str, value: object) -> bool:
    return name.startswith("apply_rotary") and callable(value)


def _recording(function: Any, seen: Recorded, current: list[int]) -> Callable[..., Any]:
    """The function, whose tensors are those before its cosines and sines."""
    names = [*inspect.signature(function).parameters]
    count = next(i for i, n in enumerate(names) if n.startswith(("cos", "sin", "freq")))

    def replacement(*args: Any, **kwargs: Any) -> Any:
        before = [*args, *(kwargs[name] for name in names[len(args) : count])][:count]
        theirs = find_replaced(function)
        ways = [function] if theirs is None else [theirs, function]
        made = [way(*args, **kwargs) for way in ways]
        for each in made:
            after = each if isinstance(each, tuple) else (each,)
            seen.rotations[current[0]] += zip(before, after, strict=True)
        return made[-1]

    return replacement
