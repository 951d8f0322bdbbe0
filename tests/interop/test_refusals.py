"""What is not read is refused by a sentence that says what it has."""

import re

import pytest

import posenc as pe
from posenc.i18n import LANGUAGES, translate
from posenc.interop.conventions import KNOWN, REFUSED
from tests.interop.configs import LLAMA, model


def test_a_model_type_is_read_or_refused_and_not_both():
    assert not KNOWN & REFUSED.keys()


@pytest.mark.parametrize("pairing", [None, "halves"])
@pytest.mark.parametrize(
    "name", ["wav2vec2", "deberta-v2", "mistral_large4_text", "dinov3_convnext"]
)
def test_a_refused_type_says_what_it_has_also_with_a_pairing(name, pairing):
    with pytest.raises(ValueError, match=f"^{re.escape(REFUSED[name].format(model=name))}$"):
        pe.read_config(model(name, rope_theta=1e4), pairing=pairing)


def test_a_model_of_parts_names_those_that_the_file_has():
    parts = {"vision_config": {"hidden_size": 4}, "mask_decoder_config": {"hidden_size": 4}}
    with pytest.raises(ValueError, match=r"^sam .*vision_config, mask_decoder_config"):
        pe.read_config({"model_type": "sam", **parts})


@pytest.mark.parametrize("name", ["sam3", "grounding-dino"])
def test_a_text_that_only_says_what_to_look_for_is_not_read_for_the_model(name):
    parts = {"text_config": model("bert", max_position_embeddings=512), "vision_config": {"x": 1}}
    with pytest.raises(ValueError, match=f"^{name} finds what .*: text_config, vision_config$"):
        pe.read_config({"model_type": name, **parts})


@pytest.mark.parametrize("lang", LANGUAGES[1:])
def test_a_refusal_is_translated_with_what_it_names(lang):
    for name in ("wav2vec2", "sam", "layoutlm"):
        with pytest.raises(ValueError, match=f"^{name} ") as caught:
            pe.read_config({"model_type": name})
        told = translate(caught.value, lang)
        assert name in told
        assert told != str(caught.value)
        assert "{" not in told


@pytest.mark.parametrize("on", ["use_dynamic_ntk", "use_logn_attn"])
def test_what_qwen_does_beyond_its_length_is_refused_with_what_it_is_within(on):
    config = model("qwen", kv_channels=16, use_dynamic_ntk=False, use_logn_attn=False)
    with pytest.raises(ValueError, match=rf"^{on} must be false: .* is RoPE\(16, pairing='halves'"):
        pe.read_config({key: value for key, value in config.items() if key != on})
    assert pe.from_config(config) == pe.RoPE(16, pairing="halves")


MORE = [
    ({"patch_size": 16}, "patch_size needs a model_type that is known, since patches of an image"),
    ({"no_rope_layers": [1, 0]}, "no_rope_layers needs a model_type that is known, since some"),
    ({"position_encoding_2d": True}, "since tokens have two positions; got"),
    ({"kv_lora_rank": 512}, "qk_nope_head_dim must be in the config of 'new'; it is missing"),
    ({"qk_nope_head_dim": 16}, "qk_rope_head_dim must be in the config of 'new'; it is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), MORE)
def test_an_unknown_type_that_says_more_than_rope_is_refused(fields, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        pe.read_config(model("new", rope_theta=1e4, **fields), pairing="halves")


def test_latent_attention_of_an_unknown_type_is_read_by_its_fields():
    fields = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
    found = pe.from_config(model("new", rope_theta=5e4, **fields), pairing="interleaved")
    assert found == pe.RoPE(192, base=5e4, rotary_dim=64, rotated="trailing")


@pytest.mark.parametrize(
    ("name", "value"),
    [("rotary", False), ("use_rotary_pos_emb", False), ("position_embedding_xdrope", True)],
)
def test_a_switch_with_the_other_value_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must agree with the rotary encoding of 'llama'"):
        pe.read_config(LLAMA | {name: value})
    assert pe.read_config(LLAMA | {name: not value}) == pe.read_config(LLAMA)


def test_gptj_s_rotation_contradicts_a_model_that_pairs_halves():
    with pytest.raises(ValueError, match="position_embedding_type must agree with the rotary"):
        pe.read_config(LLAMA | {"position_embedding_type": "rope_gptj"})
