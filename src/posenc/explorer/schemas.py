"""JSON schemas of the explorer's answers by name; web/src/contract.ts has the same types.

A schema lists every field of an answer. Numbers that are not finite come as null.
"""

from typing import Any

from posenc.views.kinds import KINDS

Schema = dict[str, Any]


def object_of(optional: Schema | None = None, /, **fields: Schema) -> Schema:
    """An object with exactly these fields; those in `optional` may be missing."""
    return {
        "type": "object",
        "required": list(fields),
        "properties": fields | (optional or {}),
        "additionalProperties": False,
    }


def ref(name: str) -> Schema:
    """A reference to the schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def array_of(items: Schema) -> Schema:
    """An array of any length."""
    return {"type": "array", "items": items}


def tuple_of(*items: Schema) -> Schema:
    """An array of exactly these items."""
    return {"type": "array", "prefixItems": list(items), "items": False, "minItems": len(items)}


def any_of(*schemas: Schema) -> Schema:
    """One of these schemas."""
    return {"anyOf": list(schemas)}


def one_of(*choices: str) -> Schema:
    """One of these strings."""
    return {"type": "string", "enum": list(choices)}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
NOTHING: Schema = {"type": "null"}
PAIR = tuple_of(WHOLE, WHOLE)
NUMBER_OR_NOTHING = any_of(NUMBER, NOTHING)

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
    "acts": ref("Acts"),
    "maker": TEXT,
    "makers": array_of(TEXT),
    "fields": array_of(ref("Field")),
    "loaded": BOOLEAN,
    "views": array_of(ref("ViewKind")),
    "columns": any_of(WHOLE, NOTHING),
    "first": WHOLE,
    "stride": WHOLE,
    "heads": WHOLE,
    "side": any_of(WHOLE, NOTHING),
    "costly": BOOLEAN,
    "causal_only": BOOLEAN,
}
SCHEMAS: dict[str, Schema] = {
    "ViewKind": one_of(*KINDS),
    "Acts": one_of("additive", "rotary", "bias", "scores"),
    "NumberParameter": object_of(
        {"step": WHOLE},
        name=TEXT,
        optional=BOOLEAN,
        help=TEXT,
        type=one_of("int", "float"),
        value=NUMBER_OR_NOTHING,
        least=NUMBER,
        most=NUMBER,
    ),
    "Flag": object_of(name=TEXT, optional=BOOLEAN, help=TEXT, type=one_of("bool"), value=BOOLEAN),
    "Choice": object_of(
        name=TEXT,
        optional=BOOLEAN,
        help=TEXT,
        type=one_of("choice"),
        value=TEXT,
        choices=array_of(TEXT),
    ),
    "Numbers": object_of(
        name=TEXT, optional=BOOLEAN, help=TEXT, type=one_of("numbers"), value=TEXT
    ),
    "PartChoice": object_of(name=TEXT, expression=TEXT),
    "Part": object_of(
        name=TEXT,
        optional=BOOLEAN,
        help=TEXT,
        type=one_of("part"),
        value=any_of(TEXT, NOTHING),
        maker=TEXT,
        choices=array_of(ref("PartChoice")),
        fields=array_of(ref("Field")),
    ),
    "Field": any_of(*map(ref, ("NumberParameter", "Flag", "Choice", "Numbers", "Part"))),
    "Told": object_of(**TOLD | {"name": any_of(TEXT, NOTHING)}),
    "Kind": object_of(**TOLD, title=TEXT),
    "Group": object_of(acts=ref("Acts"), title=TEXT, encodings=array_of(ref("Kind"))),
    "Limits": object_of(
        text=WHOLE, positions=WHOLE, cells=WHOLE, encodings=WHOLE, tokenizer=BOOLEAN
    ),
    "Catalogue": object_of(groups=array_of(ref("Group")), limits=ref("Limits")),
    "Token": object_of(
        label=TEXT, text=TEXT, start=WHOLE, end=WHOLE, bytes=TEXT, part=any_of(PAIR, NOTHING)
    ),
    "Tokens": object_of(tokens=array_of(ref("Token"))),
    "Axis": object_of(name=TEXT, labels=any_of(array_of(TEXT), NOTHING), log=BOOLEAN),
    "Image": object_of(
        panel=one_of("image"),
        title=TEXT,
        values=any_of(array_of(array_of(NUMBER_OR_NOTHING)), NOTHING),
        shape=PAIR,
        whole=PAIR,
        rows=ref("Axis"),
        columns=ref("Axis"),
        limit=NUMBER,
        colours=one_of("diverging", "cyclic", "sequential"),
        unit=TEXT,
        square=BOOLEAN,
        ratio=PAIR,
        channel=any_of(WHOLE, NOTHING),
        of=any_of(WHOLE, NOTHING),
    ),
    "Line": object_of(
        name=TEXT,
        y=array_of(NUMBER_OR_NOTHING),
        colour=WHOLE,
        low=any_of(array_of(NUMBER_OR_NOTHING), NOTHING),
        high=any_of(array_of(NUMBER_OR_NOTHING), NOTHING),
    ),
    "Mark": object_of(name=TEXT, x=NUMBER_OR_NOTHING, y=NUMBER_OR_NOTHING),
    "Lines": object_of(
        panel=one_of("lines"),
        title=TEXT,
        x=array_of(NUMBER),
        lines=array_of(ref("Line")),
        x_axis=ref("Axis"),
        y_axis=ref("Axis"),
        marks=array_of(ref("Mark")),
        steps=BOOLEAN,
        ratio=WHOLE,
        of=any_of(WHOLE, NOTHING),
    ),
    "Dials": object_of(
        panel=one_of("dials"),
        title=TEXT,
        hands=array_of(array_of(tuple_of(NUMBER, NUMBER))),
        names=array_of(TEXT),
        labels=array_of(TEXT),
        of=any_of(WHOLE, NOTHING),
    ),
    "Panel": any_of(ref("Image"), ref("Lines"), ref("Dials")),
    "View": object_of(
        kind=ref("ViewKind"),
        title=TEXT,
        columns=WHOLE,
        notes=array_of(TEXT),
        panels=array_of(ref("Panel")),
    ),
    "Formula": any_of(
        TEXT,
        NUMBER,
        NOTHING,
        {"type": "array", "prefixItems": [TEXT], "items": ref("Formula"), "minItems": 1},
    ),
    "Table": object_of(
        columns=array_of(TEXT), rows=array_of(array_of(any_of(TEXT, NUMBER, NOTHING)))
    ),
    "Step": object_of(
        name=TEXT,
        words=TEXT,
        formulas=array_of(ref("Formula")),
        table=any_of(ref("Table"), NOTHING),
    ),
    "Convention": object_of(name=TEXT, value=any_of(TEXT, NUMBER, BOOLEAN)),
    "CellAnswer": object_of(
        steps=array_of(ref("Step")),
        value=NUMBER_OR_NOTHING,
        truth=NUMBER_OR_NOTHING,
        ulps=NUMBER_OR_NOTHING,
        convention=array_of(ref("Convention")),
    ),
    "Explanation": object_of(title=TEXT, lang=TEXT, steps=array_of(ref("Step"))),
    "Property": object_of(
        name=TEXT,
        title=TEXT,
        what=TEXT,
        why=TEXT,
        verdict=one_of(*VERDICTS),
        measured=NUMBER_OR_NOTHING,
        bound=any_of(TEXT, NOTHING),
        detail=TEXT,
        seconds=NUMBER,
    ),
    "Report": object_of(subject=TEXT, ok=BOOLEAN, rows=array_of(ref("Property"))),
    "Messages": object_of(lang=TEXT, messages={"type": "object", "additionalProperties": TEXT}),
    "RGB": tuple_of(WHOLE, WHOLE, WHOLE),
    "Colours": object_of(
        diverging=array_of(ref("RGB")),
        cyclic=array_of(ref("RGB")),
        sequential=array_of(ref("RGB")),
        lines=array_of(TEXT),
        tokens=array_of(TEXT),
    ),
    "Config": object_of(
        model_type=TEXT,
        expressions=array_of(TEXT),
        parts=array_of(any_of(TEXT, NOTHING)),
        notes=array_of(TEXT),
    ),
    "Failure": object_of(message=TEXT, argument=any_of(TEXT, NOTHING)),
    "Refusal": object_of(error=ref("Failure")),
}
