"""The command `posenc completion`."""

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_how_to_use_it(run, shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_POSENC_COMPLETE={shell}_complete" in result.stdout
    assert f"posenc completion {shell}" in result.stderr
    told = json.loads(run("completion", shell, "--json").stdout)
    assert told["shell"] == shell
    assert told["script"] + "\n" == result.stdout


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_bash_completes_names():
    asked = {"_POSENC_COMPLETE": "bash_complete", "COMP_WORDS": "posenc compare sin"}
    done = subprocess.run(
        [sys.executable, "-c", "from posenc.cli import main; main(prog_name='posenc')"],
        env={**os.environ, **asked, "COMP_CWORD": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "plain,sinusoidal\n"
