"""Differences and their bounds: what is right is within, what is wrong is not."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.models.oracle import compare_attention, compare_rotation
from posenc.models.recording import Attended

N = 9
AT = np.arange(N)


def turned(rope, dtype=torch.float32, at=AT):
    q, k = torch.randn(2, 1, 3, N, 8, generator=torch.Generator().manual_seed(0)).to(dtype)
    return [(x, rope.rotate(x, torch.from_numpy(at))) for x in (q, k)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "rope", [pe.RoPE(8), pe.RoPE(8, rotary_dim=4, rotated="trailing")], ids=str
)
def test_a_rotation_is_within_its_bound_and_another_is_not(dtype, rope):
    near, bound = compare_rotation(turned(rope, dtype), rope, AT, None, "interleaved")
    assert near <= bound < 2
    for wrong in (
        (turned(rope, dtype), rope, AT, None, "halves"),
        (turned(rope, dtype, at=AT * 2), rope, AT, None, "interleaved"),
        (turned(rope, dtype), None, AT, None, "interleaved"),
    ):
        far, bound = compare_rotation(*wrong)
        assert far > bound


def test_channels_that_a_model_reorders_do_not_matter():
    rope, order = pe.RoPE(8), [0, 2, 4, 6, 1, 3, 5, 7]
    both = [(x, y[..., order]) for x, y in turned(rope)]
    near, bound = compare_rotation(both, rope, AT, None, "interleaved")
    assert near <= bound


def test_nothing_is_rotated():
    q, k = (x for x, _ in turned(pe.RoPE(8)))
    assert compare_rotation([(q, q), (k, k)], None, AT, None, "halves")[0] == 0


@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_within_its_bound_and_another_is_not(causal):
    q, k, v = torch.randn(3, 1, 4, N, 8, generator=torch.Generator().manual_seed(0))
    encoding = pe.KERPLE(4)
    params = encoding.init(np.random.default_rng(0))
    tensors = {name: torch.from_numpy(x) for name, x in params.items()}
    made = pe.torch.attend(q, k, v, encoding=encoding, params=tensors, causal=causal)
    call = Attended(q, k, v, None, {}, made.transpose(1, 2), causal)
    near, bound = compare_attention(call, encoding, params, AT)
    assert near <= bound < 1e-3
    for wrong in (
        (Attended(q, k, v, None, {}, made.transpose(1, 2), not causal), encoding, params, AT),
        (Attended(q, k, v, None, {"softcap": 1.0}, call.out, causal), encoding, params, AT),
        (Attended(q, k, v, None, {"scaling": 1.0}, call.out, causal), encoding, params, AT),
        (
            Attended(q, k, v, None, {"s_aux": torch.zeros(4)}, call.out, causal),
            encoding,
            params,
            AT,
        ),
        (call, pe.NoPE(), None, AT),
        (Attended(q, k, v, None, {}, call.out * float("nan"), causal), encoding, params, AT),
    ):
        far, bound = compare_attention(*wrong)
        assert not far <= bound
