"""Every view in every language draws, in that language, and nothing goes wrong meanwhile."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.places import LANGUAGES, TOUR_OF_VIEWS
from tests.browser.visit import Visit
from tests.slow import slow

EXAMPLES = {
    "en": "the dog bit the man",
    "ja": "犬が人を噛む",
    "zh-Hans": "狗咬了人",
    "zh-Hant": "狗咬了人",
}
TOKENS = {
    "en": ["the", "dog", "bit", "the", "man"],
    "ja": ["犬", "が", "人", "を", "噛む"],
    "zh-Hans": ["狗", "咬", "了", "人"],
    "zh-Hant": ["狗", "咬", "了", "人"],
}
HEADINGS = ("Sentence", "Encoding", "The cell", "Properties")

# The words of the page and of its parts that are read aloud, without what a reader has typed
# and what Python calls its own: encodings and their parameters.
WORDS = """
() => {
  const found = new Set();
  const python = "script, style, noscript, textarea, bdi, .fields, .chosen, .convention";
  const names = ["aria-label", "title", "placeholder", "aria-roledescription"];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, nodeValue } = walker.currentNode;
    if (!parentElement.closest(python)) found.add(nodeValue.trim());
  }
  for (const named of document.querySelectorAll(names.map((name) => `[${name}]`).join()))
    if (!named.closest(python)) names.forEach((name) => found.add(named.getAttribute(name) ?? ""));
  found.add(document.title);
  return [...found];
}
"""


LARGE = "rows=512"


def broken_links(visit: Visit) -> list[str]:
    """What the links of the menu say that give no file; pictures and pages are taken elsewhere."""
    links = visit.page.locator("header details a").evaluate_all("all => all.map(a => a.href)")
    quick = [link for link in links if re.search("export/(csv|npy|py)", link)]
    assert len(quick) >= 3
    answers = {link: visit.context.request.get(link) for link in quick}
    return [
        f"{link.split('export/')[1][:3]} {answer.text()}"
        for link, answer in answers.items()
        if not answer.ok
    ]


# Whether words are translated does not depend on the language: one is looked at in every view.
@pytest.mark.parametrize(
    ("lang", "places"),
    [
        ("ja", TOUR_OF_VIEWS),
        *((lang, {"RoPE": ("rotation",)}) for lang in LANGUAGES if lang.startswith("zh")),
        *slow(*((lang, TOUR_OF_VIEWS) for lang in LANGUAGES if lang != "ja")),
    ],
)
def test_every_view_draws_in_the_readers_language(
    visit: Visit, lang: str, places: dict[str, tuple[str, ...]]
) -> None:
    """And is asked for once, and every link of the menu gives its file."""
    visit.open(lang=lang)
    words = visit.api("messages", lang=lang)["messages"]
    assert visit.page.locator("#sentence").input_value() == EXAMPLES[lang]
    said: set[str] = set()
    wrong: list[str] = []
    for encoding, kinds in places.items():
        visit.choose(encoding)
        for kind in kinds:
            visit.show(kind)
            said |= set(visit.page.evaluate(WORDS))
            wrong += [f"{encoding} {kind}: {each}" for each in broken_links(visit)]
            asked = [url for url in visit.requests if f"/view/{kind}?" in url and LARGE in url]
            if len(asked) != 1:
                wrong.append(f"{encoding} {kind} was asked for {len(asked)} times")
        visit.requests.clear()
    assert not wrong, "\n".join(wrong)
    visit.page.get_by_text(words.get("Export", "Export"), exact=True).click()
    visit.page.get_by_role("button", name=words.get("Tour", "Tour"), exact=True).click()
    said |= set(visit.page.evaluate(WORDS))
    assert visit.page.locator("html").get_attribute("lang") == lang
    if lang != "en":
        assert {english: words.get(english) for english in HEADINGS if english not in words} == {}
        assert not {words[english] for english in HEADINGS} - said
        left = {english for english in said if words.get(english, english) != english}
        assert not left, f"English where there is a translation: {sorted(left)}"
        assert not {text for text in said if "{" in text}


@pytest.mark.parametrize(
    ("locale", "lang"),
    [("ja-JP", "ja"), ("zh-CN", "zh-Hans"), ("zh-HK", "zh-Hant"), ("fr-FR", "en")],
)
def test_the_language_is_the_browsers(visiting, address: str, locale: str, lang: str) -> None:
    visit = visiting(address, locale=locale).open()
    assert visit.page.locator("html").get_attribute("lang") == lang
    assert visit.page.locator("#sentence").input_value() == EXAMPLES[lang]
    assert visit.page.locator(".tokens bdi").all_inner_texts() == TOKENS[lang]


def test_another_language_can_be_chosen_and_changes_the_example(visit: Visit) -> None:
    visit.open()
    chooser = visit.page.locator("header select").last
    for lang in ("zh-Hant", "en", "zh-Hans", "ja", "zh-Hant"):
        chooser.select_option(lang)
        assert visit.page.locator("#sentence").input_value() == EXAMPLES[lang]
        visit.page.wait_for_selector(f"html[lang={lang}]")
        expect(visit.page.locator(".tokens bdi")).to_have_text(TOKENS[lang])
    visit.page.locator("#sentence").fill("typed by a reader")
    chooser.select_option("ja")
    visit.page.wait_for_selector("html[lang=ja]")
    assert visit.page.locator("#sentence").input_value() == "typed by a reader"
    assert visit.state["lang"] == ["ja"]


def test_the_first_page_is_the_example_with_its_sentence_selected(visit: Visit) -> None:
    visit.open()
    selected = visit.page.evaluate("getSelection().toString()")
    assert selected == EXAMPLES["en"]
    visit.page.keyboard.type("one word more")
    assert visit.page.locator("#sentence").input_value() == "one word more"
    visit.page.wait_for_selector(".tokens li:nth-child(3)")
