"""One cursor: token, row, column and cell are the same place, by hover and by click."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.browser.server import explorer
from tests.browser.visit import Visit

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
LLAMA_SPELLED = "RoPE(128, base=500000.0, pairing='halves', scaling=Llama3(8.0, 8192))"

MINE = """
from dataclasses import dataclass
import numpy as np
import posenc as pe

@dataclass(frozen=True)
class Clock(pe.Additive):
    dim: int = 2
    def encode(self, positions, params=None, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.pi / 6
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1).astype(dtype or float)

clock = Clock()
"""


def cell_centre(visit: Visit, row: int, column: int) -> dict[str, float]:
    """Where a cell of the first picture is, from its left and top."""
    box = visit.picture.bounding_box()
    assert box is not None
    height, width = visit.pixels().shape[:2]
    return {"x": (column + 0.5) * box["width"] / width, "y": (row + 0.5) * box["height"] / height}


def test_hovering_a_token_marks_its_row_and_its_cell(visit: Visit) -> None:
    visit.open()
    visit.page.locator(".tokens button").nth(4).hover()
    visit.page.wait_for_selector("[aria-labelledby=cell-title] h3:has-text('man')")
    assert visit.page.locator("#large .labels.rows .here").inner_text() == "man"
    assert "p" not in visit.state  # looked at, not pinned
    visit.page.mouse.move(5, 5)
    assert "bit" in visit.cell


def test_hovering_a_cell_marks_its_token_and_a_click_pins_it(visit: Visit) -> None:
    visit.open()
    visit.picture.hover(position=cell_centre(visit, 1, 20))
    assert visit.page.locator(".tokens .here").inner_text() == "1 dog"
    assert "dog" in visit.cell
    assert visit.cell.endswith("20")
    visit.picture.click(position=cell_centre(visit, 3, 33))
    visit.page.mouse.move(5, 5)
    assert visit.page.locator(".tokens .here").inner_text() == "3 the"
    assert (visit.state["p"], visit.state["d"]) == (["3"], ["33"])
    value = visit.api("cell", text="the dog bit the man", by="words", e="Sinusoidal(64)", p=3, d=33)
    library = visit.page.locator("[aria-labelledby=cell-title] dd.value")
    visit.rest()
    assert float(library.inner_text().replace("−", "-")) == pytest.approx(value["value"], abs=1e-8)
    assert visit.page.locator("[aria-labelledby=cell-title] math").count() >= 2


def test_what_is_pinned_is_marked_in_all_views(visit: Visit) -> None:
    visit.open(p=2, d=9)
    for kind in ("similarity", "sum", "attention"):
        visit.show(kind)
        assert visit.page.locator("#large .labels.rows .here").first.inner_text() == "bit"
    visit.show("waves")
    expected = visit.api("cell", e="Sinusoidal(64)", p=2, d=9)["truth"]
    readout = visit.page.locator("#large .legend li").filter(has_text="dimension 9").locator("b")
    shown = float(readout.inner_text().replace("\N{MINUS SIGN}", "-"))
    assert shown == pytest.approx(expected, abs=5e-4)


def test_a_token_keeps_its_colour(visit: Visit) -> None:
    visit.open(view="similarity")
    colour = "e => getComputedStyle(e).borderBottomColor"
    tokens = visit.page.locator(".tokens button").evaluate_all(f"all => all.map({colour})")
    edge = "e => getComputedStyle(e).borderRightColor"
    rows = visit.page.locator("#large .labels.rows span").evaluate_all(f"all => all.map({edge})")
    assert tokens == rows
    assert len(set(tokens)) == 5


@pytest.mark.parametrize(("std", "scales"), [(0.3, 1), (0.02, 2)])
def test_two_encodings_share_a_scale_unless_one_would_be_blank(
    visit: Visit, std: float, scales: int
) -> None:
    pair = [f"Learned(64,64,std={std})", "Sinusoidal(64)"]
    visit.open(e=pair)
    assert visit.page.locator("#large .picture").count() == 2
    values = visit.api("view/heatmap", text="the dog bit the man", by="words", e=pair)
    assert len({panel["limit"] for panel in values["panels"]}) == scales
    small, large = (visit.pixels(place)[..., :3].astype(float).std() for place in (0, 1))
    assert small > large / 5  # on a scale of its own 0.02 is as strong as 1


def test_the_cell_is_that_of_the_picture_under_the_pointer(visit: Visit) -> None:
    visit.open(e=["Sinusoidal(8)", "Sinusoidal(8, base=2.0)"], view="heatmap", p=3, d=4)
    cell = visit.page.locator("[aria-labelledby=cell-title]")

    def library() -> float:
        visit.page.wait_for_selector("[aria-labelledby=cell-title][aria-busy=false]")
        return float(cell.locator(".value").inner_text().replace("\N{MINUS SIGN}", "-"))

    def expected(place: int) -> float:
        query = {"e": visit.state["e"][place], "p": 3, "d": 4}
        return float(visit.api("cell", **query)["value"])

    _, second = visit.page.locator("#large .picture").all()
    assert expected(0) != expected(1)
    assert library() == pytest.approx(expected(0), abs=1e-7)
    at = cell_centre(visit, 3, 4)
    second.hover(position=at)  # pyright: ignore[reportArgumentType]
    cell.get_by_text("base=2.0").first.wait_for()
    visit.rest()
    assert library() == pytest.approx(expected(1), abs=1e-7)
    assert "a" not in visit.state  # looked at, not chosen
    second.click(position=at)  # pyright: ignore[reportArgumentType]
    visit.page.mouse.move(5, 5)
    assert visit.state["a"] == ["1"]
    assert visit.page.locator(".chosen .name[aria-pressed=true]").inner_text().endswith("base=2.0)")
    visit.page.reload()
    visit.drawn()
    assert library() == pytest.approx(expected(1), abs=1e-7)


def test_the_cell_of_a_map_is_that_of_its_row_column_and_dimension(visit: Visit) -> None:
    visit.open(e="AxialSinusoidal(16)")
    panels = visit.api("view/maps", e="AxialSinusoidal(16)")["panels"]
    picture = visit.page.locator("#large .picture").nth(5)
    box = picture.bounding_box()
    assert box is not None
    at = {"x": box["width"] * 3.5 / 16, "y": box["height"] * 12.5 / 16}
    picture.click(position=at)  # pyright: ignore[reportArgumentType]
    visit.page.mouse.move(5, 5)
    channel = panels[5]["channel"]
    assert visit.cell == f"row 12, column 3, dimension {channel}"
    visit.rest()
    value = visit.page.locator("[aria-labelledby=cell-title] .value").inner_text()
    shown = panels[5]["values"][12][3]
    assert float(value.replace("\N{MINUS SIGN}", "-")) == pytest.approx(shown, abs=1e-6)
    assert [visit.state[part] for part in "pkd"] == [["12"], ["3"], [str(channel)]]


def test_the_cell_of_a_bias_is_that_of_the_head_under_the_pointer(visit: Visit) -> None:
    visit.open(e="T5Bias(8)")
    panels = visit.api("view/bias", e="T5Bias(8)", text="the dog bit the man", by="words")["panels"]
    images = [panel for panel in panels if panel["panel"] == "image"]
    picture = visit.page.locator("#large .picture").nth(1)
    box = picture.bounding_box()
    assert box is not None
    at = {"x": box["width"] * 0.5 / 5, "y": box["height"] * 3.5 / 5}
    picture.hover(position=at)  # pyright: ignore[reportArgumentType]
    head = images[1]["channel"]
    visit.page.wait_for_selector(f"h3:has-text('head {head + 1}, query 3')")
    visit.rest()
    value = visit.page.locator("[aria-labelledby=cell-title] .value").inner_text()
    shown = images[1]["values"][3][0]
    assert float(value.replace("\N{MINUS SIGN}", "-")) == pytest.approx(shown, abs=1e-6)


def test_the_cell_works_the_number_of_the_view(visit: Visit) -> None:
    visit.open(e="Sinusoidal(8)", view="similarity")
    for kind, place in (("similarity", 0), ("products", 0), ("attention", 2), ("sum", 2)):
        visit.page.mouse.move(5, 5)
        visit.show(kind)
        the_cell_works(visit, kind, place)


@pytest.mark.parametrize(
    ("e", "view", "number"),
    [
        ("AxialSinusoidal(64)", "similarity", "the value of dimension 2"),
        ("AxialRoPE.split(64)", "similarity", "the cosine that multiplies dimension 4"),
        ("RoPE(64)", "wavelengths", "the cosine that multiplies dimension"),
        ("RoPE(64)", "decay", "the cosine that multiplies dimension"),
        ("RoPE(64, scaling=YaRN(4.0, 4096))", "scalings", "the cosine that multiplies dimension"),
    ],
)
def test_the_cell_says_what_it_works_out_where_the_view_draws_other_numbers(
    visit: Visit, e: str, view: str, number: str
) -> None:
    visit.open(e=e, view=view, d=2)
    visit.rest()
    cell = visit.page.locator("[aria-labelledby=cell-title]")
    assert f"is not drawn in this view: it is {number}" in cell.inner_text()
    assert cell.locator(".value").count() == 0  # nothing that stands out as the picture's number
    visit.open(e=e, view="heatmap" if "Axial" not in e else "maps")
    visit.rest()
    assert "is not drawn" not in cell.inner_text()
    assert cell.locator(".value").count() == 1


def the_cell_works(visit: Visit, kind: str, place: int) -> None:
    picture = visit.page.locator("#large .picture").nth(place)
    box = picture.bounding_box()
    assert box is not None
    columns = 8 if kind == "sum" else 5
    at = {"x": box["width"] * 1.5 / columns, "y": box["height"] * 3.5 / 5}
    picture.hover(position=at)  # pyright: ignore[reportArgumentType]
    asked = {"e": "Sinusoidal(8)", "text": "the dog bit the man", "by": "words"}
    images = [panel for panel in visit.api(f"view/{kind}", **asked)["panels"] if "rows" in panel]
    shown = images[place]["values"][3][1]
    cell = visit.page.locator("[aria-labelledby=cell-title]")
    visit.rest()
    value = float(cell.locator(".value").inner_text().replace("\N{MINUS SIGN}", "-"))
    assert value == pytest.approx(shown, abs=1e-6)
    assert "dog" in visit.cell or kind == "sum"


def test_colours_are_those_of_the_values(visit: Visit) -> None:
    visit.open()
    shown = visit.pixels()[..., :3]
    image = visit.api("view/heatmap", text="the dog bit the man", by="words")["panels"][0]
    table = np.asarray(visit.api("colours", theme="light")["diverging"])
    places = (np.asarray(image["values"]) / image["limit"] + 1) / 2 * 255
    expected = table[np.clip(np.round(places), 0, 255).astype(int)]
    assert np.abs(shown.astype(int) - expected).max() <= 12  # a neighbour in the map at most


@pytest.mark.parametrize("how", ["chosen", "dropped"])
def test_a_config_shows_that_models_encoding(visit: Visit, tmp_path: Path, how: str) -> None:
    visit.open()
    give(visit, json.dumps(LLAMA), tmp_path, how)
    visit.page.wait_for_selector("p.note[role=status]")
    visit.drawn()
    assert visit.page.locator(".chosen .name").all_inner_texts() == [LLAMA_SPELLED]
    assert "llama" in visit.page.locator("p.note[role=status]").inner_text()
    assert visit.state["e"] == [LLAMA_SPELLED.replace(", ", ",")]


BROKEN = [
    "{",
    "[1, 2]",
    '{"model_type": "llama", "hidden_size": "many"}',
    '{"model_type": "no-such"}',
    "x" * 300_000,
]


def test_a_broken_config_is_a_sentence_and_the_picture_stays(
    visiting, address: str, tmp_path: Path
) -> None:
    visit: Visit = visiting(address, refusals=True).open()
    before = visit.pixels()
    said = visit.page.locator("p.note[role=alert]")
    sentences: list[str] = []
    for text in BROKEN:
        give(visit, text, tmp_path, "chosen")
        said.wait_for()
        sentences.append(said.inner_text())
        np.testing.assert_array_equal(visit.pixels(), before)
        if text != BROKEN[-1]:
            said.get_by_role("button", name="Close this note").click()
            said.wait_for(state="detached")
    assert all(len(each) > 15 and "Traceback" not in each for each in sentences), sentences
    give(visit, json.dumps(LLAMA), tmp_path, "chosen")
    said.wait_for(state="detached")


def give(visit: Visit, text: str, folder: Path, how: str) -> None:
    if how == "chosen":
        file = folder / "config.json"
        file.write_text(text)
        visit.page.set_input_files("input[type=file]", [])
        visit.page.set_input_files("input[type=file]", file)
        return
    transfer = visit.page.evaluate_handle(
        """(text) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([text], "config.json", { type: "application/json" }));
          return transfer;
        }""",
        text,
    )
    visit.page.dispatch_event(".views", "dragover", {"dataTransfer": transfer})
    assert visit.page.locator(".zone.over").count() == 1
    visit.page.dispatch_event(".views", "drop", {"dataTransfer": transfer})


def test_a_wrong_parameter_is_a_sentence_beside_it_and_the_picture_stays(
    visiting, address: str
) -> None:
    visit: Visit = visiting(address, refusals=True).open()
    before = visit.pixels()
    dim = visit.page.locator("input[type=number][aria-label=dim]")
    dim.fill("5000")
    dim.press("Enter")
    said = visit.page.locator(".fields [role=alert]")
    said.wait_for()
    assert "4,096" in said.inner_text()
    np.testing.assert_array_equal(visit.pixels(), before)
    dim.fill("32")
    dim.press("Enter")
    said.wait_for(state="detached")
    visit.drawn()
    assert visit.pixels().shape == (5, 32, 4)


def test_a_scaling_is_chosen_and_its_fields_change(visit: Visit) -> None:
    visit.open(e="RoPE(64)")
    visit.page.locator(".fields select").last.select_option("YaRN")
    visit.page.wait_for_selector(".chosen .name:has-text('YaRN')")
    assert visit.state["e"] == ["RoPE(64,scaling=YaRN(4.0,4096))"]
    factor = visit.page.locator(".inner input[type=number][aria-label=factor]")
    factor.fill("16")
    factor.press("Enter")
    visit.page.wait_for_selector(".chosen .name:has-text('16')")
    assert visit.state["e"] == ["RoPE(64,scaling=YaRN(16.0,4096))"]


@pytest.fixture(scope="module")
def with_mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("mine") / "mine.py"
    file.write_text(MINE)
    with explorer("--load", str(file)) as running:
        yield running


def test_an_encoding_of_ones_own_is_drawn(visiting, with_mine: str) -> None:
    visit: Visit = visiting(with_mine).open()
    visit.choose("clock")
    assert visit.state["e"] == ["clock"]
    assert visit.pixels().shape == (5, 2, 4)
    assert visit.cell.endswith(("0", "1"))  # it has two dimensions
    for kind in ("waves", "similarity", "attention"):
        visit.show(kind)


def test_an_encoding_of_ones_own_is_measured(visiting, with_mine: str) -> None:
    visit: Visit = visiting(with_mine, measuring=True, refusals=True).open(e="clock")
    properties = visit.page.locator("[aria-labelledby=properties-title]")
    properties.locator(".badge, .wrong").first.wait_for(timeout=60_000)
    assert properties.locator(".badge").count() > 5, properties.inner_text()


def test_an_encoding_of_ones_own_is_in_the_saved_page(
    visiting, with_mine: str, tmp_path: Path
) -> None:
    visit: Visit = visiting(with_mine, refusals=True).open(e="clock")
    link = visit.page.locator("header details a[href*='export/html']").get_attribute("href")
    saved = tmp_path / "mine.html"
    answer = visit.context.request.get(with_mine.rstrip("/") + str(link))
    assert answer.ok, answer.text()
    saved.write_bytes(answer.body())
    reading: Visit = visiting(with_mine)
    reading.page.goto(saved.as_uri())
    reading.drawn()
    assert reading.page.locator("[role=tab]").count() == visit.page.locator("[role=tab]").count()
    np.testing.assert_array_equal(reading.pixels(), visit.pixels())
