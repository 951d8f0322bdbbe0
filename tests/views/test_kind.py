"""A kind of view: what it can show, what it costs, what a page is told of it."""

import dataclasses

import posenc as pe
from posenc.i18n import translator
from posenc.views import KINDS


def test_a_temperature_is_taken_off_before_a_kind_is_asked():
    asked = []
    kind = dataclasses.replace(KINDS["heatmap"], suits=lambda e: asked.append(e) or True)
    assert kind.can_show(pe.Tempered(pe.RoPE(8), pe.LogN(4)))
    assert asked == [pe.RoPE(8)]


def test_what_needs_the_tokens_is_shown_by_kinds_that_provide_them():
    class Gated(pe.NoPE):
        needs = frozenset({"mask"})

    kind = dataclasses.replace(KINDS["bias"], suits=lambda _: True, provides=frozenset())
    assert not kind.can_show(Gated())
    assert dataclasses.replace(kind, provides=frozenset({"mask"})).can_show(Gated())


def test_a_grid_has_a_size_of_its_own():
    assert KINDS["heatmap"].cost(pe.AxialSinusoidal(64), 8) == {}
    tempered = pe.Tempered(pe.ALiBi(8), pe.LogN(4))
    assert KINDS["bias"].cost(tempered, 8) == KINDS["bias"].cost(pe.ALiBi(8), 8) != {}


def test_a_page_is_told_in_its_language_and_of_every_count():
    kind = KINDS["bias"]
    english, japanese = (kind.to_json(translator(lang), most=3) for lang in ("en", "ja"))
    assert english["name"] == japanese["name"] == "bias"
    assert english["title"] != japanese["title"]
    assert english["columns"]["text"] == [kind.columns(n, 0) for n in (1, 2, 3)]
    assert english["columns"]["grid"] == [kind.columns(0, n) for n in (1, 2, 3)]
