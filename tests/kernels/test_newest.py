"""One query's attention by the compiled operator, against float64 and written out."""

import math
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc import kernels
from tests.bounds import gamma
from tests.kernels.test_csrc import draw, frequencies, pack
from tests.kernels.truth import TINY, UNIT

pytestmark = pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)

DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def attend(q, k, v, first=0, last=None, *, scale=0.3, added=None, packed=None):
    last = k.shape[2] if last is None else last
    return torch.ops.posenc.attend_newest(q, k, v, first, last, scale, added, packed)


def truth(q, k, v, scale, added):
    """The attention in float64, and how far a right result may be from it.

    A logit has dim + 3 roundings of its products and two of its size; an exponential is off by
    2^-22 of itself and by what its argument is off. A weight is a quotient of two of them, and each
    key adds a rounding to the sums of weights and of values.
    """
    q, k, v = (x.double().numpy() for x in (q, k, v))
    group, unit = q.shape[1] // k.shape[1], 2.0**-24
    k, v = k.repeat(group, axis=1), v.repeat(group, axis=1)
    logits = scale * (q @ k.swapaxes(-1, -2))
    sizes = abs(scale) * (np.abs(q) @ np.abs(k).swapaxes(-1, -2))
    seen = np.ones_like(logits, dtype=bool)
    if added is not None and added.dtype == torch.bool:
        seen = seen & added.numpy()
    elif added is not None:
        logits, sizes = logits + added.double().numpy(), sizes + np.abs(added.double().numpy())
        seen = np.isfinite(logits)
    logits = np.where(seen, logits, -np.inf)
    top = logits.max(-1, keepdims=True)
    weights = np.where(seen, np.exp(logits - np.where(np.isfinite(top), top, 0)), 0)
    total = weights.sum(-1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    most = np.where(seen, sizes, 0).max(initial=0.0)
    off = 2 * (gamma(q.shape[-1] + 8) * most + 2.0**-22) + 2 * gamma(k.shape[2] + 4)
    bound = off * (shares @ np.abs(v)) + unit
    return shares @ v, bound


def check(q, k, v, *, scale=0.3, added=None):
    out = attend(q, k, v, scale=scale, added=added)
    assert out.shape == (*q.shape[:3], v.shape[3])
    assert out.dtype == q.dtype
    wanted, bound = truth(q, k, v, scale, added)
    rounding = UNIT[q.dtype] * (np.abs(wanted) + bound) + TINY[q.dtype]
    errors = np.abs(out.double().numpy() - wanted)
    assert (errors <= bound + rounding).all()
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("keys", [1, 15, 63, 256, 257, 1000])
@pytest.mark.parametrize(("dim", "width"), [(1, 3), (33, 16), (64, 64), (128, 7)])
def test_values(dtype, keys, dim, width):
    q, k = draw((2, 6, 1, dim), dtype), draw((2, 3, keys, dim), dtype, seed=1)
    check(q, k, draw((2, 3, keys, width), dtype, seed=2))


def test_the_bound_rejects_a_key_that_is_left_out():
    q, k, v = (draw((1, 2, n, 16), torch.float32, seed=n) for n in (1, 40, 41))
    wanted, bound = truth(q, k, v[:, :, :40], 0.3, None)
    out = attend(q, k, v[:, :, :40].contiguous(), 0, 39).double().numpy()
    assert (np.abs(out - wanted) > bound).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("heads", [1, 4])
def test_numbers_that_are_added(dtype, rows, heads):
    q, k = draw((2, 4, 1, 20), dtype), draw((2, 2, 300, 20), dtype, seed=1)
    added = draw((rows, heads, 1, 300), torch.float32, seed=3) * 5
    added[..., ::7] = -math.inf
    added[0, 0, 0, :270] = -math.inf  # a whole chunk
    check(q, k, k, added=added)
    check(q, k, k, added=added > 0)


@pytest.mark.parametrize(
    "hidden", [torch.zeros(1, 1, 1, 300) - math.inf, torch.zeros(1, 1, 1, 300) > 0]
)
def test_a_query_that_sees_nothing_gets_0(hidden):
    q, k = draw((2, 4, 1, 20), torch.float32), draw((2, 2, 300, 20), torch.float32, seed=1)
    assert not attend(q, k, k, added=hidden).any()


def test_large_logits_and_far_ones():
    q = torch.full((1, 1, 1, 4), 100.0)
    k = torch.tensor([1.0, -1.0, 0.0]).repeat(100)[None, None, :, None].expand(1, 1, 300, 4)
    v = torch.arange(300.0)[None, None, :, None].expand(1, 1, 300, 2).contiguous()
    out = attend(q, k.contiguous(), v, scale=1.0)
    assert torch.equal(out, torch.full((1, 1, 1, 2), float(v[0, 0, ::3].mean())))


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_none(number):
    """A NaN or a logit that is infinite makes that head NaN, as in PyTorch, and no other."""
    q, k, v = (draw((1, 2, n, 16), torch.float32, seed=n) for n in (1, 300, 301))
    v = v[:, :, :300].contiguous()
    q = q.abs()
    k[0, 1, 280, 3] = number
    out = attend(q, k, v)
    assert out[0, 0].isfinite().all()
    assert out[0, 1].isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [0x7FFFFFFF, -1, 0x7F800001])
def test_no_bits_of_a_nan_that_is_added_make_a_number(dtype, bits):
    q, k = draw((1, 2, 1, 8), dtype), draw((1, 2, 20, 8), dtype, seed=1)
    added = torch.full((1, 1, 1, 20), bits, dtype=torch.int32).view(torch.float32)
    assert attend(q, k, k, added=added).isnan().all()


def test_a_byte_that_is_not_0_is_seen():
    q, k = draw((1, 2, 1, 8), torch.float32), draw((1, 2, 20, 8), torch.float32, seed=1)
    seen = torch.tensor([1, 0, 2, 255, 0]).repeat(4).to(torch.uint8)[None, None, None]
    wanted = attend(q, k, k, added=seen != 0)
    assert torch.equal(attend(q, k, k, added=seen.view(torch.bool)), wanted)


def test_part_of_a_cache_in_any_strides():
    """Keys from the middle of longer memory, as (batch, seq, heads, dim) is viewed, to the bit."""
    whole = draw((2, 500, 3, 24), torch.bfloat16).transpose(1, 2)
    q = draw((2, 1, 6, 24), torch.bfloat16, seed=1).transpose(1, 2)
    k = whole[:, :, 130:470].contiguous()
    assert torch.equal(attend(q, whole, whole, 130, 470), attend(q.contiguous(), k, k))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_query_is_rotated_to_the_last_key(dtype):
    q, k, w = draw((2, 3, 1, 10), dtype), draw((2, 3, 40, 10), dtype, seed=1), frequencies(3)
    packed = pack(10, w, scale=1.5, halves=True, start=2)
    turned = torch.ops.posenc.rotate.packed(q, torch.tensor([36]), packed)
    assert torch.equal(attend(q, k, k, 3, 37, packed=packed), attend(turned, k, k, 3, 37))


def test_the_bits_depend_on_neither_batch_nor_threads():
    q, k = draw((5, 8, 1, 64), torch.float32), draw((5, 4, 1500, 64), torch.float32, seed=1)
    both = attend(q, k, k)
    for row in range(5):
        assert torch.equal(
            attend(q[row : row + 1], k[row : row + 1], k[row : row + 1])[0], both[row]
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(3 - min(threads, 2))
    try:
        assert torch.equal(attend(q, k, k), both)
    finally:
        torch.set_num_threads(threads)


def test_two_threads_at_once():
    q, k = draw((1, 8, 1, 64), torch.float32), draw((1, 8, 700, 64), torch.float32, seed=1)
    wanted, wrong = attend(q, k, k), []

    def work():
        for _ in range(50):
            if not torch.equal(attend(q, k, k), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@st.composite
def calls(draws):
    number = st.integers(1, 40)
    batch, groups, queries, dim, width = draws(st.tuples(*[st.integers(1, 3)] * 3, number, number))
    keys, heads = draws(st.integers(1, 600)), groups * queries
    dtype, seed = draws(st.sampled_from(DTYPES)), draws(st.integers(0, 99))
    q = draw((batch, heads, 1, dim), dtype, seed) * draws(st.sampled_from([1e-6, 1.0, 30.0]))
    k, v = (
        draw((batch, groups, keys, dim), dtype, seed + 1),
        draw((batch, groups, keys, width), dtype),
    )
    kind = draws(st.sampled_from(["none", "float", "bool"]))
    shape = (draws(st.sampled_from([1, batch])), draws(st.sampled_from([1, heads])), 1, keys)
    added = draw(shape, torch.float32, seed + 2) * 4
    return q, k, v, {"none": None, "float": added, "bool": added > -2}[kind]


@settings(max_examples=100, deadline=None)
@given(calls())
def test_any_call(call):
    q, k, v, added = call
    check(q, k, v, added=added)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(calls())
def test_ten_thousand_calls(call):
    q, k, v, added = call
    check(q, k, v, added=added)


def test_what_does_not_fit_is_refused():
    q, k = draw((2, 4, 1, 8), torch.float32), draw((2, 2, 30, 8), torch.float32)
    mask = torch.zeros(2, 4, 1, 30)
    refused = {
        "one query": [
            {"q": q[:1]},
            {"q": q[:, :3]},
            {"q": q[..., :7]},
            {"q": q[0]},
            {"q": draw((2, 4, 2, 8), torch.float32)},
            {"v": k[:, :, :29]},
            {"v": k[:, :1]},
        ],
        "keys to attend to": [{"first": 30}, {"first": -1}, {"last": 31}, {"last": 0}],
        "float32, bfloat16 or float16": [
            {"q": q.double(), "k": k.double(), "v": k.double()},
            {"k": k.bfloat16()},
            {"v": k.bfloat16()},
        ],
        "neighbours": [{"k": draw((2, 2, 30, 16), torch.float32)[..., ::2]}],
        "what is added": [
            {"added": mask[..., :29]},
            {"added": mask[:, :3]},
            {"added": mask[0]},
            {"added": mask.double()},
            {"added": torch.zeros(2, 4, 1, 60)[..., ::2]},
        ],
    }
    for message, changes in refused.items():
        for change in changes:
            arguments = {"q": q, "k": k, "v": k, "first": 0, "last": 30} | change
            with pytest.raises(RuntimeError, match=message):
                attend(**arguments)
