"""JSON schemas of the explorer's answers, by name.

A schema lists every field of an answer. Numbers that are not finite come as null. The page's types,
web/src/contract.ts, are generated from these by `make contract`.
"""

import re
from typing import Any, get_args

from posenc.views.kind import Along
from posenc.views.kinds import KINDS

Schema = dict[str, Any]
Type = str | Schema
"""A schema, or a type in the notation of `read_type`."""

PLAIN = ("string", "number", "integer", "boolean", "null")


def read_type(text: Type) -> Schema:
    """The schema of a type as TypeScript would write it, with a description behind a colon.

    Its words are the plain types of JSON and the names of other schemas.

    >>> read_type("integer: How many there are.")
    {'type': 'integer', 'description': 'How many there are.'}
    >>> read_type("(number|null)[]")
    {'type': 'array', 'items': {'anyOf': [{'type': 'number'}, {'type': 'null'}]}}
    """
    if not isinstance(text, str):
        return text
    text, colon, description = text.partition(": ")
    if colon:
        return read_type(text) | {"description": description}
    choices = re.split(r"\|(?![^(]*\))", text)  # not within brackets
    if len(choices) > 1:
        return {"anyOf": [read_type(choice) for choice in choices]}
    if text.endswith("[]"):
        return {"type": "array", "items": read_type(text[:-2])}
    if text.startswith("("):
        return read_type(text[1:-1])
    return {"type": text} if text in PLAIN else ref(text)


def ref(name: str) -> Schema:
    """A reference to the schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def object_of(optional: dict[str, Type] | None = None, /, **fields: Type) -> Schema:
    """An object with exactly these fields; those in `optional` may be missing."""
    properties = {name: read_type(each) for name, each in (fields | (optional or {})).items()}
    return {
        "type": "object",
        "required": list(fields),
        "properties": properties,
        "additionalProperties": False,
    }


def tuple_of(*items: Type) -> Schema:
    """An array of exactly these items."""
    types = [read_type(item) for item in items]
    return {"type": "array", "prefixItems": types, "items": False, "minItems": len(items)}


def one_of(*choices: str) -> Schema:
    """One of these strings."""
    return {"type": "string", "enum": list(choices)}


def about(description: str, schema: Schema) -> Schema:
    """The schema with a description, which the page's types have as a comment."""
    return schema | {"description": description}


PAIR = tuple_of("integer", "integer")
OF = "integer|null: The number of the encoding that it is of, if it is of one."
VERDICTS = (  # as posenc.checks has them, which takes long to import
    "holds",
    "fails",
    "not claimed: holds",
    "not claimed: does not hold",
    "not applicable",
    "not measured",
)
FIELD: dict[str, Type] = {
    "name": "string",
    "optional": "boolean: Whether it may be empty.",
    "help": "string: What it does: an English message.",
}
NUMBER_FIELD: dict[str, Type] = {"value": "number|null", "least": "number", "most": "number"}
SCHEMAS: dict[str, Schema] = {
    "ViewKind": one_of(*KINDS),
    "Acts": one_of("additive", "rotary", "bias", "scores"),
    "NumberField": object_of(
        {"step": "integer"}, **FIELD, type=one_of("int", "float"), **NUMBER_FIELD
    ),
    "Flag": object_of(**FIELD, type=one_of("bool"), value="boolean"),
    "Choice": object_of(**FIELD, type=one_of("choice"), value="string", choices="string[]"),
    "Numbers": about(
        "Numbers separated by commas.", object_of(**FIELD, type=one_of("numbers"), value="string")
    ),
    "PartChoice": object_of(name="string", expression="string"),
    "Part": about(
        "An argument that is itself a call, such as a scaling.",
        object_of(
            **FIELD,
            type=one_of("part"),
            value="string|null",
            maker="string",
            choices="PartChoice[]: What it could be; none where only an expression says it.",
            fields="Field[]",
        ),
    ),
    "Field": read_type("NumberField|Flag|Choice|Numbers|Part"),
    "EncodingFacts": about(
        "What the page needs to know of an encoding; the catalogue adds a title.",
        object_of(
            {"title": "string"},
            expression="string",
            name="string|null: Its name in the catalogue, if any.",
            acts="Acts",
            maker="string: What is called: RoPE, or AxialRoPE.split.",
            makers="string[]: What could be called instead.",
            fields="Field[]",
            loaded="boolean: Whether it is the user's own.",
            views="ViewKind[]: The kinds of view that suit it.",
            default_view="ViewKind",
            columns="integer|null: Columns of its picture: dimensions, or pairs; null: keys.",
            first="integer: The channel of the first column.",
            stride="integer: The distance from the channel of a column to that of the next.",
            heads="integer",
            side="integer|null: Rows and columns of its maps, where positions are places in a "
            "picture.",
            costly="boolean: Whether its checks take so long that the page waits to be asked for "
            "them.",
            causal_only="boolean: Whether it is meant for keys behind their query only.",
        ),
    ),
    "Group": object_of(acts="Acts", title="string", encodings="EncodingFacts[]"),
    "Limits": object_of(
        **dict.fromkeys(("text", "positions", "cells", "encodings"), "integer"),
        tokenizer="boolean",
    ),
    "Kind": about(
        "A kind of view; its title and summary are English messages.",
        object_of(
            name="ViewKind",
            title="string",
            summary="string",
            channels="boolean: Whether dimensions, pairs or heads can be chosen.",
            head="boolean: Whether the head to look at can be chosen.",
            causal="boolean: Whether the mask can be chosen.",
            max_tokens="integer|null",
            pairwise="boolean: Whether it has a cell for each pair of positions.",
            angles="boolean: Whether a cell of a rotation is its angle, not the cosine.",
            derived="boolean: Whether its numbers are its own, not those of the encoding.",
            worked="boolean: Whether its own numbers of a text are worked out.",
            along=about(
                "What x is in its lines, where they follow the cursor.",
                {"anyOf": [one_of(*get_args(Along)), read_type("null")]},
            ),
            compact="boolean: Whether it can be drawn small.",
            columns="KindColumns: Columns of panels for 1, 2, … encodings: of text, and on a grid.",
        ),
    ),
    "KindColumns": object_of(text="integer[]", grid="integer[]"),
    "Catalogue": object_of(groups="Group[]", kinds="Kind[]", limits="Limits"),
    "Token": object_of(
        label="string",
        text="string",
        start="integer",
        end="integer",
        bytes="string",
        part={"anyOf": [PAIR, read_type("null")]},
    ),
    "Tokens": object_of(tokens="Token[]"),
    "Axis": object_of(name="string", labels="string[]|null", log="boolean"),
    "Image": object_of(
        panel=one_of("image"),
        title="string",
        values="(number|null)[][]|null",
        shape=PAIR,
        whole=about("The shape before averaging: a last box may be smaller than the others.", PAIR),
        rows="Axis",
        columns="Axis",
        limit="number",
        colours=one_of("diverging", "cyclic", "sequential"),
        unit="string",
        square="boolean",
        ratio=PAIR,
        channel="integer|null: The dimension, pair or head that it is of, if any.",
        of=OF,
    ),
    "Line": object_of(
        name="string",
        y="(number|null)[]",
        colour="integer",
        low="(number|null)[]|null: The smallest of the values that each y is the mean of.",
        high="(number|null)[]|null: The largest of them.",
    ),
    "Mark": object_of(name="string", x="number|null", y="number|null"),
    "Lines": object_of(
        panel=one_of("lines"),
        title="string",
        x="number[]",
        lines="Line[]",
        x_axis="Axis",
        y_axis="Axis",
        marks="Mark[]",
        steps="boolean",
        ratio="integer: How many whole steps of x one y is the mean of.",
        of=OF,
    ),
    "Dials": object_of(
        panel=one_of("dials"),
        title="string",
        hands={"type": "array", "items": {"type": "array", "items": tuple_of("number", "number")}},
        names="string[]",
        labels="string[]",
        of=OF,
    ),
    "Panel": read_type("Image|Lines|Dials"),
    "View": object_of(
        kind="ViewKind", title="string", columns="integer", notes="string[]", panels="Panel[]"
    ),
    "Formula": about(
        "A symbol, a number, or the kind of a formula with its parts.",
        {
            "anyOf": [
                *map(read_type, ("string", "number", "null")),
                tuple_of("string") | {"items": ref("Formula")},
            ]
        },
    ),
    "Table": object_of(columns="string[]", rows="(string|number|null)[][]"),
    "Step": object_of(name="string", words="string", formulas="Formula[]", table="Table|null"),
    "Convention": object_of(name="string", value="string|number|boolean"),
    "CellAnswer": object_of(
        steps="Step[]",
        **dict.fromkeys(("value", "truth", "ulps"), "number|null"),
        convention="Convention[]",
    ),
    "Explanation": object_of(title="string", lang="string", steps="Step[]"),
    "Property": object_of(
        **dict.fromkeys(("name", "title", "what", "why"), "string"),
        verdict=one_of(*VERDICTS),
        measured="number|null",
        bound="string|null",
        detail="string",
        seconds="number",
    ),
    "Report": object_of(subject="string", ok="boolean", rows="Property[]"),
    "Messages": object_of(
        lang="string", messages={"type": "object", "additionalProperties": {"type": "string"}}
    ),
    "RGB": tuple_of("integer", "integer", "integer"),
    "Colours": object_of(
        **dict.fromkeys(("diverging", "cyclic", "sequential"), "RGB[]"),
        **dict.fromkeys(("lines", "tokens"), "string[]"),
    ),
    "Config": about(
        "The encodings of a model's config.json.",
        object_of(
            model_type="string",
            expressions="string[]",
            parts="(string|null)[]: The part of the model that has each, such as the encoder; "
            "null: all of it.",
            notes="string[]: What an expression cannot say, such as the first position.",
        ),
    ),
    "Failure": object_of(message="string", argument="string|null"),
    "Refusal": object_of(error="Failure"),
}
