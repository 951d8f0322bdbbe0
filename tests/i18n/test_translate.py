"""What the library refuses, said in the reader's language; its English is what it was."""

import pickle
import re

import numpy as np
import pytest

import posenc as pe
from posenc.i18n import LANGUAGES, either, phrase, translatable, translate, translator
from posenc.interop import read_config
from posenc.names.resolve import evaluate_encoding
from posenc.text import tokenise

TRANSLATED = LANGUAGES[1:]
HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
PYTHONS = re.compile(
    r"missing a required argument: '\w+'|too many positional arguments|invalid syntax|"
    r"multiple values for argument '\w+'|'\(' was never closed"
)
"""Python's own words, which our sentences quote as they are."""
LLAMA = {"model_type": "llama", "num_hidden_layers": 2}


def unchecked(kind, arguments):
    """A check that accepts all arguments; where there is one, they are matched with the names."""


REFUSED = [  # what a reader of the explorer's page can ask for
    lambda: evaluate_encoding("RoPE(7)"),
    lambda: evaluate_encoding("RoPE(64, rotary_dim=3)"),
    lambda: evaluate_encoding("RoPE(2.5)"),
    lambda: evaluate_encoding("RoPE()", check=unchecked),
    lambda: evaluate_encoding("RoPE(64, 32)", check=unchecked),
    lambda: evaluate_encoding("RoPE(64, dims=2)", check=unchecked),
    lambda: evaluate_encoding("RoPE(64, dim=64)", check=unchecked),
    lambda: evaluate_encoding("RoPE(64, pairing='neox')"),
    lambda: evaluate_encoding("RoPE(64, scaling=3)"),
    lambda: evaluate_encoding("RoPE(64, scaling=YaRN(0.5, 4096))"),
    lambda: evaluate_encoding("RoPE(2, scaling=NTK(4.0))"),
    lambda: evaluate_encoding("RoPE(64, base=1.0, scaling=YaRN(4.0, 4096))"),
    lambda: evaluate_encoding("RoPE(64, scaling=LongRoPE((1.0,), (1.0, 2.0), 4096))"),
    lambda: evaluate_encoding("Sinusoidal(8, base=-1)"),
    lambda: evaluate_encoding("AxialSinusoidal(6, 4)"),
    lambda: evaluate_encoding("AxialSinusoidal.mae(6)"),
    lambda: evaluate_encoding("AxialRoPE.split(6)"),
    lambda: evaluate_encoding("AxialRoPE(8, PairTable((0, 1, 1, 2), (1.0, nan, 1.0, 1.0)))"),
    lambda: evaluate_encoding("T5Bias(8, buckets=5)"),
    lambda: evaluate_encoding("SwinBias(3, 7)"),
    lambda: evaluate_encoding("SwinBias(3, (7, 0))"),
    lambda: evaluate_encoding("Sandwich(8, features=7)"),
    lambda: evaluate_encoding("Learned(8, 8, std=-1)"),
    lambda: evaluate_encoding("Tempered(1, 2)"),
    lambda: evaluate_encoding("Nothing(64)"),
    lambda: evaluate_encoding("RoPE(64"),
    lambda: evaluate_encoding("RoPE 64"),
    lambda: evaluate_encoding("3"),
    lambda: evaluate_encoding("-" * 9_000 + "1"),
    lambda: pe.Learned(4, 8).encode([9], pe.Learned(4, 8).init(np.random.default_rng(0))),
    lambda: pe.XPos(64).rotate(np.ones((1, 64)), [2**22]),
    lambda: tokenise("\ud800"),
    lambda: read_config({"model_type": 3}),
    lambda: read_config({"model_type": "nothing"}),
    lambda: read_config(LLAMA | {"hidden_size": 8}),
    lambda: read_config(LLAMA | {"hidden_size": 9, "num_attention_heads": 2}),
    lambda: read_config(LLAMA | {"num_hidden_layers": "two"}),
    lambda: read_config({"text_config": 3}),
]


def error_of(call):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("lang", TRANSLATED)
@pytest.mark.parametrize("call", REFUSED)
def test_a_refusal_is_said_in_the_readers_language(call, lang):
    error = error_of(call)
    words = translate(error, lang)
    assert HAN.search(words)
    assert not re.search("must|argument|missing|syntax|closed", PYTHONS.sub("", words))
    assert translate(error, "en") == str(error)


def test_an_error_keeps_its_kind_and_its_english():
    error = translatable(
        TypeError, "{name} must be True or False; got {name}={value!r}", name="a", value=2
    )
    assert type(error) is TypeError
    assert str(error) == "a must be True or False; got a=2"
    assert (
        translate(pickle.loads(pickle.dumps(error)), "ja") == translate(error, "ja") != str(error)
    )


def test_an_error_within_an_error_is_told_too():
    inner = translatable(TypeError, "multiple values for argument {name}", name="'dim'")
    outer = translatable(ValueError, "expression must be valid; got {error}", error=inner)
    assert str(outer).endswith("must be valid; got multiple values for argument 'dim'")
    assert translate(outer, "zh-Hans") == "无法按这个表达式生成：参数 'dim' 给了多个值"


def test_an_error_of_someone_else_is_said_as_it_is():
    assert translate(ValueError("math domain error"), "ja") == "math domain error"


def test_braces_that_were_given_are_left_alone():
    template = "{name} must be True or False; got {name}={value!r}"
    assert "'{name}'" in translate(
        translatable(TypeError, template, name="a", value="{name}"), "ja"
    )


def test_parts_of_a_sentence():
    words = phrase("each of {name}", name="sections")
    assert str(words) == "each of sections"
    assert (
        translator("ja")(
            "{name} must be {choices}; got {name}={value!r}",
            name=words,
            choices=either(["1", "2", "3"]),
            value=4,
        )
        == "sections[i] は 1 か 2 か 3 にしてください（指定された値：4）"
    )
