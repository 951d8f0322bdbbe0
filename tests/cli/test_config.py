"""The command `posenc config`."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.interop.describe import MEANS, describe
from tests.interop.configs import (
    LLAMA,
    LLAMA3,
    SHARED,
    model,
)


@pytest.fixture
def files(tmp_path):
    def write(*configs):
        paths = [tmp_path / f"{i}.json" for i in range(len(configs))]
        for path, config in zip(paths, configs, strict=True):
            path.write_text(json.dumps(config))
        return [str(path) for path in paths]

    return write


def run(*arguments):
    return CliRunner().invoke(main, ["config", *arguments])


def test_one_model_is_told(files):
    result = run(*files(LLAMA | {"rope_theta": 1e4, "rope_scaling": LLAMA3}))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "llama: 2 layers, trained length 512",
        "layers 0-1: RoPE(16, pairing='halves', scaling=Llama3(8.0, 512))",
        "  base 10,000, 16 of 16 channels rotate, pairing halves",
        "  4 of 8 pairs complete a turn within 512 tokens",
        "  longest wavelength: 158,953.4 tokens",
        "  scaling: slow pairs rotate slower by the factor, fast ones are unchanged, "
        "those between blended",
        "  attention factor: 1",
        "  beyond the trained length: slow pairs reach angles never seen in training after "
        "8 x 512 = 4,096 tokens",
    ]


def test_a_model_prints_the_summary_of_the_command_and_has_a_short_repr(files):
    config = model("gemma3_text", 62, rope_scaling={"rope_type": "linear", "factor": 8.0})
    found = pe.read_config(config)
    assert str(found) + "\n" == run(*files(config)).stdout
    assert repr(found) == "<ModelPositions gemma3_text: 62 layers (RoPE), trained length 4,096>"
    assert "(RoPE, NoPE), trained" in repr(pe.read_config(model("smollm3", 8)))
    assert "trained length unknown" in repr(pe.read_config({"model_type": "swin"}))


def test_layers_are_grouped_and_notes_are_told(files):
    lines = run(*files(model("smollm3", 8))).stdout.splitlines()
    assert lines[1].startswith("layers 0-2, 4-6: RoPE(")
    assert "layers 3, 7: NoPE()" in lines
    assert lines[-1].startswith("note: ")
    only = run(*files(model("smollm3", 8)), "--layer", "3").stdout
    assert "layers 3: NoPE()" in only
    assert "RoPE(" not in only


def test_json_is_the_description(files):
    config = SHARED["phi3 longrope"][0]
    told = json.loads(run(*files(config), "--json").stdout)
    assert told == json.loads(json.dumps(describe(pe.read_config(config))))
    group = told["groups"][0]
    assert (group["pairs"], group["full_turns"], group["pairing"]) == (8, 5, "halves")
    assert group["attention_factor"] == pytest.approx(np.sqrt(1.2))


def test_two_models_are_compared(files):
    other = model("cohere", rope_theta=5e5)
    result = run(*files(LLAMA | {"rope_theta": 1e4}, other))
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert "pairing: halves | interleaved" in lines
    assert lines[lines.index("pairing: halves | interleaved") + 1] == f"  {MEANS['pairing']}"
    assert "base: 10,000 | 500,000" in lines
    assert not any(line.startswith(("dim", "scaling", "layers:")) for line in lines)
    data = json.loads(run(*files(LLAMA, other), "--json").stdout)
    assert [row["what"] for row in data["differences"]][:2] == ["model_type", "pairing"]
    assert run(*files(LLAMA, LLAMA)).stdout == "no differences\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'PATH [PATH2]'"),
        (("no.json",), "config must be a readable file; no.json: No such file"),
        (("a", "b", "c"), "one path, or two to compare; got 3"),
    ],
)
def test_wrong_usage(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_layer_that_is_not_there(files):
    result = run(*files(LLAMA), "--layer", "2")
    assert result.exit_code == 2
    assert "--layer must be one of 0 .. 1; got 2" in result.stderr


def test_pairing_is_accepted_for_an_unknown_model_type(files):
    paths = files(LLAMA | {"model_type": "mine", "rope_theta": 10_000.0})
    assert "unless pairing" in run(*paths).stderr
    result = run(*paths, "--pairing", "halves")
    assert result.exit_code == 0
    assert "pairing halves" in result.stdout
