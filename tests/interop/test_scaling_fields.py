"""The rope parameters of a scaling."""

import pytest

import posenc as pe
from posenc.interop.scaling_fields import scaling_fields
from posenc.scalings import PerPair


def test_only_what_differs_from_the_defaults_is_written():
    yarn = pe.YaRN(32.0, 4096, truncate=False, attention_factor=1.2)
    assert scaling_fields(yarn, "gpt_oss") == {
        "rope_type": "yarn",
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "truncate": False,
        "attention_factor": 1.2,
    }


def test_hunyuan_has_a_field_for_ntk():
    assert scaling_fields(pe.NTK(1000.0), "hunyuan_v1_dense")["alpha"] == 1000.0


@pytest.mark.parametrize(
    ("scaling", "why"),
    [
        (pe.NTK(4.0), "NTK has no rope_type: write its larger base"),
        (pe.YaRN(4.0, 2048, ramp="rotations"), "ramp must be 'dim'"),
        (PerPair((1.0, 2.0)), r"written as LongRoPE"),
        (pe.LongRoPE((1.0,), (2.0,), 2048), "LongRoPE must have a factor"),
    ],
)
def test_what_no_rope_type_says_is_refused(scaling, why):
    with pytest.raises(ValueError, match=why):
        scaling_fields(scaling, "llama")
