import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import posenc as pe
from posenc.torch import AddPositions
from tests.bounds import UNIT, gamma
from tests.oracles import additive as oracle
from tests.slow import in_turn, slow

SINUSOIDAL, LEARNED = pe.Sinusoidal(16), pe.Learned(5000, 16)
ENCODINGS = [SINUSOIDAL, pe.Sinusoidal(16, layout="concat"), LEARNED]
HALVES = [torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def fresh_compiler():
    """torch.compile counts recompilations of one function over all tests."""
    torch.compiler.reset()


@pytest.fixture
def x():
    return torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))


def exact(positions):
    return torch.from_numpy(oracle.sinusoidal(np.asarray(positions), 16))


def check_sum(ours, x, encoded, *, count=2):
    """x + encoded in float32: the encoding, which is made in float64, is rounded, then the sum."""
    truth, size = x.double() + encoded, x.double().abs() + encoded.abs()
    assert ((ours.double() - truth).abs() <= gamma(count) * size).all()


def encoded_by(module, positions):
    """What a module adds, in float64."""
    params = {name: table.detach().double() for name, table in module.params.items()}
    return module.encoding.encode(positions, params or None, dtype=torch.float64)


def encodings_of(module, dtype, n=4096):
    """What the module adds at n positions, as rows that can be told apart."""
    zeros = torch.zeros(1, n, 16, dtype=dtype)
    return module(zeros, torch.arange(n))[0]


def test_adds_the_encoding(x):
    module = AddPositions(SINUSOIDAL)
    check_sum(module(x), x, exact(range(5)))
    check_sum(module(x, torch.arange(7, 12)), x, exact(range(7, 12)))
    assert torch.equal(module(x), module(x, torch.arange(5)))


def test_scale_input_multiplies_by_the_root_of_dim(x):
    module = AddPositions(SINUSOIDAL, scale_input=True)
    check_sum(module(x), 4 * x, exact(range(5)))  # a product with 4 is exact


def test_scale_input_rounds_once():
    x = torch.randn(1, 5, 16, dtype=torch.bfloat16)
    scaled = AddPositions(SINUSOIDAL, scale_input=True)(x)
    assert torch.equal(scaled, (4 * x.float() + SINUSOIDAL.encode(torch.arange(5))).bfloat16())
    big = torch.full((1, 1, 1024), 3000.0, dtype=torch.float16)
    assert torch.isinf(AddPositions(pe.Sinusoidal(1024), scale_input=True)(big)).all()  # 96,000


def test_autocast_does_not_touch_fourier_features():
    module, points = AddPositions(pe.FourierFeatures(16, 2)), torch.rand(5, 2)
    plain = module(torch.zeros(1, 5, 16), points)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(module(torch.zeros(1, 5, 16), points), plain)


def test_dropout_acts_in_training_only(x):
    module = AddPositions(SINUSOIDAL, dropout=0.5)
    torch.manual_seed(0)
    dropped = module(x) == 0
    assert 0.3 < dropped.float().mean() < 0.7
    assert torch.equal(module.eval()(x), AddPositions(SINUSOIDAL)(x))


@pytest.mark.parametrize("encoding", ENCODINGS, ids=str)
def test_state_dict_round_trip(encoding, x):
    module, other = AddPositions(encoding), AddPositions(encoding)
    state = module.state_dict()
    assert list(state) == (["params.table"] if encoding is LEARNED else [])
    other.load_state_dict(state)
    assert torch.equal(module(x), other(x))


def test_manual_seed_governs_the_initial_parameters():
    modules = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        modules.append(AddPositions(LEARNED).params["table"])
    assert torch.equal(modules[0], modules[1])
    assert not torch.equal(modules[0], modules[2])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
@pytest.mark.parametrize("cast_first", [True, False])
def test_no_cast_changes_an_angle(dtype, cast_first):
    """The 16-bit output is the rounded float32 one, and 4,096 positions stay 4,096 encodings."""
    module = AddPositions(SINUSOIDAL)
    module = module.to(dtype) if cast_first else module
    added = encodings_of(module, dtype)
    assert added.dtype == dtype
    assert len(torch.unique(added.double(), dim=0)) == 4096
    if dtype in HALVES:
        assert torch.equal(added, encodings_of(AddPositions(SINUSOIDAL), torch.float32).to(dtype))


def test_half_then_float_is_as_if_nothing_happened():
    spoiled = AddPositions(SINUSOIDAL).half().to(torch.bfloat16).float()
    fresh = AddPositions(SINUSOIDAL)
    assert torch.equal(encodings_of(spoiled, torch.float32), encodings_of(fresh, torch.float32))


def test_learned_rows_stay_distinct_in_bfloat16():
    module = AddPositions(LEARNED).to(torch.bfloat16)
    assert module.params["table"].dtype == torch.bfloat16
    assert len(torch.unique(encodings_of(module, torch.bfloat16).float(), dim=0)) == 4096


@pytest.mark.parametrize("dtype", HALVES)
def test_autocast_changes_nothing(dtype):
    module = AddPositions(SINUSOIDAL)
    plain = encodings_of(module, torch.float32)
    with torch.autocast("cpu", dtype=dtype):
        assert torch.equal(encodings_of(module, torch.float32), plain)
        assert torch.equal(encodings_of(module, dtype), plain.to(dtype))


@pytest.mark.parametrize("encoding", ENCODINGS, ids=str)
def test_meta_device_then_to_empty(encoding, x):
    with torch.device("meta"):
        module = AddPositions(encoding)
    assert all(parameter.is_meta for parameter in module.parameters())
    module.to_empty(device="cpu")
    for parameter in module.parameters():
        nn.init.constant_(parameter, torch.nan)  # what to_empty leaves is anything
    module.reset_parameters()
    added = module(x) - x
    assert torch.isfinite(added).all()
    if encoding is LEARNED:
        assert abs(module.params["table"].std().item() - 0.02) < 1e-3
    else:
        assert torch.equal(added, AddPositions(encoding)(x) - x)


# code for the processor takes 10 s; test_compiled_halves_are_rounded_float32_values has some made
@pytest.mark.parametrize("backend", ["aot_eager", *slow("inductor")])
@pytest.mark.parametrize(
    "encoding", [ENCODINGS[0], ENCODINGS[-1], *slow(*ENCODINGS[1:-1])], ids=str
)
def test_compiles_as_one_graph(encoding, backend, x):
    module = AddPositions(encoding)
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    for positions in (torch.arange(5), torch.arange(5) + 4000, torch.tensor([[0, 1, 2, 0, 1]] * 2)):
        check_sum(compiled(x, positions), x, encoded_by(module, positions))
    check_sum(compiled(x), x, encoded_by(module, torch.arange(5)))
    backward, z = copy.deepcopy(module).double(), x.double().requires_grad_()
    compiled(x.requires_grad_()).square().sum().backward()
    backward(z).square().sum().backward()
    ours, theirs = [x, *module.parameters()], [z, *backward.parameters()]
    for mine, other in zip(ours, theirs, strict=True):
        # twice what check_sum bounds; for a table summed over the two rows of the batch
        size = 4 * (x.detach().abs().amax() + 1)
        assert (mine.grad - other.grad).abs().max() <= gamma(4) * size


@pytest.mark.parametrize("dtype", [torch.bfloat16, *slow(torch.float16)])
def test_compiled_halves_are_rounded_float32_values(dtype):
    module = AddPositions(SINUSOIDAL).to(dtype)
    added = encodings_of(torch.compile(module, fullgraph=True), dtype)
    assert len(torch.unique(added.float(), dim=0)) == 4096
    truth = exact(range(4096))
    # rounded to float32, then to the half, or below its smallest normal number
    bound = (gamma(1) + (1 + gamma(1)) * UNIT[str(dtype).removeprefix("torch.")]) * truth.abs()
    assert ((added.double() - truth).abs() <= bound + 2.0**-25).all()


@pytest.mark.parametrize("encoding", ENCODINGS, ids=str)
def test_exports_for_any_length(encoding, x):
    module = AddPositions(encoding).eval()
    auto = torch.export.Dim.AUTO
    shapes = ({0: auto, 1: auto}, {0: auto})
    program = torch.export.export(module, (x, torch.arange(5)), dynamic_shapes=shapes)
    longer = torch.randn(3, 77, 16)
    positions = torch.arange(100, 177)
    check_sum(program.module()(longer, positions), longer, encoded_by(module, positions))


@pytest.mark.parametrize("encoding", ENCODINGS, ids=str)
def test_gradients(encoding):
    module = AddPositions(encoding).double()
    x = torch.randn(2, 3, 16, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([0, 7, 7])
    assert torch.autograd.gradcheck(lambda x: module(x, positions), (x,))
    if encoding is LEARNED:
        module(x, positions).sum().backward()
        grad = module.params["table"].grad
        assert grad[7].tolist() == [4.0] * 16  # two rows of the batch, twice in each
        assert grad[1].abs().max() == 0


def test_gradients_reach_fractional_positions():
    positions = torch.tensor([0.5, 1000.25], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(SINUSOIDAL.encode, (positions,))


@pytest.mark.parametrize(
    ("length", "encoding"), in_turn([1, 63, 1000, 1500], of=ENCODINGS), ids=str
)
def test_decoding_with_a_cache_equals_prefill(length, encoding):
    module = AddPositions(encoding).eval()
    x = torch.randn(2, length, 16)
    steps = [module(x[:, p : p + 1], torch.tensor([p])) for p in range(length)]
    for ours in (module(x, torch.arange(length)), torch.cat(steps, dim=1)):
        check_sum(ours, x, encoded_by(module, torch.arange(length)))


def test_left_padded_rows_equal_the_rows_alone(x):
    module = AddPositions(SINUSOIDAL)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    padded = module(x, pe.left_padded(mask))
    check_sum(padded[0, 2:], x[0, 2:], exact(range(3)))
    check_sum(padded[1], x[1], exact(range(5)))


def test_a_users_own_encoding_works_in_the_module(x):
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Ramp(pe.Additive):
        dim: int

        def encode(self, positions, params=None, *, dtype=None):
            return positions[..., None].to(dtype).expand(*positions.shape, self.dim)

    module = AddPositions(Ramp(16))
    assert torch.equal(module(x) - x, (x + torch.arange(5.0)[:, None]) - x)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    check_sum(compiled(x), x, torch.arange(5.0)[:, None].double())


@pytest.mark.parametrize("dtype", HALVES)
def test_what_is_drawn_and_kept_is_not_trained_nor_rounded(dtype):
    module = AddPositions(pe.FourierFeatures(16, 2))
    assert list(module.parameters()) == []
    assert list(module.state_dict()) == ["matrix"]
    before, points = module.matrix.clone(), torch.rand(5, 2)
    exact = module(torch.zeros(1, 5, 16), points)
    module.to(dtype).half().float()
    assert module.matrix.dtype == torch.float32
    assert torch.equal(module.matrix, before)
    added = module.to(dtype)(torch.zeros(1, 5, 16, dtype=dtype), points)
    assert torch.equal(added, exact.to(dtype))


def test_tracing_does_not_freeze_positions():
    x = torch.zeros(1, 2048, 16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit.trace is deprecated, and people use it
        traced = torch.jit.trace(AddPositions(SINUSOIDAL), (x, torch.arange(2048)))
    check_sum(traced(x, torch.arange(2048) + 5)[0], x[0], exact(range(5, 2053)))


def test_repr_names_the_encoding():
    shown = repr(AddPositions(SINUSOIDAL, dropout=0.25))
    assert "Sinusoidal(16" in shown
    assert "dropout=0.25" in shown
