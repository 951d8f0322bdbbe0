"""The description of the explorer's addresses, out of their declarations."""

import re
from importlib.metadata import version
from typing import Any

from posenc.explorer.parameters import LANG
from posenc.explorer.schemas import FORMS, named

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
            "responses": _responses("application/json", "Config"),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "posenc explorer", "version": version("posenc")},
        "paths": paths,
        "components": {"schemas": FORMS},
    }


def _operation(endpoint: Any) -> dict[str, Any]:
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": named("ViewKind"),
        }
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    return {
        "summary": endpoint.about,
        "parameters": in_path + [each.schema() for each in endpoint.parameters],
        "responses": _responses(endpoint.media, endpoint.form),
    }


def _responses(media: str, form: str | None) -> dict[str, Any]:
    refusal = {"application/json": {"schema": named("Refusal")}}
    refused = {"description": "refused", "content": refusal}
    answered = {
        "description": "answered",
        "content": {media: {"schema": named(form)} if form else {}},
    }
    return {"200": answered} | dict.fromkeys(REFUSALS, refused)
