"""Proof by attention logits: it holds for conversions, and not for the known mistakes."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import posenc as pe
from posenc.interop.checkpoints.files import read_header
from posenc.interop.checkpoints.plan import plan_conversion
from posenc.interop.checkpoints.verify import read_arrays, verify_attention
from tests.interop.checkpoints.models import MODELS
from tests.interop.checkpoints.test_convert import OTHER, pairing_of


def converted(name):
    model = MODELS[name]
    state, to = model.state(), OTHER[pairing_of(model)]
    shapes = {key: value.shape for key, value in state.items()}
    plan = plan_conversion(model.config, shapes, to=to)
    return state, pe.convert(state, model.config, to=to), plan


@pytest.mark.parametrize("name", MODELS)
def test_a_conversion_is_proved_and_a_forgotten_tensor_is_not(name):
    state, changed, plan = converted(name)
    proof = verify_attention(state, changed, plan)
    assert proof.holds, proof
    assert proof.largest < 1e-12
    assert not verify_attention(state, state, plan).holds
    for key in plan.rows:
        assert not verify_attention(state, {**changed, key: state[key]}, plan).holds, key


def test_a_proof_says_its_numbers():
    text = str(verify_attention(*converted("biases")))
    assert text.startswith("attention logits, 2 layers: largest difference ")
    assert "with the old pairing" in text


def test_arrays_of_files_are_what_the_library_reads(tmp_path):
    path = tmp_path / "a.safetensors"
    kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    state = {str(kind): torch.randn(3, 2).to(kind) for kind in kinds}
    state["byte"] = torch.ones(2).to(torch.float8_e4m3fn)
    save_file(state, path)
    found = read_arrays(read_header(path), lambda name: name != "byte")
    for name, array in found.items():
        assert np.array_equal(array, state[name].to(torch.float64).numpy()), name
    with pytest.raises(ValueError, match="byte must have 16 bits or more to be verified"):
        read_arrays(read_header(path), lambda name: True)
