"""The command `posenc compare`."""

import json

import pytest

import posenc as pe
from posenc.i18n import LANGUAGES


def test_compare_takes_all(run, monkeypatch):
    taken = []
    monkeypatch.setattr(
        "posenc.comparison.measure_entry", lambda name, *_, **__: taken.append(name)
    )
    run("compare", "--all")
    assert taken == [*pe.catalogue()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "specify an ENCODING, --load FILE or --all"),
        (("rop",), "no encoding is called 'rop'; did you mean rope?"),
        (("--load", "none.py"), "file must be a Python file that exists; got none.py"),
        (("nope", "--lang", "fr"), "'fr' is not one of 'en', 'ja', 'zh-Hans', 'zh-Hant'"),
        (("nope", "--format", "html"), "'html' is not one of 'text', 'markdown', 'json'"),
        (("nope", "--limit", "0"), "limit must be a finite number of at least 0.001"),
        (("alibi", "--heads", "0"), "heads must be a whole number of at least 1"),
        (("nope", "--seed", "-1"), "seed must be a whole number of at least 0; got seed=-1"),
    ],
)
def test_wrong_arguments_are_reported(run, arguments, message):
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_compare_prints_a_table_and_its_progress(run):
    result = run("compare", "nope", "ALiBi(4)", "--no-bench")
    assert result.exit_code == 0
    assert result.stderr == "nope\nALiBi(4)\n"
    assert "added to the logits" in result.stdout
    assert "time per token" not in result.stdout


@pytest.mark.parametrize("form", [(), ("--json",), ("--format", "markdown")])
def test_a_busy_machine_is_warned_about_on_stderr(run, monkeypatch, form):
    """As bench does; on stderr, for the table and the JSON are data."""
    told = []
    for busy in (True, False):
        machine = {"load": 1.5, "cores": 2, "busy": busy}
        monkeypatch.setattr("posenc.bench.timing.machine_load", lambda machine=machine: machine)
        told += [run("compare", "nope", *extra, *form) for extra in ((), ("--no-bench",))]
    warning = "Unreliable timings: the load average was 1.5 on 2 cores at the start."
    assert [warning in result.stderr for result in told] == [True, False, False, False]
    assert not any("load average" in result.stdout for result in told)


def test_compare_has_other_formats(run):
    as_json = json.loads(run("compare", "nope", "--no-bench", "--json").stdout)
    assert as_json == json.loads(run("compare", "nope", "--no-bench", "--format", "json").stdout)
    assert as_json["encodings"][0]["name"] == "nope"
    assert as_json["encodings"][0]["cost"] is None
    markdown = run("compare", "nope", "--no-bench", "--format", "markdown").stdout
    assert markdown.startswith("|  | encoding | where it acts |")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_compare_takes_every_language(run, lang):
    result = run("compare", "nope", "--no-bench", "--json", "--lang", lang)
    assert json.loads(result.stdout)["lang"] == lang


def test_compare_takes_sizes_and_configs(run, tmp_path):
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    sizes = ("--dim", "8", "--length", "32", "--heads", "2")
    result = run("compare", "learned", "alibi", "config.json", *sizes, "--no-bench", "--json")
    rows = json.loads(result.stdout)["encodings"]
    assert rows[0]["encoding"] == "Learned(32, 8)"
    assert rows[0]["parameters"]["count"] == 32 * 8
    assert rows[1]["encoding"] == "ALiBi(2)"
    assert rows[2]["encoding"] == "RoPE(16, pairing='halves')"
