"""The report as a page: complete, in four languages, with what it quotes escaped."""

import re
from html.parser import HTMLParser

import pytest

from posenc.i18n import LANGUAGES, translator
from posenc.lab.page import write_page
from posenc.lab.record import Failure
from posenc.lab.results import summarise
from tests.lab.runs import TINY, make_record
from tests.lab.test_picture import RECORDS

VOID = {"meta", "input"}


class Reader(HTMLParser):
    """Fails on tags that are not closed in order; collects texts by language."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.points = [], dict[str, str](), []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert not {"src", "href"} & attrs.keys(), "nothing is fetched"
        self.points += [attrs["points"]] if tag == "polyline" else []
        if tag not in VOID:
            self.open.append((tag, attrs.get("lang")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_startendtag(self, tag, attrs):
        self.points += [dict(attrs)["points"]] if tag == "polyline" else []

    def handle_data(self, data):
        lang = next((lang for _, lang in reversed(self.open) if lang), "")
        self.texts[lang] = self.texts.get(lang, "") + data + "\n"


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_has_the_whole_report(lang):
    page = read(write_page(summarise(RECORDS, [Failure(TINY, "it <b>roke")], ["abc"])))
    t, text = translator(lang), page.texts[lang]
    for words in ("train short, test long", "encoding", "not trained", "refused"):
        assert t(words) in text
    assert "0.85 ±0.64" in text
    assert "it <b>roke" in text
    assert "abc" in text


def test_lines_go_down_where_scores_do():
    page = read(write_page(summarise([make_record(0.5)])))
    ((first, last),) = {tuple(points.split()) for points in page.points}
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in (first, last))
    assert x1 < x2
    assert y1 < y2
    top, bottom = 10, 280 - 36
    assert (y2 - top) / (bottom - top) == pytest.approx(0.5, abs=0.01)


def test_names_are_escaped_and_no_script_is_needed():
    hostile = make_record(encoding="RoPE(8)<script>alert(1)</script>")
    page = write_page(summarise([hostile]))
    assert "<script" not in page
    assert not re.search(r"https?://", page)


def test_no_run_is_a_page_too():
    assert "train short" in read(write_page(summarise([]))).texts["en"]
