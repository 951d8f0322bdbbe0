"""Attention modules of transformers that have a bias, run as they are: their q and k through ours.

Models are small, with random weights. Hooks catch what the projections gave and what the attention
made of it; ours comes from `from_state_dict`, the model's own config.json and state_dict().
"""

import json
import math
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import torch
from torch import nn
from transformers.models.bloom.configuration_bloom import BloomConfig
from transformers.models.bloom.modeling_bloom import BloomForCausalLM
from transformers.models.falcon.configuration_falcon import FalconConfig
from transformers.models.falcon.modeling_falcon import FalconForCausalLM
from transformers.models.mpt.configuration_mpt import MptConfig
from transformers.models.mpt.modeling_mpt import MptForCausalLM
from transformers.models.swin.configuration_swin import SwinConfig
from transformers.models.swin.modeling_swin import SwinForImageClassification
from transformers.models.swinv2.configuration_swinv2 import Swinv2Config
from transformers.models.swinv2.modeling_swinv2 import Swinv2Model
from transformers.models.t5.configuration_t5 import T5Config
from transformers.models.t5.modeling_t5 import T5Model
from transformers.models.umt5.configuration_umt5 import UMT5Config
from transformers.models.umt5.modeling_umt5 import UMT5Model

import posenc as pe

BOUND = 1e-5
SIZES = {"vocab_size": 64, "attn_implementation": "eager"}


@dataclass(frozen=True)
class Ours:
    """What stands in for a layer's bias."""

    encoding: Any
    params: Mapping[str, torch.Tensor]
    positions: torch.Tensor


@dataclass(frozen=True)
class Layer:
    """A layer that was run: q, k (batch, head, seq, dim), and what it made of them."""

    q: torch.Tensor
    k: torch.Tensor
    theirs: torch.Tensor
    """Probabilities (batch, head, q, k), or with `v` the outputs (batch, head, q, dim)."""
    seen: torch.Tensor
    """Which keys a query may see: (…, q, k)."""
    ours: Ours
    wrong: Mapping[str, Ours]
    """The same with a mistake in it."""
    v: torch.Tensor | None = None
    real: torch.Tensor | None = None
    """Which queries are no padding: (batch, q)."""

    def gap(self, ours: Ours) -> float:
        """The largest difference from theirs."""
        where = ours.positions
        logits = pe.logits(ours.encoding, self.q, self.k, where, where, ours.params)
        weights = torch.where(self.seen, logits, -torch.inf).softmax(-1)
        off = ((weights if self.v is None else weights @ self.v) - self.theirs).abs().amax((1, 3))
        return float((off if self.real is None else off[self.real]).max())


@dataclass(frozen=True)
class Row:
    """A model, the layers of it that were run, and its config."""

    name: str
    compared: str
    config: dict[str, Any] = field(repr=False)
    layers: tuple[Layer, ...] = field(repr=False)
    start: int = 0
    """The number of the first of these layers in the model."""

    @property
    def gap(self) -> float:
        return max(layer.gap(layer.ours) for layer in self.layers)

    def wrong(self) -> dict[str, float]:
        """For each mistake the largest difference that it makes in any layer."""
        names = self.layers[-1].wrong
        gaps = {
            name: [layer.gap(layer.wrong[name]) for layer in self.layers if name in layer.wrong]
            for name in names
        }
        return {name: max(values) for name, values in gaps.items()}


@torch.no_grad()
def stirred(model: nn.Module) -> nn.Module:
    """Random weights that are large enough for biases and products to matter."""
    rng = torch.Generator().manual_seed(0)
    for name, weights in model.named_parameters():
        if weights.ndim > 1:
            weights.copy_(torch.randn(weights.shape, generator=rng) / weights.shape[-1] ** 0.5)
        elif name.endswith("bias"):
            weights.copy_(0.3 * torch.randn(weights.shape, generator=rng))
    return model.eval()


@contextmanager
def caught(**modules: nn.Module):
    """What modules are given and give, by name: (arguments, keyword arguments, output)."""
    found: dict[str, tuple[Any, Any, Any]] = {}

    def catch(name: str) -> Callable[..., None]:
        def hook(_: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            found[name] = (args, kwargs, output)

        return hook

    hooks = [m.register_forward_hook(catch(n), with_kwargs=True) for n, m in modules.items()]
    try:
        with torch.no_grad():
            yield found
    finally:
        for hook in hooks:
            hook.remove()


def read(model: Any) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """A model's config.json, and our layers out of that and its weights."""
    config = json.loads(model.config.to_json_string())
    return config, pe.from_state_dict(config, model.state_dict())


def by_head(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def causal(length: int) -> torch.Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(0, 64, shape, generator=torch.Generator().manual_seed(1))


def t5(stack: str, kind: Any = T5Model, config: Any = T5Config) -> Row:
    """T5 or UMT5, 200 tokens: beyond the 128 from which all distances share a bucket."""
    small = {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 4}
    model: Any = stirred(kind(config(**small, **SIZES)))
    written, layers = read(model)
    start, positions = 2 * (stack == "decoder"), torch.arange(200)
    seen = causal(200) if start else torch.ones(200, 200, dtype=torch.bool)
    run: list[Layer] = []
    for i, (encoding, params) in enumerate(layers[start : start + 2]):
        attention = getattr(model, stack).block[i].layer[0].SelfAttention
        with caught(q=attention.q, k=attention.k, out=attention) as found:
            model(input_ids=tokens(2, 200), decoder_input_ids=tokens(2, 200))
        q, k = (by_head(found[name][2], 4) for name in ("q", "k"))
        ours = Ours(encoding, params, positions)
        other = layers[start if kind is UMT5Model else 2 - start][1]
        wrong = {
            "products divided": replace(ours, encoding=replace(encoding, scaled=True)),
            "the other direction": replace(
                ours, encoding=replace(encoding, bidirectional=not encoding.bidirectional)
            ),
            "max_distance 64": replace(ours, encoding=replace(encoding, max_distance=64)),
            "another table": replace(ours, params=other),
        }
        run.append(Layer(q, k, found["out"][2][-1], seen, ours, wrong))
    name = f"{kind.__name__.removesuffix('Model')}, {stack}"
    return Row(name, "probabilities, 200 tokens", written, tuple(run), start)


def alibi_wrong(ours: Ours) -> dict[str, Ours]:
    heads, encoding = ours.encoding.heads, ours.encoding
    wrong = {"divided by 2": replace(ours, encoding=replace(encoding, divisor=2.0))}
    if heads & (heads - 1):
        wrong["slopes of the paper"] = replace(ours, encoding=replace(encoding, slopes="paper"))
    return wrong


def bloom(heads: int, mask: torch.Tensor | None = None) -> Row:
    """BLOOM, 300 tokens or with this mask."""
    config = BloomConfig(hidden_size=8 * heads, n_layer=2, n_head=heads, **SIZES)
    model: Any = stirred(BloomForCausalLM(config))
    written, layers = read(model)
    length = 300 if mask is None else mask.shape[1]
    positions = torch.arange(length) if mask is None else pe.left_padded(mask)
    seen = causal(length) if mask is None else causal(length) & mask[:, None, None, :].bool()
    ids, run = tokens(2, length), []
    for i, (encoding, params) in enumerate(layers):
        attention = model.transformer.h[i].self_attention
        with caught(qkv=attention.query_key_value) as found:
            out = model(ids, attention_mask=mask, output_attentions=True)
        q, k, _ = attention._reshape(found["qkv"][2])
        ours = Ours(encoding, params, positions)
        wrong = alibi_wrong(ours)
        if mask is not None:
            wrong["positions not from the mask"] = replace(ours, positions=torch.arange(length))
        real = None if mask is None else mask.bool()
        run.append(Layer(q, k, out.attentions[i], seen, ours, wrong, real=real))
    what = f"probabilities, {length} tokens" + ("" if mask is None else ", padded")
    return Row(f"BLOOM, {heads} heads", what, written, tuple(run))


PADDED = torch.tensor([[0] * 9 + [1] * 31, [1] * 12 + [0] * 5 + [1] * 23])
"""One row is padded on the left, the other has a hole."""


def mpt(heads: int) -> Row:
    """MPT, 300 tokens."""
    config = MptConfig(d_model=8 * heads, n_heads=heads, n_layers=2, max_seq_len=512, **SIZES)
    model: Any = stirred(MptForCausalLM(config))
    written, layers = read(model)
    run: list[Layer] = []
    for i, (encoding, params) in enumerate(layers):
        with caught(qkv=model.transformer.blocks[i].attn.Wqkv) as found:
            out = model(tokens(2, 300), output_attentions=True)
        q, k, _ = (by_head(x, heads) for x in found["qkv"][2].chunk(3, dim=-1))
        ours = Ours(encoding, params, torch.arange(300))
        run.append(Layer(q, k, out.attentions[i], causal(300), ours, alibi_wrong(ours)))
    return Row(f"MPT, {heads} heads", "probabilities, 300 tokens", written, tuple(run))


def falcon(
    heads: int, length: int = 257, *, attention: str = "sdpa", multi_query: bool = True
) -> Row:
    """Falcon with ALiBi: outputs, since asking for probabilities leads to its other code."""
    config = FalconConfig(
        hidden_size=8 * heads,
        num_hidden_layers=2,
        num_attention_heads=heads,
        alibi=True,
        multi_query=multi_query,
        **SIZES | {"attn_implementation": attention},
    )
    model: Any = stirred(FalconForCausalLM(config))
    written, layers = read(model)
    run: list[Layer] = []
    for i, (encoding, params) in enumerate(layers):
        module = model.transformer.h[i].self_attention
        with caught(qkv=module.query_key_value, out=module.dense) as found:
            model(tokens(2, length))
        q, k, v = (x.transpose(1, 2) for x in module._split_heads(found["qkv"][2]))
        ours = Ours(encoding, params, torch.arange(length))
        whole = replace(ours, encoding=replace(encoding, divisor=1.0))
        twice = replace(ours, encoding=replace(encoding, divisor=encoding.divisor / 2))
        wrong = alibi_wrong(ours) | {"not divided": whole, "added twice": twice}
        theirs = by_head(found["out"][0][0], heads)
        run.append(Layer(q, k, theirs, causal(length), ours, wrong, v=v))
    name = f"Falcon, {heads} heads" + (", one of keys" if multi_query else "")
    return Row(name, f"outputs, {length} tokens", written, tuple(run))


SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4]}


def swin() -> Row:
    """Swin: a map of 16 x 16 in windows of 5 x 5, padded and in the second layer shifted."""
    config = SwinConfig(**SWIN, window_size=5, attn_implementation="eager")
    model: Any = stirred(SwinForImageClassification(config))
    written, layers = read(model)
    blocks = [block for stage in model.swin.encoder.layers for block in stage.blocks]
    run: list[Layer] = []
    for block, (encoding, params) in zip(blocks, layers, strict=True):
        module = block.attention
        with caught(q=module.q_proj, k=module.k_proj, out=module) as found:
            model(_image())
        q, k = (by_head(found[name][2], encoding.heads) for name in ("q", "k"))
        ours = Ours(encoding, params, pe.grid(5, 5, like=q))
        wrong = _turned(ours) | {
            "k - q": replace(ours, params={"table": params["table"].flip(0)}),
            "the next table": replace(ours, params={"table": params["table"].roll(1, 0)}),
        }
        run.append(Layer(q, k, found["out"][2][1], _mask(found["out"], q), ours, wrong))
    return Row("Swin", "probabilities, windows of 5 x 5", written, tuple(run))


def swinv2(*pretrained: int) -> Row:
    """Swin-v2: maps of 16 x 16 and 8 x 8, the second of which cuts its window of 10 x 10 to 8."""
    more = {"pretrained_window_sizes": list(pretrained)} if pretrained else {}
    config = Swinv2Config(**SWIN, window_size=10, **more)
    model: Any = stirred(Swinv2Model(config))
    written, layers = read(model)
    blocks = [block for stage in model.encoder.layers for block in stage.blocks]
    run: list[Layer] = []
    for block, (encoding, params) in zip(blocks, layers, strict=True):
        module = block.attention.self
        with caught(q=module.query, k=module.key, out=module) as found:
            model(_image(), output_attentions=True)
        q, k = (
            nn.functional.normalize(by_head(found[name][2], encoding.heads), dim=-1)
            for name in ("q", "k")
        )
        scale = module.logit_scale.detach().clamp(max=math.log(100)).exp()
        ours = Ours(encoding, params, pe.grid(*encoding.window, like=q))
        other = (7, 7) if encoding.pretrained_window is None else None
        wrong = _turned(ours) | {
            "another pretrained window": replace(
                ours, encoding=replace(encoding, pretrained_window=other)
            ),
            "no b1": replace(ours, params={**params, "b1": 0 * params["b1"]}),
        }
        q = q * scale * q.shape[-1] ** 0.5  # which logits divides by
        run.append(Layer(q, k, found["out"][2][1], _mask(found["out"], q), ours, wrong))
    name = "Swin-v2" + (f", pretrained on {pretrained}" if pretrained else "")
    return Row(name, "probabilities, windows of 10 x 10 and 8 x 8", written, tuple(run))


def _turned(ours: Ours) -> dict[str, Ours]:
    return {"columns, then rows": replace(ours, positions=ours.positions.flip(-1))}


def _image() -> torch.Tensor:
    return torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(2))


def _mask(found: tuple[Any, Any, Any], q: torch.Tensor) -> torch.Tensor:
    """What the model hides of shifted windows, for each window of each image."""
    mask = found[0][1]
    if mask is None:
        return torch.ones((), dtype=torch.bool)
    return (mask == 0).repeat(q.shape[0] // mask.shape[0], 1, 1)[:, None]


@cache
def rows() -> tuple[Row, ...]:
    """Every comparison, in the order of the page."""
    return (
        t5("encoder"),
        t5("decoder"),
        t5("encoder", UMT5Model, UMT5Config),
        t5("decoder", UMT5Model, UMT5Config),
        bloom(8),
        bloom(12),
        bloom(12, PADDED),
        mpt(8),
        mpt(12),
        falcon(8),
        falcon(6, multi_query=False),
        swin(),
        swinv2(),
        swinv2(6, 4),
    )
