"""The compiled operators by themselves: values, strides, positions, threads, levels, refusals."""

import hashlib
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc import kernels
from tests.kernels import truth

pytestmark = pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def unwritten_memory_is_nan():
    """What an operator leaves unwritten in its result is NaN, which no bound lets pass.

    Of strided tensors, that is: a contiguous result is allocated by a call that PyTorch does not
    fill.
    """
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def frequencies(pairs, base=10_000.0):
    return torch.from_numpy(base ** (-np.arange(pairs) / max(pairs, 1)))


def draw(shape, dtype, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def rotate(x, positions, w, *, axis=None, scale=1.0, halves=False, start=0, back=False):
    return torch.ops.posenc.rotate(x, positions, w, axis, scale, halves, start, back)


def check(x, positions, w, *, axis=None, scale=1.0, halves=False, start=0, back=False):
    out = rotate(x, positions, w, axis=axis, scale=scale, halves=halves, start=start, back=back)
    assert out.shape == x.shape
    assert out.dtype == x.dtype
    wanted, bound = truth.rotate(x, positions, w, axis, scale, halves, start, back)
    assert (np.abs(out.double().numpy() - wanted) <= bound).all()
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("length", [1, 63, 1000])
def test_values(dtype, halves, length):
    x = draw((2, 3, length, 20), dtype)
    check(x, torch.arange(length) + 5, frequencies(10), halves=halves)
    check(x, torch.arange(length), frequencies(4), halves=halves, scale=1.3)
    check(x, torch.arange(length), frequencies(4), halves=halves, start=12, back=True)


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("pairs", [1, 7, 8, 33, 64, 500])
def test_any_number_of_pairs(pairs, halves):
    for dtype in DTYPES:
        check(draw((3, 5, 2 * pairs), dtype), torch.arange(5), frequencies(pairs), halves=halves)


def test_far_positions_are_exact_and_cost_no_table():
    p = torch.tensor([-(2**24) + 1, -1, 0, 1, 10_000_019, 2**24 - 1])
    for halves in (False, True):
        check(draw((6, 128), torch.float32), p, frequencies(64), halves=halves)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_first_wave_that_stands_still(dtype):
    """The others go on: whether a row can be used again is not told by the angle of the first."""
    w = torch.tensor([0.0, 1.0, 0.1], dtype=torch.float64)
    check(draw((2, 200, 6), dtype), torch.arange(200), w)


def test_fast_waves_are_exact():
    """8 radians per position, the limit: angles of up to 2^27."""
    w = torch.tensor([8.0, -8.0, 2 * np.pi, 0.0])
    check(
        draw((4, 8), torch.float64),
        torch.tensor([2**24 - 1, -(2**24) + 1, 9_999_991, 3]),
        w.double(),
    )


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float64, torch.float32])
def test_dtypes_of_positions(dtype):
    p = torch.tensor([0, 3, -7, 12_345]).to(dtype) + (0.25 if dtype.is_floating_point else 0)
    check(draw((2, 4, 8), torch.float32), p.to(dtype), frequencies(4))


def test_positions_of_each_row_and_of_several_axes():
    x, w = draw((3, 2, 5, 8), torch.float32), frequencies(4)
    rows = torch.randint(0, 10_000, (3, 5), generator=torch.Generator().manual_seed(1))
    check(x, rows, w)
    check(x, rows[:1], w)
    check(x, rows.T.contiguous().T, w)
    axis = torch.tensor([2, 0, 1, 0])
    grid = torch.randint(0, 99, (5, 3), generator=torch.Generator().manual_seed(2))
    check(x, grid, w, axis=axis, halves=True)
    check(x, grid.expand(3, 5, 3) + rows[..., None], w, axis=axis)


LAYOUTS = {
    "heads first": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "channels strided": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    "part of a projection": lambda x: torch.cat([x, x, x], dim=-1)[..., 8:16],
    "unaligned": lambda x: torch.cat([x.new_zeros(1), x.reshape(-1)])[1:].view(x.shape),
    "every second": lambda x: x.repeat_interleave(2, dim=2)[:, :, ::2],
    "expanded": lambda x: x[:1].expand(x.shape),
    "expanded positions": lambda x: x[:, :, :1].expand(x.shape),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides(layout, dtype):
    x = LAYOUTS[layout](draw((2, 3, 40, 8), dtype))
    for halves in (False, True):
        out = check(x, torch.arange(40), frequencies(4), halves=halves)
        assert torch.equal(
            out, rotate(x.contiguous(), torch.arange(40), frequencies(4), halves=halves)
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize(("heads", "kv_heads"), [(3, 3), (6, 1), (1, 4)])
def test_in_place_from_packed_numbers_is_out_of_place(dtype, halves, heads, kv_heads):
    """Also of parts of one projection, which lie within one another; what is beside stays."""
    w, p, packed = frequencies(4), torch.arange(70), pack(8, frequencies(4), halves=halves)
    joint = draw((2, 70, heads + 2 * kv_heads, 8), dtype)
    q, k, v = (x.transpose(1, 2) for x in joint.split([heads, kv_heads, kv_heads], dim=2))
    apart = draw((2, heads, 70, 8), dtype, 1), draw((2, kv_heads, 70, 8), dtype, 2)
    before = v.clone()
    for first, second in (apart, (q, k), (k, q), (q, k[:0]), (q[:0], k)):
        wanted = [rotate(x, p, w, halves=halves) for x in (first, second)]
        torch.ops.posenc.rotate_qk_.packed(first, second, p, p, packed)
        assert torch.equal(first, wanted[0])
        assert torch.equal(second, wanted[1])
    assert torch.equal(v, before)


@pytest.mark.parametrize(
    ("q", "k"),
    [
        # each (start, size, strides) of places in one memory
        ((0, (1, 2, 3, 8), (48, 0, 8, 1)), (90, (1, 1, 3, 8), (24, 24, 8, 1))),  # expanded
        ((0, (1, 2, 3, 8), (48, 0, 8, 1)), (90, (1, 0, 3, 8), (24, 24, 8, 1))),  # beside nothing
        ((0, (1, 1, 3, 8), (24, 24, 4, 1)), (90, (1, 1, 3, 8), (24, 24, 8, 1))),  # windows
        ((0, (1, 1, 3, 8), (24, 24, 8, 1)), (23, (1, 1, 3, 8), (24, 24, 8, 1))),  # its last place
        ((0, (1, 1, 3, 8), (48, 48, 16, 1)), (4, (1, 1, 3, 8), (48, 48, 16, 1))),  # half of a row
        ((0, (1, 1, 3, 8), (48, 48, 12, 1)), (8, (1, 1, 3, 8), (48, 48, 12, 1))),  # the next row
        ((0, (2, 1, 3, 8), (40, 24, 16, 1)), (8, (2, 1, 3, 8), (40, 24, 16, 1))),  # the next text
        ((0, (1, 1, 3, 8), (48, 48, 16, 1)), (8, (1, 1, 2, 8), (48, 48, 17, 1))),  # not alike
    ],
)
def test_in_place_from_packed_numbers_refuses_what_overlaps(q, k):
    memory = draw((200,), torch.float32)
    before, packed = memory.clone(), pack(8, frequencies(4))
    q, k = (memory.as_strided(size, strides, start) for start, size, strides in (q, k))
    for first, second in ((q, k), (k, q)):
        at = [torch.arange(x.shape[2]) for x in (first, second)]
        with pytest.raises(RuntimeError, match="q and k must lie apart"):
            torch.ops.posenc.rotate_qk_.packed(first, second, *at, packed)
    assert torch.equal(memory, before)


def test_in_place_is_out_of_place():
    for dtype in DTYPES:
        for halves in (False, True):
            for layout in ("heads first", "channels strided", "unaligned"):
                q = LAYOUTS[layout](draw((2, 3, 40, 8), dtype))
                k = LAYOUTS[layout](draw((2, 1, 40, 8), dtype, seed=1))
                p, w, rest = torch.arange(40), frequencies(3), (None, 1.0, halves, 1, False)
                wanted = torch.ops.posenc.rotate_qk(q, k, p, p + 9, w, *rest)
                torch.ops.posenc.rotate_qk_(q, k, p, p + 9, w, *rest)
                assert torch.equal(q, wanted[0])
                assert torch.equal(k, wanted[1])


def test_one_token_is_its_row_of_the_whole_to_the_bit():
    """Whatever the batch, the strides, the block of positions, and the threads."""
    for dtype in DTYPES:
        x, p = draw((2, 4, 300, 64), dtype), torch.arange(300) * 7 + 1_000_000
        whole = rotate(x, p, frequencies(32), halves=True)
        for t in (0, 31, 32, 33, 299):
            one = rotate(x[1:, 2:3, t : t + 1], p[t : t + 1], frequencies(32), halves=True)
            assert torch.equal(one, whole[1:, 2:3, t : t + 1])
        before = torch.get_num_threads()
        try:
            for threads in (1, 2):
                torch.set_num_threads(threads)
                assert torch.equal(rotate(x, p, frequencies(32), halves=True), whole)
        finally:
            torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_queries_and_keys_share_what_is_computed_of_their_positions(dtype):
    w, position = frequencies(32), torch.arange(100) * 37 % 911
    q, k = draw((2, 6, 100, 64), dtype), draw((2, 2, 100, 64), dtype, seed=1)
    rest = None, 1.5, True, 0, False
    shared = torch.ops.posenc.rotate_qk(q, k, position, position, w, *rest)
    apart = torch.ops.posenc.rotate_qk(q, k, position, position.clone(), w, *rest)
    # keys of other strides are gone through in another order
    turned = k.transpose(1, 2).contiguous().transpose(1, 2)
    mixed = torch.ops.posenc.rotate_qk(q, turned, position, position, w, *rest)
    for each in (shared, apart, mixed):
        assert torch.equal(each[0], rotate(q, position, w, scale=1.5, halves=True))
        assert torch.equal(each[1], rotate(k, position, w, scale=1.5, halves=True))


@pytest.mark.parametrize("shape", [(1, 3, 3000, 256), (3000, 256), (17, 1, 3000, 256)])
def test_long_sequences_in_any_number_of_shares(shape):
    """More positions than one table holds, of few tensors and of many, in 1 to 7 threads."""
    x, w, position = draw(shape, torch.bfloat16), frequencies(128), torch.arange(3000)
    threads = torch.get_num_threads()
    try:
        results = [
            torch.set_num_threads(n) or rotate(x, position, w, halves=True) for n in (1, 2, 7)
        ]
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
    for t in (0, 31, 32, 1023, 1024, 2999):
        row = rotate(x[..., t : t + 1, :].contiguous(), position[t : t + 1], w, halves=True)
        assert torch.equal(row, results[0][..., t : t + 1, :])


LARGE = 1 << 24  # bytes of a result from which on it is written past the caches


def draw_large(dtype, dim, layout):
    """A tensor (head, seq, dim) of LARGE bytes or a little more, no two rows of which are alike."""
    heads = 7
    seq = -(-LARGE // (heads * dim * torch.empty((), dtype=dtype).element_size()))
    if layout == "rows apart":
        return draw((heads, seq, dim + 8), dtype)[..., :dim]
    if layout == "off a line":
        return draw(heads * seq * dim + 1, dtype)[1:].view(heads, seq, dim)
    if layout == "heads closer":
        return draw((seq, heads, dim), dtype).transpose(0, 1)
    return draw((heads, seq, dim), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [64, 104, 128])  # rows that fill lines of memory, and that do not
@pytest.mark.parametrize("layout", ["contiguous", "rows apart", "off a line", "heads closer"])
def test_large_results_are_those_of_their_parts(dtype, dim, layout):
    x, w = draw_large(dtype, dim, layout), frequencies(dim // 2)
    seq = x.shape[1]
    p = torch.arange(seq) * 3 + 5
    for halves in (False, True):
        large = rotate(x, p, w, halves=halves, scale=1.1)
        added = torch.ops.posenc.add_waves(x, p, w, 1.3, halves)
        for at in range(0, seq, 1000):
            part, p_part = x[:, at : at + 1000].contiguous(), p[at : at + 1000]
            rotated = rotate(part, p_part, w, halves=halves, scale=1.1)
            assert torch.equal(large[:, at : at + 1000], rotated)
            sums = torch.ops.posenc.add_waves(part, p_part, w, 1.3, halves)
            assert torch.equal(added[:, at : at + 1000], sums)


@pytest.mark.parametrize("heads", range(1, 10))
@pytest.mark.parametrize("dtype", DTYPES)
def test_heads_side_by_side_are_heads_alone(dtype, heads):
    """Several go together, of which a few may be left, and in place as well."""
    p, w = torch.arange(70) * 3 + 5, frequencies(32)
    x = draw((heads, 70, 67), dtype)
    for halves in (False, True):
        for start, stop in ((0, 64), (2, 67)):  # rows that are turned as a whole, and parts of rows
            some = x[..., :stop].contiguous()
            rest = None, 1.0, halves, start, False
            together = rotate(some, p, w, halves=halves, start=start)
            alone = [rotate(each, p, w, halves=halves, start=start) for each in some]
            assert torch.equal(together, torch.stack(alone))
            torch.ops.posenc.rotate_qk_(some, some[:0], p, p, w, *rest)
            assert torch.equal(some, together)


@pytest.mark.parametrize("pairs", [1, 32])
@pytest.mark.parametrize("halves", [False, True])
def test_no_bits_of_a_nan_make_a_number(halves, pairs):
    every = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    pair = [x[:, None].expand(-1, pairs) for x in (every, torch.ones_like(every))]
    x = torch.cat(pair, dim=-1) if halves else torch.stack(pair, dim=-1).flatten(1)
    w, p = torch.ones(pairs, dtype=torch.float64), torch.full((2**16,), 3)
    out = rotate(x.contiguous(), p, w, halves=halves)
    assert torch.equal(out.isnan().any(-1), every.isnan())
    assert torch.equal(out.isnan().all(-1), every.isnan())


def test_empty_tensors():
    w = frequencies(4)
    for shape in ((0, 3, 5, 8), (2, 0, 5, 8), (2, 3, 0, 8)):
        assert rotate(draw(shape, torch.float32), torch.arange(shape[2]), w).shape == shape
    x = draw((2, 5, 8), torch.float32)
    assert torch.equal(rotate(x, torch.arange(5), frequencies(0)), x)


def test_numbers_that_are_none():
    """NaN and infinity stay in their pair; halves round to nearest even, and to infinity."""
    for dtype in DTYPES:
        for halves in (False, True):
            x = draw((3, 8), dtype)
            x[1, 0], x[2, 3] = float("nan"), float("inf")
            out = rotate(x, torch.zeros(3, dtype=torch.int64), frequencies(4), halves=halves)
            partner = 4 if halves else 1
            odd = torch.zeros(3, 8, dtype=torch.bool)
            odd[1, [0, partner]] = True
            odd[2, [3, 7] if halves else [2, 3]] = True
            assert torch.equal(out[~odd], x[~odd])
            assert not out[odd].isfinite().any()


@pytest.mark.parametrize("pairs", [4, 32, 64])
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_of_every_size_are_rounded_as_pytorch_does(dtype, halves, pairs):
    """All 2^16 of them, turned by 0 and scaled: subnormals, ties, overflow."""
    x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype).reshape(-1, 2 * pairs)
    p = torch.zeros(len(x), dtype=torch.int64)
    apart = (
        (lambda x: x.unflatten(-1, (2, -1)).mT) if halves else lambda x: x.unflatten(-1, (-1, 2))
    )
    for scale in (1.0, 1 / 3, 1.5, 0.01):
        out = rotate(x, p, frequencies(pairs), scale=scale, halves=halves)
        wanted = apart(x).float() * torch.tensor(scale, dtype=torch.float32)
        finite = apart(x).isfinite().all(-1)
        assert torch.equal(apart(out)[finite], wanted.to(dtype)[finite])


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (torch.tensor([0, 2**24]), "within 2\\^24 of 0"),
        (torch.tensor([-(2**24), 0]), "within 2\\^24 of 0"),
        (torch.tensor([2**62, 0]), "within 2\\^24 of 0"),
        (torch.tensor([0.0, float("nan")]), "within 2\\^24 of 0"),
        (torch.tensor([0.0, float("inf")]), "within 2\\^24 of 0"),
        (torch.tensor([0, 1, 2]), "positions must be \\(seq,\\)"),
        (torch.tensor([[0, 1]] * 3), "rows of x"),
        (torch.tensor([0, 1], dtype=torch.int16), "must be int64, int32"),
    ],
)
def test_wrong_positions_are_refused(positions, message):
    with pytest.raises(RuntimeError, match=message):
        rotate(draw((2, 2, 8), torch.float32), positions, frequencies(4))


def test_wrong_tensors_are_refused():
    x, p, w = draw((2, 8), torch.float32), torch.arange(2), frequencies(4)
    with pytest.raises(RuntimeError, match="x must be float64"):
        rotate(x.int(), p, w)
    with pytest.raises(RuntimeError, match="a channel for each frequency"):
        rotate(x, p, w, start=1)
    with pytest.raises(RuntimeError, match="at most 8 radians"):
        rotate(x, p, 9 * w)
    with pytest.raises(RuntimeError, match="frequencies must be"):
        rotate(x, p, w.float())
    with pytest.raises(RuntimeError, match="every axis"):
        rotate(x, torch.zeros(2, 2), w, axis=torch.tensor([0, 1, 2, 0]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [1, 2, 7, 64])
@pytest.mark.parametrize("halves", [False, True])
def test_adding_waves(dtype, dim, halves):
    x, p, w = draw((3, 50, dim), dtype), torch.arange(50) + 3, frequencies((dim + 1) // 2)
    for layout in (x, x.transpose(0, 1).contiguous().transpose(0, 1), x[..., :1].expand(x.shape)):
        out = torch.ops.posenc.add_waves(layout, p, w, 1.5, halves)
        wanted, bound = truth.add_waves(layout, p, w, 1.5, halves)
        assert (np.abs(out.double().numpy() - wanted) <= bound).all()


SHAPES = st.sampled_from([(), (1,), (3,), (2, 3), (1, 2, 2)])


@st.composite
def calls(draw_from):
    """Any call of the rotation."""
    outer = draw_from(SHAPES)
    pairs = draw_from(st.integers(1, 40))
    extra = draw_from(st.integers(0, 9))
    length = draw_from(st.sampled_from([1, 2, 31, 32, 33, 63, 70]))
    dim = 2 * pairs + extra
    start = draw_from(st.integers(0, extra))
    dtype = draw_from(st.sampled_from(DTYPES))
    x = draw((*outer, length, dim), dtype, seed=draw_from(st.integers(0, 99)))
    x = x * 10.0 ** draw_from(st.sampled_from([0, 0, -6, 3]))
    if len(outer) > 1 and draw_from(st.booleans()):
        x = x.transpose(-2, -3).contiguous().transpose(-2, -3)
    if draw_from(st.booleans()):
        x = x.mT.contiguous().mT
    first = draw_from(st.integers(-(2**24) + 1, 2**24 - 80))
    p = first + torch.arange(length)
    if outer and draw_from(st.booleans()):
        p = p.expand(outer[0], length) + torch.arange(outer[0])[:, None]
    p = p.to(draw_from(st.sampled_from([torch.int64, torch.int32, torch.float64])))
    base = draw_from(st.sampled_from([1.0, 100.0, 1e4, 5e5]))
    return (
        x,
        p,
        frequencies(pairs, base),
        {
            "halves": draw_from(st.booleans()),
            "start": start,
            "back": draw_from(st.booleans()),
            "scale": draw_from(st.sampled_from([1.0, 0.7, 1.2079])),
        },
    )


@given(calls())
def test_any_call(call):
    x, p, w, options = call
    check(x, p, w, **options)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(calls())
def test_ten_thousand_calls(call):
    x, p, w, options = call
    check(x, p, w, **options)


def test_two_threads_at_once():
    x, p, w = draw((4, 300, 64), torch.float32), torch.arange(300), frequencies(32)
    wanted, wrong = rotate(x, p, w), []

    def work():
        for _ in range(50):
            if not torch.equal(rotate(x, p, w), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def digest():
    """A fingerprint of what the operators compute at the level of this process."""
    found = hashlib.sha256()
    for dtype in DTYPES:
        for halves in (False, True):
            x, p = draw((2, 3, 70, 22), dtype), torch.arange(70) * 200_003
            wide = draw((2, 7, 70, 128), dtype)
            large = draw_large(dtype, 128, "contiguous")
            in_order = torch.arange(large.shape[1])
            for out in (
                rotate(x, p, frequencies(9), halves=halves, scale=1.1, start=3),
                rotate(wide, p, frequencies(64), halves=halves, scale=1.1),
                rotate(wide, p, frequencies(32), halves=halves, start=3),
                rotate(large, in_order, frequencies(64), halves=halves),
                torch.ops.posenc.add_waves(x, p, frequencies(11), 1.3, halves),
                *(  # each count of heads side by side, of rows turned as a whole or in part
                    rotate(
                        draw((heads, 70, 2 * pairs + rest), dtype),
                        p,
                        frequencies(pairs),
                        halves=halves,
                    )
                    for heads in (1, 2, 4)
                    for pairs in (19, 32, 64)
                    for rest in (0, 5)
                ),
            ):
                found.update(out.view(torch.uint8).numpy().tobytes())
    for dtype in DTYPES[1:]:
        k, q = draw((2, 3, 300, 22), dtype), draw((2, 6, 1, 22), dtype, seed=1)
        out = torch.ops.posenc.attend_newest(q, k, k, 2, 300, 0.3, None, None)
        found.update(out.view(torch.uint8).numpy().tobytes())
    return f"{kernels.load().why} {found.hexdigest()}"


def test_every_level_computes_the_same_bits():
    code = "from tests.kernels.test_csrc import digest; print(digest())"
    found = {}
    for level in kernels.LEVELS:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"POSENC_KERNELS": level},
            capture_output=True,
            text=True,
            check=True,
        )
        name, hashed = done.stdout.split()
        found[name] = hashed
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    wanted = {"plain"} | {
        name for name in kernels.LEVELS if f" {name}" in flags.replace("avx512f", "avx512")
    }
    assert {name for name in wanted if platform.machine() == "x86_64" or name == "plain"} <= {
        *found
    }
    assert len(set(found.values())) == 1


def pack(dim, w, *, scale=1.0, halves=False, start=0):
    header = torch.tensor([dim, 0, start, scale, halves, False], dtype=torch.float64)
    return torch.cat([header, w])


def append(k, v, keys, values, start, packed):
    torch.ops.posenc.append_.packed(k, v, keys, values, start, packed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("length", [1, 5, 32])
def test_appending_is_rotating_and_copying(dtype, halves, length):
    """To the bit, from any strides, and no byte beside the new tokens changes."""
    k = draw((2, length, 3, 10), dtype).transpose(1, 2)  # as (batch, seq, heads, dim) is viewed
    v, w = draw((1, 3, length, 7), dtype, seed=1).expand(2, -1, -1, -1), frequencies(3)
    keys, values = (torch.full((2, 3, 50, n), 7.0, dtype=dtype) for n in (10, 7))
    append(k, v, keys, values, 11, pack(10, w, scale=1.5, halves=halves, start=2))
    rotated = rotate(k, torch.arange(11, 11 + length), w, scale=1.5, halves=halves, start=2)
    new = slice(11, 11 + length)
    assert torch.equal(keys[:, :, new], rotated)
    assert torch.equal(values[:, :, new], v)
    for kept in (keys, values):
        kept[:, :, new] = 7
        assert (kept == 7).all()
    append(k, v, keys, values, 50 - length, None)
    assert torch.equal(keys[:, :, 50 - length :], k)


def test_what_does_not_fit_a_cache_is_refused_before_it_is_written():
    keys, packed = torch.zeros(2, 3, 40, 4), pack(4, frequencies(2))
    one, many = draw((2, 3, 1, 4), torch.float32), draw((2, 3, 33, 4), torch.float32)
    calls = {
        "room": [(one, one, 40), (one, one, -1), (one, one, 2**62), (many[:, :, :9], many, 32)],
        "few": [(many, many, 0), (one, many, 0)],
        "as those of the cache": [
            (one.double(), one, 0),
            (one, one.bfloat16(), 0),
            (one[:1], one, 0),
            (one, one[:, :1], 0),
            (one[..., :3], one, 0),
            (one[0], one, 0),
        ],
        "neighbours": [(one, draw((2, 3, 1, 8), torch.float32)[..., ::2], 0)],
    }
    for message, refused in calls.items():
        for k, v, start in refused:
            with pytest.raises(RuntimeError, match=message):
                append(k, v, keys, keys.clone(), start, packed)
    with pytest.raises(RuntimeError, match="channels of the encoding"):
        append(one, one, keys, keys.clone(), 0, pack(6, frequencies(2)))
    far = torch.zeros(4).expand(1, 1, 2**24 + 2, 4)
    with pytest.raises(RuntimeError, match="within 2"):
        append(one[:1, :1], one[:1, :1], far, far, 2**24, packed)
    assert not keys.any()
    assert not far[0, 0, 0].any()


@pytest.mark.parametrize("operator", ["rotate", "rotate_qk", "rotate_qk_", "add_waves"])
def test_opcheck(operator):
    p, w, rest = torch.arange(5), frequencies(3), (None, 1.5, True, 1, False)
    q, k = draw((2, 3, 5, 8), torch.float32), draw((2, 1, 5, 8), torch.float32)
    calls = {
        "rotate": (q.requires_grad_(), p, w, *rest),
        "rotate_qk": (q, k.requires_grad_(), p, p, w, *rest),
        "rotate_qk_": (q.detach().clone(), k.detach().clone(), p, p, w, *rest),
        "add_waves": (q, p, frequencies(4), 1.5, True),
    }
    torch.use_deterministic_algorithms(False)  # opcheck compares unwritten memory otherwise
    torch.library.opcheck(getattr(torch.ops.posenc, operator).default, calls[operator])


def test_gradients():
    p, w, rest = torch.arange(5) + 3, frequencies(3), (None, 1.5, True, 1, False)
    q = draw((2, 5, 8), torch.float64).requires_grad_()
    k = draw((1, 5, 8), torch.float64).requires_grad_()
    for function in (
        lambda q, k: torch.ops.posenc.rotate_qk(q, k, p, p + 1, w, *rest),
        lambda q, k: torch.ops.posenc.rotate(q, p, w, *rest),
        lambda q, k: torch.ops.posenc.rotate_qk(q, k, p, p, w, *rest)[1],
        lambda q, k: torch.ops.posenc.add_waves(q, p, frequencies(4), 1.5, True),
    ):
        torch.autograd.gradcheck(function, (q, k))
        torch.autograd.gradgradcheck(function, (q, k))
