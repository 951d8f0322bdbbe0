"""What is taken away is what the library makes, byte for byte."""

import io
import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Picture
from playwright.sync_api import BrowserContext

import posenc as pe
from posenc.views import Image, view
from tests.browser.places import EXPRESSIONS, TOUR_OF_VIEWS
from tests.browser.visit import Visit
from tests.slow import slow

TOKENS = ["the", "dog", "bit", "the", "man"]
PLACES = [(name, kind) for name, kinds in TOUR_OF_VIEWS.items() for kind in kinds]


def taken(visit: Visit, form: str, folder: Path) -> Path:
    """The file that the export menu gives, by a click."""
    menu = visit.page.locator("header details")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    with visit.page.expect_download(timeout=60_000) as waiting:
        menu.locator("a", has_text=form).click()
    download = waiting.value
    assert download.failure() is None
    file = folder / download.suggested_filename
    download.save_as(file)
    return file


def shown_by_the_library(name: str, kind: str, **options) -> pe.views.View:
    flat = name not in ("AxialSinusoidal",)
    return view(EXPRESSIONS[name], kind, tokens=TOKENS if flat else None, **options)


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Picture.open(io.BytesIO(data)).convert("RGBA"))


def plain(svg: str) -> str:
    """An SVG without what differs from one drawing to the next: its date and drawn ids."""
    svg = re.sub(r"<dc:date>.*?</dc:date>", "", svg)
    names = dict.fromkeys(re.findall(r'(?<=["#])[mpch][0-9a-f]{10}', svg))
    for place, name in enumerate(names):
        svg = svg.replace(name, f"id{place}")
    return svg


FORMS = {"png": "PNG", "svg": "SVG", "csv": "CSV", "npy": ".npy"}


# Each form once, and a picture in each theme: they are drawn here and by the server, a second each.
@pytest.mark.parametrize(
    ("lang", "forms"),
    [("en", ("svg", "npy")), ("ja", ("png", "csv")), *slow(("en", FORMS), ("ja", FORMS))],
)
def test_files_of_the_heatmap_are_the_librarys(
    visit: Visit, tmp_path: Path, lang: str, forms: Iterable[str]
) -> None:
    visit.open(text=" ".join(TOKENS), lang=lang, theme="dark" if lang == "ja" else "light")
    files = {suffix: taken(visit, FORMS[suffix], tmp_path) for suffix in forms}
    expected = view("Sinusoidal(64)", "heatmap", tokens=TOKENS, lang=lang)
    if "npy" in files:
        image = expected.panels[0]
        assert isinstance(image, Image)
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(image.values, np.float64))
        assert files["npy"].read_bytes() == buffer.getvalue()
        values = pe.Sinusoidal(64).encode(np.arange(5), dtype=np.float64)
        np.testing.assert_array_equal(np.load(files["npy"]), values)
    if "csv" in files:
        assert files["csv"].read_bytes().decode("utf-8-sig") == expected.to_csv()

    figure = pe.show("Sinusoidal(64)", "heatmap", tokens=TOKENS, lang=lang, dark=lang == "ja")
    for form in files.keys() & {"png", "svg"}:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=form)
        if form == "png":
            np.testing.assert_array_equal(
                pixels(files[form].read_bytes()), pixels(drawn.getvalue())
            )
        else:
            assert plain(files[form].read_text()) == plain(drawn.getvalue().decode())


@pytest.mark.parametrize(("name", "kind"), PLACES)
def test_numbers_of_every_view_are_the_librarys(
    together: BrowserContext, address: str, name: str, kind: str
) -> None:
    """The menu's links, followed without a page: every view has its table and its arrays."""
    query = {"text": " ".join(TOKENS), "by": "words", "e": EXPRESSIONS[name], "view": kind}
    expected = shown_by_the_library(name, kind)

    def asked(form: str, **more: int):
        return together.request.get(f"{address}api/v1/export/{form}", params=query | more)

    table = asked("csv").body().decode("utf-8-sig")
    # what a spreadsheet would take for a formula, such as the title "+ encoding", has a ' before it
    assert re.sub(r"(^|,)'(?=[-+=@])", r"\1", table, flags=re.M) == expected.to_csv()
    whole = np.load(io.BytesIO(asked("npy").body()), allow_pickle=False)
    if len(expected.panels) > 1:
        assert list(whole["titles"]) == [panel.title for panel in expected.panels]
    for place, panel in enumerate(expected.panels):
        if isinstance(panel, Image):
            values = np.load(io.BytesIO(asked("npy", panel=place).body()))
            np.testing.assert_array_equal(values, np.asarray(panel.values, np.float64))
            of_all = whole[f"panel_{place}"] if len(expected.panels) > 1 else whole
            np.testing.assert_array_equal(of_all, values)


@pytest.mark.parametrize(("name", "kind"), PLACES)
def test_the_python_code_makes_the_same_numbers(
    together: BrowserContext, address: str, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"text": " ".join(TOKENS), "by": "words", "e": EXPRESSIONS[name], "view": kind}
    answer = together.request.get(f"{address}api/v1/export/py", params=query | {"lang": "ja"})
    code = answer.text()
    assert "savefig" in code
    # its numbers, not its picture, which takes most of the time and which others look at
    monkeypatch.setattr("posenc.plot.figure.draw", lambda made, **_: SimpleNamespace(view=made))
    scope: dict = {}
    exec(compile(re.sub(r".*savefig.*", "", code), "posenc.py", "exec"), scope)
    assert scope["figure"].view.to_csv() == shown_by_the_library(name, kind, lang="ja").to_csv()


def test_the_waves_that_are_shown_are_the_waves_that_are_exported(visit: Visit, tmp_path) -> None:
    visit.open(text=" ".join(TOKENS), view="waves", p=1, d=7)
    legend = visit.page.locator("#large .legend bdi").all_inner_texts()
    assert any("7" in name for name in legend), legend
    table = taken(visit, "CSV", tmp_path).read_text(encoding="utf-8-sig")
    assert all(name in table for name in legend), (legend, table[:200])


def test_code_of_an_averaged_comparison_draws_what_is_shown(visit: Visit, tmp_path: Path) -> None:
    state = {"e": ["Sinusoidal(64)", "Sinusoidal(64,base=500.0)"], "n": 700, "text": "a b"}
    visit.open(**state)
    code = taken(visit, "Python", tmp_path).read_text()
    scope: dict = {}
    exec(compile(re.sub(r".*savefig.*", "", code), "posenc.py", "exec"), scope)
    for place, encoding in enumerate((pe.Sinusoidal(64), pe.Sinusoidal(64, base=500.0))):
        values = scope["figure"].view.panels[place].values
        np.testing.assert_array_equal(values, encoding.encode(np.arange(700), dtype=np.float64))


@pytest.mark.parametrize("lang", ["zh-Hant", *slow("en")])
def test_the_html_file_works_from_disk_and_asks_nobody(
    visiting, address: str, tmp_path: Path, lang: str
) -> None:
    """And has the cells and properties of each encoding."""
    # as in test_choosing.py: the server keeps what the checks found, each takes 3 s
    two = ["Sinusoidal(8)", "Learned(16, 8)"]
    visit: Visit = visiting(address).open(
        text="學習 AI 很 快樂", by="words", lang=lang, p=1, d=3, e=two, view="heatmap"
    )
    seen = [visit.pixels(place) for place in (0, 1)]
    file = taken(visit, "html" if lang != "en" else "HTML", tmp_path)
    reading: Visit = visiting(address, offline=True)
    reading.page.goto(file.as_uri())
    reading.drawn()
    assert reading.requests == [file.as_uri()]
    for place in (0, 1):
        np.testing.assert_array_equal(reading.pixels(place), seen[place])
    assert reading.page.locator("html").get_attribute("lang") == lang
    assert reading.page.locator("#sentence").input_value() == "學習 AI 很 快樂"
    assert reading.cell == visit.cell
    reading.picture.focus()
    reading.page.keyboard.press("ArrowRight")
    visit.picture.focus()
    visit.page.keyboard.press("ArrowRight")
    reading.rest()
    visit.rest()
    assert reading.cell == visit.cell
    steps = "[aria-labelledby=cell-title] dl"
    assert reading.page.locator(steps).inner_text() == visit.page.locator(steps).inner_text()
    badges: list[list[str]] = []
    for place, e in enumerate(two):
        reading.page.locator(".chosen .name").nth(place).click()
        reading.rest(1_000)  # properties are asked for when sliders rest
        value = reading.page.locator("[aria-labelledby=cell-title] .value").inner_text()
        expected = visit.api("cell", e=e, p=1, d=4)["value"]
        assert float(value.replace("\N{MINUS SIGN}", "-")) == pytest.approx(expected, abs=1e-7)
        properties = reading.page.locator("[aria-labelledby=properties-title]")
        badges.append(properties.locator(".badge").all_inner_texts())
    assert all(badges)
    assert badges[0] != badges[1]
    for kind in ("waves", "similarity", "attention"):
        reading.show(kind)
    assert len(reading.requests) == 1


def test_a_refused_export_says_why_and_saves_nothing(visit: Visit) -> None:
    """It was a cancelled download named html.json."""
    visit.open(e="Sinusoidal(130)", n=8_192, view="heatmap")
    saved: list[str] = []
    visit.page.on("download", lambda download: saved.append(download.suggested_filename))
    menu = visit.page.locator("header details")
    menu.locator("summary").click()
    menu.locator("a", has_text="CSV").click()
    visit.page.locator("h1").click()  # which closes the menu
    note = visit.page.locator("p.note[role=alert]")
    note.get_by_text("a table must have at most 1,048,576 cells; got 1,064,960").wait_for()
    assert saved == []
    assert len(visit.refusals) == 1
    visit.refusals.clear()


def test_an_export_that_is_under_way_is_said_and_cancelled(visit: Visit, tmp_path: Path) -> None:
    """The menu said it, and closed with the next click; the file came all the same."""
    visit.open()
    saved: list[str] = []
    visit.page.on("download", lambda download: saved.append(download.suggested_filename))
    visit.page.route("**/export/csv*", lambda _: None)  # never answered
    menu, note = visit.page.locator("header details"), visit.page.locator("p.note")
    menu.locator("summary").click()
    menu.locator("a", has_text="CSV").click()
    visit.page.locator("h1").click()
    assert menu.get_attribute("open") is None
    note.get_by_text("Making the file…").wait_for()
    visit.page.locator("select").filter(has_text="日本語").select_option("ja")
    note.get_by_text("ファイルを作成しています…").wait_for()
    note.get_by_role("button", name="キャンセル").click()
    note.get_by_text("キャンセルしました。").wait_for()
    assert saved == []
    file = taken(visit, "Python", tmp_path)  # what was cancelled does not stand in its way
    note.get_by_text(file.name).wait_for()
    assert saved == [file.name]


def test_an_export_takes_the_place_of_the_one_before(visit: Visit, tmp_path: Path) -> None:
    visit.open()
    visit.page.route("**/export/csv*", lambda _: None)  # never answered
    menu, note = visit.page.locator("header details"), visit.page.locator("p.note")
    menu.locator("summary").click()
    menu.locator("a", has_text="CSV").click()
    note.get_by_text("Making the file…").wait_for()
    with visit.page.expect_event("requestfailed", lambda asked: "export/csv" in asked.url):
        file = taken(visit, "Python", tmp_path)
    note.get_by_text(f"Saved {file.name}.").wait_for()


def test_a_file_that_breaks_off_is_said_in_words_of_the_page(visiting, address: str) -> None:
    """The browser's own English was shown: "Failed to fetch"."""
    visit: Visit = visiting(address, refusals=True)
    visit.page.add_init_script(
        "Response.prototype.blob = () => Promise.reject(new TypeError('Failed to fetch'));"
    )
    visit.open(lang="ja")
    menu = visit.page.locator("header details")
    menu.locator("summary").click()
    menu.locator("a", has_text="CSV").click()
    visit.page.locator("p.note[role=alert]").get_by_text("サーバーから応答がありません").wait_for()
