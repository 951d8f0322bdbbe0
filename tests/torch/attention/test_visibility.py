"""Which keys each query sees."""

import pytest
import torch

from posenc.torch.attention.visibility import Visibility, find_offset

EVERY = slice(None)


def seen(q, k, *, causal=False, window=None, documents=None, mask=None):
    made = Visibility(torch.tensor(q), torch.tensor(k), causal, window, documents, mask, None)
    return made.visible(EVERY, EVERY)


def test_order_and_window():
    behind = torch.arange(5)[:, None] - torch.arange(5)
    assert torch.equal(seen(range(5), range(5), causal=True)[0, 0], behind >= 0)
    assert torch.equal(seen(range(5), range(5), window=2)[0, 0], behind.abs() < 2)
    both = seen(range(5), range(5), causal=True, window=2)[0, 0]
    assert torch.equal(both, (behind >= 0) & (behind < 2))


def test_documents_and_mask_hide_more():
    documents = (torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]))
    made = seen(range(3), range(3), causal=True, documents=documents)[0, 0]
    assert made.tolist() == [[True, False, False], [True, False, False], [False, True, True]]
    mask = torch.tensor([[True, False, True], [False, True, True]])[:, None, None, :]
    padded = seen(range(3), range(3), mask=mask)
    assert padded.shape == (2, 1, 3, 3)
    assert torch.equal(padded[1, 0, 0], mask[1, 0, 0])


def test_what_is_said_of_all_pairs():
    plain = Visibility(torch.arange(2), torch.arange(2), False, None, None, None, 0)
    assert plain.everything
    assert plain.by_distance
    masked = Visibility(torch.arange(2), torch.arange(2), False, None, None, torch.ones(1), 0)
    assert not masked.by_distance


@pytest.mark.parametrize(
    ("q", "k", "offset"),
    [
        ([3, 4], [0, 1, 2, 3, 4], 3),
        ([5], [7, 8], -2),
        ([0, 2], [0, 1], None),
        ([0.0, 1.0], [0.0, 1.0], None),
        ([[0, 1], [4, 5]], [[0, 1], [4, 5]], 0),
        ([[0, 1], [4, 5]], [[0, 1], [0, 1]], None),
    ],
)
def test_the_offset_is_found_where_both_go_up_one_by_one(q, k, offset):
    assert find_offset(torch.tensor(q), torch.tensor(k)) == offset


def test_which_queries_a_token_touches():
    lost = torch.zeros(1, 2, 5, dtype=torch.bool)
    lost[0, 1, 2] = True
    place = torch.arange(5)
    for options, touched in (
        ({"causal": False}, [0, 1, 2, 3, 4]),
        ({"causal": True}, [2, 3, 4]),
        ({"causal": True, "window": 2}, [2, 3]),
        ({"causal": True, "documents": (place // 4, place // 4)}, [2, 3]),
        ({"causal": True, "offset": None}, [2, 3, 4]),
    ):
        given = {"window": None, "documents": None, "mask": None, "offset": 0} | options
        made = Visibility(place, place, **given).touches(lost).expand(1, 2, 5)
        assert not made[0, 0].any()
        assert made[0, 1].nonzero().flatten().tolist() == touched
