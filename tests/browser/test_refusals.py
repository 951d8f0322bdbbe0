"""What is refused: said in the reader's language, where the reader looks."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.browser.test_linking import give
from tests.browser.visit import Visit

HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
SPEAKING = {"ja": "指定された値", "zh-Hant": "實際為"}


def opened(visiting, address: str, **state) -> Visit:
    """The page in Japanese, its view refused or not."""
    visit: Visit = visiting(address, refusals=True)
    visit.page.goto(f"{address}?v=1&lang=ja&" + "&".join(f"{k}={v}" for k, v in state.items()))
    visit.page.wait_for_selector("#large .view[aria-busy=false]")
    return visit


def speak(visit: Visit, lang: str) -> None:
    visit.page.locator("header select").last.select_option(lang)


@pytest.mark.parametrize(
    ("asked", "beside"),
    [
        ({"e": "RoPE(7)"}, "[aria-labelledby=encoding-title]"),
        ({"e": "Sinusoidal(1024)", "n": 8192}, "[aria-labelledby=sentence-title]"),
    ],
)
def test_a_refused_view_is_a_sentence_where_the_picture_would_be(
    visiting, address: str, asked, beside: str
) -> None:
    visit = opened(visiting, address, **asked)
    here = visit.page.locator("#large .wrong.alone")
    there = visit.page.locator(f"{beside} .wrong[role=alert]")
    for lang, words in SPEAKING.items():
        speak(visit, lang)
        visit.page.wait_for_function(
            "(words) => document.querySelector('#large .wrong')?.textContent.includes(words)",
            arg=words,
        )
        assert here.inner_text() == there.inner_text()
    assert visit.page.locator("#large figure").count() == 0
    assert visit.page.locator("#large [role=alert]").count() == 0  # it is read out once
    assert here.bounding_box()["height"] > 100


def test_the_last_good_picture_stays_under_the_sentence(visiting, address: str) -> None:
    visit: Visit = visiting(address, refusals=True).open(lang="ja", e="Sinusoidal(1024)", n=16)
    before = visit.pixels()
    number = visit.page.locator("[aria-labelledby=sentence-title] input[type=number]").first
    number.fill("8192")
    said = visit.page.locator("#large .wrong")
    said.wait_for()
    assert "4,194,304" in said.inner_text()
    assert HAN.search(said.inner_text())
    np.testing.assert_array_equal(visit.pixels(), before)
    assert said.bounding_box()["y"] < visit.picture.bounding_box()["y"]
    number.fill("32")
    said.wait_for(state="detached")


def test_a_refused_parameter_changes_its_language(visiting, address: str) -> None:
    visit = opened(visiting, address)
    dim = visit.page.locator("input[type=number][aria-label=dim]")
    dim.fill("5000")
    dim.press("Enter")
    said = visit.page.locator(".fields [role=alert]")
    said.wait_for()
    for lang, words in SPEAKING.items():
        speak(visit, lang)
        said.filter(has_text=words).wait_for()
        assert "4,096" in said.inner_text()


def test_a_broken_config_is_seen_in_the_readers_language_and_can_be_closed(
    visiting, address: str, tmp_path: Path
) -> None:
    visit = opened(visiting, address)
    visit.page.set_viewport_size({"width": 1000, "height": 500})
    visit.page.evaluate("scrollTo(0, document.body.scrollHeight)")  # where files are chosen
    assert visit.page.evaluate("scrollY") > 100
    give(visit, '{"model_type": "llama", "hidden_size": "many"}', tmp_path, "chosen")
    visit.page.locator("p.note[role=alert]").wait_for()
    assert visit.page.evaluate("scrollY") > 100
    assert 0 <= visit.page.locator("p.note").bounding_box()["y"] < 100
    said = visit.page.locator("p.note[role=alert]")
    for lang, words in SPEAKING.items():
        speak(visit, lang)
        said.filter(has_text=words).wait_for()
        assert "hidden_size" in said.inner_text()
    said.get_by_role("button").click()
    said.wait_for(state="detached")


def test_a_server_that_has_gone_is_said(visiting, address: str) -> None:
    visit = opened(visiting, address)
    visit.page.route("**/api/v1/view/**", lambda route: route.abort())
    visit.page.locator("#tab-similarity").click()
    visit.page.locator("#large .wrong[role=alert]").filter(has_text="posenc explore").wait_for()
    visit.problems.clear()
