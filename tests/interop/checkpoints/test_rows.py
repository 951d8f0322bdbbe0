"""The rows that rotate, in every order of heads."""

import numpy as np
import pytest

from posenc.interop.checkpoints.rows import Heads, order_of_channels, rows_of

GROUPED = Heads(queries=4, keys=2, dim=6, rotary_dim=4)


@pytest.mark.parametrize(
    ("order", "role", "layout"),
    [
        ("heads", "q", "QQQQ"),
        ("heads", "k", "KK"),
        ("gated", "q", "QgQgQgQg"),
        ("blocks", "q", "QQQQKKvv"),
        ("groups", "q", "QQKvQQKv"),
    ],
)
@pytest.mark.parametrize("trailing", [False, True])
def test_queries_and_keys_rotate_and_nothing_else(order, role, layout, trailing):
    rows = rows_of(order, Heads(4, 2, 6, 4, trailing), role=role)
    first = 2 if trailing else 0
    assert rows.count == 6 * len(layout)
    assert rows.starts == tuple(6 * i + first for i, c in enumerate(layout) if c.isupper())


def test_codegen_has_four_parts_of_queries_values_and_keys():
    rows = rows_of("codegen", Heads(8, 8, 2, 2))
    assert rows.starts == tuple(2 * i for i, c in enumerate("QQvvKK" * 4) if c.isupper())


def test_one_order_undoes_the_other():
    for width in (2, 4, 6, 64):
        there, back = (order_of_channels(width, to) for to in ("interleaved", "halves"))
        assert np.array_equal(there[back], np.arange(width))
    rows = rows_of("groups", GROUPED)
    index = rows.index("interleaved")[rows.index("halves")]
    assert np.array_equal(index, np.arange(rows.count))
