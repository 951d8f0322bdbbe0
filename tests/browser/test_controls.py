"""The parameters of an encoding are controls: of its call, of its presets and of its parts."""

from typing import Any

from playwright.sync_api import Locator

from tests.browser.visit import Visit

SECTION = "[aria-labelledby=encoding-title]"


def control(visit: Visit, name: str) -> Locator:
    """The control beside a parameter's name."""
    named = visit.page.locator(".fields .line").filter(
        has=visit.page.locator("span", has_text=name)
    )
    return named.locator("select, input:not([type=range])").first


def written(visit: Visit, expression: str) -> None:
    """Wait until the encoding is written so; its link is short, and the picture is there."""
    visit.page.locator(f"{SECTION} .name").first.get_by_text(expression, exact=True).wait_for()
    visit.drawn()
    assert visit.state["e"] == [expression.replace(", ", ",")]
    assert len(visit.page.url) < 200


def test_axial_rope_is_changed(visit: Visit) -> None:
    visit.open()
    visit.choose("AxialRoPE")
    written(visit, "AxialRoPE(64, Split())")
    assert control(visit, "pairing").input_value() == "interleaved"
    control(visit, "pairing").select_option("halves")
    written(visit, "AxialRoPE(64, Split(), pairing='halves')")
    assert control(visit, "pairing").input_value() == "halves"
    control(visit, "axes").fill("4")
    control(visit, "axes").press("Enter")
    written(visit, "AxialRoPE(64, Split(axes=4), pairing='halves')")
    control(visit, "shares").fill("8, 12, 8, 4")
    control(visit, "shares").press("Enter")
    written(visit, "AxialRoPE(64, Split(axes=4, shares=(8, 12, 8, 4)), pairing='halves')")
    pressed = visit.page.locator("fieldset [aria-pressed=true]")
    assert pressed.all_inner_texts() == ["AxialRoPE"]


def test_a_preset_is_chosen_and_keeps_dim(visit: Visit) -> None:
    visit.open(e="AxialRoPE.split(128)")
    maker = visit.page.get_by_label("made by")
    assert maker.input_value() == "AxialRoPE.split"
    maker.select_option("AxialRoPE.mrope")
    written(visit, "AxialRoPE.mrope(128, sections=(16, 24, 24))")
    assert control(visit, "pairing").input_value() == "halves"
    assert control(visit, "sections").input_value() == "16, 24, 24"
    assert visit.page.locator("fieldset [aria-pressed=true]").all_inner_texts() == ["mrope"]
    maker.select_option("AxialRoPE.dinov3")
    written(visit, "AxialRoPE.dinov3(128)")


def test_a_preset_of_a_link_stays_one(visit: Visit) -> None:
    visit.open(e="AxialSinusoidal.mae(16)")
    control(visit, "dim").fill("32")
    control(visit, "dim").press("Enter")
    written(visit, "AxialSinusoidal.mae(32)")
    visit.page.get_by_label("made by").select_option("AxialSinusoidal")
    written(visit, "AxialSinusoidal(32, layout='concat', order=(1, 0))")


def test_the_window_of_swin_is_changed(visiting: Any, address: str) -> None:
    visit: Visit = visiting(address, refusals=True).open()
    visit.choose("SwinBias")
    assert control(visit, "window").input_value() == "7, 7"
    control(visit, "window").fill("5, 9")
    control(visit, "window").press("Enter")
    written(visit, "SwinBias(8, (5, 9))")
    control(visit, "window").fill("5")
    control(visit, "window").press("Enter")
    said = visit.page.locator(".fields [role=alert]")
    said.wait_for()
    assert "window must be (height, width)" in said.inner_text()


def test_a_parameter_of_a_part_is_refused_beside_it(visiting: Any, address: str) -> None:
    visit: Visit = visiting(address, refusals=True).open(e="RoPE(64, scaling=YaRN(4.0, 4096))")
    factor = visit.page.locator(".inner input[type=number][aria-label=factor]")
    factor.fill("-2")
    factor.press("Enter")
    said = visit.page.locator(".fields [role=alert]")
    said.wait_for()
    assert said.count() == 1
    assert visit.page.locator(".inner [role=alert]").count() == 1


def test_one_key_is_one_step(visit: Visit) -> None:
    visit.open(e="RoPE(64)")
    slider = visit.page.locator("input[type=range][aria-label=dim]")
    slider.focus()
    slider.press("ArrowRight")
    written(visit, "RoPE(66)")
    for _ in range(3):  # faster than they are answered
        slider.press("ArrowLeft")
    written(visit, "RoPE(60)")
    assert slider.get_attribute("aria-valuetext") == "60"


def test_names_of_parameters_break_between_words_only(visit: Visit) -> None:
    visit.open(e="RoPE(64, scaling=YaRN(4.0, 4096))")
    wide = visit.page.locator(".fields .line > span").evaluate_all(
        "all => all.filter((each) => each.scrollWidth > each.clientWidth + 1 "
        "|| each.getClientRects().length > 1).map((each) => each.textContent)"
    )
    assert wide == []


def test_a_class_that_takes_more_says_which_preset_is_meant(visiting: Any, address: str) -> None:
    visit: Visit = visiting(address, refusals=True)
    visit.page.goto(f"{address}?v=1&e=AxialRoPE(64)")
    said = visit.page.locator(f"{SECTION} [role=alert]")
    said.wait_for()
    assert "did you mean AxialRoPE.split(64)?" in said.inner_text()


def test_every_control_is_explained_in_the_language_of_the_page(visit: Visit) -> None:
    visit.open(e="RoPE(64,scaling=YaRN(4.0,4096))")
    base = control(visit, "base")
    sentence = "Sets the range of wavelengths: a larger base makes the slow waves longer."
    assert visit.page.locator(f"[id='{base.get_attribute('aria-describedby')}']").is_visible()
    described = visit.page.locator(".fields").get_by_role("spinbutton", description=sentence)
    assert described.count() == 1
    controls = visit.page.locator(".fields :is(input, select)")
    names = controls.evaluate_all(
        "(all) => all.map((each) => document.getElementById(each.getAttribute('aria-describedby'))"
        "?.textContent ?? '')"
    )
    assert len(names) > 10
    assert all(each.endswith(".") for each in names), names
    visit.page.get_by_label("Language").select_option("ja")
    visit.page.get_by_text("波長の範囲を決めます。").wait_for()
    said = visit.page.locator(".fields .help").all_inner_texts()
    assert all(each.endswith("。") for each in said), said
