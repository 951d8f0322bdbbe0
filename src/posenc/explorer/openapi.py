"""The OpenAPI description of the explorer, generated from the declarations of its endpoints."""

import re
from importlib.metadata import version
from typing import Any

from posenc.explorer.parameters import LANG
from posenc.explorer.schemas import SCHEMAS, ref

REFUSALS = ("400", "403", "404", "413", "503")


def describe_api(endpoints: tuple[Any, ...]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of all endpoints and of POST /api/v1/config."""
    paths: dict[str, Any] = {each.path: {"get": _operation(each)} for each in endpoints}
    paths["/api/v1/config"] = {
        "post": {
            "summary": "The encodings of a model's config.json.",
            "parameters": [LANG.schema()],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "responses": _responses("application/json", "Config"),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "posenc explorer", "version": version("posenc")},
        "paths": paths,
        "components": {"schemas": SCHEMAS},
    }


def _operation(endpoint: Any) -> dict[str, Any]:
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": ref("ViewKind"),
        }
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    return {
        "summary": endpoint.about,
        "parameters": in_path + [each.schema() for each in endpoint.parameters],
        "responses": _responses(endpoint.media, endpoint.schema),
    }


def _responses(media: str, schema: str | None) -> dict[str, Any]:
    refusal = {"application/json": {"schema": ref("Refusal")}}
    refused = {"description": "refused", "content": refusal}
    answered = {
        "description": "answered",
        "content": {media: {"schema": ref(schema)} if schema else {}},
    }
    return {"200": answered} | dict.fromkeys(REFUSALS, refused)
