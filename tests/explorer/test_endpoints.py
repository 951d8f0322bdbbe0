"""The description, and requests that schemathesis makes out of it."""

import warnings

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from posenc.explorer import saved_page
from posenc.explorer.endpoints import ENDPOINTS
from tests.explorer.asking import HOST, Client

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the libraries that it imports
    import requests
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.core.transport import Response
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

SLOW = ("/api/v1/check",)
"""Left to the tests of forms: a verdict takes seconds."""


@pytest.fixture(scope="module")
def described(client):
    return client.get("/api/v1/openapi.json").json


def test_every_address_is_described(described):
    assert described["openapi"].startswith("3.1")
    assert set(described["paths"]) == {each.path for each in ENDPOINTS} | {"/api/v1/config"}
    for path, operations in described["paths"].items():
        (operation,) = operations.values()
        assert operation["summary"], path
        assert {"200", "400", "403", "413", "503"} <= set(operation["responses"])
        (content,) = operation["responses"]["200"]["content"].items()
        assert ("schema" in content[1]) == (content[0] == "application/json"), path


def test_defaults_and_examples_are_what_is_described(described):
    for operations in described["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                schema = parameter["schema"]
                for value in (schema.get("default"), parameter.get("example")):
                    if value is not None:
                        assert jsonschema_rs.is_valid(schema, value), parameter["name"]


def operations(described):
    loaded = schemathesis.openapi.from_dict(described)
    for result in loaded.get_all_operations():
        yield result.ok()


def sent(client: Client, case):
    """The case, sent as it is, and what came back."""
    request = case.as_transport_kwargs(base_url="http://127.0.0.1:8765")
    made = requests.Request(
        request["method"], request["url"], params=request.get("params"),
        json=request.get("json"), data=request.get("data"),
    ).prepare()  # fmt: skip
    path, _, query = made.path_url.partition("?")
    body = made.body or b""
    body = body.encode() if isinstance(body, str) else body
    headers = (HOST, (b"content-type", b"application/json"))
    answer = client.ask(
        made.method, path.encode("latin-1"), query.encode("latin-1"), headers=headers, body=body
    )
    headers = {name: [value] for name, value in answer.headers.items()}
    return Response(answer.status, headers, answer.body, made, elapsed=0.0, verify=False)


CONFORMANCE = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def conforms(response, case):
    """One of the statuses, in the form, that the description has for it."""
    assert response.status_code < 500, response.content
    case.validate_response(response, checks=CONFORMANCE)


def asked(client, operation, strategy, examples):
    """How many requests were drawn and answered as they should be."""
    count = 0

    @given(strategy)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case):
        nonlocal count
        count += 1
        conforms(sent(client, case), case)

    ask()
    return count


def run(client, described, examples):
    count = 0
    for operation in operations(described):
        if operation.path not in SLOW:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                strategy = operation.as_strategy(generation_mode=mode)
                count += asked(client, operation, strategy, examples)
    return count


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
def test_what_schemathesis_asks_is_answered_as_described(
    client, described, no_verdicts, monkeypatch
):
    """Pages to be saved without verdicts and with few cells: they take seconds."""
    monkeypatch.setattr(saved_page, "CELLS", 32)
    assert run(client, described, 2) > 40


@pytest.mark.explorer_slow
@pytest.mark.filterwarnings("ignore")
def test_much_that_schemathesis_asks_is_answered_as_described(client, described):
    print(f"\nschemathesis: {run(client, described, 150)} requests")
