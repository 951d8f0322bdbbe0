"""`posenc config --extend`."""

import errno
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.cli.extend import MOST_ROWS, write_atomically
from tests.interop.configs import LLAMA, YARN, model


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    return path


def run(*arguments):
    return CliRunner().invoke(main, ["config", *map(str, arguments)])


def test_the_table_says_what_becomes_of_each_wavelength(path):
    result = run(path, "--extend", "yarn", "--factor", "4")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1] == "after: RoPE(16, pairing='halves', scaling=YaRN(4.0, 4096))"
    assert lines[2] == "trained on 4,096 tokens, extended to 16,384"
    assert "pairs 6-7 rotate slower by the whole factor: interpolated" in lines
    row = "   7            19,869.2           79,476.7                0.21   interpolated"
    assert lines[-1] == row
    assert list(path.parent.iterdir()) == [path]


def test_a_wide_head_has_a_short_table_and_all_pairs_in_json(path):
    path.write_text(json.dumps(LLAMA | {"head_dim": 256}))
    rows = run(path, "--extend", "yarn", "--factor", "4").stdout.partition("band\n")[2]
    assert 8 < rows.count("\n") <= MOST_ROWS + 1
    data = json.loads(run(path, "--extend", "yarn", "--factor", "4", "--json").stdout)
    assert len(data["pairs"]) == 128
    assert data["config"]["rope_scaling"]["factor"] == 4.0
    assert data["replaced"] is None


def test_the_new_file_is_written_whole(path, tmp_path):
    out = tmp_path / "new.json"
    result = run(path, "--extend", "pi", "--factor", "2", "-o", out)
    assert result.stdout.endswith(f"wrote {out}\n")
    assert pe.from_config(out) == pe.RoPE(16, pairing="halves", scaling=pe.Interpolation(2.0))
    assert json.loads(path.read_text()) == LLAMA
    assert sorted(tmp_path.iterdir()) == [path, out]


def test_a_file_is_overwritten_only_by_force(path):
    arguments = (path, "--extend", "ntk", "--factor", "2", "-o", path)
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "exists; --force overwrites it" in refused.stderr
    assert json.loads(path.read_text()) == LLAMA
    assert run(*arguments, "--force").exit_code == 0
    assert pe.from_config(path).base > 20_000


def test_no_space_left_is_a_sentence_and_leaves_nothing(path, tmp_path, monkeypatch):
    def fail(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    result = run(path, "--extend", "yarn", "--factor", "4", "-o", path, "--force")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert json.loads(path.read_text()) == LLAMA
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(path, tmp_path):
    result = run(path, "--extend", "yarn", "--factor", "4", "-o", tmp_path / "no" / "new.json")
    assert result.exit_code == 2
    assert "No such file" in result.stderr


def test_the_mode_of_a_file_is_kept(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    write_atomically(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_what_is_replaced_is_said(path):
    path.write_text(json.dumps(LLAMA | {"rope_scaling": YARN}))
    refused = run(path, "--extend", "yarn", "--factor", "8")
    assert refused.exit_code == 2
    assert "it has YaRN(4.0, 1024)" in refused.stderr
    result = run(path, "--extend", "yarn", "--factor", "8", "--replace")
    assert "replaces YaRN: the factor counts from 1,024 tokens; weights that" in result.stdout
    assert "trained on 1,024 tokens, extended to 8,192" in result.stdout
    assert "note:" not in result.stdout


def test_a_replacement_that_shortens_the_context_is_said(path):
    stated = LLAMA | {"rope_scaling": YARN, "max_position_embeddings": 4096}
    path.write_text(json.dumps(stated))
    result = run(path, "--extend", "yarn", "--factor", "2", "--replace")
    assert result.exit_code == 0
    assert (
        "note: the file allowed 4,096 tokens, 4 times the trained length; 2,048 is shorter: for "
        "more, give a larger --factor"
    ) in result.stdout.splitlines()


def test_bands_of_a_replacement_are_held_against_no_scaling(path):
    """The wavelengths before are those of the old scaling, from which no pair need be kept."""
    linear = {"rope_type": "linear", "factor": 8.0}
    path.write_text(json.dumps(LLAMA | {"rope_scaling": linear}))
    lines = run(path, "--extend", "yarn", "--factor", "4", "--replace").stdout.splitlines()
    assert lines[4].endswith(" rotate as without scaling: kept")
    assert (
        "pairs 6-7 rotate slower than without scaling, by the whole factor: interpolated" in lines
    )
    assert not any("as before" in line for line in lines)


def test_layers_of_one_type_are_named(path):
    path.write_text(json.dumps(model("gemma3_text", 12)))
    result = run(path, "--extend", "linear", "--factor", "8")
    assert result.stdout.startswith("before (layers of type full_attention): RoPE(")


def test_factors_of_longrope_come_from_a_file(path, tmp_path):
    factors = tmp_path / "factors.json"
    arguments = (path, "--extend", "longrope", "--factor", "4", "--factors", factors)
    assert "--factors" in run(*arguments).stderr
    factors.write_text("{")
    assert "must be JSON" in run(*arguments).stderr
    factors.write_text(json.dumps({"short_factor": [1.0] * 8, "long_factor": [4.0] * 8}))
    result = run(*arguments)
    assert result.exit_code == 0
    assert "LongRoPE(8 short and long factors" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--extend", "yarn"), "--extend needs --factor"),
        (("--extend", "yarn", "--factor", "4", "--force"), "--force needs --out"),
        (("--extend", "yarn", "--factor", "4", "--layer", "0"), "--extend takes one path"),
        (("--extend", "yarn", "--factor", "4", "--engine", "vllm"), "--extend takes one path"),
        (("--factor", "4"), "--factor needs --extend"),
        (("--extend", "longrope", "--factor", "4"), "found by a search on the model"),
        (("--extend", "yarn", "--factor", "0.5"), "factor must be"),
    ],
)
def test_wrong_usage(path, arguments, message):
    result = run(path, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert Path(path).read_text() == json.dumps(LLAMA)
