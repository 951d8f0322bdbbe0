"""The conventions of model types."""

import pytest

import posenc as pe
from posenc.interop.conventions import ABSOLUTE, ROTARY

NO_DEFAULT = {"glm4_moe", "glm4v_moe_text"}  # their class has no whole head dim

NO_DEFAULT |= {"qwen3_omni_moe_talker_text"}  # its class's sections do not fit its head dim

NO_DEFAULT |= {"baichuan", "qwen"}  # their files say which size it is, and what grows

NO_DEFAULT |= {name for name, convention in ROTARY.items() if convention.required}


@pytest.mark.parametrize(
    "name", sorted(name for name in ROTARY.keys() - NO_DEFAULT if ROTARY[name].sizes.layers)
)
def test_every_convention_makes_a_layer(name):
    """A file with nothing but its type is its class's default; attention that rotates is there."""
    switch = ROTARY[name].only_if
    more = {} if switch is None else {switch[0]: switch[1]}
    found = pe.read_config({"model_type": name, **more})
    rotary = [layer for layer in found.layers if not isinstance(layer, pe.NoPE)]
    assert rotary
    assert len(found.layers) == ROTARY[name].sizes.layers


def test_conventions_do_not_overlap():
    assert not ROTARY.keys() & ABSOLUTE.keys()
