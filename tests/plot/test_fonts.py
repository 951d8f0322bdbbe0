"""Text: in any script, without a box; each reader's own Han characters."""

import pytest

import posenc as pe
from posenc.plot import fonts
from tests.plot.pages import CHINESE, JAPANESE, MOSTLY_SORTS, labels, png, shown


def test_without_a_han_font_positions_stand_for_tokens_and_a_note_says_so(monkeypatch):
    monkeypatch.setattr(fonts, "han_fonts", lambda lang: [])
    figure = pe.show("sinusoidal", tokens=["我", "AI"], dpi=60)
    assert figure.notes == (
        "No installed font has 我; position numbers are shown instead.",
        "For Chinese and Japanese install Noto Sans CJK (package fonts-noto-cjk).",
    )
    assert labels(figure.axes[0].yaxis) == ["0", "AI  1"]
    png(figure)
    assert pe.show("sinusoidal", tokens="I AI", dpi=60).notes == ()


@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_without_a_han_font_no_kind_draws_boxes(monkeypatch, kind):
    monkeypatch.setattr(fonts, "han_fonts", lambda lang: [])
    shown(kind, lang="ja")


def test_without_a_han_font_a_language_that_needs_one_is_english(monkeypatch):
    monkeypatch.setattr(fonts, "han_fonts", lambda lang: [])
    figure = pe.show("sinusoidal", length=4, lang="ja", dpi=60)
    assert figure.axes[0].get_xlabel() == "dimension"
    assert any("fonts-noto-cjk" in note for note in figure.notes)


def test_no_character_is_drawn_as_a_box():
    tokens = ["ok", "\U0001f970", "\U000e0041", "नमस्ते", "שלום"]
    figure = pe.show("sinusoidal", tokens=tokens, dpi=60)
    png(figure)
    assert "\U000e0041" not in "".join(figure.notes)  # not printable, so not asked for
    assert "\U0001f970" in "".join(figure.notes)


def test_each_language_gets_its_own_han_characters():
    """Han characters are written differently in each region; Noto has a font for each."""
    found = fonts.han_fonts("ja")
    if "Noto Sans CJK SC" not in found:
        assert found == [] or "JP" in found[0]
        return
    first = {lang: fonts.families(lang, "位置")[1] for lang in ("ja", "zh-Hans", "zh-Hant")}
    assert first == {
        "ja": "Noto Sans CJK JP",
        "zh-Hans": "Noto Sans CJK SC",
        "zh-Hant": "Noto Sans CJK TC",
    }
    assert fonts.families("en", JAPANESE)[1] == "Noto Sans CJK JP"
    assert fonts.families("en", CHINESE)[1] == "Noto Sans CJK SC"
