"""Foreign functions and modules as encodings."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import posenc as pe
from posenc.core.rotation import rotate
from tests.mutants.encodings import CLAIMS
from tests.patient import check


def test_a_module_that_a_cast_spoils_is_found():
    import torch

    class Buffered(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", 10_000.0 ** (-torch.arange(4) / 4))

        def forward(self, x, positions):
            angles = positions[:, None].double() * self.w.double()
            return rotate(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))

    report = check(pe.adapt.rotary(Buffered(), dim=8))
    assert report.failed == ("castproof",)


def test_adapters_take_functions_of_both_libraries():
    import torch

    def sines(positions):
        return torch.sin(positions[:, None].double() * torch.tensor([1.0, 0.1])).float()

    report = check(pe.adapt.additive(sines, dim=2, library="torch"))
    assert report.failed == ()
    bias = pe.adapt.bias(lambda q, k: -abs(q[:, None] - k[None, :])[None] * 0.1, heads=1)
    assert check(bias).failed == ()


def test_what_is_adapted_is_a_value_that_shows_its_name_and_size_first():
    import torch

    module = torch.nn.Identity()
    made = {
        pe.adapt.rotary: ({"dim": 4, "keys": abs}, "AdaptedRotary('Identity', dim=4, "),
        pe.adapt.additive: ({"dim": 4}, "AdaptedAdditive('Identity', dim=4, "),
        pe.adapt.bias: ({"heads": 2}, "AdaptedBias('Identity', heads=2, "),
    }
    for adapter, (sizes, told) in made.items():
        encoding = adapter(module, **sizes, axes=3)
        assert repr(encoding) == f"{told}library='torch', axes=3)"
        assert repr(adapter(module, **sizes)) == f"{told}library='torch')"
        assert encoding == adapter(module, **sizes, axes=3)
        assert encoding != adapter(module, **sizes)
        assert encoding.module is module
        assert adapter(abs, **sizes).module is None
        assert replace(encoding, claims=CLAIMS).traits == CLAIMS
        assert pickle.loads(pickle.dumps(adapter(abs, **sizes))) == adapter(abs, **sizes)


def test_a_bias_is_no_module_to_be_cast():
    import torch

    class Slope(torch.nn.Module):
        def forward(self, q_pos, k_pos):
            return -(q_pos[:, None] - k_pos).abs()[None].float()

    report = check(pe.adapt.bias(Slope(), heads=1))
    assert report.failed == ()
    assert report["castproof"].verdict == "not applicable"


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: pe.adapt.rotary(3, dim=4), "fn must be a function or a module; got 3"),
        (
            lambda: pe.adapt.bias(abs, heads=0),
            "heads must be a whole number of at least 1 and at most 4,096; got heads=0",
        ),
        (
            lambda: pe.adapt.additive(abs, dim=4, library="jax"),
            "library must be 'numpy' or 'torch'; got library='jax'",
        ),
        (
            lambda: pe.adapt.additive(abs, dim=4, claims=["unique"]),
            "claims must be Traits; got ['unique']",
        ),
    ],
)
def test_messages(work, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        work()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "call",
    [
        lambda params: pe.adapt.rotary(abs, dim=4).rotate(np.ones((3, 4)), [0, 1, 2], params),
        lambda params: pe.adapt.additive(abs, dim=4).encode([0, 1, 2], params),
        lambda params: pe.adapt.bias(abs, heads=1).bias([0, 1, 2], [0, 1, 2], params),
    ],
)
def test_what_is_adapted_learns_nothing_and_refuses_parameters(call):
    with pytest.raises(ValueError, match="nonsense"):
        call({"nonsense": 1.0})
