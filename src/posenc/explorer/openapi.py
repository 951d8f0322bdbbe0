"""The OpenAPI description of the explorer, generated from the declarations of its endpoints."""

import re
from importlib.metadata import version
from typing import Any

from posenc.explorer.endpoints import Endpoint
from posenc.explorer.replies import JSON
from posenc.explorer.schemas import SCHEMAS, ref

REFUSALS = ("400", "403", "404", "413", "503")


def describe_api(endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of all endpoints."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "posenc explorer", "version": version("posenc")},
        "paths": {each.path: {each.method.lower(): _operation(each)} for each in endpoints},
        "components": {"schemas": SCHEMAS},
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": ref("ViewKind")}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    body = {"required": True, "content": {JSON: {"schema": {"type": "object"}}}}
    answer = {"schema": ref(endpoint.schema)} if endpoint.schema else {}
    refused = {"description": "refused", "content": {JSON: {"schema": ref("Refusal")}}}
    return {
        "summary": endpoint.about,
        "parameters": in_path + [each.schema() for each in endpoint.parameters],
        **({"requestBody": body} if endpoint.method == "POST" else {}),
        "responses": {"200": {"description": "answered", "content": {endpoint.media: answer}}}
        | dict.fromkeys(REFUSALS, refused),
    }
