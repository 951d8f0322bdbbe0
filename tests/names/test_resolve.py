"""Encodings found by name and by expression (tests/cli and tests/checks have the rest)."""

import json
from importlib import metadata

import numpy as np
import pytest

import posenc as pe
from posenc.encodings.registry import load_builtins
from posenc.i18n import LANGUAGES, translator
from posenc.names.resolve import (
    SCALED,
    canonical_name,
    evaluate_encoding,
    is_sentence,
    resolve,
    share_out,
)
from posenc.views import view


def test_pairs_are_shared_out_to_the_last():
    for total in (8, 9, 100):
        assert sum(share_out(total, (2, 3, 3))) == total


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("dim", [16, 64])
def test_a_variant_has_the_dim_that_is_asked_for(name, dim):
    assert resolve(name, dim=dim)[name].dim == dim


def test_sizes_go_to_the_fields_that_are_required():
    assert pe.Learned.example(length=3, dim=8) == pe.Learned(3, 8)
    assert resolve("t5", heads=2, dim=8)["t5"] == pe.T5Bias(2)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "rpoe",
            r"^no encoding is called 'rpoe'; did you mean rope\? `posenc list` shows every name$",
        ),
        ("旋转位置编", r"did you mean rope\?"),
        ("zzz", r"^no encoding is called 'zzz'; give a name \(`posenc list` shows every one\)"),
        ("RoPE(64, theta=5e5)", r"^RoPE has no argument 'theta'; did you mean base=\?$"),
        ("pe.ALiBi(num_heads=8)", r"^ALiBi has no argument 'num_heads'; did you mean heads=\?$"),
        ("RoPE(8, scaling=NTK(scale=4))", r"^NTK has no argument 'scale'; did you mean factor=\?$"),
        ("RoPE(8, zzz=4)", r"^RoPE has no argument 'zzz'; it takes dim, base, pairing, "),
        ("RPoE(8)", r"plain values; got 'RPoE\(8\)'; did you mean RoPE\?"),
        ("missing/config.json", r"^no such file: missing/config.json$"),
        ("RoPE(7)", "dim must be .*7"),
        ("RoPE(dmi=8)", r"^RoPE has no argument 'dmi'; did you mean dim=\?$"),
        ("RoPE(8", r"expression must be Python; got 'RoPE\(8': '\(' was never closed"),
        ("RoPE(8, base=1e4, base=5e5)", r"got RoPE: multiple values for argument 'base'"),
        ("RoPE(8, **{'base': 1e4})", r"must name each argument; got .\*\*{"),
        ("RoPE(8)\0", r"expression must not have null characters"),
        ("RoPE(8))", r"expression must be Python; got 'RoPE\(8\)\)'"),
        ("print(8)", r"made of encodings, scalings and plain values; got 'print\(8\)'"),
        ("RoPE(__import__('os').getpid())", "plain values; got"),
        ("RoPE.__init__(8)", "plain values; got"),
        ("RoPE(8, scaling=YaRN(4))", "expression must be valid"),
        (
            "AxialRoPE(64)",
            r"got AxialRoPE: missing a required argument: 'layout'; "
            r"did you mean AxialRoPE\.split\(64\)\?",
        ),
        ("(8)", "what is named must be an Encoding; got 8"),
        (
            "yarn(4, 8192)",
            r"must be an Encoding; got YaRN\(.*; did you mean RoPE\(64, scaling=YaRN\(",
        ),
    ],
)
def test_what_names_no_encoding_is_a_sentence(what, message):
    with pytest.raises((ValueError, TypeError), match=message):
        resolve(what)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("RoPE", "rope"),
        ("transformer_xl", "transformer-xl"),
        ("Transformer XL", "transformer-xl"),
        ("T5Bias", "t5"),
        ("ＲｏＰＥ", "rope"),
        ("dynamic-ntk", "dynamic-ntk"),
        ("DynamicNTK", "dynamic-ntk"),
        ("LongRoPE", "longrope"),
        ("PROPORTIONAL", "p-rope"),
        ("M-RoPE", "mrope"),
        ("旋转位置编码", "rope"),
        ("旋转位置嵌入", "rope"),
        ("回転位置エンコーディング", "rope"),
        ("rotary positional encoding", "rope"),
        ("正弦位置编码", "sinusoidal"),
        ("sinusoidal positional embedding", "sinusoidal"),
        ("旋轉位置編碼", "rope"),
        ("回転位置埋め込み", "rope"),
        ("Rotary Position Embedding", "rope"),
        ("Transformer-XL 相对位置编码", "transformer-xl"),
    ],
)
def test_a_name_is_found_however_it_is_written(spelling, name):
    assert resolve(spelling) == resolve(name)
    assert list(resolve(spelling)) == [name]


def test_every_title_of_every_language_names_its_encoding():
    """No two encodings share a title, or one of them could not be found by it."""
    for name, kind in load_builtins().items():
        titles = [translator(lang)(kind.about.title) for lang in LANGUAGES]
        assert all(titles), name
        assert {canonical_name(title) for title in titles} == {name}


@pytest.mark.parametrize(
    "sentence", ["the dog", "我 爱 学习 AI", "hello", "hello (world)", "rope is"]
)
def test_what_is_nothing_else_is_a_sentence(sentence):
    assert is_sentence(sentence)


@pytest.mark.parametrize(
    "what",
    [
        *("rope", "rop", "RoPE(64", "RPoE(64)", "confg.json", "missing/config.json", "mine.py"),
        *("posenc:RoPEE", "旋转位置编码", "Transformer XL", "two sided alibi(8"),
    ],
)
def test_what_was_meant_as_an_encoding_is_no_sentence(what):
    assert not is_sentence(what)


@pytest.mark.parametrize("tool", [pe.show, pe.explain])
def test_a_sentence_in_place_of_an_encoding_is_told_its_argument(tool):
    with pytest.raises(ValueError, match="no encoding is called 'dog bites man'") as raised:
        tool("dog bites man")
    assert str(raised.value).endswith("; a sentence is given by tokens='dog bites man'")
    for what in ("RoPE(64, theta=5e5)", "missing/config.json", "posenc:RoPEE", "{"):
        with pytest.raises(ValueError, match=r".") as raised:
            tool(what)
        assert "tokens=" not in str(raised.value)


def test_the_text_of_a_config_is_as_good_as_its_file():
    llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    text = json.dumps(llama | {"num_hidden_layers": 2, "max_position_embeddings": 2048}, indent=1)
    encoding = pe.from_config(text)
    assert resolve(text) == {f"llama: {encoding}": encoding}
    assert pe.check(text, limit=300.0).ok
    shown = view(text, "decay")
    assert "base 10,000 is the default of llama; the file does not set it" in map(str, shown.notes)
    assert not is_sentence(text)


def test_spellings_are_looked_up_once(monkeypatch):
    canonical_name("rope")
    monkeypatch.setattr(metadata, "entry_points", lambda group: pytest.fail("looked up again"))
    assert canonical_name("T5Bias") == "t5"
    assert is_sentence("the dog")


def test_a_file_that_is_not_there_has_its_neighbour_named(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    for name, message in {
        "confg.json": r"no such file: .*confg.json; did you mean .*/config.json\?$",
        "none/x.json": r"no such file: .*none/x.json$",
        "": "is a directory; give the config.json in it",
        "mine.py": "mine.py is Python: `--load",
        "notes.txt": "a model's config must be a .json file; got .*notes.txt",
    }.items():
        with pytest.raises(ValueError, match=message):
            resolve(f"{tmp_path}/{name}")


def test_a_size_for_what_has_its_own_is_refused():
    with pytest.raises(ValueError, match="dim must be left out for an encoding with its own size"):
        resolve("RoPE(8)", dim=16)


def test_a_loaded_value_is_used_as_it_is():
    assert np.isfinite(evaluate_encoding("Sinusoidal(4, base=100.0)").encode([3])).all()
