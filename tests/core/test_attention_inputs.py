"""What attention takes, read or refused."""

import math
import re

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.core.attention_inputs import (
    check_rate,
    check_shapes,
    check_sizes,
    fill_positions,
    order_tokens,
    read_causal,
    read_documents,
    read_mask,
    read_scale,
    read_sinks,
    read_window,
    require_order,
    scale_queries,
)
from tests.libraries import numpy_of


def test_one_row_of_documents_is_that_of_the_keys():
    q, k = torch.zeros(2, 1, 2, 4), torch.zeros(2, 1, 4, 4)
    of_q, of_k = read_documents(torch.tensor([0, 0, 1, 2]), q, k)
    assert (of_q.tolist(), of_k.tolist()) == ([1, 2], [0, 0, 1, 2])
    with pytest.raises(ValueError, match=r"documents of k must be .* with seq = 4"):
        read_documents((torch.tensor([0, 1]), torch.tensor([0, 0, 1])), q, k)


def test_a_mask_of_two_axes_is_padding_unless_it_could_be_either():
    q, k = torch.zeros(2, 3, 4, 8), torch.zeros(2, 3, 5, 8)
    seen, added = read_mask(torch.ones(2, 5, dtype=torch.bool), q, k)
    assert seen.shape == (2, 1, 1, 5)
    assert added is None
    with pytest.raises(ValueError, match="where both would fit"):
        read_mask(torch.ones(4, 5, dtype=torch.bool), q[:1].expand(4, 3, 4, 8), k)
    with pytest.raises(TypeError, match="mask must be of bool"):
        read_mask(torch.zeros(2, 5, dtype=torch.complex64), q, k)


def test_a_mask_of_numbers_is_added_and_hides_where_it_is_minus_infinity():
    q, k = torch.zeros(2, 3, 4, 8).bfloat16(), torch.zeros(2, 3, 5, 8).bfloat16()
    mask = torch.tensor([0.0, -math.inf, 2.0, -1e30, math.nan]).expand(2, 5)
    seen, added = read_mask(mask, q, k)
    assert seen[0, 0, 0].tolist() == [True, False, True, True, True]
    assert torch.equal(added[..., :4], mask[:, None, None, :4])


def test_on_a_grid_the_last_query_is_beside_the_last_key():
    q_order, k_order = order_tokens(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 5, 4))
    assert (q_order.tolist(), k_order.tolist()) == ([3, 4], [0, 1, 2, 3, 4])


def test_points_must_be_those_of_the_last_keys_on_every_library(xp):
    points = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    batch = np.stack([points, points + 5])
    q = xp.array(np.ones((2, 1, 2, 4), "f"))
    for q_pos, k_pos in ((points[2:], points), (batch[:, 2:], batch), (points[2:], batch[:1])):
        assert require_order(q, xp.array(q_pos), xp.array(k_pos)) is q
    with pytest.raises(ValueError, match=r"give attend a mask .* got \[0, 1\] beside \[1, 0\]"):
        require_order(q, xp.array(points[[1, 3]]), xp.array(points))
    with pytest.raises(ValueError, match=r"got \[1, 0\] beside \[6, 5\]"):
        require_order(q, xp.array(points[2:]), xp.array(batch))
    with pytest.raises(ValueError, match=r"got 4 queries and 2 keys"):
        require_order(q, xp.array(points), xp.array(points[2:]))


def test_queries_whose_points_cannot_be_read_are_nan_where_they_are_not_the_last():
    points = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
    run = torch.compile(require_order, backend="eager", fullgraph=True)
    q = torch.ones(2, 1, 2, 4)
    assert torch.equal(run(q, points[2:], points), q)
    made = run(q, points[[1, 3]], points)
    assert made[:, :, 0].isnan().all()
    assert torch.equal(made[:, :, 1], q[:, :, 1])


def test_positions_are_those_of_the_last_queries_on_every_library(xp):
    q, k = xp.array(np.zeros((1, 1, 2, 4), "f")), xp.array(np.zeros((1, 1, 5, 4), "f"))
    q_pos, k_pos = fill_positions(q, k, None, None, pe.NoPE())
    assert numpy_of(q_pos).tolist() == [3, 4]
    assert numpy_of(k_pos).tolist() == [0, 1, 2, 3, 4]
    small = xp.array(np.array([250, 255], dtype=np.uint8))
    q_pos, _ = fill_positions(q, q, small, None, pe.NoPE())
    assert numpy_of(q_pos[0] - q_pos[1]) == -5


def test_masks_and_sinks_of_every_library_are_read(xp):
    q, k = xp.array(np.zeros((2, 3, 4, 8), "f")), xp.array(np.zeros((2, 3, 5, 8), "f"))
    seen, added = read_mask(xp.array(np.array([[0.0, -math.inf, 1, 2, 3]] * 2, "f")), q, k)
    assert numpy_of(seen)[1, 0, 0].tolist() == [True, False, True, True, True]
    assert numpy_of(added).shape == (2, 1, 1, 5)
    seen, added = read_mask(xp.array(np.array([[0, 1, 1, 0, 1]] * 2, "i")), q, k)
    assert numpy_of(seen)[1, 0, 0].tolist() == [False, True, True, False, True]
    assert added is None
    assert read_sinks(xp.array(np.zeros(3, "f")), q).shape == (3,)
    with pytest.raises(ValueError, match=r"sinks must be .* for each of 3 heads; got .*\(2,\)"):
        read_sinks(xp.array(np.zeros(2, "f")), q)


Q, K, P = np.zeros((2, 4, 3, 8)), np.zeros((2, 2, 5, 8)), np.arange(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: check_shapes(Q[0], K, K),
            "q must be (batch, heads, seq, dim); got shape (4, 3, 8)",
        ),
        (
            lambda: check_shapes(Q, K.astype("f"), K),
            "q, k and v must have the same dtype; got float64, float32 and float64",
        ),
        (lambda: check_shapes(Q, K[..., :4], K), "q and k must have the same dim; got 8 and 4"),
        (
            lambda: check_shapes(Q, K, K[:, :, :4]),
            "k and v must agree in batch, heads and length; got shapes (2, 2, 5, 8) and "
            "(2, 2, 4, 8)",
        ),
        (
            lambda: check_shapes(Q[:, :3], K, K),
            "q and k must have the same batch, and q a multiple of the heads of k; got shapes "
            "(2, 3, 3, 8) and (2, 2, 5, 8)",
        ),
        (
            lambda: check_sizes(pe.ALiBi(8), Q, K),
            "q must have the heads of the encoding, 8; got 4",
        ),
        (
            lambda: check_sizes(pe.RoPE(4), Q, K),
            "q and k must have the dim of RoPE, 4; got shapes (2, 4, 3, 8) and (2, 2, 5, 8)",
        ),
        (
            lambda: read_window(0),
            "window must be a whole number of at least 1 and at most 2,147,483,648; got window=0",
        ),
        (lambda: read_scale(-1.0, pe.NoPE(), Q), "scale must be more than 0; got scale=-1.0"),
        (
            lambda: read_mask(np.full((2, 5), -10_000), Q, K),
            "mask of whole numbers must be 0 where a key is hidden and 1 where it is seen; got "
            "-10000 to -10000",
        ),
        (
            lambda: fill_positions(Q, K, P, P, pe.ALiBi(4)),
            "k (batch, …, seq, dim) and its positions (seq,) or (batch, seq) must agree; got "
            "shapes (2, 2, 5, 8) and (3,)",
        ),
        (lambda: check_rate(1.0), "dropout must be less than 1; got dropout=1.0"),
        (
            lambda: read_sinks([1.0], Q),
            "sinks must be a floating array (heads,), one logit for each of 4 heads; got [1.0]",
        ),
    ],
)
def test_the_message_names_argument_rule_and_value(call, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        call()


def test_an_encoding_that_looks_back_is_causal():
    assert read_causal(True, pe.T5Bias(4))
    with pytest.raises(
        ValueError, match="causal must be True for an encoding that looks back only"
    ):
        read_causal(False, pe.T5Bias(4))


def test_a_scale_is_that_of_the_products():
    assert read_scale(None, pe.NoPE(), Q) == 1 / 8**0.5
    assert (scale_queries(Q + 1, pe.NoPE(), 0.5) == 0.5 * 8**0.5).all()
    assert (scale_queries(Q + 1, pe.TransformerXL(4, 8), 0.5) == 1).all()
