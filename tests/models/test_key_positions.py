"""Where the keys of a cache are."""

import pytest
import torch

from posenc.models.key_positions import find_key_positions


def causal(queries, keys, padding=0):
    """A mask (1, 1, q, k) of the last queries of a text with padding on its left."""
    seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    seen[:, :padding] = False
    return seen[None, None]


def test_without_a_cache_keys_are_where_queries_are():
    packed = torch.tensor([[0, 1, 2, 0, 1]])
    assert find_key_positions(packed, 5, None) is packed


def test_with_a_cache_they_are_counted_back():
    assert find_key_positions(torch.tensor([[4]]), 5, None).tolist() == [[0, 1, 2, 3, 4]]
    window = find_key_positions(torch.tensor([[9]]), 3, None, windowed=True)
    assert window.tolist() == [[7, 8, 9]]
    several = find_key_positions(torch.tensor([[3, 4]]), 5, causal(2, 5))
    assert several.tolist() == [[0, 1, 2, 3, 4]]


def test_padding_and_what_is_not_filled_yet_take_no_position():
    made = find_key_positions(torch.tensor([[2]]), 5, causal(1, 5, padding=2))
    assert made[0].tolist() == [0, 0, 0, 1, 2]
    static = causal(2, 4)
    static = torch.cat([static, torch.zeros(1, 1, 2, 3, dtype=torch.bool)], dim=-1)
    assert find_key_positions(torch.tensor([[2, 3]]), 7, static)[0, :4].tolist() == [0, 1, 2, 3]
    middle = torch.tensor([True, True, False, False, True])[None, None, None]
    made = find_key_positions(torch.tensor([[2]]), 5, middle)
    assert made[0, [0, 1, 4]].tolist() == [0, 1, 2]


def test_rows_of_a_batch_have_their_own():
    mask = torch.cat([causal(1, 4), causal(1, 4, padding=2)])
    made = find_key_positions(torch.tensor([[3], [1]]), 4, mask)
    assert made[0].tolist() == [0, 1, 2, 3]
    assert made[1, 2:].tolist() == [0, 1]


def test_what_is_not_known_is_refused():
    rule = "position_ids must count every token from 0, .* first token is at 5"
    with pytest.raises(ValueError, match=rule):
        find_key_positions(torch.tensor([[9]]), 5, None)
    with pytest.raises(ValueError, match=rule):
        find_key_positions(torch.tensor([[8, 9]]), 5, causal(2, 5))
    with pytest.raises(ValueError, match=r"must be consecutive with a cache, .* got 2 where 3 was"):
        find_key_positions(torch.tensor([[2, 4]]), 5, causal(2, 5))
