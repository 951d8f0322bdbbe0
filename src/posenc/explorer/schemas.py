"""The forms of the explorer's answers, as JSON schemas by name; web/src/contract.ts has the same.

A form lists every field that an answer has. Numbers that JSON does not have come as null.
"""

from typing import Any

from posenc.views.kinds import KINDS

Schema = dict[str, Any]


def form(optional: Schema | None = None, /, **fields: Schema) -> Schema:
    """An object with these fields and no others; those of `optional` may be left out."""
    return {
        "type": "object",
        "required": list(fields),
        "properties": fields | (optional or {}),
        "additionalProperties": False,
    }


def named(name: str) -> Schema:
    """The form of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def many(items: Schema) -> Schema:
    """A list of so many."""
    return {"type": "array", "items": items}


def exactly(*items: Schema) -> Schema:
    """A list of just these."""
    return {"type": "array", "prefixItems": list(items), "items": False, "minItems": len(items)}


def either(*forms: Schema) -> Schema:
    """One of these."""
    return {"anyOf": list(forms)}


def words(*choices: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(choices)}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
NOTHING: Schema = {"type": "null"}
PAIR = exactly(WHOLE, WHOLE)
NUMBER_OR_NOTHING = either(NUMBER, NOTHING)

VERDICTS = (  # as posenc.checks has them, which takes long to import
    "holds",
    "fails",
    "not claimed: holds",
    "not claimed: does not hold",
    "not applicable",
)
TOLD = {
    "expression": TEXT,
    "name": TEXT,
    "acts": named("Acts"),
    "maker": TEXT,
    "makers": many(TEXT),
    "fields": many(named("Field")),
    "loaded": BOOLEAN,
    "views": many(named("ViewKind")),
    "columns": either(WHOLE, NOTHING),
    "first": WHOLE,
    "stride": WHOLE,
    "heads": WHOLE,
    "side": either(WHOLE, NOTHING),
    "costly": BOOLEAN,
    "causal_only": BOOLEAN,
}
FORMS: dict[str, Schema] = {
    "ViewKind": words(*KINDS),
    "Acts": words("additive", "rotary", "bias", "scores"),
    "NumberParameter": form(
        {"step": WHOLE},
        name=TEXT,
        optional=BOOLEAN,
        help=TEXT,
        type=words("int", "float"),
        value=NUMBER_OR_NOTHING,
        least=NUMBER,
        most=NUMBER,
    ),
    "Flag": form(name=TEXT, optional=BOOLEAN, help=TEXT, type=words("bool"), value=BOOLEAN),
    "Choice": form(
        name=TEXT, optional=BOOLEAN, help=TEXT, type=words("choice"), value=TEXT, choices=many(TEXT)
    ),
    "Numbers": form(name=TEXT, optional=BOOLEAN, help=TEXT, type=words("numbers"), value=TEXT),
    "PartChoice": form(name=TEXT, expression=TEXT),
    "Part": form(
        name=TEXT,
        optional=BOOLEAN,
        help=TEXT,
        type=words("part"),
        value=either(TEXT, NOTHING),
        maker=TEXT,
        choices=many(named("PartChoice")),
        fields=many(named("Field")),
    ),
    "Field": either(*map(named, ("NumberParameter", "Flag", "Choice", "Numbers", "Part"))),
    "Told": form(**TOLD | {"name": either(TEXT, NOTHING)}),
    "Kind": form(**TOLD, title=TEXT),
    "Group": form(acts=named("Acts"), title=TEXT, encodings=many(named("Kind"))),
    "Limits": form(text=WHOLE, positions=WHOLE, cells=WHOLE, encodings=WHOLE, tokenizer=BOOLEAN),
    "Catalogue": form(groups=many(named("Group")), limits=named("Limits")),
    "Token": form(
        label=TEXT, text=TEXT, start=WHOLE, end=WHOLE, bytes=TEXT, part=either(PAIR, NOTHING)
    ),
    "Tokens": form(tokens=many(named("Token"))),
    "Axis": form(name=TEXT, labels=either(many(TEXT), NOTHING), log=BOOLEAN),
    "Image": form(
        panel=words("image"),
        title=TEXT,
        values=either(many(many(NUMBER_OR_NOTHING)), NOTHING),
        shape=PAIR,
        whole=PAIR,
        rows=named("Axis"),
        columns=named("Axis"),
        limit=NUMBER,
        colours=words("diverging", "cyclic", "sequential"),
        unit=TEXT,
        square=BOOLEAN,
        ratio=PAIR,
        channel=either(WHOLE, NOTHING),
        of=either(WHOLE, NOTHING),
    ),
    "Line": form(
        name=TEXT,
        y=many(NUMBER_OR_NOTHING),
        colour=WHOLE,
        low=either(many(NUMBER_OR_NOTHING), NOTHING),
        high=either(many(NUMBER_OR_NOTHING), NOTHING),
    ),
    "Mark": form(name=TEXT, x=NUMBER_OR_NOTHING, y=NUMBER_OR_NOTHING),
    "Lines": form(
        panel=words("lines"),
        title=TEXT,
        x=many(NUMBER),
        lines=many(named("Line")),
        x_axis=named("Axis"),
        y_axis=named("Axis"),
        marks=many(named("Mark")),
        steps=BOOLEAN,
        ratio=WHOLE,
        of=either(WHOLE, NOTHING),
    ),
    "Dials": form(
        panel=words("dials"),
        title=TEXT,
        hands=many(many(exactly(NUMBER, NUMBER))),
        names=many(TEXT),
        labels=many(TEXT),
        of=either(WHOLE, NOTHING),
    ),
    "Panel": either(named("Image"), named("Lines"), named("Dials")),
    "View": form(
        kind=named("ViewKind"),
        title=TEXT,
        columns=WHOLE,
        notes=many(TEXT),
        panels=many(named("Panel")),
    ),
    "Formula": either(
        TEXT,
        NUMBER,
        NOTHING,
        {"type": "array", "prefixItems": [TEXT], "items": named("Formula"), "minItems": 1},
    ),
    "Table": form(columns=many(TEXT), rows=many(many(either(TEXT, NUMBER, NOTHING)))),
    "Step": form(
        name=TEXT,
        words=TEXT,
        formulas=many(named("Formula")),
        table=either(named("Table"), NOTHING),
    ),
    "Convention": form(name=TEXT, value=either(TEXT, NUMBER, BOOLEAN)),
    "CellAnswer": form(
        steps=many(named("Step")),
        value=NUMBER_OR_NOTHING,
        truth=NUMBER_OR_NOTHING,
        ulps=NUMBER_OR_NOTHING,
        convention=many(named("Convention")),
    ),
    "Explanation": form(title=TEXT, lang=TEXT, steps=many(named("Step"))),
    "Property": form(
        name=TEXT,
        title=TEXT,
        what=TEXT,
        why=TEXT,
        verdict=words(*VERDICTS),
        measured=NUMBER_OR_NOTHING,
        bound=either(TEXT, NOTHING),
        detail=TEXT,
        seconds=NUMBER,
    ),
    "Report": form(subject=TEXT, ok=BOOLEAN, rows=many(named("Property"))),
    "Messages": form(lang=TEXT, messages={"type": "object", "additionalProperties": TEXT}),
    "RGB": exactly(WHOLE, WHOLE, WHOLE),
    "Colours": form(
        diverging=many(named("RGB")),
        cyclic=many(named("RGB")),
        sequential=many(named("RGB")),
        lines=many(TEXT),
        tokens=many(TEXT),
    ),
    "Config": form(
        model_type=TEXT,
        expressions=many(TEXT),
        parts=many(either(TEXT, NOTHING)),
        notes=many(TEXT),
    ),
    "Failure": form(message=TEXT, argument=either(TEXT, NOTHING)),
    "Refusal": form(error=named("Failure")),
}
