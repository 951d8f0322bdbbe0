"""Answers match the schemas of the description, and the page's types are generated from it."""

import json
from itertools import product
from typing import Any

import jsonschema_rs
import pytest

import posenc as pe
from posenc.explorer import verdicts
from posenc.explorer.cache import SharedCache
from posenc.explorer.endpoints import ENDPOINTS
from posenc.explorer.schemas import SCHEMAS
from posenc.i18n import LANGUAGES
from posenc.names.expressions import to_source
from posenc.names.resolve import VARIANTS, evaluate_encoding
from posenc.views import kinds_for
from tests.explorer import contract
from tests.patient import LIMIT, check
from tests.slow import seldom

EVERY = [
    *(kind.example() for kind in pe.catalogue().values()),
    *(make(64) for make in VARIANTS.values()),
]


ODD = [  # numbers that JSON does not have, one of all sizes, temperatures, tables
    "Sinusoidal(8, base=1e308)",
    "RoPE(64, rotary_dim=32, pairing='interleaved', base=1e-300)",
    "Tempered(RoPE(64), LogN(512))",
    "NoPE()",
    "Learned(4, 8)",
]


def has_the_form(answer: Any, name: str) -> None:
    whole = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": SCHEMAS}}
    jsonschema_rs.validate(whole, json.loads(answer.body))


@pytest.mark.parametrize("encoding", EVERY, ids=to_source)
def test_answers_about_every_encoding_have_their_forms(client, encoding):
    asked = {"e": to_source(encoding), "text": "我 爱 AI", "lang": "ja"}
    for kind in kinds_for(encoding):
        answer = client.get(f"/api/v1/view/{kind}", **asked)
        assert answer.status == 200
        has_the_form(answer, "View")
    has_the_form(client.get("/api/v1/cell", p=2, d=1, **asked), "CellAnswer")
    has_the_form(client.get("/api/v1/explain", p=2, **asked), "Explanation")
    has_the_form(client.get("/api/v1/spell", e=asked["e"]), "EncodingFacts")


@pytest.mark.parametrize(
    ("length", "expression"),
    seldom(  # 700 are too many for some; each takes a third of a second
        list(product([1, 3, 700], ODD)), but=[*product([1, 3], ODD), (700, ODD[0]), (700, ODD[4])]
    ),
)
def test_odd_answers_and_refusals_have_their_forms(client, expression, length):
    for endpoint in ENDPOINTS:
        if endpoint.schema is None or endpoint.crew != "usual":
            continue
        for kind in pe.views.KINDS if "{kind}" in endpoint.path else [""]:
            path = endpoint.path.format(kind=kind)
            answer = client.get(path, e=[expression, "RoPE(64)"], n=length, p=length - 1, d=2**10)
            has_the_form(answer, endpoint.schema if answer.status == 200 else "Refusal")


def test_the_other_answers_have_their_forms(client):
    for lang in LANGUAGES:
        has_the_form(client.get("/api/v1/encodings", lang=lang), "Catalogue")
        has_the_form(client.get("/api/v1/messages", lang=lang), "Messages")
    for theme in ("light", "dark"):
        has_the_form(client.get("/api/v1/colours", theme=theme), "Colours")
    for by in ("words", "spaces", "characters", "bytes", "bpe"):
        has_the_form(client.get("/api/v1/tokens", text="犬が bit 👩‍👩‍👧", by=by), "Tokens")
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2}
    read = client.post("/api/v1/config", config | {"num_hidden_layers": 2})
    assert read.status == 200
    has_the_form(read, "Config")
    for refused in (
        client.post("/api/v1/config", "{"),
        client.get("/api/v1/tokens", e="RoPE(7)"),
        client.get("/api/v1/view/bias", e="RoPE(8)"),
        client.get("/api/v1/nothing"),
        client.ask("GET", b"/api/v1/tokens", headers=()),
    ):
        assert refused.status >= 400
        has_the_form(refused, "Refusal")


@pytest.mark.parametrize(
    "expression",
    ["Sinusoidal(8)", "ALiBi(2)"],
)
def test_verdicts_have_their_form(client, expression, monkeypatch):
    """Of checks that run here: test_verdicts has those of another process."""
    monkeypatch.setattr(verdicts, "REPORTS", SharedCache(1, seconds=LIMIT))
    monkeypatch.setattr(
        verdicts,
        "_check_in_process",
        lambda name, seed, _: check(evaluate_encoding(name), seed=seed).to_json(),
    )
    has_the_form(client.get("/api/v1/check", e=expression, lang="zh-Hans"), "Report")


def test_a_form_has_no_more_and_no_less():
    def wrong(**changes: Any) -> bool:
        told = {"model_type": "llama", "expressions": [], "parts": [], "notes": []} | changes
        told = {name: value for name, value in told.items() if value is not ...}
        return not jsonschema_rs.is_valid(SCHEMAS["Config"], told)

    assert not wrong()
    assert wrong(model_type=...)
    assert wrong(expressions=["RoPE(8)", 8])
    assert wrong(model_type=None)
    assert wrong(note=None)


def test_the_pages_types_are_generated_from_the_description():
    assert contract.FILE.read_text(encoding="utf-8") == contract.render_contract(), "make contract"
