"""A file of an unknown type is refused by what it has."""

import re

import pytest

import posenc as pe
from posenc.i18n import LANGUAGES, translate
from tests.interop.configs import model

CLUES = [
    ({"rope_theta": 1e6}, "rope_theta=1000000.0: RoPE; Llama and its kin pair halves"),
    ({"rotary_pct": 0.25}, "rotary_pct=0.25: RoPE"),
    ({"kv_lora_rank": 512, "rope_theta": 1e4}, "kv_lora_rank=512: multi-head latent attention"),
    ({"alibi": True}, "alibi=True: ALiBi, ALiBi(heads=4)"),
    ({"relative_attention_num_buckets": 32}, "the bias of T5, T5Bias(heads=4, …)"),
    ({"patch_size": 14, "image_size": 224}, "patch_size=14, image_size=224: patches of an image"),
    ({"num_conv_pos_embeddings": 128}, "a convolution as positions, which posenc does not have"),
    ({"ssm_cfg": {"layer": "Mamba2"}}, "ssm_cfg={'layer': 'Mamba2'}: layers without attention"),
    ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}},
     "rope_parameters={'rope_theta': 10000.0, 'rope_type': 'default'}: RoPE"),
    ({"position_embedding_type": "x"}, "position_embedding_type='x': the kind of encoding"),
    ({"vision_config": {"model_type": "vit"}}, "vision_config={…}: parts with configs"),
    ({"auto_map": {"AutoModel": "modeling_x.XModel"}}, "auto_map={modeling_x}: the code that"),
    ({"max_position_embeddings": 2048}, "max_position_embeddings=2048 alone says"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "clue"), CLUES)
def test_a_file_of_an_unknown_type_is_refused_by_what_it_has(fields, clue):
    with pytest.raises(ValueError, match="model_type must be a known one") as caught:
        pe.read_config(model("zzz", **fields))
    assert clue in str(caught.value)
    assert "did you mean" not in str(caught.value)


def test_what_is_off_is_no_clue():
    with pytest.raises(ValueError, match="alone says nothing") as caught:
        pe.read_config(model("zzz", alibi=False, rope_scaling=None))
    assert "ALiBi" not in str(caught.value)
    assert "RoPE" not in str(caught.value)


def test_a_file_without_fields_says_so():
    with pytest.raises(ValueError, match=r"no field of the file is about positions$"):
        pe.read_config({"model_type": "zzz"})


def test_a_near_name_is_offered():
    with pytest.raises(ValueError, match=re.escape("got model_type='lama'; did you mean 'llama';")):
        pe.read_config(model("lama"))


def test_long_values_are_shortened():
    with pytest.raises(ValueError, match="RoPE") as caught:
        pe.read_config(model("zzz", rope_scaling={str(i): "x" * 99 for i in range(99)}))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("lang", LANGUAGES[1:])
@pytest.mark.parametrize(("fields", "clue"), CLUES)
def test_clues_are_translated(fields, clue, lang):
    with pytest.raises(ValueError, match="known one") as caught:
        pe.read_config(model("zzz", **fields))
    told = translate(caught.value, lang)
    assert told.count("=") >= str(caught.value).count("=") - 2
    left = re.findall(r"[a-z]+ [a-z]+ [a-z]+ [a-z]+", told)  # English words in a row
    assert left == [], clue
