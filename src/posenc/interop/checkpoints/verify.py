"""Prove a conversion: the logits of both layouts, each with its own pairing."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.core.rotation import Pairing, rotate
from posenc.interop.checkpoints.files import Header
from posenc.interop.checkpoints.plan import Plan, Rotation
from posenc.interop.checkpoints.rows import Heads, Rows
from posenc.interop.loading import Config

LENGTH = 17
RELATIVE = 2.0**-40
"""Bound on the difference in float64, relative to the largest logit: the sums of a product are
taken in another order, 2^-53 for each of a few thousand terms."""


@dataclass(frozen=True)
class Proof:
    """The largest difference of the logits of both layouts.

    what     which logits
    layers   of how many layers
    largest  difference
    bound    on it
    wrong    the difference if the new weights are run with the old pairing, which must be seen
    """

    what: str
    layers: int
    largest: float
    bound: float
    wrong: float

    @property
    def holds(self) -> bool:
        """Whether the difference is within its bound, and a wrong pairing is not."""
        return self.largest <= self.bound < self.wrong

    def __str__(self) -> str:
        return (
            f"{self.what}, {self.layers} layers: largest difference {self.largest:.1e} (bound "
            f"{self.bound:.1e}; with the old pairing {self.wrong:.1e})"
        )


def verify_attention(
    old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray], plan: Plan, *, layers: int = 2
) -> Proof:
    """Compare products of queries and keys of random hidden states, without the model's code.

    old, new  the arrays that the plan moves, before and after
    layers    how many to compare, from the first that rotates

    Biases and norms are applied. Channels that do not rotate are the same in both layouts.
    """
    chosen = sorted(plan.layers)[:layers]
    largest = scale = wrong = 0.0
    for layer in chosen:
        rope, heads = plan.layers[layer], plan.heads[layer]
        before = _logits(old, plan, layer, rope, heads)
        after = _logits(new, plan, layer, _with_pairing(rope, plan.to), heads)
        mixed = _logits(new, plan, layer, rope, heads)
        largest = max(largest, float(np.abs(before - after).max()))
        wrong = max(wrong, float(np.abs(before - mixed).max()))
        scale = max(scale, float(np.abs(before).max()))
    return Proof("attention logits", len(chosen), largest, RELATIVE * scale, wrong)


def _with_pairing(rope: Rotation, pairing: Pairing) -> Rotation:
    return replace(rope, pairing=pairing)


def _logits(
    arrays: Mapping[str, np.ndarray], plan: Plan, layer: int, rope: Rotation, heads: Heads
) -> np.ndarray:
    """The sum over pairs of every rotated slice of a layer with every other: (slice, slice, q, k).

    Slices are of queries and of keys, whichever tensor they stand in.
    """
    positions = np.arange(LENGTH)
    if rope.axes is not None:
        positions = np.stack([positions] * rope.axes, axis=-1)
    cos, sin = rope.cos_sin(positions, dtype=np.float64)
    slices: list[np.ndarray] = []
    for name in sorted(plan.rows):
        place = plan.places[name]
        if place.layer != layer or place.leaf != "weight" or arrays[name].ndim != 2:
            continue
        made = _project(arrays, name, plan, layer)
        slices += [made[:, at] for at in _slices(plan.rows[name])]
    turned = rotate(np.stack(slices), cos, sin, pairing=rope.pairing)
    return np.einsum("apd,bqd->abpq", turned, turned) / heads.dim**0.5


def _slices(rows: Rows) -> list[slice]:
    return [slice(start, start + rows.width) for start in rows.starts]


def _project(arrays: Mapping[str, np.ndarray], name: str, plan: Plan, layer: int) -> np.ndarray:
    """What a projection makes of hidden states drawn from its name, with its bias and its norm."""
    weight = arrays[name].astype(np.float64)
    rng = np.random.default_rng([layer, weight.shape[1]])
    made = rng.normal(size=(LENGTH, weight.shape[1])) @ weight.T
    bias = arrays.get(name.removesuffix("weight") + "bias")
    made = made if bias is None else made + bias.astype(np.float64)
    role = plan.places[name].module[0]  # q_proj, query, k_proj, key
    for other in plan.rows:
        place = plan.places[other]
        near = place.layer == layer and place.path == plan.places[name].path
        if near and "norm" in place.module and place.module[0] == role:
            size = arrays[other].size
            if place.leaf == "weight" and made.shape[1] % size == 0:
                grouped = made.reshape(LENGTH, -1, size)
                grouped = grouped / np.sqrt((grouped**2).mean(-1, keepdims=True) + 1e-6)
                made = (grouped * arrays[other].reshape(-1)).reshape(made.shape)
    return made


def require_verifiable(headers: Iterable[Header], plan: Plan, *, layers: int = 2) -> None:
    """Refuse tensors that `verify_files` could not read, before they are converted."""
    wanted = _select(plan, layers)
    for header in headers:
        for name in sorted(wanted & header.tensors.keys()):
            _require_wide(header.tensors[name].dtype, name)


def _select(plan: Plan, layers: int) -> set[str]:
    """The names of the tensors of the first layers, and of the first that rotate."""
    chosen = {*sorted(plan.layers)[:layers], *range(layers)}
    return {name for name in plan.rows if plan.places[name].layer in chosen}


def verify_files(
    config: Config, old: Iterable[Header], new: Iterable[Header], plan: Plan, *, layers: int = 2
) -> tuple[Proof, str]:
    """Verify converted files: by running the model, or else by its attention; and why not.

    Only the tensors of the first layers are read.
    """
    from posenc.interop.checkpoints.run_model import CannotRun, verify_model

    wanted = _select(plan, layers)
    before, after = (
        {
            name: array
            for h in headers
            for name, array in read_arrays(h, wanted.__contains__).items()
        }
        for headers in (old, new)
    )
    try:
        return verify_model(config, before, after, plan, layers=layers), ""
    except CannotRun as error:
        return verify_attention(before, after, plan, layers=layers), str(error)


def read_arrays(header: Header, wanted: Callable[[str], bool]) -> dict[str, np.ndarray]:
    """The arrays of a file whose names are wanted, in float64 or as they are."""
    found: dict[str, np.ndarray] = {}
    with header.path.open("rb") as file:
        for name, tensor in header.tensors.items():
            if wanted(name):
                file.seek(header.data + tensor.start)
                found[name] = _decode(file.read(tensor.end - tensor.start), tensor.dtype, name)
                found[name] = found[name].reshape(tensor.shape)
    return found


_PLAIN: dict[str, Any] = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


def _decode(data: bytes, dtype: str, name: str) -> np.ndarray:
    if dtype == "BF16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    _require_wide(dtype, name)
    return np.frombuffer(data, _PLAIN[dtype])


def _require_wide(dtype: str, name: str) -> None:
    if dtype not in (*_PLAIN, "BF16"):
        raise ValueError(f"{name} must have 16 bits or more to be verified; got {dtype}")
