"""Which layers are local or global, and which rotate."""

import pytest

import posenc as pe
from tests.interop.configs import (
    SHARED_GEMMA,
    bases,
    model,
)


@pytest.mark.parametrize(
    "more",
    [
        {"rope_theta": 2e6, "rope_local_base_freq": 2e4, "sliding_window_pattern": 3},
        {
            "rope_theta": 2e6,
            "rope_local_base_freq": 2e4,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2
            + ["sliding_attention"],
        },
        {
            "sliding_window_pattern": 3,
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 2e4},
                "full_attention": {"rope_type": "default", "rope_theta": 2e6},
            },
        },
    ],
)
def test_gemma_3_alternates_two_bases(more):
    local, everywhere = 2e4, 2e6
    expected = [local, local, everywhere, local, local, everywhere, local]
    assert bases(SHARED_GEMMA | more) == expected


@pytest.mark.parametrize(
    "fields", [{}, {"layer_types": ["sliding_attention"] * 8}, {"layer_types": ["local"] * 8}]
)
@pytest.mark.parametrize("name", ["gemma4_text", "gemma4_unified_text", "embedding_gemma2_text"])
def test_the_last_layer_of_gemma_4_is_global_whatever_the_file_says(name, fields):
    found = pe.read_config(model(name, 8, head_dim=16, global_head_dim=32, **fields))
    assert found.layers[7].dim == 32
    assert found.layers[6].dim == 16
    assert found.parts[7] == "full_attention"
    kind = fields.get("layer_types", [None])[-1]
    note = f"the last layer is global in {name}, though layer_types says {kind!r}"
    assert (note in found.notes) == bool(fields)


def test_no_rope_layers_are_those_with_rope():
    config = model("smollm3", 4, no_rope_layers=[1, 0, 1, 1])
    assert bases(config) == [2e6, None, 2e6, 2e6]
    assert bases(model("smollm3", 4, no_rope_layer_interval=2)) == [2e6, None, 2e6, None]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (model("cohere2", 5), [1e4] * 3 + [None, 1e4]),
        (model("cohere2", 5, sliding_window_pattern=2), [1e4, None, 1e4, None, 1e4]),
        (model("exaone4", 5, sliding_window_pattern="LLG"), [1e4, 1e4, None, 1e4, None]),
        (model("exaone4", 5, sliding_window=None), [1e4] * 5),
        (model("beam", 8), [1e4] * 5 + [None, 1e4, None]),
        (model("beam", 2, layer_types=["sliding_attention"] * 2), [1e4, 1e4]),
        (model("qwen3_next", 4, head_dim=16), [None] * 3 + [1e4]),
        (model("bamba", 3, attn_layer_indices=[1]), [None, 1e4, None]),
        (model("granite_swa", 3, layer_rope_theta=[1e4, 0, 5e5]), [1e4, None, 5e5]),
        (
            model("deepseek_v4", 2, head_dim=64, rope_theta=1e4, compress_rope_theta=16e4)
            | {"layer_types": ["sliding_attention", "compressed_sparse_attention"]},
            [1e4, 16e4],
        ),
        (
            model("deepseek_v4", 2, head_dim=64)
            | {"layer_types": ["sliding_attention", "compressed_sparse_attention"]}
            | {"rope_parameters": {"main": {"rope_theta": 3e4}, "compress": {"rope_theta": 7e4}}},
            [3e4, 7e4],
        ),
    ],
)
def test_layers_that_differ(config, expected):
    assert bases(config) == expected
