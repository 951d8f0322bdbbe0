"""The description of a model as text and as HTML."""

import xml.etree.ElementTree as ET

import pytest

from posenc.interop.summary import MOST_ROWS, summarise, summarise_html

ALIBI = {"where": "0-1", "encoding": "ALiBi(8)", "beyond": "defined"}
ROPE = {
    "where": "2",
    "encoding": "RoPE(64)",
    "beyond": "<unknown>",
    "pairing": "halves",
    "base": 500_000.0,
    "rotary_dim": 32,
    "dim": 64,
    "longest_wavelength": 1234.56,
    "full_turns": 10,
    "pairs": 16,
    "still_pairs": 0,
    "attention_factor": 1.0,
}


def describe(*groups, length=4096, notes=()):
    facts = {"model_type": "mine", "layers": 3, "trained_length": length}
    return facts | {"groups": [*groups], "notes": [*notes]}


def test_a_rotation_is_told_line_by_line():
    assert [*summarise(describe(ALIBI, ROPE, notes=["odd"]))] == [
        "mine: 3 layers, trained length 4,096",
        "layers 0-1: ALiBi(8)",
        "  beyond the trained length: defined",
        "layers 2: RoPE(64)",
        "  base 500,000, 32 of 64 channels rotate, pairing halves",
        "  10 of 16 pairs complete a turn within 4,096 tokens",
        "  longest wavelength: 1,234.6 tokens",
        "  attention factor: 1",
        "  beyond the trained length: <unknown>",
        "note: odd",
    ]


@pytest.mark.parametrize(
    ("changed", "length", "told", "untold"),
    [
        ({"longest_wavelength": None, "still_pairs": 4}, 9, "4 pairs do not rotate", "wavelength"),
        ({"scaling": "YaRN", "does": "stretches"}, 9, "scaling: stretches", "do not rotate"),
        ({}, None, "trained length unknown", "complete a turn"),
    ],
)
def test_only_what_there_is_is_told(changed, length, told, untold):
    text = "\n".join(summarise(describe(ROPE | changed, length=length)))
    assert told in text
    assert untold not in text


def test_html_is_well_formed_escaped_and_has_an_end():
    made = summarise_html(describe(*[ROPE] * (MOST_ROWS + 3), notes=["a < b"]))
    tree = ET.fromstring(f"<div>{made}</div>".replace("colspan=3", ""))
    assert len(tree.findall(".//tbody/tr")) == MOST_ROWS + 1
    assert tree.findall(".//tbody/tr")[-1][0].text == "and 3 more"
    assert tree.find(".//tbody/tr")[2].text == "<unknown>"
    assert tree.find(".//li").text == "a < b"
    assert "<ul>" not in summarise_html(describe(ALIBI))
