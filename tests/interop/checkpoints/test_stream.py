"""Files are converted as arrays are, whole or not at all, and a rerun finishes the job."""

import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_torch
from safetensors.torch import save_file as save_torch

import posenc as pe
from posenc.interop.checkpoints import stream
from posenc.interop.checkpoints.files import INDEX, read_header
from posenc.interop.checkpoints.stream import PARTIAL, prepare
from tests.interop.checkpoints.files import write_folder
from tests.interop.checkpoints.models import MODELS
from tests.interop.checkpoints.test_convert import OTHER, pairing_of

LLAMA = MODELS["grouped heads"]


@pytest.mark.parametrize("piece", [1, 1500, 2**24])
@pytest.mark.parametrize("name", MODELS)
def test_a_file_is_converted_as_arrays_are(name, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "PIECE", piece)
    model = MODELS[name]
    to, state = OTHER[pairing_of(model)], model.state()
    state |= {"lm_head.weight": np.arange(9.0), "empty": np.zeros((0, 3))}
    folder = write_folder(tmp_path / "in", model.config, state)
    out = tmp_path / "out.safetensors"
    told = []
    conversion = prepare(folder / "model.safetensors", model.config, out, to=to)
    assert conversion.run(lambda *n: told.append(n)) == [out]
    expected, found = pe.convert(state, model.config, to=to), load_file(out)
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[key], expected[key]) for key in expected)
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


def test_sixteen_bits_and_eight_are_moved_as_bytes(tmp_path):
    import torch

    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        state = {key: torch.tensor(value).to(dtype) for key, value in LLAMA.state().items()}
        save_torch(state, tmp_path / "in.safetensors")
        out = tmp_path / f"{dtype}.safetensors"
        prepare(tmp_path / "in.safetensors", LLAMA.config, out, to="interleaved").run()
        wide = {key: value.float() for key, value in state.items()}
        expected, found = pe.convert(wide, LLAMA.config, to="interleaved"), load_torch(out)
        for key, value in found.items():
            assert value.dtype == dtype
            assert torch.equal(value.float(), expected[key])


def test_converted_twice_is_refused_and_back_gives_the_input(tmp_path):
    first = write_folder(tmp_path / "in", LLAMA.config, LLAMA.state()) / "model.safetensors"
    second, third = tmp_path / "2.safetensors", tmp_path / "3.safetensors"
    prepare(first, LLAMA.config, second, to="interleaved").run()
    with pytest.raises(ValueError, match="converted already: its metadata says interleaved"):
        prepare(second, LLAMA.config, third, to="interleaved")
    prepare(second, LLAMA.config, third, to="halves").run()
    one, three = load_file(first), load_file(third)
    assert all(np.array_equal(three[key], one[key]) for key in one)
    assert read_header(third).metadata["format"] == "pt"


def shards(tmp_path, count=3):
    folder = write_folder(tmp_path / "in", LLAMA.config, LLAMA.state(), shards=count)
    return folder, tmp_path / "out"


def check_shards(folder, out):
    expected = pe.convert(LLAMA.state(), LLAMA.config, to="interleaved")
    found = {}
    for path in out.glob("*.safetensors"):
        found |= load_file(path)
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[key], expected[key]) for key in expected)
    assert (out / INDEX).read_text() == (folder / INDEX).read_text()
    assert not list(out.glob(f"*{PARTIAL}"))


@pytest.mark.parametrize("source", ["folder", "index"])
def test_a_checkpoint_of_several_files(source, tmp_path):
    folder, out = shards(tmp_path)
    path = folder if source == "folder" else folder / INDEX
    assert len(prepare(path, LLAMA.config, out, to="interleaved").run()) == 3
    check_shards(folder, out)


def test_an_index_may_have_any_name_and_must_list_what_is_there(tmp_path):
    folder, out = shards(tmp_path)
    index = folder / "other.index.json"
    (folder / INDEX).rename(index)
    prepare(index, LLAMA.config, out, to="interleaved").run()
    assert (out / index.name).read_text() == index.read_text()
    index.write_text(
        index.read_text().replace(
            '"weight_map": {', '"weight_map": {"x": "model-00001-of-00003.safetensors", '
        )
    )
    with pytest.raises(ValueError, match=r"lists tensors that are not there: x in model-00001"):
        prepare(index, LLAMA.config, tmp_path / "new", to="interleaved")
    assert not (tmp_path / "new").exists()


def test_a_rerun_keeps_what_is_finished(tmp_path):
    folder, out = shards(tmp_path)
    before = {path: path.read_bytes() for path in folder.iterdir()}

    class Stop(BaseException):
        pass

    def stop(done, whole):
        if done > whole // 2:
            raise Stop

    with pytest.raises(Stop):
        prepare(folder, LLAMA.config, out, to="interleaved").run(stop)
    kept = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert 0 < len(kept) < 3
    assert not [path for path in kept if path.name.endswith(PARTIAL)]
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    again = prepare(folder, LLAMA.config, out, to="interleaved")
    told = []
    again.run(kept=told.append)
    assert set(told) == kept.keys()
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    check_shards(folder, out)


def test_a_file_of_other_tensors_is_overwritten_only_by_force(tmp_path):
    folder, out = shards(tmp_path)
    prepare(folder, LLAMA.config, out, to="interleaved").run()
    other = min(out.glob("*.safetensors"))
    save_file({"x": np.zeros(2)}, other)
    before = other.read_bytes()
    with pytest.raises(ValueError, match="the output must be new, or a file that this conversion"):
        prepare(folder, LLAMA.config, out, to="interleaved")
    assert other.read_bytes() == before
    told = []
    prepare(folder, LLAMA.config, out, to="interleaved", force=True).run(kept=told.append)
    assert len(told) == 2
    check_shards(folder, out)


@pytest.mark.parametrize("change", ["a byte of the output", "a byte of the input", "metadata"])
def test_a_header_and_a_size_do_not_make_a_file_finished(change, tmp_path):
    folder, out = shards(tmp_path)
    prepare(folder, LLAMA.config, out, to="interleaved").run()
    place = min((folder if change.endswith("input") else out).glob("*.safetensors"))
    data = bytearray(place.read_bytes())
    if change == "metadata":
        data = bytearray(bytes(data).replace(b'"format":"pt"', b'"format":"np"'))
    else:
        data[-1] ^= 1
    place.write_bytes(data)
    told = []
    prepare(folder, LLAMA.config, out, to="interleaved").run(kept=told.append)
    assert sorted(told) == sorted(out.glob("*.safetensors"))[1:]
    made, whole = (load_file(min(each.glob("*.safetensors"))) for each in (out, folder))
    expected = pe.convert(LLAMA.state() | whole, LLAMA.config, to="interleaved")
    assert all(np.array_equal(made[key], expected[key]) for key in made)
    assert read_header(min(out.glob("*.safetensors"))).metadata["format"] == "pt"


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "PIECE", 2**14)
    folder = write_folder(tmp_path / "in", LLAMA.config, LLAMA.state() | LARGE, shards=3)
    conversion = prepare(folder, LLAMA.config, tmp_path / "out", to="interleaved")
    conversion.run()  # code is loaded
    for again in range(2):  # compared, then written
        tracemalloc.start()
        conversion.run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**18, again
        conversion = replace(conversion, present=frozenset())


LARGE = {"lm_head.weight": np.arange(2.0**17)}
"""A tensor of a megabyte."""


KILLED = """
import json, os, signal, sys
from pathlib import Path
from posenc.interop.checkpoints import stream
stream.PIECE = 64
folder, out, after = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
def kill(done, whole):
    if done >= after: os.kill(os.getpid(), signal.SIGKILL)
config = json.loads((folder / "config.json").read_text())
stream.prepare(folder, config, out, to="interleaved").run(kill)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_killed_at_any_moment_a_rerun_finishes(tmp_path):
    folder, out = shards(tmp_path)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for after in (1, 9_000, 17_000, 25_000):
        command = [sys.executable, "-c", KILLED, str(folder), str(out), str(after)]
        assert subprocess.run(command, check=False).returncode == -9
        for path in out.glob("*.safetensors"):
            read_header(path)  # what has its name is whole
    assert list(out.glob(f"*{PARTIAL}"))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    prepare(folder, LLAMA.config, out, to="interleaved").run()
    check_shards(folder, out)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    folder, out = shards(tmp_path)
    monkeypatch.setattr(stream.shutil, "disk_usage", lambda path: Usage(10))
    with pytest.raises(ValueError, match="of free space; it has 10"):
        prepare(folder, LLAMA.config, out, to="interleaved")
    assert not out.exists()


class Usage:
    def __init__(self, free):
        self.free = free


def test_outputs_that_would_write_over_the_input(tmp_path):
    folder, _ = shards(tmp_path)
    file = write_folder(tmp_path / "one", LLAMA.config, LLAMA.state()) / "model.safetensors"
    for source, target, message in [
        (folder, folder, "another folder than that of the input"),
        (folder, file, "another folder"),
        (file, file, "another file than the input"),
        (file, folder, "another file"),
        (file, tmp_path / "no" / "a.safetensors", "the folder of the output must exist"),
    ]:
        with pytest.raises(ValueError, match=message):
            prepare(source, LLAMA.config, target, to="interleaved")


def test_an_input_that_shrinks_is_noticed(tmp_path):
    file = write_folder(tmp_path / "in", LLAMA.config, LLAMA.state()) / "model.safetensors"
    out = tmp_path / "out.safetensors"
    conversion = prepare(file, LLAMA.config, out, to="interleaved")
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match="became shorter while it was read"):
        conversion.run()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_large_tensor_is_never_whole_in_memory(tmp_path, monkeypatch):
    """64 MB of queries in pieces of 1 MB."""
    import tracemalloc

    config = LLAMA.config | {"hidden_size": 2048, "num_attention_heads": 32, "head_dim": 64}
    config |= {"num_key_value_heads": 32, "num_hidden_layers": 1}
    table = np.zeros((2048, 4096), np.float64)
    state = {f"model.layers.0.self_attn.{n}_proj.weight": table for n in "qkv"}
    save_file(state, tmp_path / "in.safetensors")
    monkeypatch.setattr(stream, "PIECE", 2**20)
    try:
        tracemalloc.start()
        prepare(
            tmp_path / "in.safetensors", config, tmp_path / "out.safetensors", to="interleaved"
        ).run()
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()
