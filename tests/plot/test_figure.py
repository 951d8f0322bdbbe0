"""`show`: what is asked for is viewed and drawn."""

import inspect

import numpy as np
import pytest

import posenc as pe
from posenc.plot import figure as module
from posenc.views import view


def test_every_choice_of_a_view_is_handed_on(monkeypatch):
    asked = {}
    monkeypatch.setattr(module, "view", lambda what, kind, **options: asked.update(options))
    monkeypatch.setattr(module, "draw", lambda shown, **options: options)
    names = [n for n in inspect.signature(view).parameters if n not in ("what", "kind", "lang")]
    chosen = {name: object() for name in names}
    page = {"dark": True, "size": "8x4", "dpi": 90}
    assert pe.show("rope", "decay", **chosen, **page) == page | {"lang": "en"}
    assert {name: asked[name] for name in names} == chosen


def test_without_glyphs_the_view_is_in_english_and_the_page_knows_its_language(monkeypatch):
    seen = []
    monkeypatch.setattr(module, "missing_glyphs", lambda lang: lang == "ja")
    monkeypatch.setattr(module, "view", lambda *_, lang, **__: seen.append(lang))
    monkeypatch.setattr(module, "draw", lambda _, *, lang, **__: seen.append(lang))
    pe.show("rope", lang="ja")
    assert seen == ["en", "ja"]


def test_the_figure_holds_what_was_viewed():
    made = pe.show(pe.Sinusoidal(8), "heatmap", length=5, dpi=50)
    expected = pe.Sinusoidal(8).encode(range(5))
    assert np.allclose(made.view.panels[0].values, expected)
    with pytest.raises(ValueError, match="lang must be 'en'"):
        pe.show("rope", lang="fr")
