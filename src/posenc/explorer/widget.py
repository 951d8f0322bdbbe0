"""The explorer as a notebook widget, through anywidget: the same page, without a port."""

import logging
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.explorer import app, parameters, replies
from posenc.explorer.configs import describe_config
from posenc.explorer.encodings import page_query
from posenc.explorer.exports import File
from posenc.explorer.page import MISSING, STATIC
from posenc.explorer.parameters import RequestError, language
from posenc.i18n import Language, translate, translator


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

    def receive(_: Any, content: Any, __: Any) -> None:
        status, kind, body = answer(str(content.get("path", "")), content.get("body"), own)
        widget.send({"id": content.get("id"), "status": status, "type": kind}, buffers=[body])

    widget.on_msg(receive)
    return widget


def answer(path: str, body: str | None, own: dict[str, Encoding]) -> tuple[int, str, bytes]:
    """Status, media type and body of the response that the server would give to this path."""
    parts = urlsplit(path)
    query = parse_qs(parts.query, keep_blank_values=True)
    lang = language(query)
    try:
        return _answer(parts.path.removeprefix("/api/v1/"), query, body, own)
    except RequestError as error:
        return error.status, replies.JSON, replies.error(translate(error, lang), error.argument)
    except Exception:  # the page waits for an answer; the notebook shows the kernel's log
        logging.getLogger(__name__).exception("%s failed", path)
        return 500, replies.JSON, replies.error(translator(lang)(replies.FAILED))


def _answer(
    place: str, query: dict[str, list[str]], body: str | None, own: dict[str, Encoding]
) -> tuple[int, str, bytes]:
    if place == "config":
        given = (body or "").encode(errors="surrogatepass")
        replies.check_config(len(given))
        lang = parameters.read((parameters.LANG,), query)["lang"]
        return 200, replies.JSON, replies.as_json(describe_config(given, lang))
    for endpoint in app.ENDPOINTS:
        pattern = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", endpoint.path.removeprefix("/api/v1/"))
        if match := re.fullmatch(pattern, place):
            data = app.answer(endpoint, app.read_values(endpoint, query, match.groupdict()), own)
            if isinstance(data, File):
                return 200, data.media, data.whole()
            content = bytes(data) if isinstance(data, memoryview) else replies.as_json(data)
            return 200, endpoint.media, content
    return 404, replies.JSON, replies.error(replies.describe_status(translator(language(query))))
