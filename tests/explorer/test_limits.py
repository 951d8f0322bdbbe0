"""What is too large is refused before memory is taken, with the limit in the message."""

import time
import tracemalloc

import pytest

from posenc.explorer import limits
from posenc.explorer.endpoints import ENDPOINTS
from posenc.explorer.requests import check_size
from posenc.names.resolve import evaluate_encoding
from tests.slow import slow

EXPRESSION_OF_2000 = "RoPE(64)" + " " * 1_992


def test_every_limit_at_its_edge(client):
    for accepted, refused, status, message in [
        ({"text": "x" * 2_000}, {"text": "x" * 2_001}, 413, "text must have at most 2,000"),
        ({"n": 8_192}, {"n": 8_193}, 400, "n must be 0 .. 8,192; got 8,193"),
        ({"n": 0}, {"n": -1}, 400, "n must be 0 .. 8,192; got -1"),
        ({"seed": 2**24}, {"seed": 2**24 + 1}, 400, "seed must be 0 .. 16,777,216"),
        ({"e": EXPRESSION_OF_2000}, {"e": EXPRESSION_OF_2000 + " "}, 413, "at most 2,000"),
        ({"e": ["NoPE()"] * 4}, {"e": ["NoPE()"] * 5}, 400, "at most 4 times; got 5"),
        ({"e": "Sinusoidal(4096)"}, {"e": "Sinusoidal(4098)"}, 400, "at most 4,096"),
        ({"e": "ALiBi(64)"}, {"e": "ALiBi(65)"}, 400, "heads must be at most 64"),
        (
            {"e": "TransformerXL(16, 4096, features=8)"},
            {"e": "TransformerXL(17, 4096, features=8)"},
            400,
            "heads x dim must be at most 65,536 in the explorer; got 17 x 4096",
        ),
        (
            {"e": "TransformerXL(8, 64, features=4096)"},
            {"e": "TransformerXL(32, 64, features=4096)"},
            400,
            "TransformerXL must be at most 4,194,304 numbers in the explorer; got 32 x 64 x 4,096",
        ),
        ({"e": "Learned(8192, 512)"}, {"e": "Learned(8193, 512)"}, 400, "at most 8,192"),
        ({"e": "Learned(8192, 512)"}, {"e": "Learned(8192, 514)"}, 400, "at most 4,194,304"),
        ({"e": "Sinusoidal(512)", "n": 8_192}, {"e": "Sinusoidal(514)", "n": 8_192}, 413, "x 514"),
    ]:
        assert client.get("/api/v1/tokens", **accepted).status == 200, accepted
        answer = client.get("/api/v1/tokens", **refused)
        assert answer.status == status, refused
        assert message in answer.message
        assert answer.argument in ("n", "e", "text", "seed")


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        ("similarity", {"n": 2_048}, {"n": 2_049}),
        ("products", {"n": 2_048}, {"n": 2_049}),
        ("attention", {"n": 512}, {"n": 513}),
        ("bias", {"e": "ALiBi(64)", "n": 512}, {"e": "ALiBi(64)", "n": 513}),
        ("bias", {"e": "FIRE(8, hidden=64)", "n": 512}, {"e": "FIRE(8, hidden=64)", "n": 513}),
        ("learned", {"e": "Learned(4096, 8)", "n": 1_448}, {"e": "Learned(4096, 8)", "n": 1_449}),
        (
            "learned",
            {"e": "Learned(512, 2048)", "n": 512},
            {"e": "Learned(1024, 2050)", "n": 1_024},
        ),
        ("sum", {"e": "Sinusoidal(170)", "n": 8_192}, {"e": "Sinusoidal(172)", "n": 8_192}),
        ("bias", {"e": "T5Bias(1)", "n": 2_048}, {"e": "T5Bias(1)", "n": 2_049}),
    ],
)
def test_every_view_at_its_edge(client, kind, accepted, refused):
    """The largest that is accepted is made, within the time limit."""
    answer = client.get(f"/api/v1/view/{kind}", **refused)
    assert answer.status == 413
    assert "must be at most" in answer.message
    assert answer.argument == "n"
    assert client.get(f"/api/v1/view/{kind}", **accepted).status == 200


@pytest.mark.parametrize(
    ("kind", "dim", "n"),
    [
        *(("decay", 512, 8_192), ("decay", 4_096, 1_024), ("waves", 512, 8_192)),
        *slow(("decay", 64, 8_192), ("waves", 64, 8_192), ("waves", 4_096, 1_024)),
    ],
)
def test_what_takes_time_takes_fewer_places_instead_of_being_refused(client, kind, dim, n):
    assert client.get(f"/api/v1/view/{kind}", e=f"RoPE({dim})", n=n).status == 200


@pytest.mark.parametrize(
    ("kind", "one", "length", "message"),
    [
        ("heatmap", "Sinusoidal(512)", 8_192, "8192 x 512 + 8192 x 512"),
        ("similarity", "RoPE(8)", 2_048, "4,194,304; got 2048 x 2048 + 2048 x 2048"),
        ("products", "RoPE(8)", 2_048, "4,194,304; got 2048 x 2048 + 2048 x 2048"),
        ("sum", "Sinusoidal(170)", 8_192, "4,194,304; got 3 x 8192 x 170 + 3 x 8192 x 170"),
        ("bias", "ALiBi(64)", 512, "16,777,216; got 64 x 512 x 512 + 64 x 512 x 512"),
        ("attention", "ALiBi(64)", 512, "16,777,216; got 64 x 512 x 512 + 64 x 512 x 512"),
        ("attention", "FIRE(8, hidden=64)", 512, "16,777,216; got 64 x 512 x 512"),
    ],
)
def test_what_several_encodings_take_is_counted_together(client, kind, one, length, message):
    """One is accepted, two of that size are not: memory is that of the request."""
    answer = client.get(f"/api/v1/view/{kind}", e=[one, one], n=length)
    assert answer.status == 413
    assert ", of all encodings together, must be at most" in answer.message
    assert message in answer.message
    assert client.get("/api/v1/tokens", e=one, n=length).status == 200
    check_size(kind, (evaluate_encoding(one),), length)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("view/attention", {"e": "FIRE(8, hidden=1024)", "n": 512}),
        ("view/heatmap", {"e": "Sinusoidal(4096)", "n": 8_192}),
        ("view/heatmap", {"e": "Sinusoidal(1000000000)"}),
        ("view/heatmap", {"e": "Learned(1000000000, 64)"}),
        ("view/heatmap", {"e": "Learned(8192, 4096)"}),
        ("view/bias", {"e": "ClippedBias(64, 1000000000)"}),
        ("view/bias", {"e": "T5Bias(64, buckets=1000000000)"}),
        ("view/bias", {"e": "SwinBias(64, (100000, 100000))"}),
        ("view/bias", {"e": "ALiBi(64)", "n": 4_096}),
        ("view/bias", {"e": "FIRE(64, hidden=1024)", "n": 4_096}),
        ("view/attention", {"e": "TransformerXL(64, 4096)"}),
        ("view/attention", {"e": "TransformerXL(8, 64, features=1000000000)"}),
        ("view/attention", {"e": "Shaw(4096, 4096)"}),
        ("view/attention", {"e": "Sinusoidal(4096)"}),
        ("view/heatmap", {"e": "Tempered(RoPE(4096), LogN(512))", "n": 8_192}),
        ("view/similarity", {"e": "RoPE(8)", "n": 8_192}),
        ("view/maps", {"e": "LearnedFourier(64, 2, features=1000000000)"}),
        ("view/maps", {"e": "AxialRoPE.split(1000000000)"}),
        ("view/maps", {"e": "AxialRoPE.mrope(64, sections=(1000000000, 1, 1))"}),
        ("view/heatmap", {"e": "RoPE(64, rotary_dim=1000000000)"}),
        ("explain", {"e": "Sinusoidal(4096)"}),
        ("export/csv", {"e": "Sinusoidal(512)", "n": 8_192, "view": "heatmap"}),
    ],
)
def test_a_refusal_takes_no_memory_and_no_time(client, path, asked):
    client.get("/api/v1/tokens")
    tracemalloc.start()
    start = time.process_time()  # not the clock: others may have the cores
    answer = client.get(f"/api/v1/{path}", **asked)
    spent, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.status in (400, 413)
    assert "at most" in answer.message
    assert any(character.isdigit() for character in answer.message)
    assert peak < 4_000_000
    assert spent < 2


def test_a_config_is_refused_by_its_length_before_it_is_read(client):
    body = b"[" * (limits.CONFIG + 1)
    answer = client.post("/api/v1/config", body)
    assert answer.status == 413
    assert "at most 262,144 bytes" in answer.message
    full = client.post("/api/v1/config", b" " * (limits.CONFIG - 2) + b"{}")
    assert full.status == 400
    assert "model_type" in full.message
    headers = ((b"host", b"localhost"), (b"content-length", b"9" * 30))
    assert client.ask("POST", b"/api/v1/config", headers=headers).status == 413


def test_layers_without_number_are_refused(client):
    config = {"model_type": "llama", "num_hidden_layers": 10**9}
    answer = client.post("/api/v1/config", config)
    assert answer.status == 400
    assert "num_hidden_layers" in answer.message


def test_sizes_of_a_config_are_counted_together(client):
    """72 kB that took 1 GB and 15 s: each depth was bounded, their sum was not."""
    config = {"model_type": "swin", "depths": [10_000] * 9_000, "num_heads": [1] * 9_000}
    answer = client.post("/api/v1/config", config)
    assert answer.status == 400
    assert "depths must add up to at most 10,000 layers; got 90,000,000" in answer.message


def test_a_temperature_hides_no_size_of_a_config(client):
    rope = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 8192}
    config = {
        "model_type": "ministral3",
        "head_dim": 8_192,
        "num_hidden_layers": 1,
        "rope_parameters": rope | {"rope_theta": 1e6, "llama_4_scaling_beta": 0.1},
    }
    answer = client.post("/api/v1/config", config)
    assert answer.status == 400
    assert "dim must be at most 4,096 in the explorer; got 8192" in answer.message


def test_what_the_explorer_lists_is_within_its_limits(client):
    told = client.get("/api/v1/encodings").json
    assert told["limits"] == {
        "text": limits.TEXT,
        "positions": limits.POSITIONS,
        "cells": limits.CELLS,
        "encodings": limits.ENCODINGS,
        "tokenizer": False,
    }
    for row in (row for group in told["groups"] for row in group["encodings"]):
        evaluate_encoding(row["expression"], check=limits.check_arguments)


@pytest.mark.parametrize("name", ["text", "by", "n", "seed", "lang"])
def test_a_parameter_that_comes_twice_is_refused(client, name):
    answer = client.get("/api/v1/tokens", (name, "1"), (name, "1"))
    assert answer.status == 400
    assert answer.message == f"{name} must be given once; got it 2 times"
    assert answer.argument == name


def test_a_field_that_comes_twice_is_refused(client):
    answer = client.get("/api/v1/spell", ("e", "RoPE(8)"), ("set.dim", "4"), ("set.dim", "8"))
    assert answer.status == 400
    assert "set.dim must be given once" in answer.message


@pytest.mark.parametrize("name", ["v", "hide", "enc", "x\0", "", "set.dim", "E", "a" * 200])
def test_an_unknown_parameter_is_refused(client, name):
    answer = client.get("/api/v1/view/heatmap", (name, "1"), e="Sinusoidal(8)")
    assert answer.status == 400
    assert answer.argument == name[:80]
    names = "text, by, e, n, seed, lang, rows, columns, channels, h, causal"
    assert answer.message == f"there is no parameter {name[:80]!r}; there are: {names}"


def test_every_endpoint_refuses_what_it_does_not_know(client):
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{kind}", "heatmap").encode()
        answer = client.ask(endpoint.method, path, b"lang=ja&unknown=1")
        assert (answer.status, answer.argument) == (400, "unknown"), endpoint.path
        assert answer.message.startswith("パラメータ 'unknown' はありません"), endpoint.path


@pytest.mark.parametrize(
    ("asked", "argument"),
    [
        ({"n": "8.0"}, "n"),
        ({"n": "1e3"}, "n"),
        ({"n": "٣"}, "n"),
        ({"n": "1_000"}, "n"),
        ({"n": " 8"}, "n"),
        ({"n": "--8"}, "n"),
        ({"n": ""}, "n"),
        ({"n": "9" * 1_000}, "n"),
        ({"by": "word"}, "by"),
        ({"lang": "fr"}, "lang"),
        ({"e": ""}, "e"),
        ({"e": "8"}, "e"),
    ],
)
def test_a_wrong_value_is_a_sentence(client, asked, argument):
    answer = client.get("/api/v1/tokens", **asked)
    assert answer.status == 400
    assert answer.argument == argument
    assert "must" in answer.message


def test_a_panel_that_there_is_not_is_a_sentence(client):
    beyond = client.get("/api/v1/view/heatmap.npy", panel=1)
    assert beyond.status == 400
    assert beyond.message == "panel must be 0 .. 0; got 1"
    lines = client.get("/api/v1/view/waves.npy", panel=1)
    assert lines.message == "panel must be 0 .. 0; got 1"


def test_a_kind_that_does_not_suit_is_not_there(client):
    for kind in ("bias", "nothing", "%00", "..", "heatmap.npy.npy"):
        answer = client.get(f"/api/v1/view/{kind}", e="Sinusoidal(8)")
        assert answer.status == 404, kind
        assert answer.message


def test_a_long_message_is_cut(client):
    answer = client.get("/api/v1/tokens", e="'" + "x" * 1_900 + "'")
    assert answer.status == 400
    assert len(answer.message) < 1_010


@pytest.mark.parametrize(
    ("expression", "costly"),
    [
        ("Sinusoidal(512)", False),
        ("Sinusoidal(1024)", True),
        ("AxialRoPE.split(4096, axes=4)", True),
        ("Shaw(64, 4096)", True),
        ("TransformerXL(8, 64)", True),
        ("Tempered(RoPE(4096), LogN(512))", True),
        ("ALiBi(64)", False),
    ],
)
def test_the_page_is_told_which_checks_are_costly(client, expression, costly):
    assert client.get("/api/v1/spell", e=expression).json["costly"] is costly


def test_features_have_a_limit():
    limits.check_arguments("Forgetting", {"feature_dim": 4_096})
    with pytest.raises(ValueError, match="feature_dim must be at most 4,096 in the explorer; got"):
        limits.check_arguments("Forgetting", {"feature_dim": 4_097})
