"""The description of the explorer's addresses, out of their declarations."""

import re
from importlib.metadata import version
from typing import Any

from posenc.explorer.parameters import LANG
from posenc.views.kinds import KINDS

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "argument"],
            "properties": {
                "message": {"type": "string"},
                "argument": {"type": ["string", "null"]},
            },
        }
    },
}
REFUSALS = ("400", "403", "404", "413", "503")


def described(endpoints: tuple[Any, ...]) -> dict[str, Any]:
    """OpenAPI 3.1 of all endpoints, and of POST /api/v1/config."""
    paths: dict[str, Any] = {each.path: {"get": _operation(each)} for each in endpoints}
    paths["/api/v1/config"] = {
        "post": {
            "summary": "The encodings of a model's config.json.",
            "parameters": [LANG.schema()],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "responses": _responses("application/json"),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "posenc explorer", "version": version("posenc")},
        "paths": paths,
    }


def _operation(endpoint: Any) -> dict[str, Any]:
    named = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "enum": list(KINDS)},
        }
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    return {
        "summary": endpoint.about,
        "parameters": named + [each.schema() for each in endpoint.parameters],
        "responses": _responses(endpoint.media),
    }


def _responses(media: str) -> dict[str, Any]:
    refused = {"description": "refused", "content": {"application/json": {"schema": ERROR}}}
    answered = {"description": "answered", "content": {media: {}}}
    return {"200": answered} | dict.fromkeys(REFUSALS, refused)
