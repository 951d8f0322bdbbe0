"""Compiles the kernels: `python -m posenc.kernels`. An install does so too (hatch_build.py).

It needs a C++ compiler and the headers of PyTorch 2.10 or later. Nothing of posenc or PyTorch is
imported, since an install runs this file by itself, in an environment that has neither.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "csrc"
LIBRARY = Path(__file__).parent / "_kernels.so"
OLDEST = (2, 10)
"""The first PyTorch with all that the kernels use of its stable ABI."""

FLAGS = (
    "-std=c++17",
    "-O3",
    "-ffp-contract=off",  # a fused multiplication would round differently on each processor
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    f"-DTORCH_TARGET_VERSION=0x{OLDEST[0]:02x}{OLDEST[1]:02x}000000000000",
)


class BuildError(Exception):
    """What is missing, as a sentence."""


def build(*, always: bool = False) -> str:
    """Compile the kernels unless they are newer than their sources; say what was done.

    always   compile in any case

    Raises BuildError if something is missing or the compiler fails.
    """
    newest = max(path.stat().st_mtime for path in [*SOURCES.iterdir(), Path(__file__)])
    if not always and LIBRARY.exists() and LIBRARY.stat().st_mtime >= newest:
        return "the kernels are up to date"
    compiler, torch = find_compiler(), find_torch()
    if not os.access(LIBRARY.parent, os.W_OK):
        raise BuildError(f"{LIBRARY.parent} cannot be written to")
    with tempfile.TemporaryDirectory(dir=LIBRARY.parent) as folder:  # on the same disk, for a move
        made = Path(folder) / LIBRARY.name
        command = [*compiler, *FLAGS, *os.environ.get("CXXFLAGS", "").split()]
        command += [str(SOURCES / "library.cpp"), *torch_flags(torch), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(f"{compiler[0]} failed: {done.stderr.strip()[:2000]}")
        made.replace(LIBRARY)
    return f"compiled the kernels with {compiler[0]}"


def find_compiler() -> list[str]:
    """The command of a C++ compiler: $CXX, or the first that is installed."""
    named = os.environ.get("CXX", "").split()
    for command in [named] if named else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    raise BuildError(f"CXX={named[0]} was not found" if named else "no C++ compiler was found")


def find_torch() -> Path:
    """The folder of PyTorch, without importing it: the build of a wheel hides it from `import`."""
    places = [*sys.path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    for place in filter(None, places):
        folder = Path(place) / "torch"
        if not (folder / "version.py").exists():
            continue
        found = re.search(r"__version__ = '(\d+)\.(\d+)", (folder / "version.py").read_text())
        if found is None or tuple(map(int, found.groups())) < OLDEST:
            raise BuildError(f"PyTorch is older than {'.'.join(map(str, OLDEST))}")
        if not (folder / "include" / "torch" / "csrc" / "stable" / "ops.h").exists():
            raise BuildError("this build of PyTorch has no headers")
        return folder
    raise BuildError("PyTorch was not found")


def torch_flags(torch: Path) -> list[str]:
    """Where PyTorch's headers and its library are; macOS resolves symbols as it loads."""
    include = ["-isystem", str(torch / "include")]
    if sys.platform == "darwin":
        return [*include, "-undefined", "dynamic_lookup"]
    return [*include, f"-L{torch / 'lib'}", "-ltorch_cpu"]
