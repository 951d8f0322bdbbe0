"""A bias of the distance as one line of values, whose windows are its rows."""

import itertools
from types import SimpleNamespace

import pytest
import torch

import posenc as pe
from posenc.torch.attention import toeplitz
from posenc.torch.attention.call import prepare
from posenc.torch.attention.dense import dense


def call_of(queries=70, keys=90, dtype=torch.float64, **options):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(2, heads, length, 8, generator=generator, dtype=dtype)
        for heads, length in ((4, queries), (2, keys), (2, keys))
    )
    return prepare(q, k, v, encoding=pe.ALiBi(4), causal=True, **options)


def test_windows_of_the_line_are_the_rows_of_the_bias():
    call = call_of(5, 7)
    values = toeplitz.line(call, 2)
    assert values.shape == (4, 5 + 7 - 1)
    bias = pe.ALiBi(4).bias(call.q_pos, call.k_pos).double()
    seen = call.visibility.visible(slice(None), slice(None))[0]
    bias = bias.masked_fill(~seen, -torch.inf)
    for i in range(5):
        assert torch.equal(values[:, 4 - i : 4 - i + 7], bias[:, i])


def test_a_window_takes_no_memory_and_its_gradient_sums_diagonals():
    values = torch.arange(12.0).reshape(1, 12).double().requires_grad_()
    made = toeplitz._Window.apply(values, 2, 3, 4)
    assert made.data_ptr() == values.data_ptr() + 2 * 8
    assert made[0, 0].tolist() == [[2, 3, 4, 5], [3, 4, 5, 6], [4, 5, 6, 7]]
    made.sum().backward()
    assert values.grad[0].tolist() == [0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("window", [None, 9])
def test_it_is_the_specification(window):
    call = call_of(window=window)
    assert (toeplitz.toeplitz(call) - dense(call)).abs().max() < 1e-12


def test_keys_too_far_to_matter_are_left_out_and_nothing_else(monkeypatch):
    """Heads 1 and 2, with slopes of 1/4 and 1/16, see fewer keys than 3 and 4."""
    monkeypatch.setattr(toeplitz, "WORTH", 0)
    monkeypatch.setattr(toeplitz, "LOOK", 0)
    call = call_of(700, 700, torch.float32)
    runs = toeplitz._runs(call, toeplitz.hide_lost_keys(call, toeplitz.line(call, 0), 0), 0)
    assert [heads for heads, *_ in runs] == [slice(0, 2), slice(2, 4)]
    reach = [farthest for *_, farthest in runs]
    assert reach[0] < reach[1]
    assert (toeplitz.toeplitz(call) - dense(call)).abs().max() < 1e-5


@pytest.mark.parametrize("trained", [False, True])
def test_products_are_looked_at_only_if_it_may_be_worth_it(trained, monkeypatch):
    """A bias of -50 from 40 keys on: 18 keys of a query could be left out, on average."""
    monkeypatch.setattr(toeplitz, "_excess", lambda call, own: torch.zeros(call.q.shape[1]))
    call = call_of(100, 100, torch.float32)
    call.q.requires_grad_(trained)
    line, far = torch.zeros(4, 199), slice(0, 60)
    line[:, far], line[:, 100:] = -50.0, -torch.inf
    average = int(torch.arange(1, 61).sum()) / 100  # of the pairs that far apart, for each query
    for look, left in ((average + 0.1, False), (average - 0.1, True)):
        monkeypatch.setattr(toeplitz, "LOOK", look / (1 if trained else 4))
        made = toeplitz.hide_lost_keys(call, line, 0)
        assert torch.equal(made[:, far] == -torch.inf, torch.full((4, 60), left))
        assert torch.equal(made[:, 60:], line[:, 60:])


@pytest.mark.parametrize("sizes", [(1, 1), (3, 7), (7, 4)])
def test_pairs_are_counted_as_by_looking_at_each(sizes):
    queries, keys = sizes
    call = SimpleNamespace(q=torch.empty(1, 1, queries, 8), k=torch.empty(1, 1, keys, 8))
    for offset, nearest, farthest in itertools.product((-3, 0, 5), (-4, -1, 2), (2, 3, 8)):
        apart = offset + torch.arange(queries)[:, None] - torch.arange(keys)
        wanted = int(((apart >= nearest) & (apart <= farthest)).sum())
        assert toeplitz._count_pairs(call, offset, nearest, farthest) == wanted


@pytest.mark.parametrize(("worth", "joined"), [(105, True), (104, False)])
def test_heads_that_see_about_as_far_are_taken_together(worth, joined, monkeypatch):
    """Two rows of a batch in one piece; 105 more pairs in all, if the nearer head sees all 15."""
    call = call_of(15, 15)
    monkeypatch.setattr(toeplitz, "WORTH", 2 * worth)
    near, far = (slice(0, 1), 0, 0), (slice(1, 2), 0, 14)
    both = (slice(0, 2), 0, 14) if joined else None
    assert toeplitz._join(call, near, far, 0) == both
    assert toeplitz._join(call, far, (slice(2, 3), 0, 14), 0) == (slice(1, 3), 0, 14)
    blind = slice(2, 3), 0, -1
    assert toeplitz._join(call, far, blind, 0) is None
    assert toeplitz._join(call, blind, (slice(3, 4), 0, -1), 0) == (slice(2, 4), 0, -1)


def test_pieces_shrink_where_their_pairs_would_take_too_much(monkeypatch):
    call = call_of()
    assert toeplitz.affordable(call) == toeplitz.ROWS
    monkeypatch.setattr(toeplitz, "BYTES", 4 * 2 * 4 * 90 * 10)
    assert toeplitz.affordable(call) == 10
    monkeypatch.setattr(toeplitz, "BYTES", 1)
    assert toeplitz.affordable(call) == 1
