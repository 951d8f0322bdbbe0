"""Every architecture that `swap` is tested on, in every way that a model is used."""

import copy

import pytest
import torch
from safetensors.torch import load_file
from transformers import StaticCache

import posenc as pe
from tests.models.architectures import DECODERS, FIELDS, build
from tests.models.nearness import bound_logits, compiled_error, swap_own

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`"),
]

LENGTH = 40
TOKENS = torch.randint(3, 60, (2, LENGTH), generator=torch.Generator().manual_seed(0))
OPTIONS = {"max_new_tokens": 6, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
DTYPES = [torch.float32, torch.bfloat16]
PLAIN = [name for name in DECODERS if name not in ("gptj", "qwen2_vl")]
"""Decoders whose logits can be reached."""


def run(model, tokens=TOKENS, **options):
    with torch.no_grad():
        return model(tokens, **options).logits.float()


def decode(model):
    """The logits of a text token by token, after a prefill of half of it."""
    made, cache = [], None
    pieces = [TOKENS[:, : LENGTH // 2], *TOKENS[:, LENGTH // 2 :].split(1, dim=1)]
    with torch.no_grad():
        for piece in pieces:
            out = model(piece, past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            made.append(out.logits.float())
    return torch.cat(made, dim=1)


def pad(model):
    """The logits of a batch whose rows have padding on their left, without it."""
    mask = torch.ones(2, LENGTH + 5, dtype=torch.int64)
    mask[0, :5], mask[1, :2] = 0, 0
    tokens = torch.cat([torch.zeros(2, 5, dtype=torch.int64), TOKENS], dim=1)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    if model.config.get_text_config().model_type == "qwen2_vl_text":
        positions = positions.expand(3, -1, -1)
    return run(model, tokens, attention_mask=mask, position_ids=positions)[:, 5:]


@pytest.fixture(scope="module", params=[(n, d) for n in FIELDS for d in DTYPES], ids=str)
def pair(request):
    """A model, and a copy with what it has swapped in."""
    name, dtype = request.param
    model = build(name, dtype=dtype)
    return name, model, swap_own(copy.deepcopy(model))


@pytest.mark.parametrize("way", [run, decode, pad])
def test_logits_are_the_same(pair, way):
    name, model, swapped = pair
    if way is decode and name not in DECODERS:
        pytest.skip("an encoder has no cache")
    before = way(model)
    bound = bound_logits(swapped, way, LENGTH)
    assert (way(swapped) - before).abs().max() <= bound


def test_generation_is_the_same(pair):
    name, model, swapped = pair
    if name not in DECODERS:
        pytest.skip("an encoder does not generate")
    mask = torch.ones_like(TOKENS)
    mask[0, :7] = 0
    made = [m.generate(TOKENS, attention_mask=mask, **OPTIONS) for m in (model, swapped)]
    if next(model.parameters()).dtype == torch.float32:
        assert torch.equal(*made)
    assert made[1].shape == (2, LENGTH + 6)


def test_a_compiled_model_is_the_same(pair):
    _, _, swapped = pair
    assert compiled_error(swapped, run, backend="aot_eager") <= bound_logits(swapped, run, LENGTH)


def test_gradient_checkpointing_gives_the_same_gradients(pair):
    _, _, swapped = pair
    model = copy.deepcopy(swapped).train()

    def gradients():
        model.zero_grad()
        model(TOKENS, **({} if model.config.model_type == "modernbert" else {"use_cache": False}))[
            0
        ].float().square().mean().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    plain = gradients()
    model.gradient_checkpointing_enable()
    checkpointed = gradients()
    assert len(plain) == len(checkpointed) > 4
    assert all(torch.equal(a, b) for a, b in zip(plain, checkpointed, strict=True))


def test_saved_and_loaded_and_undone(pair, tmp_path):
    _, model, swapped = pair
    before = run(swapped)
    swapped.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path, dtype=next(model.parameters()).dtype).eval()
    assert torch.equal(run(swap_own(again)), before)
    undone = pe.models.restore(copy.deepcopy(swapped))
    assert torch.equal(run(undone), run(model))
    assert undone.state_dict().keys() == model.state_dict().keys()


def test_each_layer_is_proved(pair):
    _, _, swapped = pair
    report = pe.models.verify(swapped)
    assert report.ok, str(report)


LEARNED = [pe.ALiBi(4), pe.T5Bias(4), pe.FIRE(4), pe.KERPLE(4), pe.NoPE()]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("encoding", LEARNED, ids=str)
@pytest.mark.parametrize("name", PLAIN)
def test_biases_are_proved_saved_and_undone(name, encoding, dtype, tmp_path):
    model = build(name, dtype=dtype)
    own = run(model)
    report = pe.models.verify(pe.models.swap(model, encoding))
    assert report.ok, str(report)
    before = run(model)
    assert (before - own).abs().max() > 0.01 * own.abs().max()
    model.save_pretrained(tmp_path)
    again = pe.models.swap(build(name, dtype=dtype), encoding)
    again.load_state_dict(load_file(tmp_path / "model.safetensors"), strict=False)
    assert torch.equal(run(again), before)
    pe.models.restore(model)
    assert torch.equal(run(model), own)


@pytest.mark.parametrize("encoding", LEARNED, ids=str)
@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2", "gemma3_text", "deepseek_v3"])
def test_biases_with_a_static_cache(name, encoding):
    """Places that are not filled yet, and a compiled step."""
    model = pe.models.swap(build(name), encoding)
    whole = run(model, TOKENS[:, :12])
    config = model.config.get_text_config()
    cache = StaticCache(config=config, max_cache_len=20)
    made = [run(model, TOKENS[:, :8], past_key_values=cache, use_cache=True)]
    made += [
        run(model, TOKENS[:, i : i + 1], past_key_values=cache, use_cache=True)
        for i in range(8, 12)
    ]
    assert (torch.cat(made, dim=1) - whole).abs().max() <= 1e-4 * whole.abs().max()
