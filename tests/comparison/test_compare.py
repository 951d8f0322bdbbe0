"""`pe.compare`: what it takes."""

import re
from dataclasses import dataclass

import pytest

import posenc as pe
from posenc.comparison.cells import cells
from posenc.comparison.opinions import weaknesses
from posenc.i18n import translator
from tests.patient import compare


@dataclass(frozen=True)
class Mine(pe.Bias):
    heads: int = 2
    traits = pe.Traits(symmetric=True)

    def bias(self, q_pos, k_pos, params=None):
        return -(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 0.5


def test_an_encoding_of_ones_own_that_claims_too_much():
    table = compare({"mine": Mine()}, pe.NoPE(), bench=False)
    assert [entry.name for entry in table.entries] == ["mine", "NoPE()"]
    assert not table.ok
    assert weaknesses(table["mine"], translator("en"))[0] == "claims that fail: symmetric"
    assert table["mine"].about == pe.About()
    assert cells(table["mine"], "en")["models"] == ""


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((), {}, ValueError, "encodings must be one or more, by name or as values; got none"),
        ((3,), {}, TypeError, "each of encodings must be an Encoding or name one; got 3"),
        (("rop",), {}, ValueError, "no encoding is called 'rop'; did you mean rope"),
        (({"a": 3},), {}, TypeError, "each of encodings must be an Encoding or name one"),
        (("nope",), {"lang": "fr"}, ValueError, "lang must be 'en' or 'ja'"),
        (("nope",), {"bench": 3}, TypeError, "bench must be True or False; got bench=3"),
    ],
)
def test_wrong_arguments_are_sentences(arguments, keywords, error, message):
    with pytest.raises(error, match=re.escape(message)):
        pe.compare(*arguments, **keywords)


def test_sizes_are_for_names_alone():
    table = pe.compare("alibi", "ALiBi(4)", sizes={"heads": 2}, bench=False)
    assert [entry.encoding for entry in table.entries] == ["ALiBi(2)", "ALiBi(4)"]
