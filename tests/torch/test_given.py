"""An encoding as callers give it: a value with parameters, or a module."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits
from posenc.torch.given import unpack_encoding, wrappers


def test_a_module_brings_its_parameters():
    module = BiasLogits(pe.T5Bias(2))
    encoding, params = unpack_encoding(module, None)
    assert encoding == pe.T5Bias(2)
    assert params["table"].data_ptr() == module.params["table"].data_ptr()
    with pytest.raises(ValueError, match="params must be None for a module that owns them"):
        unpack_encoding(module, params)


def test_parameters_of_numpy_become_tensors():
    drawn = pe.T5Bias(2).init(np.random.default_rng(0))
    _, params = unpack_encoding(pe.T5Bias(2), drawn)
    assert torch.equal(params["table"], torch.from_numpy(drawn["table"]))
    assert unpack_encoding(pe.RoPE(8), None) == (pe.RoPE(8), None)


@pytest.mark.parametrize(
    ("encoding", "params", "message"),
    [
        (pe.Sinusoidal(8), None, "Sinusoidal is added to the embeddings"),
        (AddPositions(pe.Sinusoidal(8)), None, "Sinusoidal is added to the embeddings"),
        ("rope", None, "encoding must be an Encoding or a module of one; got 'rope'; pe.make m"),
        (pe.RoPE, None, r"got <class '.*RoPE'>; did you mean RoPE\(…\)\?$"),
        (pe.T5Bias(2), None, r"the module that owns them, BiasLogits\(T5Bias\(…\)\)"),
        (pe.Tempered(pe.Shaw(8, 2), pe.LogN(4)), None, r"ScoreQK\(Shaw\(…\)\)"),
        (pe.RoPE(8), {"a": 1}, r"params must be what RoPE.init\(rng\) makes; got dict"),
    ],
    ids=str,
)
def test_what_cannot_act_is_a_sentence(encoding, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        unpack_encoding(encoding, params)


def test_wrappers_come_innermost_first():
    once = pe.Tempered(pe.RoPE(8), pe.LogN(4))
    twice = pe.Tempered(once, pe.LogN(8))
    assert wrappers(twice) == [once, twice]
    assert wrappers(pe.RoPE(8)) == []
