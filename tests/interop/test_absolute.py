"""Models that add positions."""

import posenc as pe


def test_whisper_has_sines_over_sound_and_a_table_over_text():
    config = {"model_type": "whisper", "d_model": 64, "encoder_layers": 2, "decoder_layers": 1}
    config |= {"max_source_positions": 1500, "max_target_positions": 448}
    sines = pe.Sinusoidal(64, layout="concat", spacing="t2t")
    assert pe.read_config(config).layers == (sines, sines, pe.Learned(448, 64))
