"""Compiling the kernels: what is missing is a sentence, and the package does without them."""

import importlib
import sys
from types import SimpleNamespace

import pytest
import torch

from posenc import kernels
from posenc.kernels import build


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(build.BuildError, match=r"no C\+\+ compiler was found"):
        build.build(always=True)


@pytest.mark.parametrize(
    ("version", "headers", "message"),
    [
        (None, False, "PyTorch was not found"),
        ("2.9.1", True, "PyTorch is older than 2.10"),
        ("2.13.0+cpu", False, "this build of PyTorch has no headers"),
    ],
)
def test_pytorch_is_looked_for_without_importing_it(
    monkeypatch, tmp_path, version, headers, message
):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(build.sysconfig, "get_path", lambda name: str(tmp_path))
    if version is not None:
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")
    if headers:
        stable = tmp_path / "torch" / "include" / "torch" / "csrc" / "stable"
        stable.mkdir(parents=True)
        (stable / "ops.h").touch()
    with pytest.raises(build.BuildError, match=message):
        build.find_torch()


def test_a_compiler_that_fails_leaves_what_was_there(monkeypatch, tmp_path):
    library = tmp_path / "_kernels.so"
    library.write_text("the last one")
    monkeypatch.setattr(build, "LIBRARY", library)
    monkeypatch.setattr(build, "find_compiler", lambda: ["false"])
    with pytest.raises(build.BuildError, match="false failed"):
        build.build(always=True)
    assert library.read_text() == "the last one"
    assert [*tmp_path.iterdir()] == [library]


def test_an_install_goes_on_without_kernels(monkeypatch, tmp_path, capsys):
    hook = importlib.import_module("hatch_build")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("POSENC_KERNELS", raising=False)
    folder = tmp_path / "kernels"
    (folder / "csrc").mkdir(parents=True)
    (folder / "csrc" / "library.cpp").touch()
    (folder / "build.py").write_text((hook.KERNELS / "build.py").read_text())
    monkeypatch.setattr(hook, "KERNELS", folder)
    assert not hook.build_kernels()
    assert "posenc: no kernels, because no C++ compiler was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "why"),
    [("0", "POSENC_KERNELS is 0"), ("fast", "POSENC_KERNELS must be 0, 1, plain, avx2, avx512")],
)
def test_the_variable_turns_them_off(monkeypatch, value, why):
    monkeypatch.setenv("POSENC_KERNELS", value)
    status = kernels._load()
    assert not status.active
    assert str(status).startswith(f"not active: {why}")


def test_a_library_that_cannot_be_loaded_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.delenv("POSENC_KERNELS", raising=False)
    monkeypatch.setattr(kernels, "LIBRARY", tmp_path / "_kernels.so")
    assert "not compiled" in kernels._load().why
    (tmp_path / "_kernels.so").write_text("not a library")
    assert "cannot load them" in kernels._load().why


@pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)
def test_a_library_of_older_sources_is_a_reason(monkeypatch):
    older = SimpleNamespace(overloads=lambda: ["default"])
    monkeypatch.setattr(torch.ops, "posenc", SimpleNamespace(rotate_qk_=older))
    assert "older posenc" in kernels._load().why
