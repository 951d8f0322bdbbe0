"""Bad input gets a sentence: the argument, the rule, the value."""

import dataclasses
import re

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.core.rotation import rotate
from posenc.encodings.registry import load_builtins
from posenc.torch import AddPositions, BiasLogits, ScoreQK

RNG = np.random.default_rng(0)
S, L = pe.Sinusoidal(8), pe.Learned(4, 8)
TABLE = L.init(RNG)
X = np.zeros((2, 3, 8))
HEADS = torch.zeros(2, 1, 2, 3, 8)  # q and k of two heads

CASES = [
    # dims, bases and other plain arguments
    (
        lambda: pe.Sinusoidal(0),
        ValueError,
        "dim must be a whole number of at least 1 and at most 1,048,576; got dim=0",
    ),
    (
        lambda: pe.Sinusoidal(7.5),
        TypeError,
        "dim must be a whole number of at least 1 and at most 1,048,576; got dim=7.5",
    ),
    (
        lambda: pe.Sinusoidal(True),
        TypeError,
        "dim must be a whole number of at least 1 and at most 1,048,576; got dim=True",
    ),
    (
        lambda: pe.Sinusoidal(8, base=0),
        ValueError,
        "base must be a finite number of at least 1; got base=0",
    ),
    (
        lambda: pe.Sinusoidal(8, base=-2.0),
        ValueError,
        "base must be a finite number of at least 1; got base=-2.0",
    ),
    (
        lambda: pe.Sinusoidal(8, base=float("nan")),
        ValueError,
        "base must be a finite number of at least 1; got base=nan",
    ),
    (
        lambda: pe.Sinusoidal(8, base="big"),
        TypeError,
        "base must be a finite number of at least 1; got base='big'",
    ),
    (
        lambda: pe.Sinusoidal(8, layout="zigzag"),
        ValueError,
        "layout must be 'interleaved' or 'concat'; got layout='zigzag'",
    ),
    (
        lambda: pe.Sinusoidal(8, spacing=None),
        TypeError,
        "spacing must be 'paper' or 't2t'; got spacing=None",
    ),
    (
        lambda: pe.Sinusoidal(7).shift(1),
        ValueError,
        "shift needs an even dim, because every sine needs its cosine; got dim=7",
    ),
    (lambda: S.shift(float("inf")), ValueError, "k must be a finite number; got k=inf"),
    (lambda: S.locate([1.0]), ValueError, "vector must be (…, 8); got shape (1,)"),
    (
        lambda: S.locate(np.full(8, np.nan)),
        ValueError,
        "vector must be finite; got nan",
    ),
    (
        lambda: S.locate(np.zeros(8), candidates=[]),
        ValueError,
        "candidates must be (seq,) and not empty; got shape (0,)",
    ),
    (
        lambda: pe.Learned(0, 8),
        ValueError,
        "length must be a whole number of at least 1 and at most 16,777,216; got length=0",
    ),
    (
        lambda: pe.Learned(4, 8, std=-1),
        ValueError,
        "std must be a finite number of at least 0 and at most 1e+06; got std=-1",
    ),
    (
        lambda: pe.AxialSinusoidal(8, 2, order=(0, 0)),
        ValueError,
        "order must name each axis 0 .. 1 once; got order=(0, 0)",
    ),
    (
        lambda: pe.AxialSinusoidal.mae(6),
        ValueError,
        "dim must be a multiple of 4, two pairs for each axis; got dim=6",
    ),
    (
        lambda: pe.FourierFeatures(7),
        ValueError,
        "dim must be a positive even number; got dim=7",
    ),
    (
        lambda: pe.LearnedFourier(8, features=3),
        ValueError,
        "features must be a positive even number; got features=3",
    ),
    # positions
    (
        lambda: S.encode([0.0, float("nan")]),
        ValueError,
        "positions must be finite; got positions[1]=nan",
    ),
    (
        lambda: S.encode(np.array([[0.0], [np.inf]])),
        ValueError,
        "positions must be finite; got positions[1, 0]=inf",
    ),
    (lambda: S.encode(3), ValueError, "positions must be (seq,) or (batch, seq); got shape ()"),
    (
        lambda: S.encode(np.zeros((1, 2, 3), dtype=int)),
        ValueError,
        "positions must be (seq,) or (batch, seq); got shape (1, 2, 3)",
    ),
    (
        lambda: pe.AxialSinusoidal(8, 2).encode([0, 1]),
        ValueError,
        "positions must be (seq, 2) or (batch, seq, 2); got shape (2,)",
    ),
    (
        lambda: pe.AxialSinusoidal(8, 2).encode([[0, 1, 2]]),
        ValueError,
        "positions must be (seq, 2) or (batch, seq, 2); got shape (1, 3)",
    ),
    (lambda: S.encode("abc"), TypeError, "positions must be numbers; got 'abc'"),
    (lambda: S.encode([[0], [1, 2]]), TypeError, "positions must be numbers; got [[0], [1, 2]]"),
    (lambda: S.encode([True]), TypeError, "positions must be numbers; got [True]"),
    (
        lambda: S.encode(torch.arange(4, dtype=torch.bfloat16)),
        TypeError,
        "positions must be whole numbers, float32 or float64; got torch.bfloat16 of torch (16 bits "
        "cannot tell neighbours apart: bfloat16 has 769 values below 4,096)",
    ),
    (
        lambda: S.encode(np.zeros(2, dtype=complex)),
        TypeError,
        "positions must be whole numbers, float32 or float64; got complex128 of numpy",
    ),
    (
        lambda: S.encode([5, 2**24]),
        ValueError,
        "positions must lie between -16,777,216 and 16,777,216, where they are exact; "
        "got positions[1]=16777216",
    ),
    (
        lambda: S.encode(torch.tensor([-(2**24)])),
        ValueError,
        "positions must lie between -16,777,216 and 16,777,216, where they are exact; "
        "got positions[0]=-16777216",
    ),
    # indices into a table
    (
        lambda: L.encode([3, 4], TABLE),
        ValueError,
        "positions must lie in the table, 0 .. 3; got position 4",
    ),
    (
        lambda: L.encode([-1], TABLE),
        ValueError,
        "positions must lie in the table, 0 .. 3; got position -1",
    ),
    (
        lambda: L.encode([0.5], TABLE),
        TypeError,
        "positions must be whole numbers to index a table; got float64",
    ),
    (
        lambda: L.encode([float("nan")], TABLE),
        ValueError,
        "positions must be finite; got positions[0]=nan",
    ),
    (
        lambda: L.encode([0]),
        ValueError,
        "params must hold 'table', as init(rng) makes it; got None",
    ),
    (
        lambda: L.encode([0], {"rows": X}),
        ValueError,
        "params must hold 'table', as init(rng) makes it; got the names ['rows']",
    ),
    (
        lambda: L.encode([0], {"table": X}),
        ValueError,
        "params['table'] must be (4, 8); got shape (2, 3, 8)",
    ),
    (
        lambda: L.resize(TABLE, 0),
        ValueError,
        "new_length must be a whole number of at least 1 and at most 16,777,216; got new_length=0",
    ),
    (
        lambda: L.resize_grid(TABLE, (3, 3), (4, 4), antialias=True),
        ValueError,
        "prefix + old height * width must be length=4; got prefix=0, old=(3, 3)",
    ),
    (
        lambda: L.resize_grid(TABLE, 4, (4, 4), antialias=True),
        TypeError,
        "old must be (height, width); got old=4",
    ),
    (
        lambda: L.resize_grid(TABLE, (2, 2), (4, 4), antialias="no"),
        TypeError,
        "antialias must be True or False; got antialias='no'",
    ),
    # arrays that do not go together
    (
        lambda: S.add(X, torch.arange(3)),
        TypeError,
        "x and positions must come from the same array library; got x of numpy, positions of "
        "torch; position builders take like=x",
    ),
    (
        lambda: L.encode(np.arange(2), {"table": torch.zeros(4, 8)}),
        TypeError,
        "positions and params must come from the same array library; got positions of numpy, "
        "params of torch; convert the params, or give the positions as a list",
    ),
    (
        lambda: pe.T5Bias(2).bias(torch.arange(3), torch.arange(3), {"table": np.zeros((32, 2))}),
        TypeError,
        "positions and params must come from the same array library; got positions of torch, "
        "params of numpy; convert the params, or give the positions as a list",
    ),
    (
        lambda: pe.FIRE(2).bias(torch.arange(3), torch.arange(3), pe.FIRE(2).init(RNG)),
        TypeError,
        "positions and params must come from the same array library; got positions of torch, "
        "params of numpy; convert the params, or give the positions as a list",
    ),
    *(
        (
            lambda e=e: pe.logits(e, *HEADS, torch.arange(3), torch.arange(3), e.init(RNG)),
            TypeError,
            "q and params must come from the same array library; got q of torch, params of numpy; "
            "convert the params",
        )
        for e in (pe.Shaw(8, 2), pe.TransformerXL(2, 8))
    ),
    (
        lambda: S.add(X, [0, 1]),
        ValueError,
        "x (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
        "got shapes (2, 3, 8) and (2,)",
    ),
    (
        lambda: S.add(X, np.zeros((5, 3), dtype=int)),
        ValueError,
        "x (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
        "got shapes (2, 3, 8) and (5, 3)",
    ),
    (
        lambda: S.add(np.zeros((3, 6)), range(3)),
        ValueError,
        "x must have the shape of its encoding, (…, seq, dim) = (3, 8); got shape (3, 6)",
    ),
    (
        lambda: S.add(X.astype(int), range(3)),
        TypeError,
        "x must have a real floating dtype; got int64",
    ),
    (
        lambda: S.add([[0.0]], [0]),
        TypeError,
        "x must be an array (NumPy, PyTorch, JAX, …); got list",
    ),
    (
        lambda: S.encode([0], dtype=np.int32),
        TypeError,
        "dtype must be a floating dtype of numpy; got dtype=<class 'numpy.int32'>",
    ),
    (
        lambda: S.encode(torch.arange(2), dtype=np.float32),
        TypeError,
        "dtype must be a floating dtype of torch; got dtype=<class 'numpy.float32'>",
    ),
    (
        lambda: pe.logits(S, X, X[..., :6], range(3), range(3)),
        ValueError,
        "x must have the shape of its encoding, (…, seq, dim) = (3, 8); got shape (2, 3, 6)",
    ),
    (
        lambda: pe.logits("rope", X, X, range(3), range(3)),
        TypeError,
        "encoding must be an Encoding (Additive, Rotary, Bias, Scores); got 'rope'; "
        "pe.make makes one by its name",
    ),
    (
        lambda: rotate(X, np.zeros(3), np.zeros(3)),
        ValueError,
        "x must have 6 channels, two for each angle; got 8",
    ),
    (
        lambda: rotate(X, np.zeros(4), np.zeros(4), pairing="quarters"),
        ValueError,
        "pairing must be 'interleaved' or 'halves'; got pairing='quarters'",
    ),
    # rotary encodings and scalings
    (lambda: pe.RoPE(7), ValueError, "dim must be a positive even number; got dim=7"),
    (
        lambda: pe.RoPE(8, rotary_dim=3),
        ValueError,
        "rotary_dim must be a positive even number of at most dim=8; got rotary_dim=3",
    ),
    (
        lambda: pe.RoPE(8, rotary_dim=10),
        ValueError,
        "rotary_dim must be a positive even number of at most dim=8; got rotary_dim=10",
    ),
    (
        lambda: pe.RoPE(8, pairing="neox"),
        ValueError,
        "pairing must be 'interleaved' or 'halves'; got pairing='neox'",
    ),
    (
        lambda: pe.RoPE(8, rotated="middle"),
        ValueError,
        "rotated must be 'leading' or 'trailing'; got rotated='middle'",
    ),
    (
        lambda: pe.RoPE(8, scaling="yarn"),
        TypeError,
        "scaling must be a Scaling or None; got scaling='yarn'",
    ),
    (
        lambda: pe.RoPE(8).rotate(np.ones((1, 8)), [2**24]),
        ValueError,
        "positions must lie between -16,777,216 and 16,777,216, where they are exact; "
        "got positions[0]=16777216",
    ),
    (
        lambda: pe.RoPE(8).rotate(np.ones((1, 6)), [0]),
        ValueError,
        "x must be (…, seq, 8); got shape (1, 6)",
    ),
    (
        lambda: pe.YaRN(4.0, None),
        TypeError,
        "original_length must be a whole number of at least 2 and at most 1,099,511,627,776; "
        "got original_length=None",
    ),
    (
        lambda: pe.Llama3(0.5, 8192),
        ValueError,
        "factor must be a finite number of at least 1 and at most 1e+12; got factor=0.5",
    ),
    (
        lambda: pe.YaRN(4.0, 512, 1.0, 32.0),
        ValueError,
        "beta_slow must not be above beta_fast; got 32.0 and 1.0",
    ),
    (
        lambda: pe.RoPE(8, scaling=pe.LongRoPE((1.0,), (1.0,), 16)).at(3),
        ValueError,
        "factors must have one factor for each of the 4 pairs; got 1",
    ),
    (
        lambda: pe.LongRoPE([1.0], (1.0,), 16),
        TypeError,
        "short_factor must be a tuple with a factor for each pair; got short_factor=[1.0]",
    ),
    (
        lambda: pe.RoPE(8, base=1.0, scaling=pe.YaRN(4.0, 4096)),
        ValueError,
        "base must be above 1 for YaRN, which needs slow pairs; got base=1.0",
    ),
    (
        lambda: pe.LongRoPE((1.0,), (1.0, 2.0), 16),
        ValueError,
        "short_factor and long_factor must have one factor for each pair; got 1 and 2",
    ),
    (
        lambda: pe.RoPE(8).at(True),
        TypeError,
        "length must be a whole number of at least 1 and at most 1,099,511,627,776; "
        "got length=True",
    ),
    (
        lambda: pe.Llama4Temperature().factors([3, -2]),
        ValueError,
        "positions must not be negative for a temperature; got -2",
    ),
    (
        lambda: pe.T5Bias(2).bias(np.array([0.5]), np.array([1.0]), pe.T5Bias(2).init(RNG)),
        TypeError,
        "positions must be whole numbers to look up a bias; got float64",
    ),
    (
        lambda: pe.logits(
            pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 4)), X, X, [0, 1, 2], [0, 1, np.nan]
        ),
        ValueError,
        "positions must be finite; got positions[2]=nan",
    ),
    (
        lambda: pe.Proportional(1.5),
        ValueError,
        "share must be a finite number of at least 0 and at most 1; got share=1.5",
    ),
    (
        lambda: pe.XPos(8).rotate(np.ones((1, 8)), [100_000]),
        ValueError,
        "positions must lie within 32,696 of centre=0, or the decay leaves float32; "
        "got positions from 100000 to 100000",
    ),
    (
        lambda: pe.mrope_positions([(1, 2)]),
        ValueError,
        "a grid must be (frames, height, width); got (1, 2)",
    ),
    (
        lambda: pe.mrope_positions(3),
        TypeError,
        "parts must be numbers and (frames, height, width); got 3",
    ),
    (
        lambda: rotate(np.array([1, 2]), np.ones(1), np.ones(1)),
        TypeError,
        "x must have a real floating dtype; got int64",
    ),
    (
        lambda: rotate(X, np.ones((5, 4)), np.ones((5, 4))),
        ValueError,
        "cos and sin must be (…, pair) with leading axes that x (…, dim) has; "
        "got shapes (5, 4), (5, 4) and (2, 3, 8)",
    ),
    (
        lambda: rotate(X, np.ones(4), np.ones(4), inverse="no"),
        TypeError,
        "inverse must be True or False; got inverse='no'",
    ),
    (
        lambda: L.resize({"table": np.ones((4, 8), dtype=int)}, 7),
        TypeError,
        "params['table'] must be floating; got int64",
    ),
    (
        lambda: L.encode([0], {"table": 3}),
        TypeError,
        "params['table'] must be an array; got 3",
    ),
    (
        lambda: S.locate("abc"),
        TypeError,
        "vector must be numbers that the host can read; got 'abc'",
    ),
    (
        lambda: pe.distances(np.array([0]), np.array(["a"])),
        TypeError,
        "k_pos must be whole numbers, float32 or float64; got <U1 of numpy",
    ),
    (
        lambda: pe.distances(np.zeros((2, 3)), np.zeros((4, 3))),
        ValueError,
        "q_pos and k_pos must have the same batch size; got shapes (2, 3) and (4, 3)",
    ),
    (
        lambda: pe.logits(S, X, X.astype("f"), range(3), range(3)),
        ValueError,
        "q and k must agree in dtype and in all but their lengths, heads of q being a multiple of "
        "those of k; got float64 (2, 3, 8) and float32 (2, 3, 8)",
    ),
    (
        lambda: pe.logits(S, np.zeros((1, 6, 3, 8)), np.zeros((1, 4, 3, 8)), range(3), range(3)),
        ValueError,
        "q and k must agree in dtype and in all but their lengths, heads of q being a multiple of "
        "those of k; got float64 (1, 6, 3, 8) and float64 (1, 4, 3, 8)",
    ),
    # biases and scores
    (
        lambda: pe.ALiBi(8, future="none"),
        ValueError,
        "future must be 'mirrored' or 'offset'; got future='none'",
    ),
    (
        lambda: pe.ALiBi(8, divisor=0),
        ValueError,
        "divisor must be a finite number of at least 0.001 and at most 1e+06; got divisor=0",
    ),
    (
        lambda: pe.KERPLE(8, kernel="rbf"),
        ValueError,
        "kernel must be 'log' or 'power'; got kernel='rbf'",
    ),
    (
        lambda: pe.ClippedBias(8, -1),
        ValueError,
        "reach must be a whole number of at least 0 and at most 8,388,608; got reach=-1",
    ),
    (
        lambda: pe.Sandwich(8, features=7),
        ValueError,
        "features must be an even number; got features=7",
    ),
    (
        lambda: pe.SwinBias(3, 7),
        TypeError,
        "window must be (height, width); got window=7",
    ),
    (
        lambda: pe.SwinBias(3, (2, 2)).bias(
            pe.grid(3, 1), pe.grid(3, 1), pe.SwinBias(3, (2, 2)).init(RNG)
        ),
        ValueError,
        "q_pos and k_pos must lie in one window, less than 2 apart; got 2",
    ),
    (
        lambda: pe.SwinV2Bias(3, (8, 8)).bias(
            np.arange(3), np.arange(3), pe.SwinV2Bias(3, (8, 8)).init(RNG)
        ),
        ValueError,
        "q_pos must be (…, seq, 2); got shape (3,)",
    ),
    (
        lambda: pe.TransformerXL(2, 4, features=5),
        ValueError,
        "features must be an even number; got features=5",
    ),
    (
        lambda: pe.logits(
            pe.TransformerXL(2, 4), X, X, range(3), range(3), pe.TransformerXL(2, 4).init(RNG)
        ),
        ValueError,
        "q must be (…, 2, seq, 4); got shape (2, 3, 8)",
    ),
    (
        lambda: pe.logits(pe.Shaw(4, 2), X, X, range(3), range(3), pe.Shaw(4, 2).init(RNG)),
        ValueError,
        "q must be (…, seq, 4); got shape (2, 3, 8)",
    ),
    (
        lambda: BiasLogits(pe.T5Bias(2), params={"weight": 1}),
        ValueError,
        "params must hold the names ['table']; got ['weight']",
    ),
    (
        lambda: BiasLogits(pe.T5Bias(2), params={"table": np.zeros((2, 32))}),
        ValueError,
        "params['table'] must be (32, 2); got shape (2, 32)",
    ),
    (
        lambda: BiasLogits(pe.RoPE(8)),
        TypeError,
        "encoding must be Bias; got RoPE",
    ),
    (
        lambda: ScoreQK(pe.RoPE(8)),
        TypeError,
        "encoding must be Scores; got RoPE",
    ),
    (
        lambda: BiasLogits(pe.ALiBi(2))(torch.zeros(1, 2, 3, 4), torch.arange(3)),
        ValueError,
        "logits must be (…, heads, q, k) with q, k = (3, 3); got shape (1, 2, 3, 4)",
    ),
    (
        lambda: BiasLogits(pe.ALiBi(2))(torch.zeros(1, 4, 3, 3), torch.arange(3)),
        ValueError,
        "logits must have the heads of the bias, 2; got 4",
    ),
    # position builders
    (
        lambda: pe.consecutive(-1),
        ValueError,
        "length must be a whole number of at least 0 and at most 16,777,216; got length=-1",
    ),
    (
        lambda: pe.packed([2, -1]),
        ValueError,
        "each of lengths must be a whole number of at least 0 and at most 16,777,216; "
        "got each of lengths=-1",
    ),
    (
        lambda: pe.packed([2**24, 1]),
        ValueError,
        "lengths must add up to at most 16,777,216; got 16,777,217",
    ),
    (
        lambda: pe.packed(3),
        TypeError,
        "lengths must be whole numbers, one for each document; got 3",
    ),
    (
        lambda: pe.grid(5000, 5000),
        ValueError,
        "shape must have at most 16,777,216 points; got shape=(5000, 5000)",
    ),
    (pe.grid, ValueError, "shape must name at least one axis; got shape=()"),
    (
        lambda: pe.left_padded(np.ones(3)),
        ValueError,
        "mask must be (batch, seq); got shape (3,)",
    ),
    (
        lambda: pe.randomised(5, limit=4, rng=RNG),
        ValueError,
        "length must be at most limit; got length=5, limit=4",
    ),
    (
        lambda: pe.cape([0, 1], rng=RNG, scale=0.5),
        ValueError,
        "scale must be a finite number of at least 1 and at most 1.67772e+07; got scale=0.5",
    ),
    # the module
    (lambda: AddPositions(None), TypeError, "encoding must be Additive; got NoneType"),
    (
        lambda: AddPositions(S, dropout=1.0),
        ValueError,
        "dropout must be at least 0 and below 1; got dropout=1.0",
    ),
    (
        lambda: AddPositions(S, scale_input=1),
        TypeError,
        "scale_input must be True or False; got scale_input=1",
    ),
    (
        lambda: AddPositions(S)(torch.zeros(2, 3, 8), torch.arange(4)),
        ValueError,
        "x (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
        "got shapes (2, 3, 8) and (4,)",
    ),
    (
        lambda: AddPositions(L)(torch.zeros(1, 5, 8)),
        ValueError,
        "positions must lie in the table, 0 .. 3; got position 4",
    ),
]


@pytest.mark.parametrize(("work", "kind", "message"), CASES, ids=[case[2] for case in CASES])
def test_the_message_names_argument_rule_and_value(work, kind, message):
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        work()


def test_q_and_k_must_have_one_dim():
    from tests.core.test_logits import Nearness

    with pytest.raises(ValueError, match=r"^q and k must have the same dim; got 8 and 6$"):
        pe.logits(Nearness(1), X, X[..., :6], range(3), range(3))
    with pytest.raises(ValueError, match=r"^q and k must have the heads of the bias, 4; got 2$"):
        pe.logits(Nearness(4), X, X, range(3), range(3))


SIZES = [
    (kind, field.name)
    for kind in load_builtins().values()
    for field in dataclasses.fields(kind)
    if field.init and field.type in (int, "int") and not field.kw_only
]


@pytest.mark.parametrize(("kind", "name"), SIZES, ids=lambda each: getattr(each, "__name__", each))
@pytest.mark.parametrize("value", [-1, 7.5, True, "8", None, 10**30])
def test_a_size_that_cannot_be_is_named_with_its_value(kind, name, value):
    with pytest.raises((ValueError, TypeError)) as caught:
        dataclasses.replace(kind.example(), **{name: value})
    assert re.match(rf"{name} must be .*; got {name}={re.escape(repr(value))}$", str(caught.value))
