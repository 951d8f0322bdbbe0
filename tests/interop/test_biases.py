"""Models with a bias."""

import posenc as pe
from tests.interop.configs import (
    SWIN,
)


def test_t5_looks_both_ways_in_its_encoder():
    config = {"model_type": "t5", "num_heads": 8, "num_layers": 2, "num_decoder_layers": 1}
    config |= {"relative_attention_num_buckets": 16}
    both = pe.T5Bias(8, buckets=16, bidirectional=True, scaled=False)
    back = pe.T5Bias(8, buckets=16, scaled=False)
    found = pe.read_config(config)
    assert found.layers == (both, both, back)
    assert "the layers of a stack share one table" in found.notes
    assert "layers 0-1 are in the encoder, 2-2 in the decoder" in found.notes
    assert pe.from_config(config | {"is_encoder_decoder": False}) == both
    assert pe.from_config(config | {"model_type": "pix2struct_text_model"}) == back
    long = config | {"model_type": "longt5", "encoder_attention_type": "transient-global"}
    assert "the separate table for block averages is not read" in (pe.read_config(long).notes)


def test_swin_has_the_heads_of_its_stages():
    found = pe.read_config(SWIN)
    first, second = (pe.SwinBias(heads, (4, 4)) for heads in (2, 4))
    assert found.layers == (first, first, second)
    assert (found.heads, found.trained_length) == (None, None)
    assert found.notes == ("positions are rows and columns within a window: grid(height, width)",)
    plain = pe.read_config({"model_type": "swin"})
    assert [layer.heads for layer in plain.layers] == [3] * 2 + [6] * 2 + [12] * 6 + [24] * 2
    assert {layer.window for layer in plain.layers} == {(7, 7)}
    assert not any("fails" in note for note in plain.notes)
    assert sum("is the default of swin" in note for note in plain.notes) == 5


def test_swin_keeps_its_window_where_the_map_is_smaller_and_says_that_it_fails():
    found = pe.read_config(SWIN | {"window_size": 9})
    assert found.layers[2] == pe.SwinBias(4, (9, 9))
    note = "the last feature map has side 8, smaller than the window: transformers fails there"
    assert note in found.notes
    rounded_up = pe.read_config(SWIN | {"window_size": 8, "image_size": [29, 40]})
    assert not any("fails" in note for note in rounded_up.notes)


def test_swin_v2_has_no_window_higher_than_its_map():
    config = SWIN | {"model_type": "swinv2", "window_size": 10}
    found = pe.read_config(config | {"pretrained_window_sizes": [6, 0, 0, 0]})
    first = pe.SwinV2Bias(2, (10, 10), pretrained_window=(6, 6))
    assert found.layers == (first, first, pe.SwinV2Bias(4, (8, 8)))
    assert any("cosine attention" in note for note in found.notes)
    assert pe.from_config(config | {"image_size": [16, 32]}, layer=2).window == (4, 4)
