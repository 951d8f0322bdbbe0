"""The memory of a cache: written once, gone on with by one, copied by everyone else."""

import pytest
import torch

from posenc.torch.store import LEAST_ROOM, goes_up, join


def tokens(count, first=0.0):
    """Keys and values (1, 1, count, 2) that say which token they are of."""
    k = (first + torch.arange(count, dtype=torch.float32))[None, None, :, None].expand(1, 1, -1, 2)
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
