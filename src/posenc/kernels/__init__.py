"""Compiled operators for PyTorch: rotations, sinusoids and a token's attention, in one pass each.

They know nothing of encodings: frequencies come in, tensors go out. csrc/ has the C++ for CPUs,
build.py compiles it. Without it everything works through PyTorch's own operators, with the same
results to a rounding. POSENC_KERNELS=0 turns it off; `plain`, `avx2` and `avx512` choose a level.
"""

import os
import threading
from dataclasses import dataclass

from posenc.kernels.build import LIBRARY

LEVELS = ("plain", "avx2", "avx512")
FASTEST = 8.0
"""Radians per position up to which the kernels compute sines."""


@dataclass(frozen=True)
class Status:
    """Whether the kernels are active, and their SIMD level, or why they are not."""

    active: bool
    why: str

    def __str__(self) -> str:
        return f"active, {self.why}" if self.active else f"not active: {self.why}"


_status: Status | None = None
_lock = threading.Lock()


def load() -> Status:
    """Load the kernels, the first time; a failure is a reason, not an error."""
    global _status  # noqa: PLW0603 (what is loaded belongs to the process)
    with _lock:  # what is registered twice is an error
        if _status is None:
            _status = _load()
        return _status


def status() -> Status:
    """What `load` has found, without loading anything."""
    return _status or Status(False, "not loaded yet")


def is_active() -> bool:
    """Whether the kernels are loaded. While PyTorch compiles, nothing can be loaded any more."""
    return _status is not None and _status.active


def _load() -> Status:
    wanted = os.environ.get("POSENC_KERNELS", "")
    if wanted == "0":
        return Status(False, "POSENC_KERNELS is 0")
    if wanted not in ("", "1", *LEVELS):
        return Status(False, f"POSENC_KERNELS must be 0, 1, {', '.join(LEVELS)}; got {wanted!r}")
    if not LIBRARY.exists():
        return Status(False, "not compiled; `python -m posenc.kernels` does so, or says why")
    import torch

    try:
        torch.ops.load_library(str(LIBRARY))
    except OSError as error:
        return Status(False, f"PyTorch {torch.__version__} cannot load them: {error}")
    # rotate_qk_.packed is the newest operator: a library without it is older
    if "packed" not in torch.ops.posenc.rotate_qk_.overloads():
        return Status(False, "those of an older posenc; `python -m posenc.kernels` compiles them")
    from posenc.kernels.register import register

    register()
    return Status(True, str(torch.ops.posenc.level()))
