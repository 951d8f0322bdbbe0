import numpy as np
import pytest

import posenc as pe
from posenc import figures
from posenc.views import heatmap


def test_the_view_holds_the_encoding_of_each_token():
    view = heatmap(pe.Sinusoidal(6), ["我", "爱", "AI"])
    assert view.tokens == ("我", "爱", "AI")
    assert np.array_equal(view.values, pe.Sinusoidal(6).encode(range(3)))
    assert view.to_json()["values"] == view.values.tolist()


def test_a_view_needs_tokens():
    with pytest.raises(ValueError, match="tokens must not be empty"):
        heatmap(pe.Sinusoidal(6), [])


def test_without_a_han_font_rows_are_named_by_position_and_a_note_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "han_fonts", list)
    notes = figures.draw(heatmap(pe.Sinusoidal(6), ["我", "AI"]), tmp_path / "a.png")
    assert notes == [
        "No font here has 我, so rows with them are named by position; "
        "for Han characters install Noto Sans CJK."
    ]
    assert figures.draw(heatmap(pe.Sinusoidal(6), ["I", "AI"]), tmp_path / "b.png") == []


def test_no_character_is_drawn_as_a_box(tmp_path):
    """Warnings are errors in tests, and a missing glyph warns."""
    tokens = ["ok", "\U0001f970", "\U000e0041", "नमस्ते", "שלום"]
    notes = figures.draw(heatmap(pe.Sinusoidal(6), tokens), tmp_path / "a.png")
    assert "\U000e0041" not in "".join(notes)  # not printable, so not asked for
    assert "\U0001f970" in "".join(notes)


def test_a_missing_glyph_is_an_error_here(tmp_path):
    """Warnings are errors in tests, so a box instead of a character would fail this."""
    notes = figures.draw(
        heatmap(pe.Sinusoidal(6), list("我愛學習位置編碼犬が噛む")), tmp_path / "a.png"
    )
    assert (notes == []) == bool(figures.han_fonts())


@pytest.mark.parametrize("tokens", [1, 41, 500])
@pytest.mark.parametrize("dim", [1, 2, 600])
def test_any_size_can_be_drawn(tmp_path, tokens, dim):
    figures.draw(heatmap(pe.Sinusoidal(dim), ["x"] * tokens), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
