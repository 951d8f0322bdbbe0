"""Sentences of every kind: what a token is, nothing replaced, nothing too long or too short."""

import pytest

from tests.browser.visit import Visit
from tests.slow import slow

EMOJI = "👩‍👩‍👧 naïve é 学习"


def labels(visit: Visit) -> list[str]:
    visit.page.wait_for_function("() => document.querySelector('.tokens')")
    return visit.page.locator(".tokens bdi").all_inner_texts()


def test_every_way_of_making_tokens_is_shown(visit: Visit) -> None:
    visit.open()
    visit.page.locator("#sentence").fill(EMOJI)
    for by in ("bpe", "words", "spaces", "characters", "bytes"):
        visit.page.locator("[aria-labelledby=sentence-title] select").select_option(by)
        tokens_are_shown(visit, by)


def tokens_are_shown(visit: Visit, by: str) -> None:
    expected = [token["label"] for token in visit.api("tokens", text=EMOJI, by=by)["tokens"]]
    visit.page.wait_for_function(
        "(count) => document.querySelectorAll('.tokens bdi').length === count", arg=len(expected)
    )
    visit.drawn()
    seen = [f"␣{label[1:]}" if label[:1] == " " and label[1:] else label for label in expected]
    assert [label.strip() for label in labels(visit)] == [label.strip() for label in seen]
    assert by != "bpe" or any(label.startswith("␣") for label in seen)
    assert "\ufffd" not in visit.page.locator("body").inner_text()
    assert visit.pixels().shape[0] == len(expected)
    if by == "bytes":  # a split character is shown as its bytes
        assert "学 1/3 E5" in expected


ALL = ("waves", "similarity", "sum", "attention")


# Whichever the tokens are, their names stand in the same places: all views have one and several.
@pytest.mark.parametrize(
    ("text", "count", "kinds"),
    [
        ("AI", 1, ALL),
        ("שלום עולם מרחבא مرحبا", 4, ALL),
        ("e\u0301 a\u0308", 2, ("similarity",)),
        ("", 0, ("similarity",)),
        ("𝕏 \u202eabc\u202c <b>&amp;</b>", None, ("attention",)),
        *slow(("e\u0301 a\u0308", 2, ALL), ("𝕏 \u202eabc\u202c <b>&amp;</b>", None, ALL)),
    ],
    ids=["one token", "right to left", "combining", "empty", "odd", "combining, all", "odd, all"],
)
def test_unusual_sentences_are_drawn(
    visit: Visit, text: str, count: int | None, kinds: tuple[str, ...]
) -> None:
    visit.open(text=text, by="spaces")
    shown = labels(visit)
    assert count is None or len(shown) == count
    assert visit.page.locator("#sentence").input_value() == text
    assert visit.page.locator("b:has-text('&amp;')").count() == 0
    for kind in kinds:
        visit.show(kind)
    assert "\ufffd" not in visit.page.locator("body").inner_text()


def test_a_sentence_of_2000_characters(visit: Visit) -> None:
    text = ("位置を知る transformer " * 200)[:2000]
    visit.open(text=text, by="characters")
    assert visit.pixels().shape[0] >= 400
    tokens = len(visit.api("tokens", text=text, by="characters")["tokens"])
    assert str(tokens) in visit.page.locator("#sentence-note").inner_text().replace(",", "")
    more = visit.page.locator("[aria-labelledby=sentence-title] button", has_text=str(tokens))
    more.click()
    assert visit.page.locator(".tokens li").count() == tokens
    visit.page.locator("#sentence").fill("short")
    visit.page.wait_for_function("() => document.querySelectorAll('.tokens li').length === 5")


@pytest.mark.parametrize("dim", [2, 4096])
def test_smallest_and_largest_dimension(visit: Visit, dim: int) -> None:
    visit.open(e=f"Sinusoidal({dim})")
    assert visit.pixels().shape[1] >= min(dim, 512)
    for kind in ("waves", "wavelengths", "similarity", "sum"):
        visit.show(kind)
    visit.open(e=f"Sinusoidal({dim})", d=dim - 1, p=4)
    assert visit.cell.endswith(str(dim - 1))


LOOKS = "all => all.map(getComputedStyle).map((s) => s.border{side}Color + s.border{side}Style)"


def test_tokens_beyond_the_colours_have_another_stroke(visit: Visit) -> None:
    visit.open(text=" ".join("abcdefghijklmnopqrstuvwxyzABCDEF"), by="spaces")
    looks = visit.page.locator(".tokens button").evaluate_all(LOOKS.format(side="Bottom"))
    assert len(set(looks)) == 32
    rows = visit.page.locator("#large .labels.rows span").evaluate_all(LOOKS.format(side="Right"))
    assert rows == looks
    visit.open(text=" ".join("abcdefghijkl"), by="spaces", e="RoPE(64)", view="rotation")
    strokes = (
        "all => all.map((e) => [e.getAttribute('stroke'), e.getAttribute('stroke-dasharray')] + '')"
    )
    hands = visit.page.locator("#large .dials li").first.locator("line").evaluate_all(strokes)
    assert len(set(hands)) == 12
    assert visit.page.locator("#large .legend path").evaluate_all(strokes) == hands
