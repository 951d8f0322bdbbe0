"""Every encoding, variant and preset has its real parameters as controls, which change its call."""

import inspect
import json

import pytest

import posenc as pe
from posenc.explorer import controls
from posenc.names.expressions import makers, parse_call, presets, to_source
from posenc.names.resolve import VARIANTS, evaluate_encoding

MADE = {
    "AxialRoPE.mrope": "AxialRoPE.mrope(64, sections=(8, 12, 12))",
    "ALiBi.falcon": "ALiBi.falcon(8, 64)",
}
EXPRESSIONS = [
    *(to_source(kind.example()) for kind in pe.catalogue().values()),
    *(to_source(make(64)) for make in VARIANTS.values()),
    *(
        MADE.get(f"{kind.__name__}.{preset}", f"{kind.__name__}.{preset}(64)")
        for kind in pe.catalogue().values()
        for preset in presets(kind)
    ),
    "Tempered(RoPE(64), LogN(512))",
    "RoPE(64, scaling=DynamicNTK(2.0, 64))",
    "AxialRoPE(8, PairTable((0, 1, 1, 1), (1.0, 0.5, 0.25, 0.3)))",
]

OTHERS = {
    "dim": "256",
    "rotary_dim": "32",
    "axes": "4",
    "order": "1, 0",
    "shares": "20, 12",
    "sections": "12, 10, 10",
    "window": "5, 9",
    "pretrained_window": "4, 4",
    "axis_of_pair": "1, 0, 0, 0",
    "frequencies": "0.25, 1, 1, 1",
    "encoding": "ALiBi(4)",
    "temperature": "SSMax()",
    "scaling": "NTK(2.0)",
    "layout": "Periods(base=50.0)",
    "share": "0.5",
}
"""Another legal value of a parameter, by its name."""


def flat(fields, within=""):
    for field in fields:
        yield within + field["name"], field
        yield from flat(field.get("fields", []), f"{within}{field['name']}.")


def another(field):
    if field["name"] in ("layout", "order") and field["type"] == "choice":
        return next(choice for choice in field["choices"] if choice != field["value"])
    if field["name"] in OTHERS:
        return OTHERS[field["name"]]
    if field["type"] == "choice":
        return next(choice for choice in field["choices"] if choice != field["value"])
    if field["type"] == "bool":
        return "false" if field["value"] else "true"
    now = field["value"] or 1
    return str(2 * now) if field["type"] == "int" else str(1.5 * now)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_controls_are_the_parameters_of_the_call(client, expression):
    told = client.get("/api/v1/spell", e=expression).json
    call = parse_call(expression)
    assert told["expression"] == expression
    assert evaluate_encoding(told["expression"]) == evaluate_encoding(expression)
    assert [field["name"] for field in told["fields"]] == list(call.parameters)
    for field in told["fields"]:
        now = call.arguments.get(field["name"], call.parameters[field["name"]].default)
        if field["type"] == "numbers":
            now = "" if now is None else ", ".join(map(repr, now))
        elif field["type"] == "part":
            now = None if now is None else to_source(now)
        elif field["type"] == "choice":
            assert now in field["choices"]
        assert field["value"] == now
    assert told["maker"] == call.maker
    assert not call.preset or told["maker"] in told["makers"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_parameter_can_be_changed(client, expression):
    """To what the library makes of the same call, which differs in that argument."""
    told = client.get("/api/v1/spell", e=expression).json
    for path, field in flat(told["fields"]):
        if path == "rotary_dim" and "PairTable" in expression:  # it has as many as its entries
            continue
        to = another(field)
        answer = client.get("/api/v1/spell", e=expression, **{f"set.{path}": to})
        assert answer.status == 200, (path, to, answer.message)
        now = dict(flat(answer.json["fields"]))[path]["value"]
        assert now not in (field["value"], None), path
        assert evaluate_encoding(answer.json["expression"]) != evaluate_encoding(expression), path
        again = client.get("/api/v1/spell", e=answer.json["expression"]).json
        assert again == answer.json
        assert parse_call(answer.json["expression"]).maker == told["maker"]


@pytest.mark.parametrize(
    ("expression", "changes", "wanted"),
    [
        ("AxialSinusoidal.mae(16)", {"dim": 32}, "AxialSinusoidal.mae(32)"),
        ("AxialRoPE.split(64)", {"pairing": "halves"}, "AxialRoPE.split(64, pairing='halves')"),
        ("AxialRoPE.split(64)", {"axes": 3}, "AxialRoPE.split(66, axes=3)"),
        ("AxialRoPE.split(64, order=(1, 0))", {"axes": 4}, "AxialRoPE.split(64, axes=4)"),
        ("AxialRoPE(64, Split())", {"layout.axes": 3}, "AxialRoPE(66, Split(axes=3))"),
        (
            "AxialRoPE(64, Split(order=(1, 0)))",
            {"layout.axes": 4},
            "AxialRoPE(64, Split(axes=4))",
        ),
        (
            "AxialRoPE(64, Split(shares=(24, 8)))",
            {"dim": 128},
            "AxialRoPE(128, Split(shares=(48, 16)))",
        ),
        (
            "AxialRoPE(128, Split())",
            {"layout": "Sections((8, 12, 12))"},
            "AxialRoPE(128, Sections((16, 24, 24)))",
        ),
        (
            "AxialRoPE(64, Sections((8, 12, 12)))",
            {"layout.interleaved": "true"},
            "AxialRoPE(64, Sections((12, 10, 10), interleaved=True))",
        ),
        (
            "AxialRoPE(64, Sections((8, 12, 12)))",
            {"rotary_dim": 32},
            "AxialRoPE(64, Sections((4, 6, 6)), rotary_dim=32)",
        ),
        (
            "AxialRoPE.split(64, shares=(24, 8))",
            {"dim": 128},
            "AxialRoPE.split(128, shares=(48, 16))",
        ),
        (
            "AxialRoPE.mrope(64, sections=(8, 12, 12))",
            {"dim": 128},
            "AxialRoPE.mrope(128, sections=(16, 24, 24))",
        ),
        ("SwinBias(8, (7, 7))", {"window": "5, 9"}, "SwinBias(8, (5, 9))"),
        (
            "SwinV2Bias(8, (7, 7), pretrained_window=(4, 4))",
            {"pretrained_window": ""},
            "SwinV2Bias(8, (7, 7))",
        ),
        (
            "RoPE(64, scaling=YaRN(4.0, 4096))",
            {"scaling.factor": "8", "scaling.beta_fast": "32"},
            "RoPE(64, scaling=YaRN(8.0, 4096))",
        ),
        (
            "Tempered(AxialRoPE.split(64), LogN(512))",
            {"encoding.dim": 128},
            "Tempered(AxialRoPE.split(128), LogN(512))",
        ),
        ("RoPE(64, rotary_dim=32)", {"rotary_dim": ""}, "RoPE(64)"),
        (
            "AxialRoPE.mrope(64, sections=(8, 12, 12))",
            {"rotary_dim": 32},
            "AxialRoPE.mrope(64, sections=(4, 6, 6), rotary_dim=32)",
        ),
        (
            "AxialRoPE.mrope(64, sections=(8, 12, 12))",
            {"interleaved": "true"},
            "AxialRoPE.mrope(64, sections=(12, 10, 10), interleaved=True)",
        ),
        (
            "RoPE(4, scaling=PerPair((1.0, 2.0)))",
            {"scaling.factors": "(3, 4.5)"},
            "RoPE(4, scaling=PerPair((3.0, 4.5)))",
        ),
    ],
)
def test_one_change_leaves_the_rest_of_the_call(client, expression, changes, wanted):
    sets = {f"set.{name}": value for name, value in changes.items()}
    told = client.get("/api/v1/spell", e=expression, **sets).json
    assert told["expression"] == wanted


@pytest.mark.parametrize(
    ("expression", "name", "value", "message"),
    [
        ("SwinBias(8, (7, 7))", "window", "7", "window must be (height, width); got window=(7,)"),
        ("SwinBias(8, (7, 7))", "window", "7, x", "window must be numbers separated by commas"),
        ("SwinBias(8, (7, 7))", "window", "7, 999", "window must be at most 32 in the explorer"),
        ("AxialRoPE.split(64)", "axes", "9", "axes must be at most 4 in the explorer; got 9"),
        ("AxialRoPE.split(64)", "shares", "9999, 1", "shares must be at most 2,048"),
        (
            "AxialRoPE.mrope(64, sections=(8, 12, 12))",
            "sections",
            "8, 8, 8",
            "sections must be a tuple of whole numbers that add up to the 32 pairs",
        ),
        (
            "AxialRoPE(64, Sections((8, 12, 12)))",
            "layout.sections",
            "8, 8, 8",
            "sections must be a tuple of whole numbers that add up to the 32 pairs",
        ),
        ("RoPE(64, scaling=YaRN(4.0, 4096))", "scaling.factor", "-1", "factor must be"),
        ("RoPE(64, scaling=YaRN(4.0, 4096))", "scaling.factor", "x", "factor must be a number"),
        ("Tempered(RoPE(8), LogN(512))", "temperature", "8", "temperature must be an expression"),
    ],
)
def test_what_cannot_be_is_said_of_its_own_control(client, expression, name, value, message):
    answer = client.get("/api/v1/spell", e=expression, **{f"set.{name}": value})
    assert answer.status == 400
    assert answer.message.startswith(message)
    assert answer.json["error"]["argument"] == name


def test_sizes_are_checked_before_anything_of_a_preset_is_made(client, monkeypatch):
    """Also where a preset is chosen, and where the step of dim is looked for."""
    seen = []
    kept = pe.AxialRoPE.__post_init__
    monkeypatch.setattr(
        pe.AxialRoPE, "__post_init__", lambda self: seen.append(self.dim) or kept(self)
    )
    for expression in ("AxialRoPE.split(40000)", "AxialRoPE.mrope(40000, sections=(20000,))"):
        assert "at most" in client.get("/api/v1/spell", e=expression).message
    assert not seen
    assert client.get("/api/v1/spell", e="AxialRoPE.split(4096)").status == 200
    assert max(seen) == 4096


# Ways to make it


def ways():
    for expression in EXPRESSIONS:
        call = parse_call(expression)
        for maker in controls.makers(call):
            yield pytest.param(expression, maker, id=f"{expression} as {maker}")


@pytest.mark.parametrize(("expression", "maker"), [*ways()])
def test_an_encoding_is_made_in_another_way(client, expression, maker):
    answer = client.get("/api/v1/spell", ("e", expression), ("as", maker))
    assert answer.status == 200, answer.message
    told = answer.json
    assert told["maker"] == maker
    assert told["makers"] == client.get("/api/v1/spell", e=expression).json["makers"] or (
        maker in told["makers"]
    )
    assert len(told["expression"]) < 100
    made, before = evaluate_encoding(told["expression"]), evaluate_encoding(expression)
    assert (made.dim or 64) in (64, before.dim or 64)
    if "." not in maker:
        assert made == before


def test_a_way_that_there_is_not_is_a_sentence(client):
    answer = client.get("/api/v1/spell", ("e", "AxialRoPE.split(64)"), ("as", "AxialRoPE.swin"))
    assert answer.status == 400
    assert "as must be one of AxialRoPE, AxialRoPE.split, AxialRoPE.rope_vit" in answer.message


def test_dim_moves_by_what_its_axes_need(client):
    for expression, step in [
        ("RoPE(64)", 2),
        ("AxialRoPE.split(64)", 4),
        ("AxialRoPE.split(66, axes=3)", 6),
        ("AxialRoPE.split(4096)", 4),
        ("AxialRoPE.mrope(64, sections=(8, 12, 12))", 2),
    ]:
        (dim,) = (
            field
            for field in client.get("/api/v1/spell", e=expression).json["fields"]
            if field["name"] == "dim"
        )
        assert dim["step"] == step, expression


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("RoPE(8)", "rope"),
        ("RoPE(8, scaling=YaRN(2.0, 64))", "yarn"),
        ("AxialRoPE.mrope(16, sections=(4, 2, 2), scaling=NTK(2.0))", "mrope"),
        ("AxialRoPE.dinov3(16)", "axial-rope"),
        ("Tempered(RoPE(8), LogN(512))", None),
    ],
)
def test_the_entry_of_the_list_is_the_nearest(client, expression, name):
    assert client.get("/api/v1/spell", e=expression).json["name"] == name


def test_the_channels_of_the_columns(client):
    for expression, columns, first, stride in [
        ("Sinusoidal(8)", 8, 0, 1),
        ("RoPE(12, rotary_dim=8, rotated='trailing')", 4, 4, 2),
        ("AxialRoPE.mrope(16, sections=(4, 2, 2))", 8, 0, 1),
        ("AxialRoPE.split(16)", 8, 0, 2),
        ("ALiBi(8)", None, 0, 1),
    ]:
        told = client.get("/api/v1/spell", e=expression).json
        assert (told["columns"], told["first"], told["stride"]) == (columns, first, stride)


def test_no_parameter_of_the_library_is_without_a_control():
    for kind in makers().values():
        for preset in (None, *presets(kind)):
            made = getattr(kind, preset) if preset else kind
            wanted = set(inspect.signature(made).parameters)
            known = [call for call in map(parse_call, EXPRESSIONS) if call.function == made]
            for call in known:
                assert {field["name"] for field in controls.fields(call)} == wanted


QWEN2_VL = {
    "model_type": "qwen2_vl",
    "hidden_size": 1536,
    "num_attention_heads": 12,
    "num_hidden_layers": 2,
    "max_position_embeddings": 32768,
    "rope_theta": 1e6,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
}


def test_a_config_of_m_rope_is_short(client):
    told = client.post("/api/v1/config", json.loads(json.dumps(QWEN2_VL))).json
    assert told["expressions"] == [
        "AxialRoPE(128, Sections((16, 24, 24), base=1000000.0), pairing='halves')"
    ]


@pytest.mark.parametrize(
    ("expression", "changes", "wanted"),
    [
        ("RoPE(64)", {"set.dim": 128}, "RoPE(128)"),
        ("RoPE(64, rotary_dim=32)", {"set.dim": 128}, "RoPE(128, rotary_dim=32)"),
        ("RoPE(64)", {"set.scaling": "YaRN(4.0, 4096)"}, "RoPE(64, scaling=YaRN(4.0, 4096))"),
        ("RoPE(64, scaling=NTK(2.0))", {"set.scaling": ""}, "RoPE(64)"),
        ("RoPE(4)", {"set.scaling": "PerPair((1.0, 2.0))"}, "RoPE(4, scaling=PerPair((1.0, 2.0)))"),
        ("RoPE(64)", {"set.pairing": "halves", "set.base": "5e5"}, None),
        ("T5Bias(8)", {"set.bidirectional": "true"}, "T5Bias(8, bidirectional=True)"),
        ("ALiBi(8)", {"set.heads": 4}, "ALiBi(4)"),
    ],
)
def test_fields_are_changed(client, expression, changes, wanted):
    told = client.get("/api/v1/spell", e=expression, **changes).json["expression"]
    assert told == (wanted or "RoPE(64, base=500000.0, pairing='halves')")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"set.dmi": 8}, "RoPE has no field 'dmi'"),
        ({"set.dim": 7}, "dim must be a positive even number"),
        ({"set.dim": "x"}, "dim must be a number; got 'x'"),
        ({"set.dim": 10**6}, "dim must be at most 4,096 in the explorer; got 1000000"),
        ({"set.dim": "9" * 5000}, "must have at most 2,000 characters"),
        ({"set.scaling": "RoPE(8)"}, "scaling must be"),
        ({"set.scaling": "YaRN(4.0"}, "expression must be Python"),
        ({"set.pairing": "x"}, "pairing must be 'interleaved' or 'halves'"),
        ({"set.base": "nan"}, "base must be"),
    ],
)
def test_a_field_that_cannot_be_so_is_a_sentence(client, changes, message):
    answer = client.get("/api/v1/spell", e="RoPE(64)", **changes)
    assert answer.status in (400, 413)
    assert message in answer.message


@pytest.mark.parametrize("value", ["banana", "True", "1", ""])
def test_a_flag_is_true_or_false(client, value):
    answer = client.get("/api/v1/spell", ("set.bidirectional", value), e="T5Bias(8)")
    assert (answer.status, answer.argument) == (400, "bidirectional")
    assert answer.message == f"bidirectional must be one of true, false; got {value!r}"
