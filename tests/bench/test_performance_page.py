"""docs/performance.md and the READMEs' speeds are those of the recorded run."""

import json

import pytest

from posenc.i18n import LANGUAGES
from tests.bench import performance_page
from tests.bench.performance_page import (
    MARKS,
    PAGE,
    RUN,
    build_page,
    build_table,
    judge_claims,
    readme_of,
    replace_table,
)


def test_the_page_is_that_of_the_recorded_run():
    assert PAGE.read_text() == build_page(json.loads(RUN.read_text())), "make performance-page"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_so_are_the_readmes(lang):
    text = readme_of(lang).read_text()
    table = build_table(json.loads(RUN.read_text()), lang)
    assert all(mark in text for mark in MARKS)
    assert text == replace_table(text, table), "make performance-page"


def test_a_claim_stands_with_the_range_of_what_was_measured(data):
    one = data["bars"][0]
    bars = [one | {"measured": value, "steady": True} for value in (1.23, 0.5, 3.0)]
    ((words, limit, measured, met),) = judge_claims(data | {"bars": bars}, "en")
    assert words == "rotating one token of 32 heads: time relative to `clone`"
    assert (limit, measured, met) == ("≤ 4", "0.5 … 3", True)
    bars[0] |= {"met": False, "steady": False}
    ((*_, measured, met),) = judge_claims(data | {"bars": bars}, "en")
    assert (measured, met) == ("~ 0.5 … 3", False)


def test_every_row_and_note_is_on_the_page(data):
    page = build_page(data)
    assert data["machine"]["cpu"] in page
    assert "1 of 2 bars are met" in page
    assert "| posenc, halves | 3 us | 3 | 0% | 5.0e-01 | at most 4 of clone: 3, met" in page
    assert "torchtune is not timed: torchtune must be installed." in page
    assert "wrong is off by 2, 2 times its bound; not timed." in page


def test_the_writer_takes_a_run_from_a_file(data, tmp_path, monkeypatch):
    for name in ("RUN", "PAGE"):
        monkeypatch.setattr(performance_page, name, tmp_path / name)
    monkeypatch.setattr(performance_page, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["page", str(tmp_path / "mine.json")])
    (tmp_path / "mine.json").write_text(json.dumps(data))
    for lang in LANGUAGES:
        head = "head\n|---|\n"
        readme_of(lang).write_text(f"before\n{MARKS[0]}{head}| old |\n{MARKS[1]}after\n")
    performance_page.main()
    assert (tmp_path / "PAGE").read_text() == build_page(data)
    written = (tmp_path / "README.ja.md").read_text()
    table = build_table(data, "ja")
    assert "1 トークン（32 ヘッド）" in table
    assert written == f"before\n{MARKS[0]}head\n|---|\n{table}{MARKS[1]}after\n"
