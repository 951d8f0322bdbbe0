"""Foreign hosts and origins, headers, methods, paths."""

import pytest

from posenc.explorer import app
from posenc.explorer.guard import HEADERS, POLICY
from tests.explorer.asking import Client

VIEW = b"/api/v1/colours"


def asked(client, *headers, method="GET", path=VIEW, **more):
    given = tuple((name.encode(), value.encode("latin-1")) for name, value in headers)
    return client.ask(method, path, headers=given, **more)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8765",
        "127.0.0.1",
        "localhost:8765",
        "localhost",
        "LOCALHOST:1",
        "[::1]:8765",
        "[::1]",
    ],
)
def test_its_own_hosts_are_answered(client, host):
    assert asked(client, ("host", host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "127.0.0.1.nip.io:8765",
        "localhost.evil.example",
        "localhost:8765.evil.example",
        "evil.example#localhost",
        "localhost@evil.example",
        "evil.example/localhost",
        "localhost.",
        "localhost.:8765",
        "127.0.0.1.",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0.0.0.0",
        "[::]",
        "::1",
        "[::1",
        "[::1]x",
        "[::ffff:127.0.0.1]",
        "localhost:",
        "localhost:x",
        "localhost:99999",
        "localhost:-1",
        "localhost:８０",
        " localhost",
        "localhost localhost",
        "localhost,evil.example",
        "xn--lcalhost-r0a",
        "192.168.1.7:8765",
    ],
)
def test_foreign_hosts_are_refused(client, host):
    """A page elsewhere whose name is made to point here (DNS rebinding) has that name as host."""
    given = host.encode()
    answer = client.ask("GET", VIEW, headers=((b"host", given),))
    assert answer.status == 403
    assert answer.message.startswith("the explorer answers to 127.0.0.1, localhost, [::1]; got")


def test_no_host_or_two_are_refused(client):
    assert asked(client).status == 403
    assert asked(client, ("host", "evil.example"), ("host", "localhost")).status == 403
    assert asked(client, ("host", "localhost"), ("host", "localhost")).status == 403


def test_the_address_that_was_connected_to_is_no_foreign_one(client):
    answer = asked(client, ("host", "192.168.1.7:8765"), server=("192.168.1.7", 8765))
    assert answer.status == 200
    answer = asked(client, ("host", "[fe80::1]:8765"), server=("fe80::1", 8765))
    assert answer.status == 200
    assert asked(client, ("host", ""), server=None).status == 403


def test_a_host_that_was_asked_for_is_answered():
    client = Client(hosts=("127.0.0.1", "My-Machine"))
    assert asked(client, ("host", "my-machine:8765")).status == 200
    assert asked(client, ("host", "localhost")).status == 403
    client.close()


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1:8765", "http://127.0.0.1:8765", 200),
        ("localhost:8765", "http://localhost:8765", 200),
        ("127.0.0.1:8765", "http://localhost:8765", 403),
        ("127.0.0.1:8765", "http://127.0.0.1:9999", 403),
        ("127.0.0.1:8765", "http://127.0.0.1", 403),
        ("127.0.0.1:8765", "https://127.0.0.1:8765", 403),
        ("127.0.0.1:8765", "http://evil.example", 403),
        ("127.0.0.1:8765", "http://127.0.0.1:8765.evil.example", 403),
        ("127.0.0.1:8765", "null", 403),
        ("127.0.0.1:8765", "", 403),
        ("127.0.0.1:8765", "file://", 403),
    ],
)
def test_foreign_origins_are_refused(client, host, origin, status):
    for method, path in (("GET", VIEW), ("POST", b"/api/v1/config"), ("GET", b"/")):
        answer = asked(client, ("host", host), ("origin", origin), method=method, path=path)
        wanted = 400 if status == 200 and method == "POST" else status  # no body was sent
        assert answer.status == wanted
    twice = ("origin", "http://127.0.0.1:8765"), ("origin", "http://evil.example")
    assert asked(client, ("host", host), *twice).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_may_link_to_the_page_but_not_ask(client, site):
    """Pictures and scripts of another page come without an origin."""
    headers = ("host", "127.0.0.1:8765"), ("sec-fetch-site", site)
    assert asked(client, *headers).status == 403
    assert asked(client, *headers, path=b"/assets/main.js").status == 403
    assert asked(client, *headers, path=b"/").status in (200, 503)
    for own in ("same-origin", "none"):
        assert asked(client, ("host", "localhost"), ("sec-fetch-site", own)).status == 200


def test_every_answer_carries_the_headers(client, monkeypatch, tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "main.js").write_text("1")
    (tmp_path / "index.html").write_text("<!doctype html>")
    monkeypatch.setattr(app, "STATIC", tmp_path)
    mine = Client()
    monkeypatch.setattr("posenc.explorer.answers.catalogue", lambda lang: 1 / 0)
    answers = {
        200: mine.get("/api/v1/colours"),
        201: mine.get("/"),
        202: mine.get("/assets/main.js"),
        400: mine.get("/api/v1/tokens", n="x"),
        404: mine.get("/nothing"),
        405: mine.ask("POST", VIEW),
        413: mine.get("/api/v1/tokens", text="x" * 3000),
        403: asked(mine, ("host", "evil.example")),
        500: mine.get("/api/v1/messages"),
        204: mine.get("/assets/none.js"),
    }
    mine.close()
    for answer in answers.values():
        for name, value in HEADERS:
            assert answer.headers[name.decode()] == value.decode()
    assert [answer.status for answer in answers.values()] == [
        200, 200, 200, 400, 404, 405, 413, 403, 500, 404
    ]  # fmt: skip
    assert answers[500].message == "the explorer failed at this; its log has the reason"
    assert "Traceback" not in answers[500].body.decode()
    assert b"ZeroDivision" not in answers[500].body


def test_the_policy_lets_in_nothing_inline_and_nothing_foreign():
    directives = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))
    assert directives["default-src"] == "'none'"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert "*" not in POLICY
    for name in ("script-src", "style-src", "connect-src", "font-src"):
        assert directives[name] == "'self'"
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert directives[name] == "'none'"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_only_get_and_head_are_answered(client, method):
    for path in (VIEW, b"/", b"/api/v1/openapi.json", b"/api/v1/view/heatmap", b"/api/v1/check"):
        answer = client.ask(method, path)
        assert answer.status == 405, path
        assert answer.message
        assert set(answer.headers["allow"].replace(" ", "").split(",")) == {"GET", "HEAD"}
    assert client.ask(method, b"/assets/main.js").status == 405


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_a_config_is_posted(client, method):
    answer = client.ask(method, b"/api/v1/config")
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"


def test_head_is_get_without_its_body(client):
    """The server leaves out the body; the length is there."""
    told = client.ask("HEAD", VIEW)
    assert told.status == 200
    assert told.headers["content-length"] == client.ask("GET", VIEW).headers["content-length"]


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../index.html",
        "/assets/%2e%2e/index.html",
        "/assets/..%2findex.html",
        "/assets/%2e%2e%2f%2e%2e%2fapp.py",
        "/assets/..%5c..%5capp.py",
        "/assets/%252e%252e/app.py",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/main.js%00.css",
        "/assets/%00",
        "/assets/%ff%fe",
        "/assets/" + "a" * 5000,
        "/assets/" + "a/" * 2000,
        "/assets/",
        "/assets",
        "/assets/.",
        "/assets/~root",
        "/static/index.html",
        "/app.py",
        "//etc/passwd",
        "/api/v1/../../app.py",
        "/api/v1/view/..%2f..%2fapp.py",
        "/api/v1/export/..%2fapp.py",
        "/api/v1/tokens/",
        "/%00",
        "/index.html",
    ],
)
def test_no_path_leads_to_a_file_that_is_not_an_asset(client, path):
    answer = client.ask("GET", path.encode())
    assert answer.status == 404
    assert answer.message
    assert "location" not in answer.headers


def test_a_link_out_of_the_assets_is_not_followed(monkeypatch, tmp_path):
    (tmp_path / "static" / "assets").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "static" / "assets" / "link.js").symlink_to(tmp_path / "secret")
    monkeypatch.setattr(app, "STATIC", tmp_path / "static")
    mine = Client()
    assert mine.get("/assets/link.js").status == 404
    mine.close()


@pytest.mark.parametrize("name", ["load", "file", "path", "config", "tokenizer"])
def test_no_parameter_names_a_file(client, name, tmp_path):
    """Neither by a parameter, nor as an encoding, nor in a config is a file read or code run."""
    mark = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(f"open({str(mark)!r}, 'w')\n")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    for file in (tmp_path / "mine.py", tmp_path / "config.json"):
        assert client.get("/api/v1/tokens", ("e", str(file))).status == 400
        assert client.get("/api/v1/tokens", (name, str(file))).argument == name
        assert client.post("/api/v1/config", f'"{file}"').status == 400
        assert client.post("/api/v1/config", {name: str(file), "model_type": 8}).status == 400
    assert client.get("/api/v1/tokens", e="os:getcwd").status == 400
    assert not mark.exists()


def test_web_sockets_are_closed(client):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "websocket", "path": "/", "headers": [(b"host", b"localhost")]}
    client.loop.run_until_complete(client.app(scope, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
