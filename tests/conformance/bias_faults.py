"""Where the biases of transformers are at fault, measured: the numbers that the page prints."""

from collections.abc import Callable
from typing import Any

import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom_bias
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon_bias
from transformers.models.mpt.configuration_mpt import MptConfig
from transformers.models.mpt.modeling_mpt import MptModel
from transformers.models.swin.configuration_swin import SwinConfig
from transformers.models.swin.modeling_swin import SwinModel
from transformers.models.swinv2.configuration_swinv2 import Swinv2Config
from transformers.models.swinv2.modeling_swinv2 import Swinv2Model

import posenc as pe
from tests.conformance.biases import SIZES, SWIN, caught, falcon, stirred, tokens

LENGTHS = (256, 512, 1024, 2048)


def rounding(
    build: Callable[..., torch.Tensor], ours: pe.ALiBi, dtype: torch.dtype
) -> dict[int, tuple[float, float, int]]:
    """By length: largest error of a probability, theirs and ours; nearest keys that it takes alike.

    Of the last 64 queries of a text. Products are zero, so all that differs is the bias as a model
    of this dtype has it; the exact one is the slopes times the distances in float64.
    """
    slopes = torch.from_numpy(ours.head_slopes())[:, None]
    found: dict[int, tuple[float, float, int]] = {}
    for length in LENGTHS:
        mask = torch.ones(1, length, dtype=torch.long)
        theirs = build(mask, ours.heads, dtype)[:, 0].double() / ours.divisor
        errors, alike = [0.0, 0.0], 0
        for i in range(length - 64, length):
            keys = torch.arange(i + 1)
            exact = (-slopes * (i - keys)).softmax(-1)
            own = ours.bias(keys[-1:], keys)[:, 0].to(dtype).double()
            for n, bias in enumerate((theirs[:, : i + 1], own)):
                errors[n] = max(errors[n], float((bias.softmax(-1) - exact).abs().max()))
            same = theirs[:, : i + 1] == theirs[:, i : i + 1]
            alike = max(alike, int(same.flip(-1).long().cumprod(-1).sum(-1).max()))
        found[length] = (errors[0], errors[1], alike)
    return found


def bloom(dtype: torch.dtype) -> dict[int, tuple[float, float, int]]:
    """BLOOM's bias with 16 heads."""
    return rounding(bloom_bias, pe.ALiBi(16), dtype)


def falcon_float32() -> dict[int, tuple[float, float, int]]:
    """Falcon's bias with 32 heads of 64 channels, in a model of float32."""
    return rounding(falcon_bias, pe.ALiBi.falcon(32, 64), torch.float32)


def falcon_eager() -> tuple[float, float]:
    """Falcon's eager attention: how far its outputs are from ours, and from ours added twice."""
    row = falcon(8, attention="eager")
    return row.gap, row.wrong()["added twice"]


def mpt_options() -> tuple[float, float]:
    """How much MPT's outputs change with alibi=False, and with alibi_bias_max=16."""
    outputs: list[torch.Tensor] = []
    for options in ({}, {"alibi": False}, {"alibi_bias_max": 16}):
        config = MptConfig(
            d_model=32, n_heads=4, n_layers=1, max_seq_len=64, attn_config=options, **SIZES
        )
        model: Any = stirred(MptModel(config))
        with torch.no_grad():
            outputs.append(model(tokens(1, 40)).last_hidden_state)
    one, other = (float((output - outputs[0]).abs().max()) for output in outputs[1:])
    return one, other


def swin_small_map() -> str:
    """What Swin says where its last map of 8 x 8 is smaller than its window of 10 x 10."""
    model: Any = SwinModel(SwinConfig(**SWIN, window_size=10)).eval()
    try:
        with torch.no_grad():
            model(torch.zeros(1, 3, 32, 32))
    except RuntimeError as error:
        return str(error)
    return ""


def swinv2_mask() -> float:
    """What Swin-v2 adds to a logit that its mask of -100 hides, in the second layer."""
    model: Any = stirred(Swinv2Model(Swinv2Config(**SWIN, window_size=4)))
    module = model.encoder.layers[0].blocks[1].attention.self
    with torch.no_grad():
        module.logit_scale.fill_(-torch.inf)  # no products, and a bias that is the same for all
        module.continuous_position_bias_mlp[2].weight.zero_()
    with caught(out=module) as found:
        model.double()(torch.zeros(1, 3, 32, 32, dtype=torch.float64), output_attentions=True)
    mask, weights = found["out"][0][1], found["out"][2][1][:, 0]
    return float(torch.log(weights / weights.amax(-1, keepdim=True))[mask < 0].max())
