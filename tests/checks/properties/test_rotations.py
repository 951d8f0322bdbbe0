"""Properties of rotations: scalings stretch what they say."""

import numpy as np
import pytest

import posenc as pe
from tests.patient import check

SCALINGS = [
    pe.Interpolation(4.0),
    pe.NTK(4.0),
    pe.DynamicNTK(4.0, 4096),
    pe.YaRN(4.0, 4096),
    pe.YaRN(4.0, 4096, ramp="rotations", truncate=False),
    pe.YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=1.0),  # DeepSeek
    pe.Llama3(8.0, 8192),
    pe.Llama3(16.0, 8192, 1.0, 1.0),  # Llama 4 Scout: a step
    pe.Proportional(0.5),
    pe.Proportional(0.25, 8.0),
    pe.LongRoPE((1.0,) * 32, tuple(np.geomspace(1, 32, 32).tolist()), 4096, factor=32.0),
]


@pytest.mark.parametrize("scaling", SCALINGS, ids=repr)
def test_every_scaling_passes_what_it_claims(scaling):
    report = check(pe.RoPE(64, scaling=scaling))
    assert report.failed == ()
    if not isinstance(scaling, pe.LongRoPE):  # whose factors are searched, not made by a rule
        assert report["stretches"].verdict == "holds"


def test_every_scaling_is_among_those_checked():
    public = {kind for name in pe.__all__ if _is_scaling(kind := getattr(pe, name))}
    assert public == {type(scaling) for scaling in SCALINGS}


def _is_scaling(kind):
    return isinstance(kind, type) and issubclass(kind, pe.Scaling) and kind is not pe.Scaling
