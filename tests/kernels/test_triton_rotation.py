"""The rotation in Triton: in its interpreter, or on the GPU of a machine that has one.

`make triton` installs Triton and runs what is marked so.
"""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from posenc import kernels
from tests.kernels import truth
from tests.kernels.test_csrc import DTYPES, LAYOUTS, calls, draw, frequencies

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"

needs_triton = pytest.mark.triton


def import_kernel():
    with pytest.MonkeyPatch.context() as patch:
        if not GPU:
            patch.setenv("TRITON_INTERPRET", "1")  # which counts where a kernel is defined
        return importlib.import_module("posenc.kernels.triton_rotation")


@pytest.fixture
def kernel(monkeypatch):
    """The module; what it leaves unwritten in a result is NaN, which no bound lets pass."""
    if not GPU:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    torch.use_deterministic_algorithms(True)
    yield import_kernel()
    torch.use_deterministic_algorithms(False)


def rotate(x, positions, w, *, axis=None, scale=1.0, halves=False, start=0, back=False):
    rest = (w, axis, scale, halves, start, back)
    moved = x.to(DEVICE) if GPU else x  # `to` keeps no overlap, so views are for the interpreter
    return import_kernel().rotate(moved, positions.to(DEVICE), *rest).cpu()


def check(x, positions, w, *, axis=None, scale=1.0, halves=False, start=0, back=False):
    options = {"scale": scale, "halves": halves, "start": start, "back": back}
    out = rotate(x, positions, w, axis=axis, **options)
    assert out.shape == x.shape
    assert out.dtype == x.dtype
    wanted, bound = truth.rotate(x, positions, w, axis, scale, halves, start, back)
    assert (np.abs(out.double().numpy() - wanted) <= bound).all()
    return out


@needs_triton
@pytest.mark.parametrize("halves", [False, True])
def test_cosines_and_sines_are_within_their_bound(kernel, halves):
    assert 1e-8 < kernel.measure_error(DEVICE, halves) <= 5.5e-8  # derived there, for scale 1
    assert kernel.MOST_ERROR == 1.5e-7


@needs_triton
@pytest.mark.skipif(GPU, reason="compiled kernels cannot be patched")
def test_angles_of_float32_are_rejected(kernel, monkeypatch):
    inner = importlib.import_module("posenc.kernels.triton_kernel")
    cos_sin, tl = inner.cos_sin, inner.tl

    def rounded(angle, wide):
        return cos_sin(angle.to(tl.float32).to(tl.float64), wide)

    monkeypatch.setattr(inner, "cos_sin", rounded)
    assert kernel.measure_error(DEVICE, False) > 1000 * kernel.MOST_ERROR
    with pytest.raises(AssertionError):
        check(draw((2, 8), torch.float32), torch.tensor([3, 1_000_003]), frequencies(4))


@needs_triton
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("length", [1, 63, 1000])
def test_values(kernel, dtype, halves, length):
    x = draw((2, 3, length, 20), dtype)
    check(x, torch.arange(length) + 5, frequencies(10), halves=halves)
    check(x, torch.arange(length), frequencies(4), halves=halves, scale=1.3)
    check(x, torch.arange(length), frequencies(4), halves=halves, start=12, back=True)


@needs_triton
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("pairs", [1, 7, 8, 33, 64, 500])
def test_any_number_of_pairs_and_of_heads(kernel, pairs, halves):
    for dtype in DTYPES:
        p = torch.arange(5)
        check(draw((3, 5, 2 * pairs), dtype), p, frequencies(pairs), halves=halves)
        check(draw((19, 5, 2 * pairs + 3), dtype), p, frequencies(pairs), halves=halves, start=2)


@needs_triton
def test_far_positions_are_exact(kernel):
    p = torch.tensor([-(2**24) + 1, -1, 0, 1, 10_000_019, 2**24 - 1])
    for halves in (False, True):
        check(draw((6, 128), torch.float32), p, frequencies(64), halves=halves)


@needs_triton
def test_fast_waves_are_exact(kernel):
    """8 radians per position, the limit: angles of up to 2^27."""
    w = torch.tensor([8.0, -8.0, 2 * np.pi, 0.0], dtype=torch.float64)
    p = torch.tensor([2**24 - 1, -(2**24) + 1, 9_999_991, 3])
    for dtype in (torch.float64, torch.float32):
        check(draw((4, 8), dtype), p, w)


@needs_triton
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float64, torch.float32])
def test_dtypes_of_positions(kernel, dtype):
    p = torch.tensor([0, 3, -7, 12_345]).to(dtype) + (0.25 if dtype.is_floating_point else 0)
    check(draw((2, 4, 8), torch.float32), p.to(dtype), frequencies(4))


@needs_triton
def test_positions_of_each_row_and_of_several_axes(kernel):
    x, w = draw((3, 2, 5, 8), torch.float32), frequencies(4)
    rows = torch.randint(0, 10_000, (3, 5), generator=torch.Generator().manual_seed(1))
    check(x, rows, w)
    check(x, rows[:1], w)
    check(x, rows.T.contiguous().T, w)
    check(x[:, 0], rows, w)
    axis = torch.tensor([2, 0, 1, 0])
    grid = torch.randint(0, 99, (5, 3), generator=torch.Generator().manual_seed(2))
    check(x, grid, w, axis=axis, halves=True)
    check(x, grid.expand(3, 5, 3) + rows[..., None], w, axis=axis)
    deep = draw((3, 2, 2, 2, 5, 8), torch.float32).transpose(1, 3)
    check(deep, rows, w)
    check(deep, rows[0], w)


@needs_triton
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides(kernel, layout, dtype):
    x, p, w = LAYOUTS[layout](draw((2, 3, 40, 8), dtype)), torch.arange(40), frequencies(4)
    for halves in (False, True):
        out = check(x, p, w, halves=halves)
        assert torch.equal(out, rotate(x.contiguous(), p, w, halves=halves))
        assert out.stride() == torch.empty_like(x).stride()


@needs_triton
def test_in_place_is_out_of_place(kernel):
    p, w = torch.arange(40, device=DEVICE), frequencies(3)
    for dtype in DTYPES:
        for halves in (False, True):
            for layout in ("heads first", "channels strided", "unaligned"):
                q = LAYOUTS[layout](draw((2, 3, 40, 8), dtype)).to(DEVICE)
                k = LAYOUTS[layout](draw((2, 1, 40, 8), dtype, seed=1)).to(DEVICE)
                rest = (w, None, 1.0, halves, 1, False)
                wanted = kernel.rotate_qk(q, k, p, p + 9, *rest)
                kernel.rotate_qk_(q, k, p, p + 9, *rest)
                assert torch.equal(q, wanted[0])
                assert torch.equal(k, wanted[1])


@needs_triton
def test_in_place_writes_nothing_if_one_is_refused(kernel):
    q, k = (draw((2, length, 8), torch.float32).to(DEVICE) for length in (5, 4))
    p, before = torch.arange(5, device=DEVICE), q.clone()
    with pytest.raises(ValueError, match="positions must be"):
        kernel.rotate_qk_(q, k, p, p, frequencies(4), None, 1.5, True, 0, False)
    assert torch.equal(q, before)


@needs_triton
def test_one_token_is_its_row_of_the_whole_to_the_bit(kernel):
    for dtype in DTYPES:
        x, p = draw((2, 9, 70, 64), dtype), torch.arange(70) * 7 + 1_000_000
        whole = rotate(x, p, frequencies(32), halves=True)
        for t in (0, 15, 16, 69):
            one = rotate(x[1:, 8:, t : t + 1], p[t : t + 1], frequencies(32), halves=True)
            assert torch.equal(one, whole[1:, 8:, t : t + 1])


@needs_triton
def test_empty_tensors(kernel):
    w = frequencies(4)
    for shape in ((0, 3, 5, 8), (2, 0, 5, 8), (2, 3, 0, 8)):
        assert rotate(draw(shape, torch.float32), torch.arange(shape[2]), w).shape == shape
    x = draw((2, 5, 8), torch.float32)
    assert torch.equal(rotate(x, torch.arange(5), frequencies(0)), x)


@needs_triton
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy's, of inf and NaN
def test_numbers_that_are_none(kernel):
    for dtype in DTYPES:
        for halves in (False, True):
            x = draw((3, 8), dtype)
            x[1, 0], x[2, 3] = float("nan"), float("inf")
            out = rotate(x, torch.zeros(3, dtype=torch.int64), frequencies(4), halves=halves)
            odd = torch.zeros(3, 8, dtype=torch.bool)
            odd[1, [0, 4] if halves else [0, 1]] = True
            odd[2, [3, 7] if halves else [2, 3]] = True
            assert torch.equal(out[~odd], x[~odd])
            assert not out[odd].isfinite().any()


@needs_triton
@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_of_every_size_are_rounded_as_pytorch_does(kernel, dtype):
    """All 2^16 of them, turned by 0 and scaled: subnormals, ties, overflow."""
    x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype).reshape(-1, 512)
    p = torch.zeros(len(x), dtype=torch.int64)
    for scale in (1.0, 1 / 3, 1.5, 0.01):
        out = rotate(x, p, frequencies(256), scale=scale)
        pairs = x.float().reshape(-1, 2)
        scaled = pairs * torch.tensor(scale, dtype=torch.float32)
        finite = pairs.isfinite().all(-1)
        assert torch.equal(out.reshape(-1, 2)[finite], scaled.to(dtype)[finite])


@needs_triton
@pytest.mark.parametrize(
    "positions",
    [
        torch.tensor([5, 2**24]),
        torch.tensor([5, -(2**24)]),
        torch.tensor([5, 2**62]),
        torch.tensor([5, float("nan")]),
        torch.tensor([5, float("inf")]),
    ],
)
def test_positions_that_only_the_gpu_sees_give_nan(kernel, positions):
    x, w = draw((3, 2, 9), torch.float32), frequencies(4)
    out = rotate(x, positions, w, start=1)
    assert out[:, 1, 1:].isnan().all()
    assert torch.equal(out[:, 1, 0], x[:, 1, 0])
    assert torch.equal(out[:, :1], rotate(x[:, :1], positions[:1], w, start=1))


@needs_triton
def test_waves_and_axes_that_only_the_gpu_sees_give_nan(kernel):
    x, p = draw((2, 8), torch.float32), torch.ones(2, 2)
    out = rotate(x, p[0], torch.tensor([1, 8.5, float("nan"), -9], dtype=torch.float64))
    assert torch.equal(out.isnan(), torch.tensor([[False] * 2 + [True] * 6] * 2))
    out = rotate(x, p, frequencies(4), axis=torch.tensor([1, 2, -1, 2**40]))
    assert torch.equal(out.isnan(), torch.tensor([[False] * 2 + [True] * 6] * 2))


@needs_triton
@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (torch.tensor([0, 1, 2]), r"positions must be \(seq,\) or \(batch, seq\)"),
        (torch.tensor([[0, 1]] * 3), r"positions must be .*; got \(3, 2\)"),
        (torch.tensor([0, 1], dtype=torch.int16), "positions must be int64, int32 or floats"),
    ],
)
def test_wrong_positions_are_refused(kernel, positions, message):
    with pytest.raises(ValueError, match=message):
        rotate(draw((2, 2, 8), torch.float32), positions, frequencies(4))


@needs_triton
def test_wrong_tensors_are_refused(kernel, monkeypatch):
    x, p, w = draw((2, 8), torch.float32), torch.arange(2), frequencies(4)
    with pytest.raises(ValueError, match=r"x must be float64.*; got torch\.int32"):
        rotate(x.int(), p, w)
    with pytest.raises(ValueError, match=r"start must be in 0 \.\. 8 - 8; got 1"):
        rotate(x, p, w, start=1)
    with pytest.raises(ValueError, match=r"frequencies must be \(pair,\) in torch\.float64"):
        rotate(x, p, w.float())
    with pytest.raises(ValueError, match="axis must be 4 numbers"):
        rotate(x, p[:, None], w, axis=torch.tensor([0]))
    with pytest.raises(ValueError, match="positions must be"):
        rotate(x, p[None], w)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ValueError, match="x must be on a CUDA device; got cpu"):
        kernel.rotate(x, p, w, None, 1.0, False, 0, False)


@needs_triton
@settings(max_examples=200)
@given(calls())
def test_any_call(call):
    os.environ["TRITON_INTERPRET"] = "0" if GPU else "1"
    x, p, w, options = call
    check(x, p, w, **options)


def run(code, **variables):
    """Run code in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_triton
def test_operators_without_cpp():
    code = "from tests.kernels.test_triton_rotation import check_operators; check_operators()"
    run(code, POSENC_KERNELS="0", TRITON_INTERPRET="0" if GPU else "1")


def check_operators():
    """The operators as Triton alone defines them, with their derivatives."""
    from posenc.kernels import register

    kernel = import_kernel()
    kernel.define()
    register.register()
    kernel.implement("CUDA" if GPU else "CPU")
    ops = torch.ops.posenc
    p, w, rest = torch.arange(2, device=DEVICE) + 3, frequencies(2), (None, 1.5, True, 1, False)
    q = draw((1, 2, 2, 5), torch.float64).to(DEVICE).requires_grad_()
    k = draw((1, 1, 2, 5), torch.float64, seed=1).to(DEVICE).requires_grad_()
    plain = q.detach().clone(), k.detach().clone()
    torch.library.opcheck(ops.rotate.default, (q, p, w, *rest))
    torch.library.opcheck(ops.rotate_qk.default, (q, k, p, p, w, *rest))
    torch.library.opcheck(ops.rotate_qk_.default, (*plain, p, p, w, *rest))
    for function in (
        lambda q, k: ops.rotate_qk(q, k, p, p + 1, w, *rest),
        lambda q, k: ops.rotate(q, p, w, *rest),
        lambda q, k: ops.rotate_qk(q, k, p, p, w, *rest)[1],
    ):
        torch.autograd.gradcheck(function, (q, k))
        torch.autograd.gradgradcheck(function, (q, k), fast_mode=True)
    for dtype in DTYPES:
        x = draw((3, 7, 2, 5), dtype).to(DEVICE).requires_grad_()
        grad = draw((3, 7, 2, 5), dtype, seed=1)
        (found,) = torch.autograd.grad(ops.rotate(x, p, w, *rest), x, grad.to(DEVICE))
        wanted, bound = truth.rotate(grad, p.cpu(), w, *rest[:-1], True)
        assert (np.abs(found.double().cpu().numpy() - wanted) <= bound).all()
        with torch.no_grad():
            plain_result = ops.rotate(x, p, w, *rest)
        assert torch.equal(plain_result, ops.rotate(x, p, w, *rest))
    compiled = torch.compile(lambda x: ops.rotate(x, p, w, *rest), fullgraph=True)
    assert torch.equal(compiled(plain[0]), ops.rotate(plain[0], p, w, *rest))


@needs_triton
@pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)
def test_schemas_are_those_of_cpp():
    for written in import_kernel().SCHEMAS:
        schema = torch._C.parse_schema(f"posenc::{written}")
        packet = getattr(torch.ops.posenc, schema.name.removeprefix("posenc::"))
        assert getattr(packet, schema.overload_name or "default")._schema == schema
