"""Descriptions of models, and their differences."""

import pytest

import posenc as pe
from posenc.interop.describe import SCALINGS, compare, describe
from tests.interop.configs import LLAMA, SHARED, SHARED_GEMMA, model

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
MROPE_YARN = model("qwen2_vl", rope_scaling=YARN | {"mrope_section": [2, 3, 3]})


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (LLAMA | {"rope_theta": 1e6}, "slow pairs reach angles that were never seen in training"),
        (LLAMA | {"rope_theta": 10.0}, "every pair has seen all its angles in training"),
        (SHARED["dynamic"][0], "keys must be cached before rotation"),
        (SHARED["phi3 longrope"][0], "keys must be cached before rotation"),
        (SHARED["qwen2 yarn"][0], "after 4 x 1,024 = 4,096 tokens"),
        (SHARED["bert"][0], "an error: the table has no row"),
        (SHARED["marian"][0], "defined at every position"),
        (SHARED["bloom"][0], "the penalty keeps growing"),
        (SHARED["jamba"][0], "only the causal mask tells the order of tokens"),
        ({"model_type": "t5", "num_heads": 8, "num_layers": 1}, "share the last bucket"),
        ({"model_type": "swin"}, "no row for an offset larger than the window"),
        ({"model_type": "swinv2"}, "scaled to the pretrained window"),
        (SHARED["qwen2_vl, flat as in version 4"][0], "slow pairs reach angles"),
        (MROPE_YARN, "after 4 x 1,024 = 4,096 tokens"),
        (MROPE_YARN, "slow pairs rotate slower by the factor"),
    ],
)
def test_what_happens_beyond_the_trained_length(config, sentence):
    assert sentence in str(pe.read_config(config))


def told(config):
    return describe(pe.read_config(config))


def test_comparisons_of_schedules_and_kinds():
    rows = compare(told(model("smollm3", 8)), told(LLAMA))
    assert [row["what"] for row in rows] == ["model_type", "layers", "schedule"]
    rows = compare(told(LLAMA), told(model("bert")))
    assert [row["what"] for row in rows] == ["model_type", "encoding"]
    one, other = (told(SHARED_GEMMA | {"rope_theta": base}) for base in (1e6, 2e6))
    rows = compare(one, other)
    assert {row["where"] for row in rows} == {"layers 5"}
    assert rows[0]["what"] == "base"


def test_every_scaling_has_its_sentence():
    import posenc.scalings

    named = {
        value
        for value in vars(posenc.scalings).values()
        if isinstance(value, type) and issubclass(value, pe.Scaling)
    }
    stated = {value for value in named if value.__module__ == "posenc.scalings"}
    assert stated - {posenc.scalings.PerPair} <= set(SCALINGS)
