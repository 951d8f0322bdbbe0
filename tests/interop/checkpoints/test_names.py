"""Where the tensors of queries and keys stand in a checkpoint."""

import pytest

from posenc.interop.checkpoints.names import FAMILIES, REFUSED, find_places
from posenc.interop.conventions import ROTARY

NAMES = {
    "model.layers.3.self_attn.q_proj.weight": ("model.layers", 3, "self_attn", "q_proj", "weight"),
    "transformer.h.0.attn.q_proj.bias": ("transformer.h", 0, "attn", "q_proj", "bias"),
    "layers.12.self_attn.q_proj.weight": ("layers", 12, "self_attn", "q_proj", "weight"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_parsed(name):
    place = find_places([name], ["q_proj"])[name]
    assert (place.stack, place.layer, place.path, place.module, place.leaf) == NAMES[name]


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.3.cross_attn.q_proj.weight",
        "model.layers.3.self_attn.relative_q_proj.weight",
        "model.layers.3.mlp.up_proj.weight",
        "q_proj.weight",
    ],
)
def test_other_tensors_are_not_meant(name):
    assert not find_places([name], ["q_proj"])


def test_the_tables_name_rotary_types():
    """Those that are not read yet are of models without code in transformers."""
    assert REFUSED.keys() <= ROTARY.keys()
    assert FAMILIES.keys() - ROTARY.keys() <= {"chatglm", "internlm2"}
    assert not REFUSED.keys() & FAMILIES.keys()
