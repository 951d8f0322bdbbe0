"""JSON schemas of the explorer's answers, by name.

They are written as the page's types, web/src/contract.ts, which `make contract` generates from
them. A schema lists every field of an answer. Numbers that are not finite come as null.
"""

import re
from typing import Any, get_args

from posenc.views.kind import Along
from posenc.views.kinds import KINDS

Schema = dict[str, Any]

VERDICTS = (  # as posenc.checks has them, which takes long to import
    "holds",
    "fails",
    "not claimed: holds",
    "not claimed: does not hold",
    "not applicable",
    "not measured",
)
PLAIN = ("string", "number", "integer", "boolean", "null")


def ref(name: str) -> Schema:
    """A reference to the schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def read_type(text: str) -> Schema:
    """The schema of a type in the notation of TypeScript, whose numbers may also be integers.

    >>> read_type("(number|null)[]")
    {'type': 'array', 'items': {'anyOf': [{'type': 'number'}, {'type': 'null'}]}}
    >>> read_type("'light'|'dark'")
    {'type': 'string', 'enum': ['light', 'dark']}
    """
    parts = re.split(r"\|(?![^(]*\))", text)  # not within brackets
    words = [part.strip("'") for part in parts if part.startswith("'")]
    choices = [{"type": "string", "enum": words}] if words else []
    choices += [_read_one(part) for part in parts if not part.startswith("'")]
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _read_one(text: str) -> Schema:
    if text.endswith("[]"):
        return {"type": "array", "items": read_type(text[:-2])}
    if text.startswith("["):
        first, _, rest = text[1:-1].partition(", ...")
        items = [read_type(item) for item in first.split(", ")]
        more = read_type(rest.removesuffix("[]")) if rest else False
        return {"type": "array", "prefixItems": items, "items": more, "minItems": len(items)}
    if text.startswith("("):
        return read_type(text[1:-1])
    if values := re.fullmatch(r"Record<string, (\w+)>", text):
        return {"type": "object", "additionalProperties": read_type(values[1])}
    return {"type": text} if text in PLAIN else ref(text)


def read_schemas(text: str) -> dict[str, Schema]:
    """The schemas of types: Name = type, or the name of an object and, indented, its fields.

    Fields on one line are separated by semicolons; after # comes a description. A field with a
    question mark may be missing, and no other field may be there.

    >>> read_schemas("Pixel  # A place.\\n  x: integer; y: integer")["Pixel"]["required"]
    ['x', 'y']
    """
    schemas: dict[str, Schema] = {}
    last: Schema = {}
    for line in text.strip().splitlines():
        types, _, description = line.strip().partition("  # ")
        about = {"description": description} if description else {}
        if line.startswith("  "):
            for name, kind in (each.split(": ", 1) for each in types.split("; ")):
                last["required"] += [] if name.endswith("?") else [name]
                last["properties"][name.removesuffix("?")] = read_type(kind) | about
            continue
        name, alias, kind = types.partition(" = ")
        last = {"type": "object", "required": [], "properties": {}, "additionalProperties": False}
        schemas[name] = (read_type(kind) if alias else last) | about
    return schemas


def _quote(words: Any) -> str:
    return "|".join(f"'{word}'" for word in words)


FIELD = """name: string
  optional: boolean  # Whether it may be empty.
  help: string  # What it does: an English message."""
WHOLE = "The shape before averaging: a last box may be smaller than the others."
FORMULA = "A symbol, a number, or the kind of a formula with its parts."
PARTS = "The part of the model that has each, such as the encoder; null: all of it."
OF = "of: integer|null  # The number of the encoding that it is of, if it is of one."

SCHEMAS = read_schemas(f"""
ViewKind = {_quote(KINDS)}
Acts = 'additive'|'rotary'|'bias'|'scores'
NumberField
  {FIELD}
  type: 'int'|'float'; value: number|null; least: number; most: number; step?: integer
Flag
  {FIELD}
  type: 'bool'; value: boolean
Choice
  {FIELD}
  type: 'choice'; value: string; choices: string[]
Numbers  # Numbers separated by commas.
  {FIELD}
  type: 'numbers'; value: string
PartChoice
  name: string; expression: string
Part  # An argument that is itself a call, such as a scaling.
  {FIELD}
  type: 'part'; value: string|null; maker: string
  choices: PartChoice[]  # What it could be; none where only an expression says it.
  fields: Field[]
Field = NumberField|Flag|Choice|Numbers|Part
EncodingFacts  # What the page needs to know of an encoding; the catalogue adds a title.
  expression: string
  name: string|null  # Its name in the catalogue, if any.
  acts: Acts
  maker: string  # What is called: RoPE, or AxialRoPE.split.
  makers: string[]  # What could be called instead.
  fields: Field[]
  loaded: boolean  # Whether it is the user's own.
  views: ViewKind[]  # The kinds of view that suit it.
  default_view: ViewKind
  columns: integer|null  # Columns of its picture: dimensions, or pairs; null: keys.
  first: integer  # The channel of the first column.
  stride: integer  # The distance from the channel of a column to that of the next.
  heads: integer
  side: integer|null  # Rows and columns of its maps, where positions are places in a picture.
  costly: boolean  # Whether its checks take so long that the page waits to be asked for them.
  causal_only: boolean  # Whether it is meant for keys behind their query only.
  title?: string
Group
  acts: Acts; title: string; encodings: EncodingFacts[]
Limits
  text: integer; positions: integer; cells: integer; encodings: integer; tokenizer: boolean
Kind  # A kind of view; its title and summary are English messages.
  name: ViewKind; title: string; summary: string
  channels: boolean  # Whether dimensions, pairs or heads can be chosen.
  head: boolean  # Whether the head to look at can be chosen.
  causal: boolean  # Whether the mask can be chosen.
  max_tokens: integer|null
  pairwise: boolean  # Whether it has a cell for each pair of positions.
  angles: boolean  # Whether a cell of a rotation is its angle, not the cosine.
  derived: boolean  # Whether its numbers are its own, not those of the encoding.
  worked: boolean  # Whether its own numbers of a text are worked out.
  along: {_quote(get_args(Along))}|null  # What x is in its lines, where they follow the cursor.
  compact: boolean  # Whether it can be drawn small.
  columns: KindColumns  # Columns of panels for 1, 2, … encodings: of text, and on a grid.
KindColumns
  text: integer[]; grid: integer[]
Catalogue
  groups: Group[]; kinds: Kind[]; limits: Limits
Token
  label: string; text: string; start: integer; end: integer; bytes: string
  part: [integer, integer]|null
Tokens
  tokens: Token[]
Axis
  name: string; labels: string[]|null; log: boolean
Image
  panel: 'image'; title: string; values: (number|null)[][]|null; shape: [integer, integer]
  whole: [integer, integer]  # {WHOLE}
  rows: Axis; columns: Axis; limit: number; colours: 'diverging'|'cyclic'|'sequential'
  unit: string; square: boolean; ratio: [integer, integer]
  channel: integer|null  # The dimension, pair or head that it is of, if any.
  {OF}
Line
  name: string; y: (number|null)[]; colour: integer
  low: (number|null)[]|null  # The smallest of the values that each y is the mean of.
  high: (number|null)[]|null  # The largest of them.
Mark
  name: string; x: number|null; y: number|null
Lines
  panel: 'lines'; title: string; x: number[]; lines: Line[]; x_axis: Axis; y_axis: Axis
  marks: Mark[]; steps: boolean
  ratio: integer  # How many whole steps of x one y is the mean of.
  {OF}
Dials
  panel: 'dials'; title: string; hands: [number, number][][]; names: string[]; labels: string[]
  {OF}
Panel = Image|Lines|Dials
View
  kind: ViewKind; title: string; columns: integer; notes: string[]; panels: Panel[]
Formula = string|number|null|[string, ...Formula[]]  # {FORMULA}
Table
  columns: string[]; rows: (string|number|null)[][]
Step
  name: string; words: string; formulas: Formula[]; table: Table|null
Convention
  name: string; value: string|number|boolean
CellAnswer
  steps: Step[]; value: number|null; truth: number|null; ulps: number|null
  convention: Convention[]
Explanation
  title: string; lang: string; steps: Step[]
Property
  name: string; title: string; what: string; why: string; verdict: {_quote(VERDICTS)}
  measured: number|null; bound: string|null; detail: string; seconds: number
Report
  subject: string; ok: boolean; rows: Property[]
Messages
  lang: string; messages: Record<string, string>
RGB = [integer, integer, integer]
Colours
  diverging: RGB[]; cyclic: RGB[]; sequential: RGB[]; lines: string[]; tokens: string[]
Config  # The encodings of a model's config.json.
  model_type: string; expressions: string[]
  parts: (string|null)[]  # {PARTS}
  notes: string[]  # What an expression cannot say, such as the first position.
Failure
  message: string; argument: string|null
Refusal
  error: Failure
""")
