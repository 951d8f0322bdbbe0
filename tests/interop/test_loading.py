"""Configs from files, texts, dicts and objects, and the text model in them."""

import pytest

import posenc as pe
from posenc.interop.loading import load_config, select_stacks, select_text_config
from tests.interop.configs import LLAMA


class Config:
    """What transformers' config objects have in common."""

    def to_dict(self):
        return dict(LLAMA)


def test_an_object_with_to_dict_is_read_as_its_dict():
    assert load_config(Config()) == LLAMA
    assert pe.read_config(Config()) == pe.read_config(LLAMA)
    assert pe.from_config(Config()) == pe.from_config(LLAMA)
    with pytest.raises(TypeError, match="must be a path, its text, a dict or a config object"):
        load_config(Config)  # the class, not an object


def test_a_config_of_transformers_is_read_as_the_file_it_writes():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(num_hidden_layers=2, rope_theta=5e5)
    assert pe.from_config(config) == pe.RoPE(128, base=5e5, pairing="halves")
    assert pe.read_config(config) == pe.read_config(config.to_json_string())


def test_the_text_model_of_a_larger_one():
    whole = {"model_type": "llava", "text_config": LLAMA, "vision_config": {"model_type": "vit"}}
    assert select_text_config(whole) == LLAMA
    assert select_text_config(LLAMA) == LLAMA


def test_stacks_need_a_config_each():
    both = {"encoder": {}, "decoder": LLAMA}
    assert select_stacks(both) == both
    assert select_stacks({"encoder": "gpt2", "decoder": LLAMA}) is None
    assert select_stacks(both | {"text_config": LLAMA}) is None


@pytest.mark.parametrize("name", ["text_config", "decoder"])
def test_a_config_that_contains_itself_is_refused(name):
    config = dict(LLAMA)
    config[name] = config
    with pytest.raises(ValueError, match=f"{name} must be at most 8 configs deep"):
        pe.read_config(config)
    with pytest.raises(ValueError, match=f"{name} must be at most 8 configs deep"):
        pe.to_config(pe.RoPE(16), like=config)
    stacks = {"encoder": LLAMA, "decoder": config}
    with pytest.raises(ValueError, match=f"{name} must be at most 8 configs deep"):
        pe.read_config(stacks)
