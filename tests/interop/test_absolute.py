"""Models that add positions."""

import pytest

import posenc as pe


def test_whisper_has_sines_over_sound_and_a_table_over_text():
    config = {"model_type": "whisper", "d_model": 64, "encoder_layers": 2, "decoder_layers": 1}
    config |= {"max_source_positions": 1500, "max_target_positions": 448}
    sines = pe.Sinusoidal(64, layout="concat", spacing="t2t")
    assert pe.read_config(config).layers == (sines, sines, pe.Learned(448, 64))


def test_led_has_a_table_for_each_stack():
    config = {"model_type": "led", "d_model": 64, "encoder_layers": 2, "decoder_layers": 1}
    found = pe.read_config(config | {"max_encoder_position_embeddings": 4096})
    assert found.layers == (pe.Learned(4096, 64),) * 2 + (pe.Learned(1024, 64),)
    assert found.parts == ("encoder", "encoder", "decoder")


def test_trocr_may_have_sinusoids_which_are_not_read():
    config = {"model_type": "trocr", "d_model": 64, "use_learned_position_embeddings": False}
    with pytest.raises(ValueError, match="use_learned_position_embeddings must be true, since"):
        pe.read_config(config)
