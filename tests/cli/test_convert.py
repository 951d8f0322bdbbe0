"""The command `posenc convert`."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import posenc as pe
from posenc.interop.checkpoints import stream
from tests.interop.checkpoints.files import write_folder
from tests.interop.checkpoints.models import MODELS

LLAMA = MODELS["grouped heads"]


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "llama", LLAMA.config, LLAMA.state())


def test_a_file_is_converted_and_the_reader_told_what_to_use(run, folder):
    result = run("convert", f"{folder}/model.safetensors", "--to", "interleaved", "-o", "out.st")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "out.st: 4 tensors of 2 layers converted to interleaved",
        "config.json does not name the pairing: run these weights with pairing='interleaved'",
    ]
    expected = pe.convert(LLAMA.state(), LLAMA.config, to="interleaved")
    found = load_file("out.st")
    assert all(np.array_equal(found[key], expected[key]) for key in expected)


def test_another_file_is_overwritten_only_by_force(run, folder, tmp_path):
    out = tmp_path / "mine.txt"
    out.write_text("hi")
    command = ["convert", f"{folder}/model.safetensors", "--to", "interleaved", "-o", str(out)]
    result = run(*command)
    assert result.exit_code == 2
    assert "which --force overwrites" in result.stderr
    assert out.read_text() == "hi"
    assert run(*command, "--force").exit_code == 0
    assert run(*command).exit_code == 0  # again, what it wrote itself


def test_json(run, folder):
    result = run("convert", str(folder), "--to", "interleaved", "-o", "out", "--json")
    told = json.loads(result.stdout)
    assert told == {"to": "interleaved", "files": ["out/model.safetensors"], "tensors": 4,
                    "layers": 2}  # fmt: skip


def bad(folder, name):
    file = folder / "model.safetensors"
    match name:
        case "truncated":
            file.write_bytes(file.read_bytes()[:-5])
        case "pickle":
            file.write_bytes(b"PK" + file.read_bytes())
        case "missing":
            (folder / "config.json").write_text(json.dumps(LLAMA.config | {"num_hidden_layers": 3}))
        case "contradiction":
            (folder / "config.json").write_text(json.dumps(LLAMA.config | {"head_dim": 4}))
        case "huge":
            config = LLAMA.config | {"num_hidden_layers": 10**9}
            (folder / "config.json").write_text(json.dumps(config))
        case _:
            (folder / "config.json").unlink()


BAD = {
    "truncated": "must be a whole safetensors file",
    "pickle": "it is a pickle",
    "missing": "layer 2 rotates, so the checkpoint must have its queries",
    "contradiction": "must have 8 rows, as the config says",
    "huge": "num_hidden_layers must be",
    "no config": "--config must be given, since there is no",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_a_sentence_and_leave_nothing(run, folder, tmp_path, name):
    bad(folder, name)
    out = tmp_path / "out.st"
    result = run("convert", f"{folder}/model.safetensors", "--to", "interleaved", "-o", str(out))
    assert result.exit_code == 2
    assert BAD[name] in result.stderr
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["llama"]


def test_a_disk_that_fills_up_leaves_nothing(run, folder, tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stream.os, "fsync", fail)
    result = run("convert", f"{folder}/model.safetensors", "--to", "interleaved", "-o", "out.st")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["llama"]


def test_converted_twice_is_refused(run, folder):
    first = ("--config", f"{folder}/config.json", "--to", "interleaved", "-o")
    assert run("convert", f"{folder}/model.safetensors", *first, "a.st").exit_code == 0
    again = run("convert", "a.st", *first, "b.st")
    assert again.exit_code == 2
    assert "has been converted already" in again.stderr


def test_the_pairing_that_it_has_is_refused(run, folder):
    result = run("convert", str(folder), "--to", "halves", "-o", "out")
    assert result.exit_code == 2
    assert "llama are in halves already" in result.stderr


def test_a_proof_is_reported(run, folder):
    arguments = ("convert", str(folder), "--to", "interleaved", "-o", "out", "--verify")
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    assert "layers: largest difference" in result.stdout.splitlines()[-1]
    proof = json.loads(run(*arguments, "--json").stdout)["proof"]
    assert proof["largest"] <= proof["bound"] < proof["wrong"]


def test_an_output_that_is_wrong_is_reported(run, folder, monkeypatch):
    monkeypatch.setattr(stream, "_move_rows", lambda file, size, rows, to: [file.read(size)])
    result = run("convert", str(folder), "--to", "interleaved", "-o", "out", "--verify")
    assert result.exit_code == 1
    assert "do not use the output" in result.stderr


def test_what_cannot_be_verified_is_said_before_the_work(run, folder, tmp_path):
    import torch
    from safetensors.torch import save_file

    state = {
        name: torch.tensor(value).to(torch.float8_e4m3fn) for name, value in LLAMA.state().items()
    }
    save_file(state, folder / "model.safetensors")
    arguments = ("convert", f"{folder}/model.safetensors", "--to", "interleaved", "-o", "out.st")
    result = run(*arguments, "--verify")
    assert result.exit_code == 2
    assert "must have 16 bits or more to be verified; got F8_E4M3" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["llama"]
    assert run(*arguments).exit_code == 0
