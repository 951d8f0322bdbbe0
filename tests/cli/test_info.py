"""The command `posenc info`."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from importlib.metadata import EntryPoint, version

import pytest

import posenc as pe
from posenc import kernels
from tests.cli.processes import run_python

info = sys.modules["posenc.cli.info"]  # the module: in the package the name is the command


@pytest.fixture
def kernels_unasked(monkeypatch):
    """Without the process that loads PyTorch to ask for them: seconds."""
    monkeypatch.setattr(info, "_ask_kernels", lambda: {"active": False, "why": "not asked"})


@pytest.mark.usefixtures("kernels_unasked")
def test_info_shows_versions_and_missing_libraries(run, monkeypatch):
    monkeypatch.setattr(info, "EXTRAS", {"torch": "torch", "gone": "plot"})
    told = json.loads(run("info", "--json").stdout)
    assert told["posenc"] == pe.__version__
    assert told["required"] == {name: version(name) for name in told["required"]}
    assert told["optional"]["torch"]["version"] == version("torch")
    assert told["optional"]["gone"] == {
        "version": None,
        "install": "pip install '.[plot]' in a clone of posenc",
    }
    assert told["encodings"] == {"built_in": len(pe.encodings.BUILTIN), "others": {}}
    assert told["cores"] == os.cpu_count()
    assert "gone              not installed: pip install '.[plot]' in a clone" in run("info").stdout


@pytest.mark.usefixtures("kernels_unasked")
def test_info_shows_encodings_of_other_packages(run, monkeypatch):
    theirs = EntryPoint("clock", "clocks:Clock", "posenc.encodings")
    monkeypatch.setattr(info, "entry_points", lambda group: [theirs])
    assert json.loads(run("info", "--json").stdout)["encodings"]["others"] == {
        "clock": "clocks:Clock"
    }
    assert "1 from other packages" in run("info").stdout


@pytest.mark.usefixtures("kernels_unasked")
@pytest.mark.parametrize(
    ("listed", "line"),
    [
        ("", "none; install the packages fonts-noto-cjk"),
        ("Noto Sans CJK JP,Noto Sans CJK JP Bold\n", "Noto Sans CJK JP\n"),
        ("A\nB\nC\nD\nE\n", "A, B, C and 2 more\n"),
    ],
)
def test_info_shows_fonts(run, monkeypatch, listed, line):
    monkeypatch.setattr(info.shutil, "which", lambda name: f"/bin/{name}")
    done = subprocess.CompletedProcess([], 0, stdout=listed)
    monkeypatch.setattr(info.subprocess, "run", lambda *args, **kwargs: done)
    assert f"fonts with Han characters: {line}" in run("info").stdout


@pytest.mark.usefixtures("kernels_unasked")
def test_info_works_without_fontconfig(run, monkeypatch):
    monkeypatch.setattr(info.shutil, "which", lambda name: None)
    assert json.loads(run("info", "--json").stdout)["han_fonts"]["found"] == []


def test_info_imports_no_library():
    heavy = "torch", "jax", "matplotlib", "transformers"
    code = (
        "import sys\nfrom posenc.cli import main\n"
        "try: main(['info'])\nexcept SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert run_python(code).splitlines()[-1] == "[]"


def test_info_tells_whether_the_kernels_are_active_and_why(run, monkeypatch):
    status = kernels.load()
    assert json.loads(run("info", "--json").stdout)["kernels"] == asdict(status)
    assert f"kernels: {status}\n" in run("info").stdout
    monkeypatch.setenv("POSENC_KERNELS", "0")
    assert "kernels: not active: POSENC_KERNELS is 0\n" in run("info").stdout
    monkeypatch.setattr(info, "_find_version", lambda name: None)
    assert "kernels: not active: PyTorch is not installed\n" in run("info").stdout
