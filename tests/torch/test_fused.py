"""The modules with the compiled kernels, against the same with PyTorch's own operators."""

import copy
import os
import pickle
import subprocess
import sys

import pytest
import torch

import posenc as pe
from posenc import kernels
from posenc.torch import AddPositions, RotateQK

pytestmark = pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
ROTATIONS = [
    pe.RoPE(16),
    pe.RoPE(16, pairing="halves"),
    pe.RoPE(16, rotary_dim=6, rotated="trailing", scaling=pe.YaRN(4.0, 64)),
    pe.AxialRoPE.mrope(16, sections=(4, 2, 2)),
    pe.AxialRoPE(16, pe.Split(axes=2), pairing="halves", rotary_dim=8),
]


def qk(dtype=torch.float32, *, length=40):
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, 4, length, 16, generator=generator).to(dtype)
    return q, torch.randn(2, 2, length, 16, generator=generator).to(dtype)


def positions_of(encoding, length=40):
    shape = (length,) if encoding.axes is None else (length, encoding.axes)
    return torch.randint(0, 2**24, shape, generator=torch.Generator().manual_seed(1))


def one_step(dtype):
    """A table entry may be rounded to the other neighbour: sums of two products differ by 2 u."""
    return 4 * torch.finfo(torch.float32 if dtype != torch.float64 else dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("encoding", ROTATIONS, ids=str)
def test_fused_equals_reference(encoding, dtype):
    q, k = qk(dtype)
    p = positions_of(encoding)
    fused = RotateQK(encoding, impl="fused")(q, k, p)
    plain = RotateQK(encoding, impl="reference")(q, k, p)
    for ours, theirs in zip(fused, plain, strict=True):
        off = (ours.double() - theirs.double()).abs()
        wide = one_step(dtype) * 2 * q.double().abs().max()
        # in 16 bits neighbours of one float32 may round to different sides
        step = torch.finfo(dtype).eps * theirs.double().abs() if dtype.itemsize == 2 else 0.0
        assert (off <= wide + step).all()


@pytest.mark.parametrize("encoding", ROTATIONS, ids=str)
def test_the_value_itself_is_fused_and_turns_back(encoding):
    q, _ = qk(torch.float64)
    p = positions_of(encoding)
    turned = encoding.rotate(q, p)
    assert torch.equal(turned, RotateQK(encoding, impl="fused")(q, q, p)[0])
    assert (encoding.rotate(turned, p, inverse=True) - q).abs().max() < 1e-14


@pytest.mark.parametrize("encoding", ROTATIONS, ids=str)
def test_without_a_gradient_the_numbers_are_packed_and_the_bits_the_same(encoding):
    q, k = qk()
    p, module = positions_of(encoding), RotateQK(encoding, impl="fused")
    packed = encoding.fuse().packed
    shortest = torch.ops.posenc.rotate_qk.packed(q, k, p, p, packed)
    learning = module(q.clone().requires_grad_(), k.clone().requires_grad_(), p)
    for each in zip(module(q, k, p), shortest, learning, strict=True):
        assert torch.equal(each[0], each[1])
        assert torch.equal(each[0], each[2])
    with pytest.raises(RuntimeError, match="x must have the channels of the encoding"):
        torch.ops.posenc.rotate.packed(torch.zeros(40, 18), p, packed)
    if encoding.axes is not None:
        more = torch.cat([p, p], dim=-1)
        with pytest.raises(RuntimeError, match="positions must have the axes of the encoding"):
            torch.ops.posenc.rotate.packed(q, more, packed)
    for wrong in (packed.float(), packed[:3], packed[None], packed.repeat_interleave(2)[::2]):
        with pytest.raises(RuntimeError, match="packed must be"):
            torch.ops.posenc.rotate.packed(q, p, wrong)


def test_a_packed_sum_is_that_of_the_numbers():
    x, p = torch.randn(3, 40, 7, generator=torch.Generator().manual_seed(0)), torch.arange(40)
    fused = pe.Sinusoidal(7, layout="concat").fuse()
    packed = torch.ops.posenc.add_waves.packed(x, p, fused.pack_addition(1.5))
    assert torch.equal(packed, fused.add(x, p, factor=1.5))
    with pytest.raises(RuntimeError, match="x must have two channels for each frequency"):
        torch.ops.posenc.add_waves.packed(x, p, fused.pack_addition(1.5)[:-1].clone())


def test_in_place_equals_out_of_place():
    for encoding in ROTATIONS:
        q, k = qk(torch.bfloat16)
        p = positions_of(encoding)
        wanted = RotateQK(encoding)(q, k, p)
        got = RotateQK(encoding, inplace=True, impl="fused")(q, k, p)
        assert got[0] is q
        assert got[1] is k
        assert torch.equal(q, wanted[0])
        assert torch.equal(k, wanted[1])


def test_in_place_changes_nothing_if_a_position_is_refused():
    q, k = qk()
    before = q.clone(), k.clone()
    far = torch.full((40,), 2**24)
    with pytest.raises(ValueError, match="positions must lie between"):
        RotateQK(pe.RoPE(16), inplace=True)(q, k, torch.arange(40), far)
    assert torch.equal(q, before[0])
    assert torch.equal(k, before[1])


@pytest.mark.parametrize("encoding", ROTATIONS, ids=str)
def test_gradients_turn_back(encoding):
    p = positions_of(encoding, 5)
    q, k = (x.double().requires_grad_() for x in qk(length=5))
    module = RotateQK(encoding, impl="fused")
    torch.autograd.gradcheck(lambda q, k: module(q, k, p), (q, k))
    only = module(q, k.detach(), p)[0].sum()
    assert torch.autograd.grad(only, q)[0].shape == q.shape


@pytest.mark.parametrize("encoding", ROTATIONS, ids=str)
def test_compiles_as_one_graph_of_any_length(encoding):
    module = RotateQK(encoding, impl="fused")
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in (40, 7, 63):
        q, k = (x.requires_grad_() for x in qk(length=length))
        p = positions_of(encoding, length)
        ours, plain = compiled(q, k, p), module(q, k, p)
        assert torch.equal(ours[0], plain[0])
        assert torch.equal(ours[1], plain[1])
        back = torch.autograd.grad(ours[0].square().sum() + ours[1].sum(), (q, k))
        for got, wanted in zip(
            back, torch.autograd.grad(plain[0].square().sum() + plain[1].sum(), (q, k)), strict=True
        ):
            assert torch.equal(got, wanted)


def test_transforms_take_the_reference():
    encoding, (q, k) = pe.RoPE(16), qk(torch.float64)
    p, module = torch.arange(40), RotateQK(pe.RoPE(16))
    wanted = module(q, k, p)
    mapped = torch.func.vmap(lambda q, k: module(q[None], k[None], p))(q, k)
    assert (mapped[0][:, 0] - wanted[0]).abs().max() < 1e-14
    _, tangent = torch.func.jvp(lambda q: encoding.rotate(q, p), (q,), (q,))
    assert (tangent - wanted[0]).abs().max() < 1e-14
    gradient = torch.func.grad(lambda q: encoding.rotate(q, p).square().sum())(q)
    assert (gradient - 2 * q).abs().max() < 1e-13
    exported = torch.export.export(module, (q, k, p))
    assert "posenc" not in str(exported.graph)


def test_positions_that_learn_take_the_reference():
    q, k = qk(torch.float64, length=3)
    p = torch.tensor([0.5, 1.0, 2.5], dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda p: RotateQK(pe.RoPE(16))(q, k, p), (p,))
    x = torch.randn(3, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.autograd.gradcheck(lambda p: AddPositions(pe.Sinusoidal(8))(x, p), (p,))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [7, 16])
@pytest.mark.parametrize("layout", ["interleaved", "concat"])
def test_sums_equal_the_reference(dtype, dim, layout):
    encoding = pe.Sinusoidal(dim, layout=layout)
    x = torch.randn(3, 40, dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    p = torch.arange(40) * 400_009
    for scale in (False, True):
        ours = AddPositions(encoding, impl="fused", scale_input=scale)(x, p)
        plain = AddPositions(encoding, impl="reference", scale_input=scale)(x, p)
        off = (ours.double() - plain.double()).abs()
        size = plain.double().abs() + 1
        step = torch.finfo(dtype).eps if dtype.itemsize == 2 else 0.0
        assert (off <= size * (one_step(dtype) + step)).all()
    assert torch.equal(encoding.add(x, p), AddPositions(encoding, impl="fused")(x, p))


def test_modules_are_copied_pickled_and_made_on_the_meta_device():
    q, k = qk()
    p = torch.arange(40)
    for make in (lambda: RotateQK(pe.RoPE(16)), lambda: AddPositions(pe.Sinusoidal(16))):
        with torch.device("meta"):
            on_meta = make()
        call = (q, k, p) if isinstance(on_meta, RotateQK) else (q, p)
        wanted = make()(*call)
        for module in (copy.deepcopy(make()), pickle.loads(pickle.dumps(make())), on_meta):
            got = module.to(torch.bfloat16)(*call)
            assert all(map(torch.equal, got, wanted))


def test_what_the_kernels_cannot_take_is_said():
    with pytest.raises(ValueError, match="impl='fused' is unavailable: XPos is not made of waves"):
        RotateQK(pe.XPos(16), impl="fused")
    with pytest.raises(ValueError, match="impl='fused' is unavailable: Learned is not made of"):
        AddPositions(pe.Learned(4, 8), impl="fused")
    fast = pe.AxialRoPE(4, pe.PairTable((0, 0), (9.0, 1.0)))
    with pytest.raises(ValueError, match="a wave turns by more than 8 radians per position"):
        RotateQK(fast, impl="fused")
    q, k = qk()
    with pytest.raises(
        ValueError, match="impl must be 'auto' or 'fused' or 'reference'; got impl='fast'"
    ):
        RotateQK(pe.RoPE(16), impl="fast")
    with pytest.raises(ValueError, match="the kernels are for the CPU; got tensors on meta"):
        RotateQK(pe.RoPE(16), impl="fused")(q.to("meta"), k.to("meta"), torch.arange(40).to("meta"))
    with pytest.raises(ValueError, match="the kernels have no gradient for positions"):
        RotateQK(pe.RoPE(16), impl="fused")(q, k, torch.arange(40.0).requires_grad_())


def test_an_own_rotation_is_never_fused():
    """Whatever it inherits: what it overrides is what it means."""

    class Doubled(pe.RoPE):
        def cos_sin(self, positions, params=None, *, dtype=None):
            return super().cos_sin(2 * positions, params, dtype=dtype)

    class Shifted(pe.Sinusoidal):
        def encode(self, positions, params=None, *, dtype=None):
            return super().encode(positions + 1, params, dtype=dtype)

    q, k = qk(torch.float64)
    p = torch.arange(40)
    wanted = RotateQK(pe.RoPE(16))(q, k, 2 * p)
    for ours, theirs in zip(RotateQK(Doubled(16))(q, k, p), wanted, strict=True):
        assert (ours - theirs).abs().max() < 1e-14
    x = q[:, 0]
    assert (Shifted(16).add(x, p) - pe.Sinusoidal(16).add(x, p + 1)).abs().max() < 1e-14


def test_a_module_is_unpickled_in_a_process_without_kernels(tmp_path):
    """Which loads them anew, if it can."""
    torch.save([RotateQK(pe.RoPE(16)), AddPositions(pe.Sinusoidal(16))], tmp_path / "modules.pt")
    code = (
        "import sys, torch\n"
        "rotate, add = torch.load(sys.argv[1], weights_only=False)\n"
        "x, p = torch.ones(1, 1, 3, 16), torch.arange(3)\n"
        "print(float(rotate(x, x, p)[0].sum() + add(x[0], p).sum()))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "modules.pt")],
            env=os.environ | {"POSENC_KERNELS": variable},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for variable in ("1", "0")
    ]
    assert float(told[0]) == pytest.approx(float(told[1]), abs=1e-4)


def test_the_graph_keeps_positions_and_sees_that_they_change():
    q, k = (x.requires_grad_() for x in qk())
    p = torch.arange(40)
    out = RotateQK(pe.RoPE(16), impl="fused")(q, k, p)[0]
    kept = out.grad_fn.saved_tensors if hasattr(out.grad_fn, "saved_tensors") else ()
    assert not any(x is q or x is k for x in kept)
    p += 100
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_in_place_is_seen_by_autograd():
    w, (h, k) = torch.ones(16, requires_grad=True), qk()
    total = (w * h).sum()
    RotateQK(pe.RoPE(16), inplace=True, impl="fused")(h, k, torch.arange(40))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


@pytest.mark.parametrize("which", ["positions", "k", "k_pos"])
def test_tensors_on_other_devices_are_not_taken_for_results(which):
    q, k = qk()
    p = torch.arange(40)
    call = {"q": q, "k": k, "q_pos": p, "k_pos": p}
    name = {"positions": "q_pos"}.get(which, which)
    call[name] = call[name].to("meta")
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)):
        float(RotateQK(pe.RoPE(16))(**call)[0 if name == "q_pos" else 1].sum())


def test_positions_must_have_the_axes_of_the_encoding():
    q, k = qk(length=5)
    for impl in ("auto", "fused", "reference"):
        module = RotateQK(pe.AxialRoPE(16, pe.Split(axes=2)), impl=impl)
        with pytest.raises(ValueError, match=r"positions must be \(seq, 2\)"):
            module(q, k, torch.zeros(5, 3, dtype=torch.int64))


def test_tensors_that_the_kernels_do_not_take_go_the_long_way():
    p, rope = torch.arange(5), pe.RoPE(16)
    many = torch.randn((1,) * 16 + (5, 16), generator=torch.Generator().manual_seed(0))
    wanted = rope.rotate(many.reshape(5, 16), p)
    assert (rope.rotate(many, p).reshape(5, 16) - wanted).abs().max() < 1e-6
    assert (RotateQK(rope)(many, many, p)[0].reshape(5, 16) - wanted).abs().max() < 1e-6
    flipped = torch.complex(many[0], many[0]).conj().imag
    off = RotateQK(rope)(flipped, flipped, p)[0] - rope.rotate(-many[0], p)
    assert off.abs().max() < 1e-6
    with pytest.raises(ValueError, match=r"q must be \(…, seq, dim\); got shape \(\)"):
        RotateQK(rope)(torch.tensor(1.0), many, p)
    with pytest.raises(ValueError, match="depend on the length of the text"):
        RotateQK(pe.RoPE(16, scaling=pe.DynamicNTK(2.0, 8)), impl="fused")


def test_in_place_compiles_to_the_operator():
    q, k = qk()
    wanted = RotateQK(pe.RoPE(16))(q, k, torch.arange(40))
    module = RotateQK(pe.RoPE(16), inplace=True, impl="fused")
    torch.compile(module, fullgraph=True, backend="aot_eager")(q, k, torch.arange(40))
    assert torch.equal(q, wanted[0])
    assert torch.equal(k, wanted[1])


def test_what_a_subclass_overrides_is_what_it_means():
    class Twice(pe.RoPE):
        def rotate(self, x, positions, params=None, **options):
            return 2 * super().rotate(x, positions, params, **options)

    class Half(pe.Sinusoidal):
        def add(self, x, positions, params=None, *, scale=1.0):
            return super().add(x, positions, params, scale=scale) / 2

    q, k = qk(torch.float64)
    p = torch.arange(40)
    plain = RotateQK(pe.RoPE(16))(q, k, p)
    for impl in ("auto", "reference"):
        assert (RotateQK(Twice(16), impl=impl)(q, k, p)[0] - 2 * plain[0]).abs().max() < 1e-14
    wanted = pe.Sinusoidal(16).add(q[:, 0], p) / 2
    assert (AddPositions(Half(16))(q[:, 0], p) - wanted).abs().max() < 1e-14
    theirs = pe.adapt.rotary(lambda x, p: x * p[:, None], dim=16, library="torch")
    assert torch.equal(RotateQK(theirs, impl="reference")(q, q, p)[0], q * p[:, None])


def test_the_first_call_takes_the_path_of_the_second():
    code = (
        "import torch, posenc as pe\n"
        "x = torch.randn(4, 300, 64, dtype=torch.float64); r = pe.RoPE(64); p = torch.arange(300)\n"
        "print(torch.equal(r.rotate(x, p), r.rotate(x, p)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_what_is_made_without_values_is_not_kept():
    from torch._subclasses.fake_tensor import FakeTensorMode

    encoding = pe.RoPE(16, base=12_345.0)
    with FakeTensorMode():
        assert not RotateQK(encoding)._waves.has_values
    q, k = qk()
    assert RotateQK(encoding, impl="fused")(q, k, torch.arange(40))[0].isfinite().all()


def test_modes_that_see_each_operator_are_told_the_numbers():
    """Packed operators have no shapes for tracing and say nothing: they are for no mode."""
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils._python_dispatch import TorchDispatchMode

    class Record(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    (q, k), p = qk(), torch.arange(40)
    calls = {
        "rotate_qk": (RotateQK(pe.RoPE(16), impl="fused"), (q, k, p)),
        "rotate": (pe.RoPE(16).rotate, (q, p)),
        "add_waves": (AddPositions(pe.Sinusoidal(16), impl="fused"), (q, p)),
    }
    for name, (call, given) in calls.items():
        wanted = call(*given)
        with Record() as mode:
            got = call(*given)
        assert f"posenc.{name}.default" in mode.seen
        traced = make_fx(lambda *given, call=call: call(*given))(*given)
        assert "packed" not in traced.code
        for made in (got, traced(*given)):
            pairs = zip(made, wanted, strict=True) if name == "rotate_qk" else [(made, wanted)]
            assert all(torch.equal(*pair) for pair in pairs)


@pytest.mark.parametrize("impl", ["fused", "reference"])
def test_what_is_made_in_a_mode_without_values_serves_outside_it(impl):
    from torch._subclasses.fake_tensor import FakeTensorMode

    rope, sinusoidal = pe.RoPE(16, base=54_321.0), pe.Sinusoidal(16, base=54_321.0)
    (q, k), p = qk(), torch.arange(40)
    wanted = pe.RoPE(16, base=54_321.0).rotate(q, p), AddPositions(sinusoidal)(q, p)
    rotate = RotateQK(rope, impl=impl)
    with FakeTensorMode():
        add = AddPositions(sinusoidal)
        rotate.prepare(torch.arange(40))
    assert torch.allclose(rotate(q, k, p)[0], wanted[0], rtol=0, atol=1e-6)
    assert torch.equal(add(q, p), wanted[1])


def test_prepared_tables_are_for_floating_tensors():
    rotate, (q, k) = RotateQK(pe.RoPE(16), impl="reference"), qk()
    prepared = rotate.prepare(torch.arange(40))
    with pytest.raises(TypeError, match="q must have a real floating dtype"):
        rotate(q.long(), k.long(), prepared)
