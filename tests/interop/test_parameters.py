"""The scalings in rope_parameters."""

import posenc as pe
from tests.interop.configs import (
    LLAMA,
    SHARED,
    YARN,
)


def test_a_factor_that_is_not_the_ratio_is_a_note():
    yarn = YARN | {"factor": 8.0}
    found = pe.read_config(LLAMA | {"rope_theta": 1e4, "rope_scaling": yarn})
    assert found.notes == (
        "factor 8 differs from max_position_embeddings / original length = 4,096 / 1,024; "
        "the factor is used",
    )
    assert found.layers[0].scaling.factor == 8.0


def test_deepseek_s_softmax_factor_is_a_note():
    config, _ = SHARED["deepseek_v3"]
    assert any("multiplied by 1.4029" in note for note in pe.read_config(config).notes)


def test_yarn_takes_the_files_betas():
    scaling = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 24.0, "beta_slow": 2.0}
    scaling |= {"original_max_position_embeddings": 512}
    found = pe.from_config({"model_type": "llama", "rope_scaling": scaling}, layer=0)
    assert (found.scaling.beta_fast, found.scaling.beta_slow) == (24.0, 2.0)
