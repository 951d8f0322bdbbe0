"""Run the first layers of a model of transformers in both layouts."""

import importlib
import inspect
import math
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.core.encoding import unwrap
from posenc.core.rotation import Pairing, rotate
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.rope import RoPE
from posenc.interop.checkpoints.names import find_places
from posenc.interop.checkpoints.plan import Plan
from posenc.interop.checkpoints.verify import LENGTH, Proof
from posenc.interop.config import read_config, read_fields
from posenc.interop.fields import LAYERS
from posenc.interop.loading import Config

MOST_PARAMETERS = 10**9
RELATIVE = 1e-4
"""Bound on the difference relative to the largest logit: transformers has angles in float32."""
TOKENS = 64


class CannotRun(Exception):  # noqa: N818
    """The model's code is not there or cannot be used, for this reason."""


def verify_model(
    config: Config,
    old: Mapping[str, np.ndarray],
    new: Mapping[str, np.ndarray],
    plan: Plan,
    *,
    layers: int = 2,
) -> Proof:
    """Compare the logits of random tokens: the model with the old weights, and with the new.

    The layout that the model's code is for runs as it is. In the other our rotation takes the
    place of the model's. What is not converted has the same random weights in both.
    """
    try:
        import torch
        import transformers
    except ModuleNotFoundError as error:
        raise CannotRun(f"{error.name} is not installed") from error
    count = min(layers, max(plan.layers) + 1)
    torch.manual_seed(0)
    was = next(iter(plan.layers.values())).pairing
    try:
        own = _own_pairing(config)
        built = transformers.AutoConfig.for_model(**_shorten(config, count))
        with torch.device("meta"):
            size = sum(math.prod(p.shape) for p in _make(transformers, built).parameters())
        if size > MOST_PARAMETERS:
            raise CannotRun(f"{count} layers have {size:,} parameters")
        model = _make(transformers, built).double().eval()
    except CannotRun:
        raise
    except Exception as error:  # whatever it is, the attention can still be compared
        raise CannotRun(f"transformers does not build it: {error}") from error
    tokens = torch.randint(TOKENS, (1, LENGTH))

    def run(arrays: Mapping[str, np.ndarray], pairing: Pairing) -> Any:
        _load(model, arrays, plan, count)
        try:
            with (
                torch.no_grad(),
                _rotating(model, plan, None if pairing == own else pairing) as calls,
            ):
                out = model(tokens)
        except Exception as error:  # such as experts that have no float64
            raise CannotRun(f"it fails: {error}") from error
        if pairing != own and not calls:
            raise CannotRun("its rotation is not a function of its module")
        return out[0]

    before, after, mixed = run(old, was), run(new, plan.to), run(new, was)
    largest, wrong = (float((before - x).abs().max()) for x in (after, mixed))
    return Proof("logits", count, largest, RELATIVE * float(before.abs().max()), wrong)


def _own_pairing(config: Config) -> Pairing:
    """The pairing of the model's code, whichever the weights have."""
    ropes = (unwrap(layer) for layer in read_config(config).layers)
    return next(rope.pairing for rope in ropes if isinstance(rope, RoPE | AxialRoPE))


def _make(transformers: Any, config: Any) -> Any:
    try:
        return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    except ValueError:  # no model of this type predicts the next token
        return transformers.AutoModel.from_config(config, attn_implementation="eager")


def _shorten(config: Config, count: int) -> dict[str, Any]:
    """The config of the same model with `count` layers and few words."""
    fields = read_fields(config)
    layers = fields.layers()
    values = {
        name: value[:count] if isinstance(value, list) and len(value) == layers else value
        for name, value in fields.values.items()
    }
    name = next((n for n in LAYERS if n in values), LAYERS[0])
    special = {key: None for key in values if key.endswith("_token_id")}
    return values | special | {name: count, "vocab_size": TOKENS, "model_type": fields.model_type}


def _load(model: Any, arrays: Mapping[str, np.ndarray], plan: Plan, count: int) -> None:
    """Put the converted tensors of the first layers into the model."""
    import torch

    state = model.state_dict()
    modules = {place.module for place in plan.places.values()}
    theirs = {replace(p, stack=""): n for n, p in find_places(state, modules).items()}
    for name in plan.rows:
        place = replace(plan.places[name], stack="")
        if place.layer >= count:
            continue
        if place not in theirs or state[theirs[place]].shape != arrays[name].shape:
            raise CannotRun(f"the model of transformers has no {name} of this shape")
        state[theirs[place]].copy_(torch.from_numpy(arrays[name].astype(np.float64)))


@contextmanager
def _rotating(model: Any, plan: Plan, pairing: Pairing | None) -> Generator[list[int]]:
    """Let the model rotate with our encodings in this pairing; None: as it does."""
    calls: list[int] = []
    if pairing is None:
        yield calls
        return
    current = [0]

    def enter(module: Any, *_: Any) -> None:
        current[0] = module.layer_idx

    hooks = [
        module.register_forward_pre_hook(enter)
        for module in model.modules()
        if isinstance(getattr(module, "layer_idx", None), int)
    ]
    home = importlib.import_module(type(model).__module__)
    theirs = {name: value for name, value in vars(home).items() if _is_rotation(name, value)}

    def ours(x: Any) -> Any:
        calls.append(current[0])
        return _rotate(x, replace(plan.layers[current[0]], pairing=pairing))

    try:
        for name, function in theirs.items():
            setattr(home, name, _replace(function, ours))
        yield calls
    finally:
        for name, function in theirs.items():
            setattr(home, name, function)
        for hook in hooks:
            hook.remove()


def _is_rotation(name: str, value: object) -> bool:
    return name.startswith("apply_rotary") and callable(value)


def _replace(function: Callable[..., Any], ours: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of the same tensors, those before its cosines and sines."""
    names = [*inspect.signature(function).parameters]
    count = next(i for i, name in enumerate(names) if name.startswith(("cos", "sin", "freq")))

    def replacement(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *(kwargs[name] for name in names[len(args) : count])][:count]
        made = tuple(ours(x) for x in given)
        return made if count > 1 else made[0]

    return replacement


def _rotate(x: Any, rope: Any) -> Any:
    import torch

    positions = torch.arange(LENGTH)
    points = positions if rope.axes is None else torch.stack([positions] * rope.axes, -1)
    cos, sin = rope.cos_sin(points, dtype=torch.float64)
    if x.shape[-2] != LENGTH:  # (batch, seq, head, dim)
        cos, sin = cos[:, None], sin[:, None]
    whole = x.shape[-1] == 2 * cos.shape[-1]
    how = None if whole else rope.rotated
    return rotate(x.contiguous(), cos, sin, pairing=rope.pairing, rotated=how)
