"""Whether Triton is chosen for a GPU: on a machine that claims to have one."""

import sys
from types import SimpleNamespace

import pytest
import torch

from posenc import kernels
from posenc.kernels import cuda


@pytest.fixture
def gpu(monkeypatch):
    """A machine that claims to have CUDA and Triton; what is measured on it can be set."""
    found = SimpleNamespace(measure_error=lambda device, halves: 1e-8, MOST_ERROR=1.5e-7)
    monkeypatch.delenv("POSENC_KERNELS", raising=False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(kernels, "triton_rotation", found, raising=False)
    monkeypatch.setitem(sys.modules, "posenc.kernels.triton_rotation", found)
    return found


def test_it_is_not_chosen_without_cuda(monkeypatch):
    off = kernels.Status(False, "POSENC_KERNELS is 0")
    with monkeypatch.context() as patch:
        patch.setenv("POSENC_KERNELS", "0")
        patch.setattr(kernels, "load", lambda: off)
        assert cuda._load() is off
    monkeypatch.delenv("POSENC_KERNELS", raising=False)
    monkeypatch.setattr(torch.version, "cuda", None)  # as of ROCm, too
    assert cuda._load().why == "PyTorch has no CUDA device"


def test_it_is_not_chosen_where_triton_is_missing_or_fails_or_is_wrong(gpu, monkeypatch):
    gpu.measure_error = lambda device, halves: 1e-8 if halves else float("nan")
    assert cuda._load().why == "Triton on a GPU is off by [nan, 1e-08]"
    gpu.measure_error = lambda device, halves: 2e-7 if halves else 1e-8
    assert cuda._load().why == "Triton on a GPU is off by [1e-08, 2e-07]"
    gpu.measure_error = lambda device, halves: 1 / 0
    assert cuda._load().why == "Triton on a GPU fails: division by zero"
    monkeypatch.delattr(kernels, "triton_rotation")
    monkeypatch.setitem(sys.modules, "posenc.kernels.triton_rotation", None)
    assert "Triton cannot be imported" in cuda._load().why


@pytest.mark.parametrize("compiled", [False, True])
def test_it_defines_the_operators_where_cpp_does_not(gpu, monkeypatch, compiled):
    done = []
    gpu.define, gpu.implement = lambda: done.append("define"), lambda: done.append("implement")
    monkeypatch.setattr("posenc.kernels.register.register", lambda: done.append("register"))
    monkeypatch.setattr(kernels, "load", lambda: kernels.Status(compiled, "as the test has it"))
    monkeypatch.setattr(cuda, "_status", None)
    assert str(cuda.load()) == "active, Triton on a GPU"
    assert cuda.load() is cuda.load()
    assert done == ([] if compiled else ["define", "register"]) + ["implement"]
