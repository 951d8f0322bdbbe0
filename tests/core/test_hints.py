"""An argument that is called otherwise elsewhere: the one that was meant is named."""

import copy
import dataclasses
import inspect
import pickle

import pytest
import torch

import posenc as pe
from posenc.core.hints import SAME, argument_for
from posenc.names.expressions import makers, presets
from posenc.torch import AddPositions, BiasLogits, RotateQK, ScoreQK, attend

Q = torch.zeros(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pe.RoPE(64, theta=5e5), "RoPE has no argument 'theta'; did you mean base=?"),
        (lambda: pe.RoPE(64, rope_theta=5e5), "did you mean base=?"),
        (lambda: pe.RoPE(head_dim=64), "did you mean dim=?"),
        (lambda: pe.ALiBi(num_heads=8), "ALiBi has no argument 'num_heads'; did you mean heads=?"),
        (lambda: pe.T5Bias(n_heads=8), "did you mean heads=?"),
        (lambda: pe.Learned(max_len=512, d_model=64), "did you mean length=?"),
        (lambda: pe.Learned(512, embed_dim=64), "did you mean dim=?"),
        (lambda: pe.Sinusoidal(d_model=64, max_seq_len=5), "did you mean dim=?"),
        (lambda: pe.YaRN(4.0, original_max_position_embeddings=64), "mean original_length=?"),
        (lambda: pe.LogN(original_lenght=64), "did you mean original_length=?"),
        (lambda: pe.NoPE(zzz=1), "NoPE has no argument 'zzz'; it takes none"),
        (lambda: pe.show("rope", text="a b"), "show has no argument 'text'; did you mean tokens=?"),
        (lambda: pe.explain("rope", language="ja"), "did you mean lang=?"),
        (lambda: pe.compare("rope", benhc=False), "did you mean bench=?"),
        (
            lambda: pe.check("rope", timeout=3),
            "check has no argument 'timeout'; did you mean limit",
        ),
        (lambda: attend(Q, Q, Q, encoding=pe.NoPE(), is_causal=True), "did you mean causal=?"),
        (lambda: attend(Q, Q, Q, encoding=pe.NoPE(), attn_mask=None), "did you mean mask=?"),
        (lambda: attend(Q, Q, Q, encoding=pe.NoPE(), dropout_p=0.1), "did you mean dropout=?"),
        (
            lambda: pe.AxialRoPE.split(64, theta=5.0),
            "AxialRoPE.split has no argument 'theta'; did you mean base=?",
        ),
        (lambda: pe.ALiBi.falcon(num_heads=8), "ALiBi.falcon has no argument 'num_heads'; did"),
        (lambda: pe.logits(pe.NoPE(), Q, Q, query_positions=[0]), "did you mean q_pos=?"),
        (lambda: pe.adapt.bias(len, num_heads=8), "adapt.bias has no argument 'num_heads'; did"),
        (lambda: pe.consecutive(seq_len=8), "did you mean length=?"),
        (lambda: RotateQK(pe.RoPE(8), in_place=True), "did you mean inplace=?"),
        (
            lambda: RotateQK(pe.RoPE(8))(Q, Q, positions=torch.arange(2)),
            "RotateQK has no argument 'positions'; did you mean q_pos=?",
        ),
        (
            lambda: RotateQK(pe.RoPE(8))(Q, Q, torch.arange(2), k_positions=torch.arange(2)),
            "RotateQK has no argument 'k_positions'; did you mean k_pos=?",
        ),
        (
            lambda: BiasLogits(pe.ALiBi(2))(Q, q_positions=torch.arange(2)),
            "BiasLogits has no argument 'q_positions'; did you mean q_pos=?",
        ),
        (lambda: AddPositions(pe.Sinusoidal(8), dropout_p=0.1), "did you mean dropout=?"),
        (
            lambda: attend.explain(Q, Q, Q, is_causal=True),
            "attend has no argument 'is_causal'; did",
        ),
    ],
)
def test_the_argument_that_was_meant_is_named(call, message):
    with pytest.raises(TypeError) as raised:
        call()
    assert message in str(raised.value)


def test_the_classes_stay_plain():
    rope = pe.RoPE(8, scaling=pe.YaRN(4.0, 64))
    assert pickle.loads(pickle.dumps(rope)) == copy.deepcopy(rope) == rope
    assert dataclasses.replace(rope, dim=16).dim == 16
    assert list(inspect.signature(pe.RoPE).parameters)[:2] == ["dim", "base"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        rope.dim = 4


def test_all_that_an_expression_may_name_gives_hints():
    for name, kind in makers().items():
        with pytest.raises(TypeError, match=f"^{name} has no argument 'zzz'"):
            kind(zzz=1)
        for preset in presets(kind):
            with pytest.raises(TypeError, match=f"^{name}.{preset} has no argument 'zzz'"):
                getattr(kind, preset)(zzz=1)


@pytest.mark.parametrize(
    "function",
    [
        *(f for f in (getattr(pe, name) for name in pe.__all__) if inspect.isfunction(f)),
        *(pe.adapt.rotary, pe.adapt.additive, pe.adapt.bias),
        *(AddPositions, BiasLogits, RotateQK, ScoreQK),
    ],
)
def test_all_that_is_offered_gives_hints(function):
    named = {"name": "rope"} if function is pe.make else {}  # it takes the arguments of rope, too
    maker = named.get("name", function.__name__)
    with pytest.raises(TypeError, match=f"{maker} has no argument 'zzz'"):
        function(**named, zzz=1)


def test_what_is_called_the_same_is_said_of_one_that_is_there():
    for names in SAME:
        for name in names:
            for meant in names - {name}:
                assert argument_for(name, ["zzz", meant]) == meant
