"""How long it takes to import posenc.torch after torch, and to make each encoding.

With bytecode, which an install writes: otherwise Python's compiler is what is measured, wherever
PYTHONDONTWRITEBYTECODE is set or a folder cannot be written to.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from typing import Any

from posenc.bench.case import Case, Entry, Request, Setup

PROGRAM = """
import json, time
start = time.perf_counter()
import torch
loaded = time.perf_counter()
import posenc.torch
imported = time.perf_counter()
from posenc.encodings.registry import load_builtins
seconds = {}
for name, kind in load_builtins().items():
    first = time.perf_counter()
    kind.example()
    seconds[name] = time.perf_counter() - first
print(json.dumps({"torch": loaded - start, "posenc": imported - loaded, "made": seconds}))
"""
TORCH, IMPORT, SLOWEST = "import torch", "import posenc.torch", "the slowest encoding to make"


def run_fresh() -> dict[str, float]:
    """One round, in a process of its own."""
    told = _run(bytecode_folder().name)
    return {TORCH: told["torch"], IMPORT: told["posenc"], SLOWEST: max(told["made"].values())}


@cache
def bytecode_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder with the bytecode of all that is imported; it goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="posenc-bytecode-")
    _run(folder.name)
    return folder


def _run(folder: str) -> dict[str, Any]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = folder
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return json.loads(done.stdout)


def build(_request: Request) -> Setup:
    """Nothing is checked here: what an import and a constructor make is tested elsewhere."""
    entries = {
        TORCH: Entry(run_fresh),
        IMPORT: Entry(run_fresh, ours=True),
        SLOWEST: Entry(run_fresh, ours=True),
    }
    return Setup(entries, sample=run_fresh)


CASES = (Case("import", "start", "in a fresh process", build, quick=True),)
