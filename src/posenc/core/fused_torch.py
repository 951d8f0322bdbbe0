"""Encodings by waves as the compiled kernels take them: one pass over memory, angles included."""

import sys
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posenc import kernels
from posenc.core.positions import LIMIT
from posenc.core.rotation import Pairing, Rotated, Waves
from posenc.core.rotation_torch import FEW, turn_few

ops = torch.ops.posenc
forward_ad = sys.modules["torch.autograd.forward_ad"]
# looked up once: a token pays for each look
is_compiling = torch.compiler.is_compiling
count_modes = sys.modules["torch._C"]._len_torch_dispatch_stack
tracing_state = sys.modules["torch._C"]._get_tracing_state
transform_level = sys.modules["torch._C"]._functorch.maybe_current_level
ELEMENTS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
NUMBERS = (torch.int64, torch.int32, torch.float64, torch.float32)
MOST_AXES = 16


class Fused:
    """Waves as tensors, and which calls the kernels take."""

    def __init__(self, waves: Waves, dim: int):
        w = waves.frequencies
        self.waves = waves
        self.dim = dim
        self.axes = None if waves.axis is None else int(waves.axis.max(initial=0)) + 1
        self.is_slow_enough = bool(np.abs(w).max(initial=0.0) <= kernels.FASTEST)
        # from_numpy: inside `with torch.device("meta")` the others make tensors without values
        self.frequencies = torch.from_numpy(w.copy())

    @property
    def has_values(self) -> bool:
        """Whether its tensors are ordinary ones, and not those of FakeTensorMode."""
        return type(self.frequencies) is Tensor

    def why_unavailable(self) -> str | None:
        """Why the kernels cannot compute this, whatever the tensors; None if they can."""
        if not has_kernels():
            return f"the kernels are {kernels.status()}"
        if not self.has_values:
            return "it was made in a mode in which tensors have no values"
        if not self.is_slow_enough:
            return f"a wave turns by more than {kernels.FASTEST:g} radians per position"
        return None

    def why_refused(self, x: Tensor, positions: Tensor) -> str | None:
        """Why the kernels cannot take these tensors; None if they can."""
        on_cpu = x.is_cpu and positions.is_cpu
        reason = None if on_cpu else self.why_refused_off_cpu(x, positions)
        if reason is not None:
            return reason
        if x.dtype not in ELEMENTS or positions.dtype not in NUMBERS:
            reason = f"the kernels do not take {x.dtype} at positions in {positions.dtype}"
        elif x.ndim > MOST_AXES or x.layout is not torch.strided:
            reason = f"the kernels take strided tensors of at most {MOST_AXES} axes"
        elif learns(positions):
            reason = "the kernels have no gradient for positions"
        elif is_compiling():
            if torch.compiler.is_exporting():
                reason = "an exported program must run without posenc"
        elif not has_memory(x, positions) or x.is_neg():  # a view that is negated when it is read
            reason = "tensors that are traced or transformed have no memory"
        return reason

    def why_refused_off_cpu(self, x: Tensor, positions: Tensor) -> str | None:
        """Why the kernels cannot take tensors of another device; None if they can."""
        return f"the kernels are for the CPU; got tensors on {x.device}"

    def takes(self, x: Tensor, positions: Tensor) -> bool:
        """Whether the kernels compute this for these tensors."""
        return self.why_unavailable() is None and self.why_refused(x, positions) is None

    def fits(self, x: object, positions: object) -> bool:
        """Whether a module may hand these over unchecked: `why_refused`, and channels and axes."""
        if not (isinstance(x, Tensor) and isinstance(positions, Tensor)) or x.ndim < 2:
            return False
        if x.shape[-1] != self.dim or self.why_refused(x, positions) is not None:
            return False
        return self.axes is None or (positions.ndim > 1 and positions.shape[-1] == self.axes)

    def pack(self, *, start: int, factor: float, halves: bool, back: bool) -> Tensor:
        """The numbers of a call in one tensor, as `unpack` of csrc/library.cpp reads them."""
        header = np.array([self.dim, self.axes or 0, start, factor, halves, back], dtype=float)
        axis = self.waves.axis
        whole = () if axis is None else axis.astype(np.int64).view(np.float64)
        return torch.from_numpy(np.concatenate([header, self.waves.frequencies, whole]))


class FusedRotation(Fused):
    """R(p) x for rotations whose angles are positions times frequencies."""

    def __init__(self, waves: Waves, dim: int, *, pairing: Pairing, rotated: Rotated):
        super().__init__(waves, dim)
        self.axis = None if waves.axis is None else torch.from_numpy(waves.axis.copy())
        self.scale = waves.scale
        self.halves = pairing == "halves"
        self.start = dim - 2 * len(waves.frequencies) if rotated == "trailing" else 0
        self.packed, self.packed_inverse = (
            self.pack(start=self.start, factor=scale, halves=self.halves, back=back)
            for scale, back in ((self.scale, False), (1 / self.scale, True))
        )

    def why_refused_off_cpu(self, x: Tensor, positions: Tensor) -> str | None:
        if not (x.is_cuda and positions.is_cuda) or is_compiling():
            return super().why_refused_off_cpu(x, positions)
        from posenc.kernels import cuda

        status = cuda.load()  # which measures it on this very GPU, once
        return None if status.active else f"the kernels are {status}"

    def rotate(self, x: Tensor, positions: Tensor, *, inverse: bool) -> Tensor:
        """R(p) x, or R(p)^-1 x; x must have `dim` channels."""
        if is_at_rest() and not learns(x) and x.is_cpu:
            packed = self.packed_inverse if inverse else self.packed
            return find_operator("rotate")(x, positions, packed)
        scale = 1 / self.scale if inverse else self.scale
        rest = self.frequencies, self.axis, scale, self.halves, self.start, inverse
        return ops.rotate.default(x, positions, *rest)

    def rotate_both(
        self, q: Tensor, k: Tensor, q_pos: Tensor, k_pos: Tensor
    ) -> tuple[Tensor, Tensor]:
        """R(p) q and R(p) k, each with `dim` channels."""
        rest = self.frequencies, self.axis, self.scale, self.halves, self.start, False
        return ops.rotate_qk.default(q, k, q_pos, k_pos, *rest)

    def try_one(self, x: Tensor, positions: Tensor) -> Tensor | None:
        """R(p) x with no check that the kernels make themselves; None if not by them."""
        try:
            if is_at_rest() and is_plain(x, positions):
                return find_operator("rotate")(x, positions, self.packed)
            if self.fits(x, positions):
                return self.rotate(x, positions, inverse=False)
        except RuntimeError:  # the caller says what is wrong, or does without the kernels
            pass
        return None

    def try_both(
        self, q: Tensor, k: Tensor, q_pos: Tensor, k_pos: Tensor
    ) -> tuple[Tensor, Tensor] | None:
        """R(p) q and R(p) k with no check that the kernels make themselves; None if not by them."""
        try:
            if is_at_rest() and is_plain(q, q_pos) and is_plain(k, k_pos):
                return find_operator("rotate_qk")(q, k, q_pos, k_pos, self.packed)
            if self.fits(q, q_pos) and self.fits(k, k_pos):
                return self.rotate_both(q, k, q_pos, k_pos)
        except RuntimeError:  # the caller says what is wrong, or does without the kernels
            pass
        return None

    def try_in_place(self, q: Tensor, k: Tensor, q_pos: Tensor, k_pos: Tensor) -> bool:
        """Overwrite q and k with no check of our own; False if the kernels do not do it."""
        if not (is_at_rest() and is_plain(q, q_pos) and is_plain(k, k_pos)):
            return False
        try:
            find_operator("rotate_qk_")(q, k, q_pos, k_pos, self.packed)
        except RuntimeError:  # the caller says what is wrong, or does without the kernels
            return False
        _say_changed(q, k)
        return True

    def rotate_in_place(self, q: Tensor, k: Tensor, q_pos: Tensor, k_pos: Tensor) -> None:
        """Overwrite q and k by R(p) q and R(p) k."""
        rest = self.frequencies, self.axis, self.scale, self.halves, self.start, False
        ops.rotate_qk_.default(q, k, q_pos, k_pos, *rest)
        if not is_compiling():
            _say_changed(q, k)

    @cached_property
    def _turns(self) -> tuple[Tensor, Tensor]:
        """The scale, and the frequency of each pair or, with halves, of each channel's partner."""
        w = self.waves.frequencies
        w = np.concatenate([-w, w]) if self.halves else w
        return torch.from_numpy(np.array(self.scale)), torch.from_numpy(w)

    def tables_for_few(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...] | None:
        """What `turn_few` takes at positions (seq,) or (batch, seq); None if it is not for them."""
        if 2 * len(self.frequencies) != self.dim or self.axis is not None:
            return None
        few = positions.is_cpu and positions.numel() * self.dim <= FEW
        if not few or positions.ndim not in (1, 2):
            return None
        scale, w = self._turns
        at = positions[..., None] if positions.ndim == 1 else positions[:, None, :, None]
        angles = at * w
        if not self.halves:
            turns = torch.polar(scale, angles)
            return (turns if dtype == torch.float64 else turns.to(torch.complex64),)
        cos, sin = angles.cos(), angles.sin()
        if self.scale != 1:
            cos, sin = scale * cos, scale * sin
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        return cos.to(wide), sin.to(wide)

    def fits_few(self, x: Tensor, positions: Tensor) -> bool:
        """Whether `turn_few` rotates x (…, seq, dim) to these positions, which are checked too."""
        if not (is_plain(x, positions) and x.dtype in ELEMENTS and positions.dtype in NUMBERS):
            return False
        if x.is_neg():  # such a view cannot be seen as complex numbers
            return False
        shape, where = x.shape, positions.shape
        if len(shape) < 2 or shape[-1] != self.dim or x.numel() > FEW:
            return False
        if where != shape[-2:-1] and (len(shape) != 4 or where not in (shape[::2], (1, shape[2]))):
            return False
        return all(-LIMIT < p < LIMIT for p in positions.flatten().tolist())

    def rotate_few(self, positions: Tensor, *tensors: Tensor) -> list[Tensor] | None:
        """R(p) x of few vectors, in few of PyTorch's own operators; None where it takes more.

        positions   (seq,), or (batch, seq) for tensors (batch, head, seq, dim)
        """
        if not (is_at_rest() and all(self.fits_few(x, positions) for x in tensors)):
            return None
        tables = self.tables_for_few(positions, tensors[0].dtype)
        if tables is None or any(x.dtype != tensors[0].dtype for x in tensors):
            return None
        return [turn_few(x, tables) for x in tensors]


class FusedAddition(Fused):
    """factor x + e(p) for encodings that are sines and cosines of positions times frequencies."""

    def __init__(self, waves: Waves, dim: int, *, concat: bool):
        super().__init__(waves, dim)
        self.concat = concat

    def add(self, x: Tensor, positions: Tensor, *, factor: float) -> Tensor:
        """factor x + e(p); x must have `dim` channels."""
        return ops.add_waves.default(x, positions, self.frequencies, factor, self.concat)

    def try_add(self, x: Tensor, positions: Tensor, factor: float, packed: Tensor) -> Tensor | None:
        """factor x + e(p) with no check that the kernels make themselves; None if not by them.

        packed   what `pack_addition` makes of the factor; without values if made in FakeTensorMode
        """
        try:
            if is_at_rest() and is_plain(x, positions) and type(packed) is Tensor:
                return find_operator("add_waves")(x, positions, packed)
            if self.fits(x, positions):
                return self.add(x, positions, factor=factor)
        except RuntimeError:  # the caller says what is wrong, or does without the kernels
            pass
        return None

    def pack_addition(self, factor: float) -> Tensor:
        """What `try_add` hands over to the kernels."""
        return self.pack(start=0, factor=factor, halves=self.concat, back=False)


def try_newest(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    tokens: tuple[int, int],
    added: Tensor | None,
    *,
    scale: float,
    waves: FusedRotation | None = None,
) -> Tensor | None:
    """softmax(scale q k^T + added) v of one query a head, by the kernels; None if not by them.

    q        (batch, head, 1, dim), rotated here to the position of the last key if there are waves
    k, v     (batch, kv head, seq, dim or width)
    tokens   the first of the keys that are seen, and the end of them
    added    (batch or 1, head or 1, 1, keys seen) in float32; or of bool, False at hidden keys

    The caller has seen that PyTorch is at rest and that no gradient is wanted, and has loaded the
    kernels if they can be.
    """
    operator = find_operator("attend_newest", "default") if kernels.is_active() else None
    if operator is None or not q.is_cpu or q.dtype == torch.float64:
        return None
    packed = None if waves is None else waves.packed
    try:
        return operator(q, k, v, *tokens, scale, added, packed)
    except RuntimeError:  # the caller does without the kernels
        return None


def has_kernels() -> bool:
    """Whether the kernels are active. While PyTorch compiles, nothing can be loaded any more."""
    return kernels.is_active() or (not is_compiling() and kernels.load().active)


@cache
def find_operator(name: str, overload_name: str = "packed") -> Callable[..., Any]:
    """An operator of the kernels, as PyTorch's OpOverload calls it.

    overload_name   "packed": the one that takes its numbers in one tensor
    """
    overload = getattr(getattr(ops, name), overload_name)
    return getattr(overload, "_op", overload)  # what the overload itself calls, if it has it


def is_at_rest() -> bool:
    """Whether PyTorch only computes: it does not compile, trace, transform or push tangents.

    Nor is there a mode that is told of each operator, such as FakeTensorMode or a tracer: packed
    numbers say nothing to it, and what is made under it must not be kept.
    """
    return not (is_compiling() or count_modes() > 0 or is_transformed())


def is_transformed() -> bool:
    """Whether calls are traced, mapped, differentiated by torch.func or given tangents."""
    return (
        forward_ad._current_level >= 0
        or tracing_state() is not None
        or transform_level() is not None
    )


def is_plain(x: object, positions: object) -> bool:
    """Whether x is an ordinary tensor on the CPU, and neither it nor its positions learn."""
    if not (type(x) is Tensor and type(positions) is Tensor and x.is_cpu):
        return False
    return not (torch.is_grad_enabled() and (x.requires_grad or positions.requires_grad))


def _say_changed(*tensors: Tensor) -> None:
    """Let autograd see that these were written to."""
    torch.autograd.graph.increment_version([x for x in tensors if not x.is_inference()])


def has_memory(*tensors: object) -> bool:
    """Whether these are ordinary tensors: not traced, transformed or with tangents."""
    ordinary = all(type(x) is Tensor or type(x) is torch.nn.Parameter for x in tensors)
    return ordinary and not is_transformed()


def learns(*tensors: Tensor) -> bool:
    """Whether one of these wants a gradient."""
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
