"""The catalogue lists every encoding and kind of view, and what it says of them is so."""

import pytest

import posenc as pe
from posenc.explorer import limits
from posenc.i18n import LANGUAGES, catalogue
from posenc.names.expressions import to_source
from posenc.names.resolve import VARIANTS, evaluate_encoding
from posenc.views.kinds import KINDS

EVERY = [
    *(kind.example() for kind in pe.catalogue().values()),
    *(make(64) for make in VARIANTS.values()),
]


@pytest.fixture(scope="module")
def kinds(client):
    return {kind["name"]: kind for kind in client.get("/api/v1/encodings").json["kinds"]}


def test_the_catalogue_has_every_kind_in_the_order_of_tabs(kinds):
    assert list(kinds) == list(KINDS)
    for lang in LANGUAGES[1:]:  # the page translates them
        assert {kind[part] for kind in kinds.values() for part in ("title", "summary")} <= {
            *catalogue(lang)
        }


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(
    "expression", ["Sinusoidal(8)", "RoPE(8)", "ALiBi(4)", "AxialSinusoidal(8)"]
)
def test_columns_of_panels_are_known_before_a_view_is_requested(client, kinds, expression, count):
    facts = client.get("/api/v1/spell", e=expression).json
    for kind in facts["views"]:
        shown = client.get(f"/api/v1/view/{kind}", e=[expression] * count, n=4).json
        expected = kinds[kind]["columns"]["text" if facts["side"] is None else "grid"]
        assert len(expected) == limits.ENCODINGS
        assert expected[count - 1] == shown["columns"], kind


@pytest.mark.parametrize("encoding", EVERY, ids=to_source)
def test_the_default_view_of_an_encoding_is_the_one_that_is_exported(client, encoding):
    facts = client.get("/api/v1/spell", e=to_source(encoding)).json
    code = client.get("/api/v1/export/py", e=to_source(encoding)).body.decode()
    assert f"posenc-{facts['default_view']}.png" in code
    assert facts["default_view"] in facts["views"]


def test_every_encoding_is_listed_with_what_makes_it(client):
    told = client.get("/api/v1/encodings").json
    rows = [row for group in told["groups"] for row in group["encodings"]]
    assert {row["name"] for row in rows} == {*pe.catalogue(), *VARIANTS}
    for row in rows:
        assert to_source(evaluate_encoding(row["expression"])) == row["expression"]
        assert row["views"]
        assert client.get(f"/api/v1/view/{row['views'][0]}", e=row["expression"]).status == 200
        for field in row["fields"]:
            for choice in field.get("choices", []) if field["type"] == "part" else []:
                part = f"{field['name']}={choice['expression']}"
                assert evaluate_encoding(f"{row['maker']}(64, {part})")
