"""The explorer as a notebook widget, through anywidget: the same page, without a port."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.explorer.encodings import page_query
from posenc.explorer.endpoints import ENDPOINTS
from posenc.explorer.parameters import RequestError, language
from posenc.explorer.replies import JSON, MISSING, NOT_FOUND, STATIC, Reply, describe_error
from posenc.i18n import Language


@hinted("explore")
def explore(
    *encodings: Encoding | str, text: str | None = None, lang: Language | None = None
) -> Any:
    """The explorer as a notebook widget; `posenc explore` opens the same page in a browser.

    encodings  what to show: each a value (also of your own class), a name or an expression
    text       the sentence
    lang       the language of the page; by default that of the browser

    Needs anywidget.
    """
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name} is not installed; notebooks need: pip install '.[notebook]' in "
            "a clone of posenc",
            name=error.name,
        ) from error
    scripts, styles = (sorted((STATIC / "assets").glob(f"*.{end}")) for end in ("js", "css"))
    if not scripts:
        raise ValueError(MISSING)
    own: dict[str, Encoding] = {}
    query = page_query(encodings, own, text=text, lang=lang)

    class Widget(anywidget.AnyWidget):
        """The page, whose requests come as messages that this kernel answers."""

        _esm = scripts[0].read_text(encoding="utf-8")
        _css = styles[0].read_text(encoding="utf-8")
        state = traitlets.Unicode(query).tag(sync=True)

    widget = Widget()

    def receive(_: object, content: Mapping[str, str], __: object) -> None:
        status, kind, body = answer(str(content.get("path", "")), content.get("body"), own)
        widget.send({"id": content.get("id"), "status": status, "type": kind}, buffers=[body])

    widget.on_msg(receive)
    return widget


def answer(path: str, body: str | None, own: dict[str, Encoding]) -> tuple[int, str, bytes]:
    """Status, media type and body of the response that the server would give to this path."""
    parts = urlsplit(path)
    query = parse_qs(parts.query, keep_blank_values=True)
    try:
        given = (body or "").encode(errors="surrogatepass")
        reply = _reply(f"/api/v1/{parts.path.removeprefix('/api/v1/')}", query, given, own)
        return 200, reply.media, reply.whole()
    except Exception as error:  # the page waits for an answer; the notebook shows the kernel's log
        if not isinstance(error, RequestError):
            logging.getLogger(__name__).exception("%s failed", path)
        status, told = describe_error(error, language(query))
        return status, JSON, told


def _reply(path: str, query: dict[str, list[str]], body: bytes, own: dict[str, Encoding]) -> Reply:
    for endpoint in ENDPOINTS:
        in_path = endpoint.match(path)
        if in_path is not None:
            request, _ = endpoint.parse(endpoint.read(query, in_path, loaded=own, body=body))
            return endpoint.reply(request)
    raise RequestError(NOT_FOUND, status=404)
