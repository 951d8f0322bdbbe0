from dataclasses import dataclass

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.core.rotation import _turn
from posenc.torch import RotateQK
from tests.bounds import UNIT, gamma
from tests.oracles import rotary as oracle
from tests.slow import slow
from tests.torch.own_encodings import A, Turning, turn

ROPES = [
    pe.RoPE(16),
    pe.RoPE(16, pairing="halves"),
    pe.RoPE(16, pairing="halves", rotary_dim=8),
    pe.RoPE(16, rotary_dim=6, rotated="trailing"),
    pe.RoPE(16, scaling=pe.YaRN(4.0, 512)),
    pe.XPos(16),
]
EACH = pytest.mark.parametrize("encoding", ROPES, ids=range(len(ROPES)))
HALVES = [torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()


@pytest.fixture
def q():
    return torch.randn(2, 4, 5, 16, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def k():
    return torch.randn(2, 2, 7, 16, generator=torch.Generator().manual_seed(1))  # fewer heads: GQA


def specification(encoding, x, positions, keys=False):
    cos, sin, rotated = encoding.tables_for(x.double(), positions, keys=keys)
    return _turn(x.double(), cos, sin, pairing=encoding.pairing, trailing=rotated == "trailing")


def rounding(encoding, x, positions, keys=False, *, count=4):
    """How far a turned x may be off, whatever the processor.

    x_a cos - x_b sin has a rounded table, a product and a sum: 3 roundings of at most the length of
    the pair times that of (cos, sin). A pair is no longer than x. One more is float64's own, whose
    truth is as far off. A half is rounded from float32, or lies below its smallest normal number.
    """
    cos, sin, _ = encoding.tables_for(x.double(), positions, keys=keys)
    length = x.double().norm(dim=-1, keepdim=True) * (cos**2 + sin**2).sqrt().max()
    if x.dtype in HALVES:
        half = UNIT[str(x.dtype).removeprefix("torch.")]
        return gamma(count) * length + half * (1 + gamma(count)) * length + 2.0**-25
    dtype = str(x.dtype).removeprefix("torch.")
    return gamma(2 * count if dtype == "float64" else count, dtype) * length


@EACH
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
def test_turns_queries_and_keys(encoding, inplace, dtype, q, k):
    q, k = q.to(dtype), k.to(dtype)
    q_pos, k_pos = torch.arange(5) + 2, torch.arange(7)
    where = (encoding, q, q_pos), (encoding, k, k_pos, True)
    expected, bounds = ([of(*each) for each in where] for of in (specification, rounding))
    results = RotateQK(encoding, inplace=inplace)(q, k, q_pos, k_pos)
    for ours, given, truth, bound in zip(results, (q, k), expected, bounds, strict=True):
        assert ours.dtype == dtype
        assert (ours is given) == inplace
        assert ((ours.double() - truth).abs() <= bound).all()


def check_turned(ours, *where):
    """A turned x is within its bound of the specification in float64."""
    assert ((ours.double() - specification(*where)).abs() <= rounding(*where)).all()


@EACH
@pytest.mark.parametrize("layout", ["transposed", "offset", "expanded", "odd stride"])
def test_any_memory_layout(encoding, layout):
    x = torch.randn(2, 5, 4, 16)
    x = {
        "transposed": x.transpose(1, 2),
        "offset": torch.randn(2 * 4 * 5 * 16 + 1)[1:].view(2, 4, 5, 16),
        "expanded": x[:, :1].transpose(1, 2).expand(2, 4, 5, 16),
        "odd stride": torch.randn(2, 4, 5, 17)[..., :16],
    }[layout]
    check_turned(encoding.rotate(x, torch.arange(5)), encoding, x, torch.arange(5))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("how", ["module", "input", "autocast"])
def test_no_cast_changes_an_angle(dtype, how):
    """4,096 positions turn a vector to 4,096 places, each the rounded float32 one."""
    module, x = RotateQK(pe.RoPE(16)), torch.ones(1, 1, 4096, 16)
    positions = torch.arange(4096)
    exact = module(x, x, positions)[0]
    if how == "autocast":
        with torch.autocast("cpu", dtype=dtype):
            turned = module(x.to(dtype), x.to(dtype), positions)[0]
    else:
        module = module.to(dtype) if how == "module" else module
        turned = module(x.to(dtype), x.to(dtype), positions)[0]
    assert torch.equal(turned, exact.to(dtype))
    assert len(torch.unique(turned[0, 0].float(), dim=0)) == 4096


def test_meta_device_and_state_dict(q, k):
    with torch.device("meta"):
        module = RotateQK(pe.RoPE(16))
    module.to_empty(device="cpu")
    assert module.state_dict() == {}
    module.load_state_dict({})
    fresh = RotateQK(pe.RoPE(16))(q, k, torch.arange(5), torch.arange(7))
    assert torch.equal(module(q, k, torch.arange(5), torch.arange(7))[0], fresh[0])


@pytest.mark.parametrize(  # graphs of two; code for the processor, which takes 10 s, of one
    ("encoding", "backend"),
    [
        (ROPES[0], "inductor"),
        (ROPES[-1], "aot_eager"),  # keys unlike queries
        *slow(*((rope, "inductor") for rope in ROPES[1:])),
    ],
    ids=str,
)
def test_compiles_as_one_graph_and_exports(encoding, backend, q, k):
    module = RotateQK(encoding)
    where = (encoding, q, torch.arange(5)), (encoding, k, torch.arange(7), True)
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    auto = torch.export.Dim.AUTO
    shapes = ({2: auto}, {2: auto}, {0: auto}, {0: auto})
    program = torch.export.export(
        module, (q, k, torch.arange(5), torch.arange(7)), dynamic_shapes=shapes
    ).module()
    for run in (compiled, program):
        for ours, each in zip(run(q, k, torch.arange(5), torch.arange(7)), where, strict=True):
            check_turned(ours, *each)
    longer = torch.randn(2, 4, 9, 16), torch.randn(2, 2, 11, 16), torch.arange(9), torch.arange(11)
    check_turned(program(*longer)[0], encoding, longer[0], torch.arange(9))
    z = q.clone().requires_grad_()
    compiled(z, k, torch.arange(5), torch.arange(7))[0].square().sum().backward()
    y = q.double().requires_grad_()
    specification(encoding, y, torch.arange(5)).square().sum().backward()
    # turned, doubled and turned back, each time by (cos, sin) of at most this length
    cos, sin = encoding.cos_sin(torch.arange(5), dtype=torch.float64)
    longest = max(1.0, float((cos**2 + sin**2).sqrt().max()))
    assert ((z.grad - y.grad).abs() <= 2 * longest * rounding(*where[0], count=9)).all()


@EACH
def test_gradients(encoding):
    x = torch.randn(1, 2, 3, 16, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([0, 7, 100])
    assert torch.autograd.gradcheck(lambda x: encoding.rotate(x, positions), (x,))
    assert torch.autograd.gradgradcheck(lambda x: encoding.rotate_keys(x, positions), (x,))


def test_gradients_reach_fractional_positions():
    x = torch.randn(2, 16, dtype=torch.float64)
    positions = torch.tensor([0.5, 30.25], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: pe.RoPE(16).rotate(x, p), (positions,))


def test_functional_transforms(q):
    rope, positions = pe.RoPE(16), torch.arange(5)
    batched = torch.func.vmap(lambda x: rope.rotate(x, positions))(q)
    check_turned(batched, rope, q, positions)
    grad = torch.func.grad(lambda x: rope.rotate(x, positions).square().sum())(q)
    # turned, doubled and turned back
    assert ((grad - 2 * q.double()).abs() <= 2 * rounding(rope, q, positions, count=9)).all()


def test_it_allocates_its_output_and_no_more():
    """Peak memory of one rotation of 64 MB, beside the input: the output and small tables."""
    from torch.profiler import ProfilerActivity, profile

    for pairing in ("interleaved", "halves"):
        x, rope = torch.randn(1, 8, 16_384, 128), pe.RoPE(128, pairing=pairing)
        cos, sin = rope.cos_sin(torch.arange(16_384), dtype=torch.float32)
        from posenc.core.rotation import rotate

        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
            rotate(x, cos, sin, pairing=pairing)
        allocated = sum(max(0, event.self_cpu_memory_usage) for event in run.events())
        assert allocated <= 1.3 * x.numel() * 4


def test_packed_and_left_padded_positions(q):
    rope = pe.RoPE(16)
    packed = rope.rotate(q, pe.packed([3, 2], like=q))
    assert torch.equal(packed[:, :, 3:], rope.rotate(q[:, :, 3:], torch.arange(2)))
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    padded = rope.rotate(q, pe.left_padded(mask))
    assert torch.equal(padded[0, :, 2:], rope.rotate(q[:1, :, 2:], torch.arange(3))[0])


def test_dynamic_scaling_wants_all_keys_unrotated(rng):
    encoding = pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 16))
    module = RotateQK(encoding)
    q, k = (torch.from_numpy(rng.normal(size=(1, 1, 40, 8))) for _ in range(2))
    whole = module(q, k, torch.arange(40))
    last = module(q[:, :, 39:], k, torch.tensor([39]), torch.arange(40))
    check_turned(last[0], encoding.at(40), q[:, :, 39:], torch.tensor([39]))
    for turned in (last[1], whole[1]):
        check_turned(turned, encoding.at(40), k, torch.arange(40), True)
    settled = RotateQK(encoding.at(40))(q, k, torch.arange(40))
    assert torch.equal(settled[1], whole[1])


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: RotateQK(pe.Sinusoidal(8)), "encoding must be Rotary; got Sinusoidal"),
        (lambda: RotateQK(pe.RoPE(8), inplace=1), "inplace must be True or False; got inplace=1"),
        (
            lambda: RotateQK(Turning(8), inplace=True),
            "inplace must be False for a rotation that learns, Turning; got inplace=True",
        ),
        (
            lambda: RotateQK(pe.RoPE(8))(
                torch.ones(1, 1, 2, 8), torch.ones(1, 1, 2, 6), torch.arange(2)
            ),
            "q and k must have the same head dim; got 8 and 6",
        ),
        (
            lambda: RotateQK(pe.RoPE(8))(*[torch.ones(1, 1, 2, 6)] * 2, torch.arange(2)),
            "x must be (…, seq, 8); got shape (1, 1, 2, 6)",
        ),
        (
            lambda: RotateQK(pe.RoPE(8), inplace=True)(
                *[torch.ones(1, 1, 2, 8)] * 2, torch.arange(2)
            ),
            "q and k must not share their memory to be turned in place",
        ),
        (
            lambda: RotateQK(pe.RoPE(8), inplace=True)(
                torch.ones(1, 1, 2, 8).expand(2, 1, 2, 8), torch.ones(2, 1, 2, 8), torch.arange(2)
            ),
            "q must not be expanded to be turned in place",
        ),
        (
            lambda: RotateQK(pe.RoPE(8))("q", torch.ones(1, 1, 2, 8), torch.arange(2)),
            "q must be an array (NumPy, PyTorch, JAX, …); got str",
        ),
        (
            lambda: RotateQK(pe.RoPE(8), inplace=True)(
                torch.ones(1, 1, 2, 8, requires_grad=True), torch.ones(1, 1, 2, 8), torch.arange(2)
            ),
            "q must not require a gradient to be turned in place",
        ),
        (
            lambda: RotateQK(pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 16)))(
                torch.ones(1, 1, 2, 8), torch.ones(1, 1, 1, 8), torch.arange(2), torch.arange(1)
            ),
            "k must hold all keys, unrotated, for an encoding that depends on the length (or "
            "settle it with encoding.at(length)); got 1 keys for positions up to 1",
        ),
        (
            lambda: RotateQK(pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 16)))(
                torch.ones(1, 1, 1, 8), torch.ones(1, 1, 1, 8), torch.tensor([5000])
            ),
            "k must hold all keys, unrotated, for an encoding that depends on the length (or "
            "settle it with encoding.at(length)); got 1 keys for positions up to 5000",
        ),
        (
            lambda: RotateQK(pe.RoPE(8))(np.ones((1, 2, 8)), torch.ones(1, 2, 8), torch.arange(2)),
            "q must be a torch.Tensor; got ndarray",
        ),
        (
            lambda: RotateQK(pe.RoPE(8))(torch.ones(1, 2, 8), np.ones((1, 2, 8)), torch.arange(2)),
            "k must be a torch.Tensor; got ndarray",
        ),
        (
            lambda: RotateQK(pe.RoPE(8))(*torch.ones(2, 1, 5, 2, 8), torch.arange(5)),
            "x (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; "
            "got shapes (1, 5, 2, 8) and (5,); "
            "if it is (batch, seq, heads, dim), give its transpose(1, 2)",
        ),
    ],
)
def test_messages(work, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        work()
    assert str(caught.value) == message


def test_the_oracle_agrees_with_the_fast_path(q):
    turned = pe.RoPE(16).rotate(q, torch.arange(5))
    bound = rounding(pe.RoPE(16), q, torch.arange(5)).numpy()
    for p in range(5):
        truth = [
            float(y) for y in oracle.rotate(q[1, 2, p].double().numpy(), p, oracle.plain(16, 1e4))
        ]
        assert (np.abs(turned[1, 2, p].numpy() - truth) <= bound[1, 2, p]).all()


def test_nothing_is_turned_in_place_unless_both_fit():
    q, k = torch.randn(1, 1, 2, 8), torch.randn(1, 1, 3, 8)
    before = q.clone()
    with pytest.raises(ValueError, match="must agree"):
        RotateQK(pe.RoPE(8), inplace=True)(q, k, torch.arange(2))
    assert torch.equal(q, before)


JOINT = torch.arange(2 * 5 * 3 * 32, dtype=torch.float32)


@pytest.mark.parametrize(
    ("q", "k", "shared"),
    [
        (JOINT[:80], JOINT[40:120], True),  # from different places on, but overlapping
        (JOINT[:160:2], JOINT[1:160:2], False),  # every second number each
        (JOINT[:160:2], JOINT[79:239:2], False),
        (JOINT[:160:2], JOINT[80:240:2], True),
        (JOINT[:80], JOINT[80:160], False),
    ],
)
def test_shared_memory_is_noticed_where_it_is(q, k, shared):
    q, k = (x.unflatten(0, (1, 1, 5, 16)) for x in (q, k))
    base, positions = JOINT.clone(), torch.arange(5)
    try:
        if shared:
            with pytest.raises(ValueError, match="must not share their memory"):
                RotateQK(pe.RoPE(16), inplace=True)(q, k, positions)
            assert torch.equal(JOINT, base)
        else:
            before = q.clone(), k.clone()
            turned = RotateQK(pe.RoPE(16), inplace=True)(q, k, positions)
            for ours, x in zip(turned, before, strict=True):
                check_turned(ours, pe.RoPE(16), x, positions)
    finally:
        JOINT.copy_(base)


def test_autograd_sees_what_is_turned_in_place():
    q, k = torch.randn(2, 1, 2, 5, 16)
    weight = torch.ones(16, requires_grad=True)
    product = (q * weight).sum()
    RotateQK(pe.RoPE(16), inplace=True)(q, k, torch.arange(5))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    with torch.inference_mode():
        q, k = torch.randn(2, 1, 2, 5, 16)
        wanted = RotateQK(pe.RoPE(16))(q, k, torch.arange(5))[0]
        assert torch.equal(RotateQK(pe.RoPE(16), inplace=True)(q, k, torch.arange(5))[0], wanted)


def test_a_negated_view_is_turned_in_place():
    """PyTorch negates what lies in memory when it is read."""
    x = torch.view_as_complex(torch.randn(1, 2, 5, 16, 2)).conj().imag
    assert x.is_neg()
    wanted, k = RotateQK(pe.RoPE(16))(x, x, torch.arange(5))[0], torch.randn(1, 2, 5, 16)
    assert RotateQK(pe.RoPE(16), inplace=True)(x, k, torch.arange(5))[0] is x
    assert torch.allclose(x, wanted, atol=1e-6)


def test_parts_of_a_joint_projection_are_turned_in_place():
    joint = torch.randn(2, 5, 3, 4, 16)
    q, k, _ = (x.transpose(1, 2) for x in joint.unbind(2))
    before = q.clone(), k.clone()
    turned = RotateQK(pe.RoPE(16), inplace=True)(q, k, torch.arange(5))
    for ours, x in zip(turned, before, strict=True):
        check_turned(ours, pe.RoPE(16), x, torch.arange(5))
    windows = torch.randn(40).as_strided((1, 1, 2, 16), (40, 40, 8, 1))
    with pytest.raises(ValueError, match="q must not be expanded"):
        RotateQK(pe.RoPE(16), inplace=True)(windows, torch.randn(1, 1, 2, 16), torch.arange(2))


@pytest.mark.parametrize("encoding", [pe.RoPE(16), pe.XPos(16, pairing="halves")], ids=str)
def test_in_place_compiles_as_one_graph(encoding, q, k):
    q_pos, k_pos = torch.arange(5), torch.arange(7)
    module = torch.compile(RotateQK(encoding, inplace=True), fullgraph=True, backend="aot_eager")
    where = (encoding, q.clone(), q_pos), (encoding, k.clone(), k_pos, True)
    turned = module(q, k, q_pos, k_pos)
    for ours, given, each in zip(turned, (q, k), where, strict=True):
        assert ours is given
        check_turned(ours, *each)


@EACH
def test_forward_mode_derivatives(encoding):
    x, tangent = torch.randn(2, 1, 2, 3, 16, dtype=torch.float64)
    positions = torch.tensor([0, 7, 100])
    with torch.autograd.forward_ad.dual_level():
        turned = encoding.rotate(torch.autograd.forward_ad.make_dual(x, tangent), positions)
        slope = torch.autograd.forward_ad.unpack_dual(turned).tangent
    check_turned(slope, encoding, tangent, positions)  # a rotation is linear


@pytest.mark.parametrize("inplace", [False, True])
def test_a_tempered_rotation_multiplies_the_queries(inplace, q, k):
    tempered = pe.Tempered(pe.RoPE(16), pe.MinistralTemperature(3))
    q_pos, k_pos = torch.arange(5), torch.arange(7)
    rope = pe.RoPE(16)
    factors = pe.MinistralTemperature(3).factors(q_pos, dtype=torch.float64)[:, None]
    turned = RotateQK(tempered, inplace=inplace)(q.clone(), k.clone(), q_pos, k_pos)
    truth = specification(rope, q, q_pos) * factors
    bound = rounding(rope, q, q_pos, count=6) * factors  # which are rounded and multiplied
    assert ((turned[0].double() - truth).abs() <= bound).all()
    check_turned(turned[1], rope, k, k_pos, True)


@pytest.mark.parametrize("inplace", [False, True])
def test_every_temperature_around_a_rotation_counts(inplace, q, k):
    inner, outer = pe.MinistralTemperature(3), pe.SSMax(0.43)
    q_pos, k_pos = torch.arange(5), torch.arange(7)
    twice = pe.Tempered(pe.Tempered(pe.RoPE(16), inner), outer)
    turned = RotateQK(twice, inplace=inplace)(q.clone(), k.clone(), q_pos, k_pos)
    factors = [of.factors(q_pos, dtype=torch.float64)[:, None] for of in (inner, outer)]
    truth = specification(pe.RoPE(16), q, q_pos) * factors[0] * factors[1]
    bound = rounding(pe.RoPE(16), q, q_pos, count=8) * factors[0] * factors[1]
    assert ((turned[0].double() - truth).abs() <= bound).all()
    check_turned(turned[1], pe.RoPE(16), k, k_pos, True)


def test_a_wrapper_that_is_no_factor_on_queries_is_refused():
    @dataclass(frozen=True)
    class Squared(pe.Scores):
        rotary: pe.Rotary

        @property
        def inner(self):
            return self.rotary

        def scores(self, q, k, q_pos, k_pos, params=None):
            return pe.logits(self.rotary, q, k, q_pos, k_pos) ** 2

    with pytest.raises(TypeError, match="with row_factors on its queries; got Squared"):
        RotateQK(Squared(pe.RoPE(16)))


@pytest.mark.parametrize(
    "encoding",
    [
        pe.RoPE(8),
        pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 4)),
        pe.Tempered(pe.RoPE(8), pe.SSMax()),
    ],
    ids=str,
)
def test_positions_may_be_lists(encoding):
    x, positions = torch.randn(1, 2, 5, 8), [0, 1, 2, 3, 4]
    ours = RotateQK(encoding)(x, x, positions)
    for one, other in zip(ours, RotateQK(encoding)(x, x, torch.tensor(positions)), strict=True):
        assert torch.equal(one, other)


def learned_truth(q, k, a):
    """Both turned and summed up with weights of their own, in float64."""
    turned = turn(q, torch.arange(5), a), turn(k, torch.arange(7), a)
    return turned, sum((x * torch.arange(x.numel()).reshape(x.shape).cos()).sum() for x in turned)


def test_a_learned_rotation_has_parameters_and_gradients(q, k):
    module = RotateQK(Turning(16), params={"a": A})
    assert {n: tuple(x.shape) for n, x in module.state_dict().items()} == {"params.a": (8,)}
    turned = module(q, k, torch.arange(5), torch.arange(7))
    a = torch.from_numpy(A).double().requires_grad_()
    truth, loss = learned_truth(q, k, a)
    for ours, exact, x in zip(turned, truth, (q, k), strict=True):
        assert ((ours - exact).abs() <= gamma(4) * x.double().norm(dim=-1, keepdim=True)).all()
    sum((x * torch.arange(x.numel()).reshape(x.shape).cos()).sum() for x in turned).backward()
    loss.backward()
    # each is a sum of products of turned pairs with positions up to 6 and frequencies below 0.3
    count, size = q.numel() + k.numel(), float(q.abs().sum() + k.abs().sum()) * 6 * 0.3
    assert ((module.params["a"].grad - a.grad).abs() <= gamma(min(count, 100)) * size).all()


def test_a_learned_rotation_is_drawn_loaded_and_tempered(q, k):
    torch.manual_seed(0)
    module, other = RotateQK(Turning(16)), RotateQK(Turning(16))
    where = torch.arange(5), torch.arange(7)
    assert not torch.equal(module.params["a"], other.params["a"])
    other.load_state_dict(module.state_dict())
    assert torch.equal(module(q, k, *where)[0], other(q, k, *where)[0])
    tempered = RotateQK(pe.Tempered(Turning(16), pe.LogN(2)), params=module.tensors())
    factors = pe.LogN(2).factors(where[0], dtype=torch.float32)[:, None]
    assert torch.equal(tempered(q, k, *where)[0], module(q, k, *where)[0] * factors)


def test_a_rotation_without_parameters_draws_nothing():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert list(RotateQK(pe.RoPE(16)).parameters()) == []
    assert torch.equal(torch.get_rng_state(), before)


PREPARED = [
    pe.RoPE(16, pairing="halves"),
    pe.RoPE(16, rotary_dim=4, rotated="trailing"),
    pe.XPos(16),
    pe.AxialRoPE(16, pe.Split(axes=2)),
    pe.Tempered(pe.RoPE(16), pe.Llama4Temperature()),
]


@pytest.mark.parametrize("impl", ["auto", "reference"])
@pytest.mark.parametrize("encoding", PREPARED, ids=str)
def test_prepared_positions_rotate_as_positions_do(encoding, impl):
    rotate = RotateQK(encoding, impl=impl)
    q, k = torch.randn(2, 2, 3, 5, 16, generator=torch.Generator().manual_seed(0)).double()
    shape = (2, 5) if encoding.axes is None else (2, 5, encoding.axes)
    rows = torch.randint(0, 99, shape, generator=torch.Generator().manual_seed(1))
    for p in (rows[0], rows):
        for dtype in (torch.float64, torch.bfloat16):
            given = q.to(dtype), k.to(dtype)
            prepared = rotate.prepare(p, p + 1, dtype=dtype)
            both = rotate(*given, prepared), rotate(*given, p, p + 1)
            for ours, theirs in zip(*both, strict=True):
                assert_as_close_as_rounding(ours, theirs)
    q.requires_grad_()
    at = rotate.prepare(rows, dtype=torch.float64), rows
    grads = [torch.autograd.grad(rotate(q, k, each)[0].sum(), q)[0] for each in at]
    assert_as_close_as_rounding(*grads)


def assert_as_close_as_rounding(ours, theirs):
    """Sums of two products in another order, or with a fused addition: 4 u of the largest, which
    in 16 bits may round to the next number."""
    largest = float(theirs.detach().double().abs().max())
    unit = 2.0**-53 if theirs.dtype == torch.float64 else 2.0**-24
    step = torch.finfo(theirs.dtype).eps if theirs.dtype.itemsize == 2 else 0.0
    assert (ours.double() - theirs.double()).abs().max() <= (8 * unit + step) * largest


def test_what_cannot_be_prepared_is_said():
    prepared = RotateQK(pe.RoPE(16)).prepare([0, 1])
    q = torch.zeros(1, 1, 2, 16)
    with pytest.raises(ValueError, match=r"q_pos must be prepared for RoPE\(16, base=50.0\); got"):
        RotateQK(pe.RoPE(16, base=50.0))(q, q, prepared)
    with pytest.raises(ValueError, match=r"positions .* must agree"):
        RotateQK(pe.RoPE(16))(q[:, :, :1], q[:, :, :1], prepared)
    with pytest.raises(ValueError, match="q_pos must lie between"):
        RotateQK(pe.RoPE(16)).prepare([2**24])
