"""The page as one file has every answer that it will ask for, of any encoding."""

import json
import re
from urllib.parse import parse_qs, urlencode

import pytest

import posenc as pe
from posenc.explorer import answers, replies, saved_page, verdicts
from posenc.explorer.parameters import RequestError
from posenc.i18n import LANGUAGES
from posenc.names.expressions import to_source
from posenc.names.resolve import VARIANTS
from tests.slow import seldom, slow

NEAR = (
    *(pe.LearnedFourier, pe.TwoSidedALiBi, pe.ClippedBias, pe.KERPLE, pe.FIRE, pe.Sandwich),
    *(pe.SwinV2Bias, pe.TransformerXL, pe.XPos),
)
"""Their cells are asked for in the way of another, which `make test` has."""
EVERY = [
    *(to_source(kind.example()) for kind in pe.catalogue().values() if kind not in NEAR),
    *slow(*(to_source(kind.example()) for kind in NEAR)),
    # of each pair in turn: 8 tell as much
    *seldom(
        [to_source(make(16)) for make in VARIANTS.values()], but=[to_source(VARIANTS["mrope"](16))]
    ),
    "RoPE(64, rotary_dim=16)",
    "RoPE(64, rotary_dim=16, rotated='trailing', pairing='halves')",
    "RoPE(8, scaling=DynamicNTK(4.0, 8))",
    "Tempered(RoPE(64, rotary_dim=16), LogN(512))",
    "Tempered(ALiBi(4), LogN(512))",
    "Tempered(AxialRoPE.split(16), LogN(512))",
    "Tempered(Tempered(RoPE(8), LogN(4)), SSMax())",
]
ALL_CELLS = saved_page.CELLS


@pytest.fixture
def built(tmp_path, no_verdicts, monkeypatch):
    """A page in place of the built one."""
    (tmp_path / "assets").mkdir()
    for name in ("page.js", "page.css"):
        (tmp_path / "assets" / name).write_text("")
    parts = '<script src="./assets/page.js"></script><link href="./assets/page.css">'
    (tmp_path / "index.html").write_text(parts)
    monkeypatch.setattr(saved_page, "STATIC", tmp_path)
    # half a megabyte, the same in every page
    monkeypatch.setattr(answers, "messages", lambda request: {"lang": request.lang})


def data_of(answer):
    assert answer.status == 200, answer.message
    text = answer.body.decode()
    (data,) = re.findall(r'id="posenc-data">(.*?)</script>', text, re.DOTALL)
    return json.loads(data)


def responses(answer):
    return data_of(answer)["responses"]


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("expression", EVERY)
# the first row is within the first cells; all 2,048 take a second for each encoding
@pytest.mark.parametrize("most", [64, *slow(ALL_CELLS)])
def test_a_saved_page_has_the_cells_that_the_page_asks_for(client, monkeypatch, expression, most):
    """Those of the first row, by dimension, by the first dimension of a pair, or by key."""
    monkeypatch.setattr(saved_page, "CELLS", most)
    kept = responses(client.get("/api/v1/export/html", e=expression, n=4))
    told = kept["spell?" + urlencode({"e": expression})]
    assert {f"view/{kind}" for kind in told["views"]} <= set(kept)
    cells = [name for name in kept if name.startswith("cell?")]
    assert len(cells) >= 4
    if told["side"] is None:
        count = 4 if told["acts"] in ("bias", "scores") else told["columns"]
        few = {0, 1, 2, count // 2, count - 1}  # with the numbers that a page asks for
        for column in range(count):
            d = told["first"] + told["stride"] * column
            name = "cell?" + urlencode({"d": d, "e": expression, "p": 0})
            assert name in kept
            if most == ALL_CELLS or column in few:
                asked = client.get("/api/v1/cell", e=expression, n=4, p=0, d=d)
                assert kept[name] == asked.json


@pytest.mark.usefixtures("built")
def test_a_saved_page_keeps_what_was_chosen_and_hidden(client):
    chosen = {"view": "similarity", "a": "1", "k": "2", "hide": "properties", "theme": "dark"}
    two = ["Sinusoidal(8)", "Learned(16, 8)"]
    kept = parse_qs(data_of(client.get("/api/v1/export/html", e=two, n=4, **chosen))["state"][1:])
    assert kept["e"] == two
    assert {name: kept[name] for name in chosen} == {name: [x] for name, x in chosen.items()}


@pytest.mark.usefixtures("built")
def test_a_saved_page_draws_parameters_once(client, monkeypatch):
    monkeypatch.setattr(saved_page, "CELLS", 512)
    drawn = []
    init = pe.Learned.init
    monkeypatch.setattr(pe.Learned, "init", lambda self, rng: drawn.append(1) or init(self, rng))
    kept = responses(client.get("/api/v1/export/html", e="Learned(64, 32)", seed=1))
    assert sum(name.startswith("cell?") for name in kept) == saved_page.CELLS
    assert len(drawn) < 100  # of each view, and once of all cells


def test_a_page_that_was_not_built_cannot_be_saved(client, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_page, "STATIC", tmp_path)
    answers = [client.get("/api/v1/export/html", lang=lang) for lang in LANGUAGES]
    assert {answer.status for answer in answers} == {503}
    assert answers[0].message == replies.MISSING
    assert len({answer.message for answer in answers}) == len(LANGUAGES)


def test_what_is_too_large_to_be_shown_is_refused_before_the_work(client, monkeypatch):
    monkeypatch.setattr(verdicts, "check_encoding", lambda *_, **__: pytest.fail("the work began"))
    answer = client.get("/api/v1/export/html", e="Sinusoidal(8)", n=4_096, view="similarity")
    assert answer.status == 413
    assert "must be at most 4,194,304" in answer.message


def test_a_view_or_a_check_that_is_refused_is_left_out(client, monkeypatch):
    def refused(*_, **__):
        raise RequestError("the checks take too long; ask for a smaller encoding", "e", 503)

    monkeypatch.setattr(verdicts, "check_encoding", refused)
    monkeypatch.setattr(saved_page, "CELLS", 64)  # which are not looked at
    answer = client.get("/api/v1/export/html", e="Sinusoidal(2)", n=2_049, view="heatmap")
    assert answer.status == 200
    text = answer.body.decode()
    assert '"view/heatmap"' in text
    assert '"view/similarity"' not in text


@pytest.mark.usefixtures("built")
def test_images_of_all_views_have_a_total(client, monkeypatch):
    """Four encodings of 682 dimensions made a page of 64.6 MiB; the view that is shown stays."""
    monkeypatch.setattr(saved_page, "IMAGES", 2 * 64 * 8)
    kept = responses(client.get("/api/v1/export/html", e="Sinusoidal(8)", n=64, view="similarity"))
    views = {name.removeprefix("view/") for name in kept if name.startswith("view/")}
    assert {"similarity", "waves"} <= views  # the one that is shown is larger than the total
    assert "heatmap" not in views
    assert "sum" not in views


def test_all_checks_of_a_page_have_one_end(client, monkeypatch):
    """Each had 55 s of the 90 that a page has, which then failed."""
    now, given = 1_000.0, []

    def slow(*_, seconds):
        nonlocal now
        given.append(seconds)
        now += min(seconds, 40.0)
        raise RequestError("the checks take too long; ask for a smaller encoding", "e", 503)

    monkeypatch.setattr(saved_page, "monotonic", lambda: now)
    monkeypatch.setattr(verdicts, "check_encoding", slow)
    names = ["Sinusoidal(2)", "Sinusoidal(4)", "Sinusoidal(6)"]
    assert client.get("/api/v1/export/html", e=names, n=2).status == 200
    assert given == [55.0, 15.0, 0.0]


def test_a_page_is_sent_answer_by_answer(client):
    parts = list(saved_page._page("en", "?v=1", {"a</script>": {"b": "<"}, "c": ["</script>"]}))
    assert b"</script>" not in b"".join(parts[1:-1])
    (data,) = re.findall(r'posenc-data">(.*?)</script>', b"".join(parts).decode(), re.DOTALL)
    whole = json.loads(data)
    assert whole == {"state": "?v=1", "responses": {"a</script>": {"b": "<"}, "c": ["</script>"]}}
    assert len(parts) == 4
