"""`posenc config --engine`."""

import json

import pytest
from click.testing import CliRunner

from posenc.cli import main
from tests.interop.configs import LLAMA

SCALED = LLAMA | {
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
        "attention_factor": 1.0,
        "truncate": False,
    }
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SCALED))
    return str(path)


def run(*arguments):
    return CliRunner().invoke(main, ["config", *arguments])


def test_each_difference_has_its_formula_and_its_number(path):
    lines = run(path, "--engine", "llama.cpp").stdout.splitlines()
    assert lines[0].startswith("layers 0-1: frequency of pair ")
    assert lines[1].startswith("  llama.cpp b21e4de7 (2026-08-22): truncate is not read")
    assert lines[2] == "layers 0-1: cos and sin times 1.13863 there, 1 here"
    assert "0.1 ln(factor) + 1" in lines[3]


def test_an_engine_that_agrees_is_named(path):
    result = run(path, "--engine", "transformers")
    assert result.stdout == (
        "transformers 5.22.2 reads this file as posenc does, as far as we know\n"
    )


def test_json(path):
    data = json.loads(run(path, "--engine", "vllm", "--json").stdout)
    assert data["engine"] == "vllm"
    [only] = data["differences"]
    assert (only["what"], round(only["theirs"], 4), only["ours"]) == ("attention factor", 1.1386, 1)


def test_wrong_usage(path):
    assert "one path" in run(path, path, "--engine", "vllm").stderr
    assert run(path, "--engine", "exllama").exit_code == 2
