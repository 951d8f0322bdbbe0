"""The compiled kernels in the place of a model's own rotation by tables, and no rotation for none.

The attention of transformers turns queries and keys by a function of its file, by the name of
`apply_rotary_pos_emb`: ten operators, whose results all go through memory. Our tables say what they
were made of, and the function is replaced by one that reads it: it hands queries and keys to the
kernel, or returns them as they are where nothing is turned. Any other table, and whatever the
kernel does not take, goes to the model's function as before.
"""

import functools
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from posenc.core.fused_torch import FusedRotation
from posenc.core.rotation import Pairing, Waves, rotate
from posenc.models.anatomy import Anatomy
from posenc.models.layout import TableLayout

NOTE = "posenc_turn"
"""The attribute of a table of cosines that says what it was made of."""
PLAIN = (((), {}), ((), {"unsqueeze_dim": 1}))
"""What a model's function is given besides, where heads come before the sequence."""
PAIRINGS: tuple[Pairing, ...] = ("halves", "interleaved")

Both: TypeAlias = tuple[Tensor, Tensor]


class Turner:
    """Turns queries and keys of any width by waves; None: it leaves them as they are."""

    def __init__(self, waves: Waves | None):
        self.waves = waves
        self._made: dict[tuple[int, Pairing], FusedRotation | None] = {}

    def __reduce__(self) -> tuple[type["Turner"], tuple[Waves | None]]:
        """A copy makes its own."""
        return Turner, (self.waves,)

    def turn(self, q: Tensor, k: Tensor, positions: Tensor, pairing: Pairing) -> Both | None:
        """R(p) q and R(p) k; None if the kernels do not take them."""
        if self.waves is None:
            return q, k
        key = q.shape[-1], pairing
        if key not in self._made:
            fused = FusedRotation(self.waves, key[0], pairing=pairing, rotated="leading")
            self._made[key] = fused if fused.why_unavailable() is None else None
        fused = self._made[key]
        return None if fused is None else fused.try_both(q, k, positions, positions)


@dataclass(frozen=True, eq=False)
class Turn:
    """What a table was made of: a turner, and positions (batch or 1, seq) with their axes last."""

    turner: Turner
    positions: Tensor


def annotate(tables: Any, turner: Turner, positions: Tensor) -> None:
    """Write on a table of cosines what it was made of."""
    if not torch.compiler.is_compiling() and isinstance(tables, tuple):
        setattr(tables[0], NOTE, Turn(turner, positions))


_placed: dict[tuple[int, str], tuple[Any, "weakref.WeakSet[Any]"]] = {}
"""The function that was replaced, and the models that it is replaced for, by place."""


def place_turns(anatomy: Anatomy) -> None:
    """Replace the functions by which a model turns queries and keys, so far as they are known."""
    for space, name in _find_functions(anatomy):
        key = id(space), name
        if key not in _placed:
            layouts = [*anatomy.layouts.values()]
            pairing = find_pairing(space[name], layouts[0])
            if pairing is None or any(find_pairing(space[name], x) != pairing for x in layouts):
                continue
            _placed[key] = space[name], weakref.WeakSet()
            space[name] = _read_notes(space[name], pairing)
        _placed[key][1].add(anatomy.owner)
        weakref.finalize(anatomy.owner, _put_back, space, name).atexit = False


def remove_turns(anatomy: Anatomy) -> None:
    """Put a model's functions back, unless another model has a use for ours."""
    for space, name in _find_functions(anatomy):
        if (id(space), name) in _placed:
            _placed[id(space), name][1].discard(anatomy.owner)
            _put_back(space, name)


def _put_back(space: dict[str, Any], name: str) -> None:
    """Put a function back once no model is left that ours is for."""
    theirs, users = _placed.get((id(space), name), (None, ()))
    if theirs is not None and not any(True for _ in users):  # a model may be dying
        space[name] = theirs
        del _placed[id(space), name]


def find_replaced(function: object) -> Callable[..., Any] | None:
    """The model's function that one of ours has replaced; None if it is none of ours."""
    theirs = inspect.unwrap(function) if inspect.isfunction(function) else None
    known = any(each is theirs for each, _ in _placed.values())
    return theirs if known and theirs is not function else None


def _find_functions(anatomy: Anatomy) -> list[tuple[dict[str, Any], str]]:
    """Where the attention's code finds its functions, and the names of those that rotate."""
    forward: Any = inspect.unwrap(type(anatomy.layers[0].attention).forward)
    space = forward.__globals__
    return [(space, name) for name in forward.__code__.co_names if _rotates(space.get(name))]


def _rotates(function: object) -> bool:
    if not inspect.isfunction(function) or not function.__name__.startswith("apply_rotary"):
        return False
    return [*inspect.signature(function).parameters][:4] == ["q", "k", "cos", "sin"]


@torch.no_grad()
def find_pairing(function: Callable[..., Any], layout: TableLayout) -> Pairing | None:
    """The pairing with which a function turns leading channels by tables; None for anything else.

    It is called: in two dtypes, and with channels left over, which it may refuse.
    """
    if layout.is_complex:
        return None
    angles = torch.linspace(0.1, 3.0, layout.pairs, dtype=torch.float32)[None, None]
    cos, sin = angles.cos(), angles.sin()
    wide = layout.join(*(x[..., layout.columns] for x in (cos, sin)))
    left: list[Pairing] = [*PAIRINGS]
    for channels, dtype in ((0, torch.float32), (4, torch.float32), (0, torch.bfloat16)):
        width = 2 * layout.pairs + channels
        x = torch.linspace(-1, 1, 2 * width).reshape(1, 2, 1, width).to(dtype)
        tables = [table.to(dtype if layout.follows_input else torch.float32) for table in wide]
        try:
            made = function(x, x[:, :1], *tables)
        except RuntimeError:  # channels left over do not fit its tables
            continue
        within = 1e-5 if dtype == torch.float32 else 0.05
        left = [each for each in left if _is_rotation(made, x, cos, sin, each, within)]
    return left[0] if len(left) == 1 else None


def _is_rotation(
    made: Any, x: Tensor, cos: Tensor, sin: Tensor, pairing: Pairing, within: float
) -> bool:
    truth = rotate(x.float(), cos, sin, pairing=pairing, rotated="leading")
    return all(
        ours.dtype == x.dtype and bool(((ours.float() - want).abs() <= within).all())
        for ours, want in zip(made, (truth, truth[:, :1]), strict=True)
    )


def _read_notes(theirs: Callable[..., Both], pairing: Pairing) -> Callable[..., Both]:
    """A model's function, but for tables that say what they were made of."""

    @functools.wraps(theirs)
    def turn(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, *args: Any, **kwargs: Any) -> Both:
        if not torch.compiler.is_compiling() and (args, kwargs) in PLAIN:
            note: Turn | None = getattr(cos, NOTE, None)
            if note is not None and not torch.is_autocast_enabled(q.device.type):
                turned = note.turner.turn(q, k, note.positions, pairing)
                if turned is not None:
                    return turned
        return theirs(q, k, cos, sin, *args, **kwargs)

    return turn
