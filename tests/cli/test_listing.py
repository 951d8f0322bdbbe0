"""The command `posenc list`."""

import json

import posenc as pe
from posenc.names.resolve import SCALED, evaluate_encoding


def test_list_describes_one_encoding(run):
    told = run("list", "RoPE").stdout
    for part in ("rotary position embedding", "base=10000.0", "arXiv:2104.09864 (2021)", "Llama"):
        assert part in told
    row = json.loads(run("list", "t5", "--json").stdout)["encodings"]["t5"]
    assert row["parameters"]["heads"]["default"] is None
    assert row["parameters"]["buckets"]["default"] == "32"
    assert row["parameters"]["heads"]["help"] in run("list", "t5").stdout
    assert row["traits"] == list(pe.T5Bias(8).traits.claims())
    assert row["models"] == list(pe.T5Bias.about.models)


def test_list_names_every_encoding(run):
    listed = [line.split()[0] for line in run("list").stdout.splitlines()]
    assert listed == [*pe.catalogue(), *SCALED]
    data = json.loads(run("list", "--json").stdout)
    row = data["encodings"]["learned"]
    assert row == {"acts": "additive", "parameters": ["length", "dim", "std"]}
    for name, expression in data["variants"].items():
        assert evaluate_encoding(expression) == SCALED[name](64)
