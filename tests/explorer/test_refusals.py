"""What is refused is said in the language of whoever asks."""

import json
import re

import pytest

from posenc.encodings.registry import catalogue as encodings
from posenc.explorer import limits
from posenc.explorer.parameters import RequestError
from posenc.explorer.widget import answer
from posenc.i18n import LANGUAGES, catalogue, translatable, translate
from posenc.views.kinds import kinds_for
from tests.explorer.asking import HOST, Client, small_crew

HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
ENGLISH = re.compile(r"must|cannot|expect|at most|missing|argument\b|syntax", re.IGNORECASE)
PYTHONS = re.compile(
    r"Expecting value|Expecting property name enclosed in double quotes|"
    r"Illegal trailing comma before end of object|Expecting '[,:]' delimiter|"
    r"missing a required argument: 'dim'"
)
"""Python's own words, which our sentences quote as they are."""

ASKED = [
    ("view/heatmap", {"e": "RoPE(7)"}),
    ("view/heatmap", {"e": "RoPE(100_000)"}),
    ("view/heatmap", {"e": "Nothing(64)"}),
    ("view/heatmap", {"e": "RoPE(64"}),
    ("view/heatmap", {"e": "RoPE()"}),
    ("view/heatmap", {"e": "Learned(8_192, 4_096)"}),
    ("view/heatmap", {"n": 100_000}),
    ("view/heatmap", {"n": "many"}),
    ("view/heatmap", {"e": "Sinusoidal(4096)", "n": 8_192}),
    ("view/similarity", {"n": 8_192}),
    ("view/attention", {"n": 1_000}),
    ("view/nothing", {}),
    ("view/waves", {"channels": "x"}),
    ("view/heatmap.npy", {"panel": 60}),
    ("tokens", {"text": "a" * 3_000}),
    ("tokens", {"text": "a", "by": "tokenizer"}),
    ("tokens", {"text": "a", "by": "letters"}),
    ("cell", {"d": 4_000}),
    ("cell", {"e": "Learned(4, 8)", "p": 9}),
    ("explain", {"e": "Sinusoidal(1024)"}),
    ("view/heatmap", {"e": "RoPE(64, base=1e4, base=5e5)"}),
    ("view/heatmap", {"e": "RoPE(64, **{'base': 1e4})"}),
    ("view/heatmap", {"e": "RoPE(64)\0"}),
    ("nothing", {}),
    ("spell", {"e": "RoPE(64)", "set.dim": 7}),
    ("spell", {"e": "RoPE(64)", "set.dim": "wide"}),
    ("spell", {"e": "RoPE(64)", "set.width": 3}),
    ("spell", {"e": "RoPE(64)", "set.scaling": "YaRN(0.1, 4096)"}),
    ("export/csv", {"n": 2_048, "view": "similarity"}),
]
CONFIGS = [
    "{",
    '{"model_type": "llama",}',
    '{"a" 1}',
    "[1 2]",
    "[]",
    "[" * 100_000,
    "9" * 5_000,
    b"\xff\xfe",
    b"\x89PNG",
    {"model_type": "nothing"},
    {"model_type": "llama", "hidden_size": 7},
    {"model_type": "llama", "num_hidden_layers": "two"},
    {"model_type": "llama", "rope_scaling": {"rope_type": "other"}},
]


def in_the_language(refusals):
    """One sentence in four languages; only the English of Python is left in all of them."""
    english, *others = refusals
    assert not HAN.search(english)
    assert len({english, *others}) == len(LANGUAGES)
    for words in others:
        assert HAN.search(words), words
        assert PYTHONS.findall(words) == PYTHONS.findall(english)
        assert not ENGLISH.search(PYTHONS.sub("", words)), words


@pytest.mark.parametrize(("path", "asked"), ASKED)
def test_a_refusal_is_in_the_language_asked_for(client, path, asked):
    answers = [client.get(f"/api/v1/{path}", **asked, lang=lang) for lang in LANGUAGES]
    assert {each.status for each in answers} <= {400, 404, 413}
    assert len({each.argument for each in answers}) == 1
    in_the_language([each.message for each in answers])


@pytest.mark.parametrize("config", CONFIGS)
def test_a_config_that_cannot_be_read_is_refused_in_the_language(client, config):
    body = config if isinstance(config, bytes) else None
    body = body or (config if isinstance(config, str) else json.dumps(config)).encode()
    answers = [
        client.ask("POST", b"/api/v1/config", f"lang={lang}".encode(), body=body)
        for lang in LANGUAGES
    ]
    assert {each.status for each in answers} == {400}
    in_the_language([each.message for each in answers])


@pytest.mark.parametrize("query", [{}, {"lang": "fr"}, {"lang": ["", "ja"]}])
def test_an_unknown_language_is_english(client, query):
    assert not HAN.search(client.get("/api/v1/view/heatmap", e="RoPE(7)", **query).message)


def test_a_refusal_says_what_the_library_says(client):
    message = client.get("/api/v1/view/heatmap", e="RoPE(7)", lang="ja").message
    template = "{name} must be a positive even number; got {name}={value}"
    assert message == translate(translatable(ValueError, template, name="dim", value=7), "ja")


def test_who_must_wait_is_told_in_the_language():
    busy = Client(crew=small_crew(threads=0, waiting=0))
    try:
        asked = [busy.get("/api/v1/messages", lang=lang) for lang in LANGUAGES]
    finally:
        busy.close()
    assert {each.status for each in asked} == {503}
    in_the_language([each.message for each in asked])


def test_a_notebook_is_told_in_the_language_too():
    said = []
    for lang in LANGUAGES:
        status, _, body = answer(f"/api/v1/spell?e=RoPE(64)&set.dim=7&lang={lang}", None, {})
        assert status == 400
        said.append(json.loads(body)["error"]["message"])
    in_the_language(said)
    _, _, body = answer("/api/v1/config?lang=ja", "{", {})
    assert HAN.search(json.loads(body)["error"]["message"])


def test_every_size_that_a_view_takes_has_a_name_in_the_catalogues():
    taken = {
        name
        for kind in encodings().values()
        for view in kinds_for(kind.example())
        for length in (8, 4096)
        for name in limits.view_sizes(view, kind.example(), length)
    }
    assert len(taken) > 5
    for lang in LANGUAGES[1:]:
        assert taken <= set(catalogue(lang))


def test_a_refusal_keeps_its_english():
    refused = RequestError(
        "{name} must be a number; got {value!r}", "dim", 413, name="dim", value="x"
    )
    assert str(refused) == "dim must be a number; got 'x'"
    assert (refused.argument, refused.status) == ("dim", 413)
    assert str(RequestError(ValueError("as it is {here}"))) == "as it is {here}"
    assert translate(RequestError(ValueError("as it is {here}")), "ja") == "as it is {here}"


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", [(b"host", b"elsewhere.example")], 403),
        ("GET", [HOST, (b"origin", b"http://elsewhere.example")], 403),
        ("GET", [HOST, (b"sec-fetch-site", b"cross-site")], 403),
        ("GET", [HOST, HOST], 403),
        ("DELETE", [HOST], 405),
    ],
)
def test_who_may_not_ask_is_told_in_the_language(client, method, headers, status):
    answers = [
        client.ask(method, b"/api/v1/tokens", f"lang={lang}".encode(), headers=tuple(headers))
        for lang in LANGUAGES
    ]
    assert {each.status for each in answers} == {status}
    in_the_language([each.message for each in answers])
