"""The memory of a cache: written once, gone on with by one, copied by everyone else."""

import mmap
import pickle

import pytest
import torch

from posenc import RoPE, kernels
from posenc.torch.store import FEW_TOKENS, LARGE, LEAST_ROOM, allocate, goes_up, join

by_kernels = pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)


def tokens(count, first=0.0):
    """Keys and values (1, 1, count, 2) that say which token they are of."""
    k = (first + torch.arange(count, dtype=torch.float32))[None, None, :, None].repeat(1, 1, 1, 2)
    return k, -k


def begun(count=3, positions=None, mask=None):
    return join(None, 0, *tokens(count), positions, mask, seq=-1)


def numbers(store, length):
    return store.first(length)[0][0, 0, :, 0].tolist()


def test_who_holds_the_end_goes_on_and_nobody_else():
    store = begun()
    assert store.extend(3, *tokens(2, 3.0), None, None)
    assert not store.extend(3, *tokens(2, 90.0), None, None)  # 3 is not its end any more
    assert numbers(store, 5) == [0, 1, 2, 3, 4]
    other = join(store, 3, *tokens(1, 90.0), None, None, seq=-1)
    assert numbers(other, 4) == [0, 1, 2, 90]
    assert store.extend(5, *tokens(1, 5.0), None, None)  # who failed has not taken the end away
    assert numbers(store, 6) == [0, 1, 2, 3, 4, 5]


def test_room_is_doubled_and_its_end_is_respected():
    store = begun()
    assert store.keys.shape[2] == LEAST_ROOM
    assert not store.extend(3, *tokens(LEAST_ROOM, 3.0), None, None)
    assert numbers(store, 3) == [0, 1, 2]
    assert join(store, 3, *tokens(LEAST_ROOM), None, None, seq=-1).keys.shape[2] == 2 * (
        LEAST_ROOM + 3
    )


def test_what_a_backward_pass_reads_is_sealed_and_holds_nothing_more():
    k, v = (x.clone().requires_grad_() for x in tokens(3))
    store = join(None, 0, k, v, None, None, seq=-1)
    assert store.keys.shape[2] == 3
    store.seal()
    assert not store.extend(3, *tokens(0), None, None)


def test_positions_and_padding_are_filled_in_where_they_begin():
    store = begun()
    mask = torch.tensor([[False, True]])
    assert not store.extend(3, *tokens(2, 3.0), None, mask)
    made = join(store, 3, *tokens(2, 3.0), torch.tensor([9, 9]), mask, seq=-1)
    _, _, positions, seen = made.first(5)
    assert positions.tolist() == [0, 1, 2, 9, 9]
    assert seen.tolist() == [[True, True, True, False, True]]
    assert made.rising


@pytest.mark.parametrize(
    ("before", "after", "rising"),
    [([0, 4], [4, 5], True), ([0, 4], [3], False), ([], [2, 1], False), ([7], [], True)],
)
def test_positions_go_up_or_not(before, after, rising):
    both = (torch.tensor(p, dtype=torch.int64) for p in (before, after))
    assert goes_up(*both, -1) == rising
    store = begun(2, torch.tensor([0, 4]))
    assert store.extend(2, *tokens(1), torch.tensor([3]), None)
    assert not store.rising


@by_kernels
def test_the_operator_goes_on_where_it_may_and_nowhere_else():
    store = begun()
    assert store.extend_by_kernels(3, *tokens(2, 3.0), None)
    assert not store.extend_by_kernels(3, *tokens(2, 90.0), None)  # 3 is not its end any more
    assert not store.extend_by_kernels(5, tokens(1)[0], tokens(2)[0], None)  # refused by itself
    assert not store.extend_by_kernels(5, *tokens(FEW_TOKENS + 1), None)
    assert not store.extend_by_kernels(5, *tokens(0), None)
    assert store.extend_by_kernels(5, *tokens(1, 5.0), None)  # none of them took the end away
    assert numbers(store, 6) == [0, 1, 2, 3, 4, 5]
    assert (store.values[0, 0, :6, 0] == -torch.arange(6.0)).all()
    full = join(None, 0, *tokens(LEAST_ROOM - 1), None, None, seq=-1)
    room = full.keys.shape[2]
    assert full.extend_by_kernels(LEAST_ROOM - 1, *tokens(1), None)
    assert not full.extend_by_kernels(LEAST_ROOM, *tokens(room - LEAST_ROOM + 1), None)


@by_kernels
def test_the_operator_declines_positions_masks_and_memory_of_inference_mode():
    one = tokens(1, 3.0)
    assert not begun(3, torch.tensor([0, 1, 7])).extend_by_kernels(3, *one, None)
    assert not begun(3, None, torch.ones(1, 3, dtype=torch.bool)).extend_by_kernels(3, *one, None)
    with torch.inference_mode():
        store = begun()
    assert not store.extend_by_kernels(3, *one, None)
    with torch.inference_mode():
        assert store.extend_by_kernels(3, *one, None)


@by_kernels
def test_the_operator_rotates_keys_to_the_bit_of_a_rotation():
    rope, generator = RoPE(8, rotary_dim=4), torch.Generator().manual_seed(0)
    k, v = torch.randn((2, 2, 3, 12, 8), generator=generator)
    where = torch.arange(12)
    store = join(None, 0, rope.rotate(k[:, :, :5], where[:5]), v[:, :, :5], None, None, seq=-1)
    assert store.extend_by_kernels(5, k[:, :, 5:], v[:, :, 5:], rope.fuse())
    assert torch.equal(store.keys[:, :, :12], rope.rotate(k, where))
    assert torch.equal(store.values[:, :, :12], v)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_large_memory_is_memory_like_any_other(dtype):
    like = torch.ones(2, dtype=dtype)
    made = allocate([3, LARGE], like=like)
    assert made.dtype == dtype
    assert made.shape == (3, LARGE)
    assert made.is_contiguous()
    made.fill_(2)
    assert torch.equal(pickle.loads(pickle.dumps(made[:, :9])), made[:, :9])
    with torch.inference_mode():
        assert allocate([LARGE], like=like).is_inference()


def test_memory_is_there_without_large_pages(monkeypatch):
    def refuse(*_args, **_options):
        raise OSError("none left")

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert allocate([LARGE], like=torch.ones(1)).shape == (LARGE,)
    assert allocate([LARGE], like=torch.ones(1, device="meta")).is_meta
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    assert allocate([LARGE], like=torch.ones(1)).shape == (LARGE,)


def test_what_is_transformed_has_no_memory_of_its_own():
    def fill(x):
        return allocate([LARGE // 4], like=x).copy_(x.expand(LARGE // 4))[:2]

    made = torch.func.vmap(fill)(torch.tensor([[1.0], [2.0]]))
    assert made.tolist() == [[1, 1], [2, 2]]
