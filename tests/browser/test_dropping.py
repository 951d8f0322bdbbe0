"""A file from outside that is dragged over the page and dropped there, as a hand does it."""

import json
from pathlib import Path

import pytest

from tests.browser.visit import Visit

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 2,
    "rope_theta": 500000.0,
}


class Hand:
    """A drag by the browser itself: the page gets events that it can trust."""

    def __init__(self, visit: Visit, file: Path) -> None:
        self.browser = visit.context.new_cdp_session(visit.page)
        box = visit.page.locator("main").bounding_box()
        assert box is not None
        self.held = {
            "data": {"items": [], "files": [str(file)], "dragOperationsMask": 1},
            "x": box["x"] + box["width"] / 2,
            "y": box["y"] + 40,
        }

    def does(self, *steps: str) -> None:
        for step in steps:
            self.browser.send("Input.dispatchDragEvent", {"type": step} | self.held)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def test_a_config_that_is_dropped_is_shown(visit: Visit, config: Path) -> None:
    config.write_text(json.dumps(LLAMA))
    visit.open()
    hand = Hand(visit, config)
    hand.does("dragEnter", "dragOver")
    visit.page.wait_for_selector(".zone.over")  # it says that it would take it
    hand.does("drop")
    visit.page.get_by_text("Loaded llama from its config.json.").wait_for()
    assert visit.page.locator(".zone.over").count() == 0
    visit.drawn()
    (expression,) = visit.state["e"]
    assert expression.startswith("RoPE(128,")
    assert "base=500000.0" in expression


def test_a_config_says_which_part_has_which_in_the_reader_s_language(
    visit: Visit, config: Path
) -> None:
    config.write_text(json.dumps({"model_type": "t5", "num_heads": 8, "num_layers": 2}))
    visit.open()
    Hand(visit, config).does("dragEnter", "dragOver", "drop")
    note = visit.page.locator("p.note[role=status]")
    note.get_by_text("layers 0-1 are in the encoder, 2-3 in the decoder").wait_for()
    encoder, decoder = visit.state["e"]
    spaced = [name.replace(",", ", ") for name in (encoder, decoder)]
    lines = note.locator(".line").all_inner_texts()
    assert lines[:2] == [f"{spaced[0]}: encoder", f"{spaced[1]}: decoder"]
    visit.page.locator("select").filter(has_text="日本語").select_option("ja")
    note.get_by_text("第 0-1 層はエンコーダー、第 2-3 層はデコーダーです").wait_for()
    assert visit.state["e"] == [encoder, decoder]


def test_a_note_that_took_its_place_stays_in_another_language(visit: Visit, config: Path) -> None:
    """The config was posted again, and its note was back."""
    config.write_text(json.dumps(LLAMA))
    visit.open()
    Hand(visit, config).does("dragEnter", "dragOver", "drop")
    note = visit.page.locator("p.note")
    note.get_by_text("Loaded llama from its config.json.").wait_for()
    visit.drawn()
    note.get_by_role("button", name="Close this note").click()
    menu = visit.page.locator("header details")
    menu.locator("summary").click()
    menu.locator("a", has_text="Python").click()
    note.get_by_text("Saved").wait_for()
    visit.requests.clear()
    visit.page.locator("select").filter(has_text="日本語").select_option("ja")
    note.get_by_text("保存しました").wait_for()
    visit.rest()
    assert [asked for asked in visit.requests if "api/v1/config" in asked] == []


BROKEN = [
    (b'{"model_type": "llama", ', "a config must be JSON"),
    (b"\xff\xfe\x00", "a config must be JSON"),
    (b"[]", "a config must be a JSON object"),
    (b'{"model_type": "nothing of the kind"}', "the config cannot be read"),
    (b" " * (256 * 1024 + 1), "at most 256 kB; config.json is larger"),
]


def test_a_broken_config_that_is_dropped_is_a_sentence(
    visiting, address: str, config: Path
) -> None:
    visit: Visit = visiting(address, refusals=True).open()
    before = visit.pixels()
    alert = visit.page.locator("p.note[role=alert]")
    for content, said in BROKEN:
        config.write_bytes(content)
        Hand(visit, config).does("dragEnter", "dragOver", "drop")
        alert.wait_for()
        assert said in alert.inner_text()
        assert "e" not in visit.state
        assert (visit.pixels() == before).all()
        alert.get_by_role("button", name="Close this note").click()
        alert.wait_for(state="detached")
