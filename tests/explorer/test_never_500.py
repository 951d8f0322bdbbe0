"""What is an expression, but not one of an encoding that can be, is a sentence and no failure."""

import pytest

from posenc.i18n import LANGUAGES
from posenc.names.expressions import makers, parse_call, presets
from tests.explorer.test_controls import EXPRESSIONS, flat

ALONE = [
    *(f"{name}({given})" for name in makers() for given in ("", "4.0", "4.0, 4096", "64", "64, 8")),
    *(f"{name}.{each}(64)" for name, kind in makers().items() for each in presets(kind)),
]
UNSETTLED = [
    "RoPE(8, scaling=DynamicNTK(4.0, 4096))",
    "RoPE(8, scaling=LongRoPE((1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0), 4096))",
    "Tempered(RoPE(8, scaling=DynamicNTK(4.0, 4096)), LogN(512))",
]
ODD = ("0", "-1", "2", "nan", "inf", "-inf", "1e308", "", "x", "None", "()", "RoPE(8)", "NTK(4.0)")


def sayable(answer):
    """Whether it is an answer or a sentence about what was asked."""
    assert answer.status < 500, answer.body
    return answer


@pytest.mark.parametrize("path", ["spell", "cell", "view/heatmap"])
def test_each_maker_alone_is_answered_or_refused(client, path):
    statuses = {sayable(client.get(f"/api/v1/{path}", e=each)).status for each in ALONE}
    assert {200, 400} <= statuses


@pytest.mark.parametrize("part", ["NTK(4.0)", "YaRN(4.0, 4096)", "Plain()", "LogN(512)", "SSMax()"])
def test_what_is_no_encoding_is_named(client, part):
    for path in ("spell", "cell"):
        answer = client.get(f"/api/v1/{path}", e=part)
        assert (answer.status, answer.argument) == (400, "e")
        assert answer.message.startswith(f"what is named must be an Encoding; got {part[:4]}")


@pytest.mark.parametrize("expression", [*UNSETTLED, *EXPRESSIONS])
def test_each_control_at_its_ends_is_answered_or_refused(client, expression):
    """Also with what no control sends; what is then spelled has a cell or says why not."""
    fields = client.get("/api/v1/spell", e=expression).json["fields"]
    for name, field in flat(fields):
        ends = [field[end] for end in ("least", "most") if end in field]
        for value in (*ends, *(ODD if expression in UNSETTLED else ())):
            answer = sayable(client.get("/api/v1/spell", e=expression, **{f"set.{name}": value}))
            if answer.status == 200:
                sayable(client.get("/api/v1/cell", e=answer.json["expression"]))


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("spell", {"e": UNSETTLED[0], "set.dim": 2}),
        ("spell", {"e": UNSETTLED[1], "set.dim": 16}),
        *(("spell", {"e": UNSETTLED[0], "set.base": base}) for base in ("-1", "nan", "inf")),
        ("cell", {"e": "RoPE(64, base=0, scaling=DynamicNTK(4.0, 128))"}),
        ("cell", {"e": "RoPE(64, base='x', scaling=DynamicNTK(4.0, 128))"}),
        ("cell", {"e": "RoPE(64, scaling=DynamicNTK(1e12, 2))", "n": 64}),
    ],
)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_scaling_that_depends_on_the_length_says_what_is_wrong(client, path, query, lang):
    assert parse_call(query["e"])
    assert sayable(client.get(f"/api/v1/{path}", **query, lang=lang)).status == 400
