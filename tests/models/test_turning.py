"""Kernels in the place of a model's rotation by tables, and no rotation for none."""

import copy
import gc
import pickle

import numpy as np
import pytest
import torch

import posenc as pe
from posenc import kernels
from posenc.models import turning
from posenc.models.layout import TableLayout
from posenc.models.turning import NOTE, Turner, find_pairing, find_replaced
from tests import bounds
from tests.models.architectures import build

TOKENS = torch.arange(3, 3 + 12)[None].repeat(2, 1)
HALVES = TableLayout.of_pairs(4, "halves")
active = pytest.mark.skipif(not kernels.load().active, reason="the kernels are not active")


def run(model):
    with torch.no_grad():
        return model(TOKENS).logits


def count_calls(monkeypatch, owner, name):
    """How often a function is called from now on, as the only number of a list."""
    calls, function = [0], getattr(owner, name)

    def counted(*args, **kwargs):
        calls[0] += 1
        return function(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    return calls


@active
@pytest.mark.parametrize("name", ["llama", "phi3", "cohere", "modernbert", "qwen2_vl"])
def test_the_kernel_turns_what_the_model_would(name, monkeypatch):
    model = build(name)
    own = run(model)
    pe.models.swap(model, pe.read_config(model.config))
    calls = count_calls(monkeypatch, turning.FusedRotation, "try_both")
    made = run(model)
    assert calls == [2], "once in each of two layers"
    assert (made - own).abs().max() <= 1e-5 * own.abs().max()


def test_where_nothing_is_turned_nothing_is_computed(monkeypatch):
    from transformers.models.llama import modeling_llama

    model = pe.models.swap(build("llama"), pe.NoPE())
    calls = count_calls(monkeypatch, modeling_llama, "rotate_half")
    made = run(model)
    assert calls == [0]
    monkeypatch.setattr(turning, "NOTE", "nothing has it")
    monkeypatch.setattr(Turner, "turn", lambda *_: None)
    assert torch.equal(run(model), made)
    assert calls == [4], "q and k of two layers"


@active
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("pairing", ["halves", "interleaved"])
def test_channels_are_turned_as_in_float64(dtype, pairing, rng):
    waves = pe.RoPE(8).waves()
    x = torch.from_numpy(rng.normal(size=(2, 3, 4, 10))).to(dtype)
    at = torch.tensor([[0, 1, 63, 1000], [-3, 7, 5, 2**20]])
    q, k = Turner(waves).turn(x, x[:, :1], at, pairing)
    assert torch.equal(k, q[:, :1])
    assert torch.equal(q[..., 8:], x[..., 8:])
    wide = x.double().numpy()
    first, second = (
        (slice(0, 8, 2), slice(1, 8, 2)) if pairing == "interleaved" else (slice(4), slice(4, 8))
    )
    angles = at.numpy()[:, None, :, None] * 10_000.0 ** (-np.arange(4) / 4)
    want = (wide[..., first] + 1j * wide[..., second]) * np.exp(1j * angles)
    # a sum of two products in at least float32, then a rounding
    unit = bounds.UNIT[str(dtype).removeprefix("torch.")]
    inner = bounds.UNIT["float64" if dtype == torch.float64 else "float32"]
    bound = (unit + 4 * inner + 1e-9) * (abs(want.real) + abs(want.imag)) + 1e-9
    bound = bound + unit * np.abs(want)
    for part, truth in ((first, want.real), (second, want.imag)):
        assert (np.abs(q[..., part].double().numpy() - truth) <= bound).all()


def test_functions_are_put_back_with_the_last_model():
    from transformers.models.olmo import modeling_olmo

    gc.collect()
    own = modeling_olmo.apply_rotary_pos_emb
    one, other, lost = build("olmo"), build("olmo"), build("olmo")
    for model in (one, other, one, lost):  # a second swap undoes the first
        pe.models.swap(model, pe.RoPE(8))
    for model in (one, other):
        assert find_replaced(modeling_olmo.apply_rotary_pos_emb) is own
        pe.models.restore(model)
    assert find_replaced(modeling_olmo.apply_rotary_pos_emb) is own
    del model, lost
    gc.collect()
    assert modeling_olmo.apply_rotary_pos_emb is own
    assert find_replaced(own) is None


def test_tables_without_a_note_and_other_models_go_the_models_way():
    from transformers.models.llama import modeling_llama

    other = build("llama")
    before = run(other)
    model = pe.models.swap(build("llama"), pe.RoPE(8))
    assert torch.equal(run(other), before)
    cos, sin = model.model.rotary_emb(torch.zeros(1), torch.arange(5)[None])
    assert getattr(cos, NOTE).positions.tolist() == [[0, 1, 2, 3, 4]]
    q = torch.randn(1, 5, 2, 8)  # heads after the sequence
    ours = modeling_llama.apply_rotary_pos_emb
    made, _ = ours(q, q, cos, sin, unsqueeze_dim=2)
    assert torch.equal(made, find_replaced(ours)(q, q, cos, sin, unsqueeze_dim=2)[0])
    pe.models.restore(model)


@active
def test_gradients_and_autocast_are_those_of_the_model():
    own = build("llama")
    swapped = pe.models.swap(copy.deepcopy(own), pe.read_config(own.config))
    for model in (own, swapped):
        model(TOKENS).logits.square().mean().backward()
    for a, b in zip(own.parameters(), swapped.parameters(), strict=True):
        assert (a.grad - b.grad).abs().max() <= 1e-5 * a.grad.abs().max()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        one, two = run(own), run(swapped)
    assert one.dtype == two.dtype
    assert (one - two).abs().max() <= 0.05 * one.abs().max()


def test_copies_have_turners_of_their_own():
    model = pe.models.swap(build("llama"), pe.RoPE(8))
    made = run(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(run(other), made)
        tables = other.model.rotary_emb.encodings[0]
        assert tables.turner is not model.model.rotary_emb.encodings[0].turner


def rotate_halves(q, k, cos, sin, unsqueeze_dim=1):
    def turn(x):
        half = cos.shape[-1] // 2
        part, rest = x[..., : 2 * half], x[..., 2 * half :]
        other = torch.cat([-part[..., half:], part[..., :half]], dim=-1)
        turned = part * cos.unsqueeze(unsqueeze_dim) + other * sin.unsqueeze(unsqueeze_dim)
        return torch.cat([turned, rest], dim=-1)

    return turn(q), turn(k)


@pytest.mark.parametrize(
    ("function", "pairing"),
    [
        (rotate_halves, "halves"),
        (lambda q, k, cos, sin: rotate_halves(q, k, cos, -sin), None),
        (lambda q, k, cos, sin: rotate_halves(q, k.flip(-1), cos, sin), None),
        (lambda q, k, cos, sin: [x.float() for x in rotate_halves(q, k, cos, sin)], None),
        (lambda q, k, cos, sin: rotate_halves(q.flip(-1), k.flip(-1), cos, sin), None),
    ],
)
def test_a_function_is_known_by_what_it_does(function, pairing):
    assert find_pairing(function, HALVES) == pairing
