"""What `attend` refuses, and its sentences."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, RotateQK, ScoreQK, attend
from tests.torch.own_encodings import Forgetting, Turning

Q = torch.zeros(2, 4, 5, 8)
K = torch.zeros(2, 2, 7, 8)
ALIBI = pe.ALiBi(4)
T5 = BiasLogits(pe.T5Bias(4))


@dataclass(frozen=True)
class NoHeads(pe.Bias):
    def bias(self, q_pos, k_pos, params=None):
        return -abs(pe.distances(q_pos, k_pos))


@dataclass(frozen=True)
class OfNumPy(pe.Bias):
    heads: int

    def bias(self, q_pos, k_pos, params=None):
        q_pos, k_pos = np.asarray(q_pos), np.asarray(k_pos)
        return -np.abs(q_pos[:, None] - k_pos)[None].repeat(self.heads, 0) / 2


@dataclass(frozen=True)
class TurnsOfNumPy(pe.Rotary):
    def cos_sin(self, positions, *, dtype=None):
        angles = np.asarray(positions)[..., None] * np.ones(4)
        return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


@dataclass(frozen=True)
class UncastTurns(pe.Rotary):
    def cos_sin(self, positions, *, dtype=None):
        angles = np.asarray(positions)[..., None] * np.ones(4)
        return np.cos(angles), np.sin(angles)


@dataclass(frozen=True)
class ScoresOfNumPy(pe.Scores):
    def scores(self, q, k, q_pos, k_pos, params=None):
        return np.asarray(q) @ np.swapaxes(np.asarray(k), -1, -2)


@dataclass(frozen=True)
class AddsOfNumPy(pe.Additive):
    dim: int = 8
    casts: bool = False

    def encode(self, positions, params=None, *, dtype=None):
        made = np.ones((*positions.shape, self.dim))
        return made.astype(dtype) if self.casts else made


@dataclass(frozen=True)
class Refuses(pe.Scores):
    def scores(self, q, k, q_pos, k_pos, params=None):
        raise TypeError("tensors are not for me")


OF_NUMPY = "must be of the library of the positions, torch; got an array of numpy"
NO_DTYPE = "must take arrays and dtypes of torch; Cannot interpret 'torch.float32' as a data type"
SQUARE = torch.zeros(1, 4, 5, 8)
P = torch.arange(5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: pe.logits(ScoresOfNumPy(), Q, K[:, :, :5], P, P),
            f"scores of ScoresOfNumPy {OF_NUMPY}",
        ),
        (
            lambda: ScoreQK(ScoresOfNumPy())(Q, K[:, :, :5], P),
            f"scores of ScoresOfNumPy {OF_NUMPY}",
        ),
        (
            lambda: pe.logits(Refuses(), SQUARE, SQUARE, P, P),
            "scores of Refuses must take arrays and dtypes of torch; tensors are not for me",
        ),
        (
            lambda: pe.logits(AddsOfNumPy(), SQUARE, SQUARE, P, P),
            f"encode of AddsOfNumPy {OF_NUMPY}",
        ),
        (lambda: AddPositions(AddsOfNumPy())(SQUARE), f"encode of AddsOfNumPy {OF_NUMPY}"),
        (
            lambda: AddPositions(AddsOfNumPy(casts=True))(SQUARE),
            f"encode of AddsOfNumPy {NO_DTYPE}",
        ),
        (
            lambda: BiasLogits(OfNumPy(4))(torch.zeros(1, 4, 5, 5), P),
            f"bias of OfNumPy {OF_NUMPY}",
        ),
        (lambda: BiasLogits(OfNumPy(4)).bias(P), f"bias of OfNumPy {OF_NUMPY}"),
        (lambda: RotateQK(UncastTurns())(SQUARE, SQUARE, P), f"cos_sin of UncastTurns {OF_NUMPY}"),
        (
            lambda: pe.logits(UncastTurns(), SQUARE, SQUARE, P, P),
            f"cos_sin of UncastTurns {OF_NUMPY}",
        ),
    ],
)
def test_an_encoding_of_another_library_is_named(call, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        call()


CASES = [
    ({"encoding": ScoresOfNumPy()}, f"scores of ScoresOfNumPy {OF_NUMPY}"),
    (
        {"encoding": OfNumPy(4)},
        "bias of OfNumPy must be of the library of the positions, torch; got an array of numpy",
    ),
    (
        {"encoding": TurnsOfNumPy()},
        "cos_sin of TurnsOfNumPy must take arrays and dtypes of torch; "
        "Cannot interpret 'torch.float32' as a data type",
    ),
    (
        {"encoding": pe.Sinusoidal(8)},
        "encoding must act on queries, keys or logits; "
        "Sinusoidal is added to the embeddings before the projections",
    ),
    (
        {"encoding": AddPositions(pe.Learned(9, 8))},
        "encoding must act on queries, keys or logits; "
        "Learned is added to the embeddings before the projections",
    ),
    (
        {"encoding": "alibi"},
        "encoding must be an Encoding or a module of one; got 'alibi'; "
        "pe.make makes one by its name",
    ),
    ({"encoding": pe.ALiBi(3)}, "q must have the heads of the encoding, 3; got 4"),
    (
        {"encoding": T5},
        "causal must be True for an encoding that looks back only, "
        "T5Bias (bidirectional=True makes one of both ways); got causal=False",
    ),
    (
        {"encoding": BiasLogits(pe.FIRE(4))},
        "causal must be True for an encoding that looks back only, FIRE; got causal=False",
    ),
    (
        {"q_pos": torch.arange(4), "k_pos": torch.arange(7)},
        "q (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
        "got shapes (2, 4, 5, 8) and (4,); "
        "if it is (batch, seq, heads, dim), give its transpose(1, 2)",
    ),
    (
        {"q_pos": torch.arange(5), "k_pos": torch.arange(8)},
        "k (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
        "got shapes (2, 2, 7, 8) and (8,)",
    ),
    (
        {"k_pos": torch.arange(7)},
        "q_pos and k_pos must be given both where lengths differ; "
        "got 5 queries, 7 keys and only k_pos",
    ),
    (
        {"q": torch.zeros(2, 4, 9, 8)},
        "q_pos and k_pos must be given when queries are more than keys; got 9 and 7",
    ),
    (
        {"encoding": BiasLogits(pe.SwinBias(4, (3, 3)))},
        "q_pos must be (…, seq, 2), as grid(…, like=q) makes them; got q_pos=None",
    ),
    ({"q": torch.zeros(4, 5, 8)}, "q must be (batch, heads, seq, dim); got shape (4, 5, 8)"),
    ({"q": Q.long()}, "q must be a float64, float32, float16 or bfloat16; got torch.int64"),
    (
        {"k": K.half()},
        "q, k and v must have the same dtype; got torch.float32, torch.float16 and torch.float32",
    ),
    ({"q": torch.zeros(2, 4, 5, 6)}, "q and k must have the same dim; got 6 and 8"),
    (
        {"v": torch.zeros(2, 2, 6, 8)},
        "k and v must agree in batch, heads and length; got shapes (2, 2, 7, 8) and (2, 2, 6, 8)",
    ),
    (
        {"k": torch.zeros(2, 3, 7, 8), "v": torch.zeros(2, 3, 7, 8)},
        "q and k must have the same batch, and q a multiple of the heads of k; "
        "got shapes (2, 4, 5, 8) and (2, 3, 7, 8)",
    ),
    ({"causal": 1}, "causal must be True or False; got causal=1"),
    (
        {"window": 0},
        "window must be a whole number of at least 1 and at most 2,147,483,648; got window=0",
    ),
    (
        {"mask": torch.zeros(2, 7, dtype=torch.complex64)},
        "mask must be of bool, True where a key is seen, or of floating numbers, which are added "
        "to the logits; got torch.complex64",
    ),
    (
        {"mask": torch.ones(5, 7, dtype=torch.bool)},
        "mask must be (batch, k) or (batch, heads, q, k), here (2, 7) or (2, 4, 5, 7); "
        "got shape (5, 7)",
    ),
    (
        {"documents": [0, 1]},
        "documents must be a tensor, or a pair (q, k) of them; got [0, 1]",
    ),
    (
        {"documents": torch.zeros(6)},
        "documents of q must be (seq,) or (batch, seq) with seq = 5; got shape (4,)",
    ),
    (
        {"documents": (torch.zeros(5), torch.zeros(3, 7))},
        "documents of k must be (seq,) or (batch, seq) with seq = 7; got shape (3, 7)",
    ),
    ({"scale": -1.0}, "scale must be more than 0; got scale=-1.0"),
    (
        {"encoding": pe.RoPE(4)},
        "q and k must have the dim of RoPE, 4; got shapes (2, 4, 5, 8) and (2, 2, 7, 8)",
    ),
    (
        {"encoding": pe.Tempered(pe.RoPE(16), pe.LogN(9))},
        "q and k must have the dim of RoPE, 16; got shapes (2, 4, 5, 8) and (2, 2, 7, 8)",
    ),
    (
        {
            "encoding": pe.TransformerXL(4, 16),
            "params": pe.TransformerXL(4, 16).init(np.random.default_rng(0)),
            "causal": True,
        },
        "q and k must have the dim of TransformerXL, 16; got shapes (2, 4, 5, 8) and (2, 2, 7, 8)",
    ),
    ({"q": Q[..., :0]}, "q must be (batch, heads, seq, dim); got shape (2, 4, 5, 0)"),
    (
        {"documents": torch.tensor(1)},
        "documents of q must be (seq,) or (batch, seq) with seq = 5; got shape ()",
    ),
    (
        {
            "encoding": pe.Shaw(8, 2),
            "params": pe.Shaw(8, 2).init(np.random.default_rng(0)),
            "v": K[..., :4],
        },
        "v must be (…, seq, 8); got shape (2, 4, 7, 4)",
    ),
    ({"scale": "1"}, "scale must be a finite number; got scale='1'"),
    (
        {
            "encoding": pe.Tempered(pe.Shaw(8, 2), pe.LogN(9)),
            "params": pe.Shaw(8, 2).init(np.random.default_rng(0)),
            "scale": 1.0,
        },
        "scale must be None for an encoding that makes the logits itself; got scale=1.0",
    ),
    (
        {"impl": "fast"},
        "impl must be 'auto' or 'dense' or 'blocked' or 'folded' or 'flex'; got impl='fast'",
    ),
    (
        {"impl": "folded"},
        "impl='folded' is unavailable: ALiBi is not a sum of products of query terms and key "
        "terms, unless causal=True",
    ),
    (
        {"impl": "folded", "encoding": T5, "causal": True},
        "impl='folded' is unavailable: T5Bias is not a sum of products of query terms and key "
        "terms",
    ),
    (
        {"impl": "flex", "q_pos": torch.zeros(5), "k_pos": torch.zeros(7)},
        "impl='flex' is unavailable: positions must be whole numbers to be looked up by distance; "
        "got torch.float32",
    ),
    (
        {"encoding": pe.T5Bias(4), "causal": True},
        "params must be given for an encoding that learns, or the module that owns them, "
        "BiasLogits(T5Bias(…)); got params=None",
    ),
    (
        {"encoding": Forgetting(3)},
        "features must be given for Forgetting, which depends on the tokens; got features=None",
    ),
    (
        {"features": torch.zeros(7, 3)},
        "features must be left out for ALiBi, which does not depend on the tokens",
    ),
    (
        {"encoding": Forgetting(3), "features": torch.zeros(7, 4)},
        "features of q must be (seq, feature_dim) or (batch, seq, feature_dim), "
        "here (5, 3) or (2, 5, 3); got shape (5, 4)",
    ),
    (
        {"encoding": Forgetting(3), "features": [1.0]},
        "features must be a floating tensor, or a pair (q, k) of them; got [1.0]",
    ),
    (
        {"encoding": Turning(8)},
        "params must be given for an encoding that learns, or the module that owns them, "
        "RotateQK(Turning(…)); got params=None",
    ),
    (
        {"encoding": T5, "causal": True, "params": {}},
        "params must be None for a module that owns them; got both",
    ),
    ({"params": {"table": 1}}, "params must be what ALiBi.init(rng) makes; got dict"),
    (
        {"encoding": pe.T5Bias(4), "causal": True, "params": {"tables": Q}},
        "params must hold 'table', as init(rng) makes it; got the names ['tables']",
    ),
    ({"q": Q.numpy()}, "q must be a torch.Tensor; got ndarray"),
    (
        {"q": K, "mask": torch.ones(7, 7, dtype=torch.bool), "encoding": pe.NoPE()},
        "mask must be (batch, k) or (batch, heads, q, k), here (2, 7) or (2, 2, 7, 7); "
        "got shape (7, 7)",
    ),
    (
        {"q": Q[:, :, :2], "mask": torch.ones(2, 7, dtype=torch.bool)},
        "mask must be mask[:, None, None] for (batch, k) or mask[None, None] for (q, k) where both "
        "would fit; got shape (2, 7)",
    ),
    (
        {
            "encoding": NoHeads(),
            "q_pos": torch.zeros(2, 5, dtype=int),
            "k_pos": torch.zeros(2, 7, dtype=int),
        },
        "bias of NoHeads must be an array (2, 4, 5, 7); got shape (2, 5, 7)",
    ),
    (
        {
            "encoding": NoHeads(),
            "q_pos": torch.zeros(5, dtype=int),
            "k_pos": torch.zeros(7, dtype=int),
        },
        "bias of NoHeads must be an array (4, 5, 7); got shape (5, 7)",
    ),
]


@pytest.mark.parametrize(("given", "message"), CASES, ids=[case[1] for case in CASES])
def test_the_message_names_argument_rule_and_value(given, message):
    call = {"q": Q, "k": K, "v": K, "encoding": ALIBI} | given
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        attend(call.pop("q"), call.pop("k"), call.pop("v"), **call)


@pytest.mark.parametrize("encoding", [OfNumPy(4), ScoresOfNumPy(), UncastTurns(), Refuses()])
@pytest.mark.parametrize("impl", ["auto", "dense"])
def test_explain_promises_nothing_that_attend_refuses(encoding, impl):
    told = []
    for ask in (attend.explain, attend):
        with pytest.raises(TypeError, match="torch") as refusal:
            ask(Q, K, K, encoding=encoding, impl=impl)
        told.append(str(refusal.value))
    assert told[0] == told[1]


def test_explain_takes_no_queries_and_no_keys():
    for q, k in ((Q[:, :, :0], K), (Q[:, :, :0], K[:, :, :0])):
        assert attend.explain(q, k, k, encoding=ALIBI).impl == "blocked"


def test_a_scale_of_ones_own_is_taken():
    q, k = torch.randn(2, 1, 4, 5, 8)
    for impl in ("dense", "blocked"):
        ours = attend(q, k, k, encoding=ALIBI, scale=0.5, impl=impl)
        bias = torch.from_numpy(np.asarray(ALIBI.bias(np.arange(5), np.arange(5)), dtype="f"))
        assert torch.allclose(ours, torch.softmax(q @ k.mT / 2 + bias, -1) @ k, atol=1e-6)
