"""Whether Triton rotates the tensors of an NVIDIA GPU."""

import os

from posenc import kernels
from posenc.kernels import Status

_status: Status | None = None


def load() -> Status:
    """Load the rotation of CUDA tensors, the first time, if it is right on this GPU."""
    global _status  # noqa: PLW0603 (what is loaded belongs to the process)
    if _status is None:
        _status = _load()
    return _status


def _load() -> Status:
    cpu = kernels.load()  # first, for it defines the operators
    if os.environ.get("POSENC_KERNELS", "") not in ("", "1", *kernels.LEVELS):
        return cpu
    import torch

    if torch.version.cuda is None or not torch.cuda.is_available():
        return Status(False, "PyTorch has no CUDA device")  # ROCm's count as none: not tested
    try:
        from posenc.kernels import register, triton_rotation
    except ImportError as error:
        return Status(False, f"Triton cannot be imported: {error}")
    name = f"Triton on {torch.cuda.get_device_name()}"
    try:
        errors = [triton_rotation.measure_error("cuda", halves) for halves in (False, True)]
    except Exception as error:  # of a driver, a compiler, a GPU that Triton does not know
        return Status(False, f"{name} fails: {error}")
    if not all(error <= triton_rotation.MOST_ERROR for error in errors):
        return Status(False, f"{name} is off by {errors}")
    if not cpu.active:
        triton_rotation.define()
        register.register()
    triton_rotation.implement()
    return Status(True, name)
