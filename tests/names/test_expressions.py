"""Expressions read as calls, evaluated, and written again."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import posenc as pe
from posenc.names.expressions import parse_call, to_source
from posenc.names.resolve import (
    SCALED,
    evaluate_encoding,
    resolve,
)


@pytest.mark.parametrize("name", [*pe.catalogue(), *SCALED])
def test_what_repr_prints_can_be_spelled(name):
    (encoding,) = resolve(name).values()
    assert evaluate_encoding(repr(encoding)) == evaluate_encoding(to_source(encoding)) == encoding


def test_the_spelling_leaves_out_defaults():
    assert to_source(pe.RoPE(8)) == "RoPE(8)"
    assert to_source(pe.RoPE(8, rotary_dim=4, base=5e5)) == "RoPE(8, base=500000.0, rotary_dim=4)"
    assert to_source(pe.NoPE()) == "NoPE()"


SHORT = {
    "AxialRoPE.split(64)": "AxialRoPE(64, Split())",
    "AxialRoPE.split(66, axes=3, base=100.0, pairing='halves', order=(1, 2, 0))": (
        "AxialRoPE(66, Split(axes=3, base=100.0, order=(1, 2, 0)), pairing='halves')"
    ),
    "AxialRoPE.split(80, axes=3, shares=(12, 14, 14))": (
        "AxialRoPE(80, Split(axes=3, shares=(12, 14, 14)))"
    ),
    "AxialRoPE.split(64, order=(0, 1))": "AxialRoPE(64, Split())",
    "AxialRoPE.split(2, axes=1)": "AxialRoPE(2, Split(axes=1))",
    "AxialRoPE.rope_vit(64)": "AxialRoPE(64, Split(base=100.0, order=(1, 0)))",
    "AxialRoPE.qwen2_vl_vision(80)": "AxialRoPE(80, Split(), pairing='halves')",
    "AxialRoPE.mrope(128, sections=(16, 24, 24), base=1000000.0)": (
        "AxialRoPE(128, Sections((16, 24, 24), base=1000000.0), pairing='halves')"
    ),
    "AxialRoPE.mrope(128, sections=(24, 20, 20), interleaved=True)": (
        "AxialRoPE(128, Sections((24, 20, 20), interleaved=True), pairing='halves')"
    ),
    "AxialRoPE.mrope(128, sections=(8, 12, 12), pairing='interleaved', rotary_dim=64)": (
        "AxialRoPE(128, Sections((8, 12, 12)), rotary_dim=64)"
    ),
    "AxialRoPE.mrope(16, sections=(4, 2, 2), scaling=YaRN(4.0, 4096))": (
        "AxialRoPE(16, Sections((4, 2, 2), scaling=YaRN(4.0, 4096)), pairing='halves')"
    ),
    "AxialRoPE.pixtral(64)": "AxialRoPE(64, Alternating(), pairing='halves')",
    "AxialRoPE.dinov3(48, base=1234.5)": "AxialRoPE(48, Periods(base=1234.5), pairing='halves')",
    "AxialRoPE(4, PairTable((1, 0), (1.0, 0.3)))": "AxialRoPE(4, PairTable((1, 0), (1.0, 0.3)))",
}


@pytest.mark.parametrize("expression", SHORT)
def test_the_convention_of_a_model_is_written_with_its_layout(expression):
    value = evaluate_encoding(expression)
    assert repr(value) == to_source(value) == SHORT[expression]
    assert evaluate_encoding(repr(value)) == value


def test_a_call_is_read_and_written():
    text = "RoPE(64,base=1e4,  scaling=YaRN(4, 8192, 32.0))"
    assert str(parse_call(text)) == "RoPE(64, scaling=YaRN(4, 8192))"
    assert parse_call(text).make() == evaluate_encoding(text)
    assert str(parse_call("AxialSinusoidal.mae(dim=16)")) == "AxialSinusoidal.mae(16)"
    with pytest.raises(TypeError, match="must be an Encoding; got 8"):
        parse_call("8")
    with pytest.raises(ValueError, match="plain values; got 'About"):
        parse_call("About()")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("alibi(8)", pe.ALiBi(8)),
        ("pe.RoPE(8)", pe.RoPE(8)),
        ("posenc.rope(8, scaling=pe.yarn(4.0, 64))", pe.RoPE(8, scaling=pe.YaRN(4.0, 64))),
        ("two-sided-alibi(4)", pe.TwoSidedALiBi(4)),
        ("transformer_xl(2, 8)", pe.TransformerXL(2, 8)),
        ("t5(4)", pe.T5Bias(4)),
        ("pe.AxialRoPE.split(64)", pe.AxialRoPE.split(64)),
    ],
)
def test_an_expression_is_read_however_its_names_are_written(expression, value):
    assert evaluate_encoding(expression) == value


def test_threads_may_read_expressions_at_once():
    """Python 3.11 itself may not: ast.parse fails where garbage is collected in the midst of it."""
    deep = f"RoPE(64, scaling=LongRoPE({(1.0,) * 32}, {(1.0,) * 32}, 4096))"
    threshold = gc.get_threshold()

    def let_others_run(*_: object) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    gc.set_threshold(10)
    try:
        with ThreadPoolExecutor(4) as threads:
            made = list(threads.map(parse_call, [deep] * 24))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(let_others_run)
    assert len(set(map(str, made))) == 1
