"""The kernels under AddressSanitizer and UBSan: no byte beside a tensor is read or written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from posenc.kernels import build

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"
HERE = Path(__file__).parent
TESTS = (HERE / "test_csrc.py", HERE / "test_newest.py", HERE.parent / "torch" / "test_fused.py")
"""Of the operators by themselves, and of the packed ones as the modules call them."""
SELECTED = " and ".join(
    f"not {name}"
    for name in ("opcheck", "level", "compile", "transforms", "unpickled", "first_call")
)
"""Not what is about PyTorch's own tools or starts processes."""
RUN = """
import sys
from pathlib import Path

import pytest

from posenc import kernels

kernels.LIBRARY = Path(sys.argv[1])
sys.exit(pytest.main(["-q", "-x", "-s", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


def find_runtime(name):
    """Where the compiler has a library of its own, to be loaded before Python."""
    command = [*build.find_compiler(), f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip(f"the compiler has no {name}")
    return found


def run_sanitized(library, *arguments):
    runtimes = [find_runtime(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    env = os.environ | {
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python frees little when it ends
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    command = [sys.executable, "-c", RUN, str(library), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        library = tmp_path_factory.mktemp("kernels") / "_kernels.so"
        patch.setattr(build, "LIBRARY", library)
        patch.setenv("CXXFLAGS", FLAGS)
        try:
            build.build(always=True)
        except build.BuildError as error:
            pytest.skip(str(error))
    return library


@pytest.mark.slow
def test_the_operators_are_clean(sanitized):
    done = run_sanitized(sanitized, *map(str, TESTS), "-k", SELECTED)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_a_tensor_that_is_too_short_is_noticed(sanitized, tmp_path):
    """The sanitizer sees the memory of tensors: a claim of more rows than there are is an error."""
    test = tmp_path / "test_short.py"
    test.write_text(
        "import torch\n"
        "from posenc import kernels\n"
        "def test_it():\n"
        "    assert kernels.load().active\n"
        "    x = torch.zeros(4, 64)\n"
        "    x.untyped_storage().resize_(64)\n"
        "    w = torch.ones(32, dtype=torch.float64)\n"
        "    torch.ops.posenc.rotate(x, torch.arange(4), w, None, 1.0, False, 0, False)\n"
    )
    done = run_sanitized(sanitized, str(test))
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
