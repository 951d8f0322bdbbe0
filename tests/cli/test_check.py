"""The command `posenc check`."""

import json

import pytest

from tests.cli.files import STRETCH


def test_check_measures_by_name_and_shows_progress(run):
    result = run("check", "alibi", "posenc:NoPE")
    assert result.exit_code == 0
    assert result.stderr == "[1/2] alibi\n[2/2] posenc:NoPE\n"
    assert "ALiBi(8)" in result.stdout
    assert result.stdout.count("all claims hold") == 2


@pytest.mark.parametrize(("claims", "code"), [("", 0), ("norm_preserving=True", 1)])
def test_check_loads_a_file_and_a_failed_claim_is_exit_code_1(run, tmp_path, claims, code):
    (tmp_path / "mine.py").write_text(STRETCH.replace("{claims}", claims))
    result = run("check", "--load", "mine.py", "--json")
    assert result.exit_code == code
    told = json.loads(result.stdout)
    assert told["ok"] is (code == 0)
    rows = {row["name"]: row for row in told["reports"]["Stretch"]["rows"]}
    assert rows["norm_preserving"]["measured"] == pytest.approx(1.0)


SLEEPS = """
import time
import posenc

class Sleeps(posenc.NoPE):
    def bias(self, q_pos, k_pos, params=None):
        time.sleep(86_400)
"""


def test_a_check_without_an_answer_is_exit_code_1_and_no_failed_claim(run, tmp_path):
    (tmp_path / "mine.py").write_text(SLEEPS)
    result = run("check", "--load", "mine.py", "--limit", "0.1")
    assert result.exit_code == 1
    assert " not measured: " in result.stdout.splitlines()[0]
    assert "no answer within 0.1 s" in result.stdout
    assert "fail" not in result.stdout


def test_a_file_that_calls_exit_is_an_error(run, tmp_path):
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    result = run("check", "--load", "leaves.py")
    assert result.exit_code == 2
    assert (
        "file must run without an error; got leaves.py, which raised SystemExit: 0" in result.stderr
    )


def test_what_an_encoding_prints_goes_to_stderr(run, tmp_path):
    mine = STRETCH.replace("{claims}", "").replace("angle =", "print('turning'); angle =")
    (tmp_path / "mine.py").write_text("from __future__ import annotations\n" + mine)
    result = run("check", "--load", "mine.py", "--json")
    assert json.loads(result.stdout)["ok"] is True


def test_check_reads_a_config(run, tmp_path):
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    result = run("check", "config.json")
    assert result.exit_code == 0
    assert "RoPE(16, " in result.stdout


@pytest.mark.parametrize("command", ["check", "show", "explain", "config"])
def test_what_to_do_about_an_unknown_model_exists_and_works(run, tmp_path, command):
    config = {"model_type": "mine", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    result = run(command, "config.json")
    assert result.exit_code == 2
    assert "unless pairing is given (`posenc config --pairing halves`, in Python" in result.stderr
    assert run("config", "--pairing", "halves", "config.json").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "specify an ENCODING, --load FILE or --all"),
        (("rop",), "no encoding is called 'rop'; did you mean rope?"),
        (("--load", "none.py"), "file must be a Python file that exists; got none.py"),
        (("json:nothing",), "an encoding must be importable; got 'json:nothing'"),
        (("nowhere:x",), "an encoding must be importable; got 'nowhere:x'"),
        (("nope", "--limit", "0"), "limit must be a finite number of at least 0.001"),
        (("json:loads",), "what is named must be an Encoding; got <function loads"),
        (("nope", "--seed", "-1"), "seed must be a whole number of at least 0; got seed=-1"),
    ],
)
def test_wrong_arguments_are_reported(run, arguments, message):
    result = run("check", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
