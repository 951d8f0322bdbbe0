"""A config names sizes: what would take long, or much memory, is refused before the work."""

import tracemalloc

import pytest

from posenc import read_config
from posenc.encodings.swin import SwinBias
from posenc.interop.fields import MOST_CHANNELS, MOST_DIFFERENT, MOST_ENTRIES, MOST_LAYERS
from posenc.interop.model import group_layers

PEAK = 2 * MOST_CHANNELS * 32
"""Bytes: a Python number is 24 and its place in a tuple 8; LongRoPE has two for each pair."""


def llama(layers: int, head_dim: int = 64, **more):
    return {"model_type": "llama", "head_dim": head_dim, "num_hidden_layers": layers} | more


def longrope(pairs: int):
    factors = {"short_factor": [1] * pairs, "long_factor": [1] * pairs}
    return {"rope_type": "longrope", "original_max_position_embeddings": 4096} | factors


def mrope(kind: str, head_dim: int, sections: list[int]):
    rope = {"rope_type": "default", "mrope_section": sections}
    return llama(2, head_dim, model_type=kind, rope_parameters=rope)


def swin(depths: list[int], **more):
    heads = {"model_type": "swin", "num_heads": [1] * len(depths)}
    return heads | {"depths": depths} | more


TOGETHER = "different encodings must have at most 65,536 channels in total; got "
KINDS = [f"kind{i}" for i in range(4_000)]
BOMBS = {
    "depths": (swin([10_000] * 1_800), "depths must add up to at most 10,000 layers; got 18,"),
    "depths of swinv2": (
        swin([10_000] * 1_800, model_type="swinv2"),
        "depths must add up to at most 10,000 layers",
    ),
    "layer types": (
        llama(4_000, layer_types=KINDS, rope_parameters={k: {"rope_theta": 1e4} for k in KINDS}),
        "rope_parameters must have at most 1,024 entries; got 4,000",
    ),
    "bases": (
        llama(4_000, layer_rope_theta=[10_000 + i for i in range(4_000)]),
        "must have at most 1,024 different encodings; got more",
    ),
    "factors": (
        llama(
            4_000,
            10_000,
            layer_rope_theta=[10_000 + i for i in range(4_000)],
            max_position_embeddings=8_192,
            rope_parameters=longrope(5_000),
        ),
        f"{TOGETHER}70,000",
    ),
    "a wide head": (mrope("qwen2_vl", 2**20, [2**19]), f"{TOGETHER}1,048,576"),
    "a wide head of ernie": (
        mrope("ernie4_5_vl_moe", 2**20, [2**17, 2**17, 2**18]),
        f"{TOGETHER}1,048,576",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_too_much_is_refused_before_memory_is_taken(name):
    config, message = BOMBS[name]
    tracemalloc.start()
    with pytest.raises(ValueError, match=message):
        read_config(config)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < PEAK


def test_the_largest_are_read():
    assert len(read_config(swin([MOST_LAYERS // 4] * 4)).layers) == MOST_LAYERS
    kinds = KINDS[:MOST_ENTRIES]
    own = {kind: {"rope_theta": 10_000.0 + i} for i, kind in enumerate(kinds)}
    many = read_config(llama(MOST_ENTRIES, layer_types=kinds, rope_parameters=own))
    assert len(set(many.layers)) == MOST_ENTRIES == MOST_DIFFERENT
    assert read_config(llama(1, MOST_CHANNELS)).head_dim == MOST_CHANNELS


class Counted(int):
    """A number that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_a_list_of_layers_is_not_looked_through_for_each_layer(monkeypatch):
    monkeypatch.setattr(Counted, "compared", 0)
    where = [Counted(i + 300) for i in range(1_000)]
    config = llama(300, model_type="bamba", attn_layer_indices=where)
    assert len(set(read_config(config).layers)) == 1
    assert Counted.compared <= len(where)  # a set compares what collides; 300,000 before


@pytest.mark.parametrize("value", ["1", 1.5, None, [1]])
def test_a_list_of_layers_has_whole_numbers(value):
    config = llama(3, model_type="bamba", attn_layer_indices=[0, value])
    with pytest.raises(TypeError, match="each of attn_layer_indices must be a whole number"):
        read_config(config)


def test_layers_that_share_a_value_are_grouped_without_its_hash(monkeypatch):
    """Each of 10,000 layers may have the same 100,000 factors, which a hash goes through."""
    hashed = []
    plain = SwinBias.__hash__
    monkeypatch.setattr(SwinBias, "__hash__", lambda bias: hashed.append(1) or plain(bias))
    assert group_layers((SwinBias(2, (7, 7)),) * 1_000) == [
        (SwinBias(2, (7, 7)), list(range(1_000)))
    ]
    assert len(hashed) == 1


def test_layers_are_grouped_without_comparing_all_with_all(monkeypatch):
    compared = []
    equal = SwinBias.__eq__
    monkeypatch.setattr(SwinBias, "__eq__", lambda a, b: compared.append(1) or equal(a, b))
    layers = tuple(SwinBias(1 + i % 400, (7, 7)) for i in range(800))
    groups = group_layers(layers)
    assert [where for _, where in groups] == [[i, i + 400] for i in range(400)]
    assert len(compared) <= 2 * len(layers)  # 400 x 400 before
