"""How the command line exits: exit codes, closed pipes, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import posenc as pe
from posenc.encodings import BUILTIN
from tests.cli.processes import POSENC, run_process
from tests.slow import slow


def test_the_bare_command_suggests_commands(run):
    result = run()
    assert result.exit_code == 0
    tried = re.findall(r"^  posenc (\w+)", result.stdout, re.MULTILINE)
    assert tried == ["explore", "show", "explain", "compare", "list", "help"]


def test_the_command_is_installed():
    command = [sys.executable, "-c", "from posenc.cli import main; main()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert pe.__version__ in done.stdout


def test_success_is_0():
    done = run_process("list", "--json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)["encodings"]) == list(pe.catalogue())
    assert done.stderr == ""


MINE = """
from dataclasses import dataclass
import posenc as pe

@dataclass(frozen=True)
class Twice(pe.Rotary):
    dim: int = 4
    traits = pe.Traits(norm_preserving=True)
    def cos_sin(self, positions, *, dtype=None):
        print("turning")
        cos, sin = pe.RoPE(4).cos_sin(positions, dtype=dtype)
        return 2 * cos, 2 * sin
"""


@pytest.mark.parametrize("command", ["check", *slow("compare")])
def test_a_failed_claim_is_1_and_the_report_is_printed(tmp_path, command):
    (tmp_path / "mine.py").write_text(MINE)
    done = run_process(command, "--load", str(tmp_path / "mine.py"), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
    assert "turning" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_130_without_a_traceback():
    code = (  # what is started in the background ignores the signal, unless told otherwise
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from posenc.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "check", "--all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    first = process.stderr.readline()  # it is at work
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that it started
    told = process.communicate(timeout=60)[1]
    assert first == f"[1/{len(BUILTIN)}] sinusoidal\n"
    assert process.returncode == 130
    assert told.endswith("interrupted\n")
    assert "Traceback" not in told


def test_ctrl_c_while_a_file_runs_is_130(run, tmp_path):
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt\n")
    for command in ("check", "compare", "show"):
        result = run(command, "--load", "slow.py")
        assert (result.exit_code, result.stderr) == (130, "interrupted\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_an_error_message():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*POSENC, "explain", "rope"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "Error: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("--help",)])
def test_a_closed_pipe_is_no_traceback(arguments):
    process = subprocess.Popen(
        [*POSENC, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()  # before it has said anything
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)
    assert "Traceback" not in told
    assert "BrokenPipe" not in told
