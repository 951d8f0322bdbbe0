"""How the keys of an encoding are kept."""

import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, KVCache, RotateQK
from posenc.torch.plan import make_plan
from tests.torch.own_encodings import Forgetting


@pytest.mark.parametrize(
    ("encoding", "rotated"),
    [
        (pe.RoPE(8), True),
        (pe.Tempered(pe.RoPE(8), pe.LogN(4)), True),
        (pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 8)), False),
        (pe.ALiBi(2), False),
        (pe.Sinusoidal(8), False),
    ],
    ids=repr,
)
def test_keys_are_kept_rotated_where_their_angles_are_settled(encoding, rotated):
    plan = make_plan(encoding, None)
    assert (plan.rotary is not None) == rotated
    assert plan.is_additive == isinstance(encoding, pe.Additive)
    assert plan.value == encoding


def test_the_value_of_a_module_is_its_encoding():
    assert make_plan(RotateQK(pe.RoPE(8)), None).value == pe.RoPE(8)
    assert make_plan(AddPositions(pe.Learned(4, 8)), None).is_additive


def test_plans_are_alike_if_encoding_and_parameters_are():
    t5 = pe.T5Bias(2)
    given = {"table": torch.zeros(32, 2)}
    plan = make_plan(t5, given)
    assert plan.keeps_as(make_plan(t5, {"table": torch.zeros(32, 2)}))
    assert not plan.keeps_as(make_plan(t5, {"table": torch.ones(32, 2)}))
    assert not plan.keeps_as(make_plan(pe.T5Bias(2, buckets=16), {"table": torch.zeros(16, 2)}))
    module = BiasLogits(t5)
    assert make_plan(module, None).keeps_as(make_plan(module, None))


def test_an_encoding_of_features_has_no_plan():
    with pytest.raises(TypeError, match="must not depend on features of the tokens, which a cache"):
        make_plan(Forgetting(4), None)


@pytest.mark.parametrize("encoding", [pe.ALiBi(2), pe.Sinusoidal(8), pe.NoPE()], ids=repr)
def test_a_cache_is_made_in_one_compiled_graph(encoding):
    def fill(k):
        return KVCache(encoding).append(k, k).keys

    k = torch.ones(1, 2, 3, 8)
    made = torch.compile(fill, fullgraph=True, backend="eager")(k)
    assert torch.equal(made, k)
