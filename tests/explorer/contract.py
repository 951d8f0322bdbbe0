"""Write web/src/contract.ts, the page's types, from the OpenAPI description: `make contract`."""

import json
from pathlib import Path
from typing import Any

from posenc.explorer.endpoints import describe_api

FILE = Path(__file__).parents[2] / "web" / "src" / "contract.ts"
HEAD = """\
/** The server's answers and parameters, generated from its OpenAPI description by `make contract`: do not edit. */
"""  # noqa: E501
BOUNDS = ("minimum", "maximum", "maxLength", "maxItems", "enum")

Schema = dict[str, Any]


def render_contract() -> str:
    """A type for each schema, and the bounds of each query parameter."""
    document = describe_api()
    types = [render_named(*each) for each in document["components"]["schemas"].items()]
    return "\n".join([HEAD, *types, render_parameters(document["paths"])])


def render_named(name: str, schema: Schema) -> str:
    """An interface, or a type that is no object."""
    lines = [f"/** {schema['description']} */"] if "description" in schema else []
    if "properties" in schema:
        lines.append(f"export interface {name} {{")
        for field, of in schema["properties"].items():
            lines += [f"  /** {of['description']} */"] if "description" in of else []
            mark = "" if field in schema["required"] else "?"
            lines.append(f"  {field}{mark}: {render_type(of)};")
        lines.append("}")
    else:
        lines.append(f"export type {name} = {render_type(schema)};")
    return "\n".join(lines) + "\n"


def render_type(schema: Schema) -> str:
    """The schema as TypeScript."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(map(render_type, schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema["type"] == "object":
        return f"Record<string, {render_type(schema['additionalProperties'])}>"
    if schema["type"] == "array":
        return _render_array(list(map(render_type, schema.get("prefixItems", ()))), schema["items"])
    return "number" if schema["type"] == "integer" else str(schema["type"])


def _render_array(first: list[str], items: Any) -> str:
    rest = items and render_type(items)
    if first:
        return f"[{', '.join([*first, f'...{rest}[]'] if rest else first)}]"
    return f"({rest})[]" if "anyOf" in items or "enum" in items else f"{rest}[]"


def render_parameters(paths: dict[str, Any]) -> str:
    """What each query parameter may be at most, or one of which choices, as a constant."""
    bounds: dict[str, Schema] = {}
    for operations in paths.values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "query":
                    of = {
                        key: parameter["schema"][key]
                        for key in BOUNDS
                        if key in parameter["schema"]
                    }
                    assert bounds.setdefault(parameter["name"], of) == of, parameter["name"]
    rows = [f"  {name}: {json.dumps(of)}," for name, of in bounds.items()]
    return "\n".join(["export const PARAMETERS = {", *rows, "} as const;\n"])


if __name__ == "__main__":
    FILE.write_text(render_contract(), encoding="utf-8")
