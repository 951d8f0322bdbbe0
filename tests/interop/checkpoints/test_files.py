"""Headers of safetensors files: those of the library are read, broken ones are refused."""

import json
import sys

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from posenc.interop.checkpoints.files import INDEX, KEY, find_files, read_header

STATE = {"a": torch.arange(6.0).reshape(2, 3), "é": torch.ones(5, dtype=torch.bfloat16),
         "c": torch.zeros(0, 4), "d": torch.ones(3).to(torch.float8_e4m3fn)}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    save_file(STATE, tmp_path / "a.safetensors", metadata={"format": "pt"})
    return tmp_path / "a.safetensors"


def test_a_header_is_what_the_library_reads(path):
    header = read_header(path)
    with safe_open(path, "pt") as file:
        assert header.metadata == file.metadata()
        assert header.tensors.keys() == set(file.keys())
        for name, tensor in header.tensors.items():
            assert list(tensor.shape) == file.get_slice(name).get_shape()
            assert tensor.dtype == file.get_slice(name).get_dtype()


def test_the_pairing_is_recorded_where_the_library_reads_it(path):
    header = read_header(path)
    assert header.pairing is None
    body = path.read_bytes()[header.data :]
    path.write_bytes(header.with_pairing("halves") + body)
    assert read_header(path).pairing == "halves"
    with safe_open(path, "pt") as file:
        assert file.metadata() == {"format": "pt", KEY: "halves"}
        assert torch.equal(file.get_tensor("a"), STATE["a"])


def edit(path, change):
    """Write the file again with its header changed."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    fields = json.loads(data[8 : 8 + length])
    change(fields)
    text = json.dumps(fields).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


def write_twins(path):
    """Two entries of one name, of which readers may take either."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    text = (
        data[8 : 8 + length]
        .rstrip()
        .replace(b"{", b'{"a":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},', 1)
    )
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: p.write_bytes(b""), "its header is cut off"),
        (lambda p: p.write_bytes(p.read_bytes()[:20]), "its header is cut off"),
        (lambda p: p.write_bytes(p.read_bytes()[:-1]), "bytes and has"),
        (lambda p: p.write_bytes(p.read_bytes() + b"x"), "bytes and has"),
        (lambda p: p.write_bytes(b"\xff" * 64), "its header is cut off"),
        (lambda p: p.write_bytes((4).to_bytes(8, "little") + b"[1]]"), "its header is not valid"),
        (lambda p: p.write_bytes((2).to_bytes(8, "little") + b"[]"), "its header is not valid"),
        (lambda p: edit(p, lambda h: h["a"].update(shape=[2, 4])), "the place of a does not agree"),
        (lambda p: edit(p, lambda h: h["a"].update(shape=[-2, -3])), "must be whole numbers"),
        (lambda p: edit(p, lambda h: h["a"].update(dtype="F4")), "unknown dtype 'F4'"),
        (write_twins, "a name stands there twice"),
        (lambda p: edit(p, lambda h: h.update(__metadata__={"a": 1})), "metadata must be strings"),
        (lambda p: torch.save(STATE, p), "it is a pickle, which can run any code"),
        (lambda p: torch.save(STATE, p, _use_new_zipfile_serialization=False), "it is a pickle"),
    ],
)
def test_a_bad_file_is_refused(path, spoil, message):
    spoil(path)
    with pytest.raises(ValueError, match=message):
        read_header(path)


def test_an_empty_tensor_may_stand_behind_the_one_that_starts_there(path):
    def turn_round(fields):
        for name in sorted(fields, reverse=True):
            fields[name] = fields.pop(name)

    for change in (turn_round, lambda fields: fields.update(c=fields.pop("c"))):
        edit(path, change)
        assert read_header(path).tensors.keys() == STATE.keys()


def test_what_the_library_does_not_open_is_refused(path, monkeypatch):
    import safetensors

    def refuse(path, framework):
        raise safetensors.SafetensorError("bad luck")

    monkeypatch.setattr(safetensors, "safe_open", refuse)
    with pytest.raises(ValueError, match="the safetensors library says: bad luck"):
        read_header(path)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    assert read_header(path).tensors.keys() == STATE.keys()


def test_a_folder_of_pickles_is_refused_with_the_reason(tmp_path):
    torch.save(STATE, tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"pytorch_model\.bin .* it is a pickle"):
        find_files(tmp_path)


def test_the_files_of_a_checkpoint(path, tmp_path):
    assert find_files(path) == find_files(tmp_path) == [path]
    other = tmp_path / "b.safetensors"
    save_file({"b": torch.zeros(1)}, other)
    with pytest.raises(ValueError, match=r"or one safetensors file; got a\.safetensors, b\.safe"):
        find_files(tmp_path)
    index = tmp_path / INDEX
    index.write_text(json.dumps({"weight_map": {"a": path.name, "b": other.name}}))
    assert find_files(tmp_path) == find_files(index) == [path, other]
    other.unlink()
    with pytest.raises(ValueError, match=r"files that are not there: b\.safetensors"):
        find_files(index)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": "../a.safetensors"}}',
             '{"weight_map": {"a": 1}}']
)  # fmt: skip
def test_a_bad_index_is_refused(path, tmp_path, text):
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(ValueError, match="must be the index of a checkpoint"):
        find_files(tmp_path)


def test_a_huge_shape_costs_nothing(path):
    edit(path, lambda h: h["a"].update(shape=[2**62, 2**62]))
    with pytest.raises(ValueError, match="does not agree"):
        read_header(path)
    assert np.prod([2.0**62, 2.0**62]) > 1e37
