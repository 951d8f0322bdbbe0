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
    labels = visit.page.locator("#large footer bdi").all_inner_texts()
    assert labels == ["Learned(64, 64): value", "similarity", "Sinusoidal(64): value"]
