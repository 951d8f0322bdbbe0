"""JSON schemas of the explorer's answers, by name.

A schema lists every field of an answer. Numbers that are not finite come as null. The page's types,
web/src/contract.ts, are generated from these by `make contract`.
"""

from typing import Any, get_args

from posenc.views.kind import Along
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


def optional(schema: Schema) -> Schema:
    """The schema, or null."""
    return any_of(schema, NOTHING)


def about(description: str, schema: Schema) -> Schema:
    """The schema with a description, which the page's types have as a comment."""
    return schema | {"description": description}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
NOTHING: Schema = {"type": "null"}
PAIR = tuple_of(WHOLE, WHOLE)
OF = about("The number of the encoding that it is of, if it is of one.", optional(WHOLE))

VERDICTS = (  # as posenc.checks has them, which takes long to import
    "holds",
    "fails",
    "not claimed: holds",
    "not claimed: does not hold",
    "not applicable",
    "not measured",
)
FIELD = {
    "name": TEXT,
    "optional": about("Whether it may be empty.", BOOLEAN),
    "help": about("What it does: an English message.", TEXT),
}
SCHEMAS: dict[str, Schema] = {
    "ViewKind": one_of(*KINDS),
    "Acts": one_of("additive", "rotary", "bias", "scores"),
    "NumberField": object_of(
        {"step": WHOLE},
        **FIELD,
        type=one_of("int", "float"),
        value=optional(NUMBER),
        least=NUMBER,
        most=NUMBER,
    ),
    "Flag": object_of(**FIELD, type=one_of("bool"), value=BOOLEAN),
    "Choice": object_of(**FIELD, type=one_of("choice"), value=TEXT, choices=array_of(TEXT)),
    "Numbers": about(
        "Numbers separated by commas.", object_of(**FIELD, type=one_of("numbers"), value=TEXT)
    ),
    "PartChoice": object_of(name=TEXT, expression=TEXT),
    "Part": about(
        "An argument that is itself a call, such as a scaling.",
        object_of(
            **FIELD,
            type=one_of("part"),
            value=optional(TEXT),
            maker=TEXT,
            choices=about(
                "What it could be; none where only an expression says it.",
                array_of(ref("PartChoice")),
            ),
            fields=array_of(ref("Field")),
        ),
    ),
    "Field": any_of(*map(ref, ("NumberField", "Flag", "Choice", "Numbers", "Part"))),
    "EncodingFacts": about(
        "What the page needs to know of an encoding; the catalogue adds a title.",
        object_of(
            {"title": TEXT},
            expression=TEXT,
            name=about("Its name in the catalogue, if any.", optional(TEXT)),
            acts=ref("Acts"),
            maker=about("What is called: RoPE, or AxialRoPE.split.", TEXT),
            makers=about("What could be called instead.", array_of(TEXT)),
            fields=array_of(ref("Field")),
            loaded=about("Whether it is the user's own.", BOOLEAN),
            views=about("The kinds of view that suit it.", array_of(ref("ViewKind"))),
            default_view=ref("ViewKind"),
            columns=about(
                "Columns of its picture: dimensions, or pairs; null: keys.", optional(WHOLE)
            ),
            first=about("The channel of the first column.", WHOLE),
            stride=about("The distance from the channel of a column to that of the next.", WHOLE),
            heads=WHOLE,
            side=about(
                "Rows and columns of its maps, where positions are places in a picture.",
                optional(WHOLE),
            ),
            costly=about(
                "Whether its checks take so long that the page waits to be asked for them.", BOOLEAN
            ),
            causal_only=about("Whether it is meant for keys behind their query only.", BOOLEAN),
        ),
    ),
    "Group": object_of(acts=ref("Acts"), title=TEXT, encodings=array_of(ref("EncodingFacts"))),
    "Limits": object_of(
        text=WHOLE, positions=WHOLE, cells=WHOLE, encodings=WHOLE, tokenizer=BOOLEAN
    ),
    "Kind": about(
        "A kind of view; its title and summary are English messages.",
        object_of(
            name=ref("ViewKind"),
            title=TEXT,
            summary=TEXT,
            channels=about("Whether dimensions, pairs or heads can be chosen.", BOOLEAN),
            head=about("Whether the head to look at can be chosen.", BOOLEAN),
            causal=about("Whether the mask can be chosen.", BOOLEAN),
            max_tokens=optional(WHOLE),
            pairwise=about("Whether it has a cell for each pair of positions.", BOOLEAN),
            angles=about("Whether a cell of a rotation is its angle, not the cosine.", BOOLEAN),
            derived=about("Whether its numbers are its own, not those of the encoding.", BOOLEAN),
            worked=about("Whether its own numbers of a text are worked out.", BOOLEAN),
            along=about(
                "What x is in its lines, where they follow the cursor.",
                optional(one_of(*get_args(Along))),
            ),
            compact=about("Whether it can be drawn small.", BOOLEAN),
            columns=about(
                "Columns of panels for 1, 2, … encodings: of text, and on a grid.",
                ref("KindColumns"),
            ),
        ),
    ),
    "KindColumns": object_of(text=array_of(WHOLE), grid=array_of(WHOLE)),
    "Catalogue": object_of(
        groups=array_of(ref("Group")), kinds=array_of(ref("Kind")), limits=ref("Limits")
    ),
    "Token": object_of(
        label=TEXT, text=TEXT, start=WHOLE, end=WHOLE, bytes=TEXT, part=optional(PAIR)
    ),
    "Tokens": object_of(tokens=array_of(ref("Token"))),
    "Axis": object_of(name=TEXT, labels=optional(array_of(TEXT)), log=BOOLEAN),
    "Image": object_of(
        panel=one_of("image"),
        title=TEXT,
        values=optional(array_of(array_of(optional(NUMBER)))),
        shape=PAIR,
        whole=about("The shape before averaging: a last box may be smaller than the others.", PAIR),
        rows=ref("Axis"),
        columns=ref("Axis"),
        limit=NUMBER,
        colours=one_of("diverging", "cyclic", "sequential"),
        unit=TEXT,
        square=BOOLEAN,
        ratio=PAIR,
        channel=about("The dimension, pair or head that it is of, if any.", optional(WHOLE)),
        of=OF,
    ),
    "Line": object_of(
        name=TEXT,
        y=array_of(optional(NUMBER)),
        colour=WHOLE,
        low=about(
            "The smallest of the values that each y is the mean of.",
            optional(array_of(optional(NUMBER))),
        ),
        high=about("The largest of them.", optional(array_of(optional(NUMBER)))),
    ),
    "Mark": object_of(name=TEXT, x=optional(NUMBER), y=optional(NUMBER)),
    "Lines": object_of(
        panel=one_of("lines"),
        title=TEXT,
        x=array_of(NUMBER),
        lines=array_of(ref("Line")),
        x_axis=ref("Axis"),
        y_axis=ref("Axis"),
        marks=array_of(ref("Mark")),
        steps=BOOLEAN,
        ratio=about("How many whole steps of x one y is the mean of.", WHOLE),
        of=OF,
    ),
    "Dials": object_of(
        panel=one_of("dials"),
        title=TEXT,
        hands=array_of(array_of(tuple_of(NUMBER, NUMBER))),
        names=array_of(TEXT),
        labels=array_of(TEXT),
        of=OF,
    ),
    "Panel": any_of(ref("Image"), ref("Lines"), ref("Dials")),
    "View": object_of(
        kind=ref("ViewKind"),
        title=TEXT,
        columns=WHOLE,
        notes=array_of(TEXT),
        panels=array_of(ref("Panel")),
    ),
    "Formula": about(
        "A symbol, a number, or the kind of a formula with its parts.",
        any_of(
            TEXT,
            NUMBER,
            NOTHING,
            {"type": "array", "prefixItems": [TEXT], "items": ref("Formula"), "minItems": 1},
        ),
    ),
    "Table": object_of(
        columns=array_of(TEXT), rows=array_of(array_of(any_of(TEXT, NUMBER, NOTHING)))
    ),
    "Step": object_of(
        name=TEXT,
        words=TEXT,
        formulas=array_of(ref("Formula")),
        table=optional(ref("Table")),
    ),
    "Convention": object_of(name=TEXT, value=any_of(TEXT, NUMBER, BOOLEAN)),
    "CellAnswer": object_of(
        steps=array_of(ref("Step")),
        value=optional(NUMBER),
        truth=optional(NUMBER),
        ulps=optional(NUMBER),
        convention=array_of(ref("Convention")),
    ),
    "Explanation": object_of(title=TEXT, lang=TEXT, steps=array_of(ref("Step"))),
    "Property": object_of(
        name=TEXT,
        title=TEXT,
        what=TEXT,
        why=TEXT,
        verdict=one_of(*VERDICTS),
        measured=optional(NUMBER),
        bound=optional(TEXT),
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
    "Config": about(
        "The encodings of a model's config.json.",
        object_of(
            model_type=TEXT,
            expressions=array_of(TEXT),
            parts=about(
                "The part of the model that has each, such as the encoder; null: all of it.",
                array_of(optional(TEXT)),
            ),
            notes=about(
                "What an expression cannot say, such as the first position.", array_of(TEXT)
            ),
        ),
    ),
    "Failure": object_of(message=TEXT, argument=optional(TEXT)),
    "Refusal": object_of(error=ref("Failure")),
}
