"""What the modules own: drawn, loaded; tests/torch/distributed shards them."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits
from posenc.torch.parameters import choose_fused, of_kind


def test_single_numbers_have_an_axis_in_the_module_and_none_in_the_encoding():
    module = BiasLogits(pe.FIRE(4))
    assert all(parameter.ndim for parameter in module.parameters())
    assert module.tensors()["c"].shape == ()
    old = {name: x.reshape(()) if x.numel() == 1 else x for name, x in module.state_dict().items()}
    other = BiasLogits(pe.FIRE(4))
    other.load_state_dict(old)
    assert all(torch.equal(x, module.state_dict()[n]) for n, x in other.state_dict().items())
    holder = torch.nn.ModuleDict({"bias": BiasLogits(pe.FIRE(4))})
    holder.load_state_dict({f"bias.{name}": x for name, x in old.items()})


def test_pytorchs_seed_draws_them_and_nothing_is_drawn_for_nothing():
    torch.manual_seed(0)
    first, after = BiasLogits(pe.T5Bias(2)).params["table"], torch.rand(1)
    torch.manual_seed(0)
    BiasLogits(pe.ALiBi(2))
    again = BiasLogits(pe.T5Bias(2)).params["table"]
    assert torch.equal(first, again)
    assert torch.equal(after, torch.rand(1))


def test_what_is_fixed_is_a_buffer_that_no_cast_rounds():
    module = AddPositions(pe.FourierFeatures(8))
    before = module.tensors()["matrix"].clone()
    assert [*module.parameters()] == []
    assert torch.equal(module.to(torch.bfloat16).tensors()["matrix"], before)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, r"params must hold the names \['table'\]; got \[\]"),
        ({"table": np.zeros((32, 3))}, r"params\['table'\] must be \(32, 2\); got shape \(32, 3\)"),
        (3, r"params must hold the names \['table'\]; got 3"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        BiasLogits(pe.T5Bias(2), params=params)


def test_the_kernels_are_used_where_they_can_unless_refused():
    dynamic = pe.RoPE(16, scaling=pe.DynamicNTK(2.0, 8))
    assert choose_fused("auto", None, pe.XPos(16)) is None
    assert choose_fused("reference", pe.RoPE(16).fuse(), pe.RoPE(16)) is None
    with pytest.raises(ValueError, match="the angles of RoPE depend on the length of the text"):
        choose_fused("fused", None, dynamic)


def test_an_encoding_is_of_the_kind_that_a_module_takes():
    assert of_kind(pe.ALiBi(2), pe.Bias) == pe.ALiBi(2)
    with pytest.raises(TypeError, match="encoding must be Bias; got RoPE"):
        of_kind(pe.RoPE(8), pe.Bias)
