"""The application: its page, and what is at no address."""

import asyncio

import pytest

from posenc.explorer import app
from posenc.i18n import translator


def test_without_a_page_the_address_says_so(monkeypatch, client, tmp_path):
    monkeypatch.setattr(app, "STATIC", tmp_path / "none")
    answer = client.get("/")
    assert answer.status == 503
    assert answer.body.decode().startswith("The explorer's page was not built.")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", b"/api/v1/nothing", 404, "there is nothing at this address"),
        ("GET", b"/api/v1/colours/", 404, "there is nothing at this address"),
        ("DELETE", b"/api/v1/colours", 405, "this address does not take this method"),
    ],
)
def test_what_is_not_there_is_a_sentence_in_the_language(client, method, path, status, message):
    answer = client.ask(method, path, b"")
    assert (answer.status, answer.message) == (status, message)
    assert client.ask(method, path, b"lang=ja").message == translator("ja")(message) != message


def test_a_closed_application_closes_its_workers():
    closed = []

    class Closing:
        def close(self):
            closed.append(self)

    crew = app.Crew(*(Closing() for _ in range(4)))

    async def live():
        async with app.application(crew=crew).app.router.lifespan_context(None):
            assert closed == []

    asyncio.run(live())
    assert closed == [*crew]


def test_a_reply_is_a_file_if_it_has_a_name():
    plain, named = (app._response(app.Reply(b"1", "text/csv", name)) for name in ("", "a.csv"))
    assert "content-disposition" not in plain.headers
    assert named.headers["content-disposition"] == 'attachment; filename="a.csv"'
    assert named.media_type == "text/csv"
