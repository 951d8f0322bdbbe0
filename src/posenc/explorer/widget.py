"""The explorer in a cell of a notebook, through anywidget: the same page, no port to open."""

import logging
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from posenc.explorer import parameters, replies
from posenc.explorer.answers import config
from posenc.explorer.app import ENDPOINTS, answered, read
from posenc.explorer.encodings import page_query
from posenc.explorer.exports import File
from posenc.explorer.page import MISSING, STATIC
from posenc.explorer.parameters import Refused, language
from posenc.hints import hinted
from posenc.mechanisms import Encoding
from posenc.messages import told, translator


@hinted("explore")
def explore(*encodings: Encoding | str, text: str | None = None, lang: str | None = None) -> Any:
    """The explorer as a widget of a notebook, showing these; `posenc explore` is the page.

    An encoding is a value (also one of your own), a name or an expression. Needs anywidget.
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
        """The page; what it asks comes as messages and is answered by this kernel."""

        _esm = scripts[0].read_text(encoding="utf-8")
        _css = styles[0].read_text(encoding="utf-8")
        state = traitlets.Unicode(query).tag(sync=True)

    widget = Widget()

    def hear(_: Any, content: Any, __: Any) -> None:
        status, kind, body = answer(str(content.get("path", "")), content.get("body"), own)
        widget.send({"id": content.get("id"), "status": status, "type": kind}, buffers=[body])

    widget.on_msg(hear)
    return widget


def answer(path: str, body: str | None, own: dict[str, Encoding]) -> tuple[int, str, bytes]:
    """Status, media type and bytes of what the page asks, as the server would answer."""
    parts = urlsplit(path)
    query = parse_qs(parts.query, keep_blank_values=True)
    lang = language(query)
    try:
        return _answered(parts.path.removeprefix("/api/v1/"), query, body, own)
    except Refused as error:
        return error.status, replies.JSON, replies.error(told(error, lang), error.argument)
    except Exception:  # the page waits for an answer; a notebook shows the log of its kernel
        logging.getLogger(__name__).exception("%s failed", path)
        return 500, replies.JSON, replies.error(translator(lang)(replies.FAILED))


def _answered(
    place: str, query: dict[str, list[str]], body: str | None, own: dict[str, Encoding]
) -> tuple[int, str, bytes]:
    if place == "config":
        given = (body or "").encode(errors="surrogatepass")
        replies.check_config(len(given))
        lang = parameters.read((parameters.LANG,), query)["lang"]
        return 200, replies.JSON, replies.as_json(config(given, lang))
    for endpoint in ENDPOINTS:
        pattern = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", endpoint.path.removeprefix("/api/v1/"))
        if match := re.fullmatch(pattern, place):
            made = answered(endpoint, read(endpoint, query, match.groupdict()), own)
            if isinstance(made, File):
                return 200, made.media, made.whole()
            data = bytes(made) if isinstance(made, memoryview) else replies.as_json(made)
            return 200, endpoint.media, data
    return 404, replies.JSON, replies.error(replies.not_there(translator(language(query))))
