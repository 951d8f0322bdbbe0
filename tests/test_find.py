"""Encodings found by name and by expression (test_cli.py and test_checks.py have the rest)."""

import numpy as np
import pytest

import posenc as pe
from posenc.find import VARIANTS, example, found, spelled, spelling


@pytest.mark.parametrize("name", [*pe.catalogue(), *VARIANTS])
def test_what_repr_prints_can_be_spelled(name):
    (encoding,) = found(name).values()
    assert spelled(repr(encoding)) == spelled(spelling(encoding)) == encoding


def test_the_spelling_leaves_out_defaults():
    assert spelling(pe.RoPE(8)) == "RoPE(8)"
    assert spelling(pe.RoPE(8, rotary_dim=4, base=5e5)) == "RoPE(8, base=500000.0, rotary_dim=4)"
    assert spelling(pe.NoPE()) == "NoPE()"


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("dim", [16, 64])
def test_a_variant_has_the_dim_that_is_asked_for(name, dim):
    assert found(name, dim=dim)[name].dim == dim


def test_sizes_go_to_the_fields_that_are_required():
    assert example(pe.Learned, length=3, dim=8) == pe.Learned(3, 8)
    assert found("t5", heads=2, dim=8)["t5"] == pe.T5Bias(2)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "rpoe",
            r"an encoding must be one of sinusoidal, learned, .*; got 'rpoe'; did you mean rope\?",
        ),
        ("RoPE(7)", "dim must be .*7"),
        ("RoPE(dmi=8)", "expression must be one that can be made; got .*'dmi'"),
        ("RoPE(8", r"expression must be Python; got 'RoPE\(8': '\(' was never closed"),
        ("RoPE(8))", r"expression must be Python; got 'RoPE\(8\)\)'"),
        ("print(8)", r"made of encodings, scalings and plain values; got 'print\(8\)'"),
        ("RoPE(__import__('os').getpid())", "plain values; got"),
        ("RoPE.__init__(8)", "plain values; got"),
        ("RoPE(8, scaling=YaRN(4))", "expression must be one that can be made"),
        ("(8)", "what is named must be an Encoding; got 8"),
        ("YaRN(4, 8192)", "what is named must be an Encoding; got YaRN"),
    ],
)
def test_what_names_no_encoding_is_a_sentence(what, message):
    with pytest.raises((ValueError, TypeError), match=message):
        found(what)


def test_a_size_for_what_has_its_own_is_refused():
    with pytest.raises(ValueError, match="dim must be left out for what has its own size"):
        found("RoPE(8)", dim=16)


def test_a_loaded_value_is_used_as_it_is():
    assert np.isfinite(spelled("Sinusoidal(4, base=100.0)").encode([3])).all()
