"""Lines on the page: averaged where they are many, in shades that are no token's colour."""

from tests.browser.visit import Visit


def test_many_positions_are_a_band_and_the_page_says_so(visit: Visit) -> None:
    visit.open(e="Sinusoidal(64)", n=4096, view="waves")
    said = visit.page.locator("#large .averaged").inner_text()
    assert said.startswith("1:")
    assert said.endswith(", averaged; the band is from least to largest")
    readout = visit.page.locator("#large .legend b").first.inner_text()
    assert "…" in readout  # from least to largest
    visit.open(e="Sinusoidal(64)", n=64, view="waves")
    assert visit.page.locator("#large .averaged").count() == 0
    assert "…" not in visit.page.locator("#large .legend b").first.inner_text()


def test_small_views_say_that_they_are_averaged(visit: Visit) -> None:
    visit.open(e="RoPE(64)", n=4096, view="rotation")
    visit.page.wait_for_selector(".others article:has(figure) >> nth=3")
    notes = visit.page.locator(".others article", has=visit.page.locator(".averaged"))
    assert {note.split("\n")[0] for note in notes.all_inner_texts()} == {
        "heatmap",
        "waves",
        "decay",
    }
    assert visit.refusals == []


def test_lines_have_no_tokens_colour(visit: Visit) -> None:
    visit.open(view="waves", e="Sinusoidal(64)")
    colours = visit.api("colours", theme="light")
    stroke = "all => all.map((e) => [e.getAttribute('stroke'), e.getAttribute('stroke-dasharray')])"
    looks = visit.page.locator("#large .legend path").evaluate_all(stroke)
    assert [colour for colour, _ in looks] == colours["lines"]
    assert not set(colours["lines"]) & set(colours["tokens"])
    assert len({dashes for _, dashes in looks}) == 4


def test_lines_as_a_table(visit: Visit) -> None:
    visit.open(view="products", e="RoPE(64)")
    lines = visit.page.locator("#large figure").nth(1)
    lines.get_by_role("button", name="as a table").click()
    heads = lines.locator("thead th").all_inner_texts()
    assert heads[1:] == ["query at 1", "query at 2", "query at 3"]
    rows = lines.locator("tbody tr").all_inner_texts()
    assert len(rows) == 9
    middle = rows[4].split("\t")
    assert middle[0] == "0"
    assert len(set(middle[1:])) == 1  # one product at one distance


def test_each_scale_says_whose_it_is(visit: Visit) -> None:
    visit.open(e="Learned(64, 64)", n=64, view="learned")
    # sizes differ fifty times, so each picture has its scale below it, with what it measures
    scales = visit.page.locator("#large figure p:has(.ends) bdi").all_inner_texts()
    titles = visit.page.locator("#large figure figcaption").all_inner_texts()
    assert dict(zip(titles, scales, strict=True)) == {
        "Learned(64, 64)": "value",
        "Learned(64, 64): similarity of positions": "similarity",
        "Sinusoidal(64)": "value",
        "Sinusoidal(64): similarity of positions": "similarity",
    }


def test_averaged_wavelengths_have_whole_dimensions(visiting, address: str) -> None:
    visit: Visit = visiting(address, viewport={"width": 1000, "height": 900})
    visit.open(e="Sinusoidal(2048)", view="wavelengths", d=7)
    assert visit.page.locator("#large .averaged").count() == 1
    plot = visit.page.locator("#large .plot")
    plot.hover(position={"x": 300, "y": 100})
    assert visit.cell.rsplit(" ")[1].isdigit(), visit.cell
    plot.click(position={"x": 300, "y": 100})
    pinned = int(visit.state["d"][0])
    visit.page.mouse.move(5, 5)
    plot.focus()
    visit.page.keyboard.press("ArrowRight")
    assert visit.state["d"] == [str(pinned + 1)]
    visit.page.keyboard.press("End")
    assert visit.state["d"] == ["2047"]
    visit.page.keyboard.press("Home")
    assert visit.state["d"] == ["0"]


def test_wavelengths_of_dimensions_are_drawn_as_steps(visit: Visit) -> None:
    """Both dimensions of a pair have one wavelength: between pairs the line goes straight up."""
    visit.open(e="Sinusoidal(8)", view="wavelengths")
    rows = visit.page.locator("#large .uplot canvas").evaluate(
        """(canvas) => {
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          const [r, g, b] = document.querySelector("#large .legend path").getAttribute("stroke")
            .match(/[0-9a-f]{2}/gi).map((x) => parseInt(x, 16));
          const near = (at) => [r, g, b].every((c, i) => Math.abs(data[4 * at + i] - c) < 8);
          const count = (size) => [...Array(size).keys()];
          return count(width).map((x) => count(height).filter((y) => near(y * width + x)).length);
        }"""
    )
    drawn = [count for count in rows if count]
    assert sum(count > 20 for count in drawn) <= 4 * 3  # three walls, a few pixels wide
    assert max(drawn) > 40
