"""Which keys a query sees."""

import numpy as np

from posenc.core.seen import find_seen, is_within
from tests.libraries import numpy_of


def test_order_window_documents_and_mask_hide(xp):
    q, k = np.array([[3, 4], [1, 2]]), np.arange(5)
    of_q, of_k = np.array([0, 1]), np.array([0, 0, 0, 0, 1])
    mask = np.ones((2, 3, 1, 5), dtype=bool)
    mask[1, 2, 0, 1] = False

    def run(q, k, of_q, of_k, mask):
        pair = of_q, of_k
        return find_seen(q, k, causal=True, window=3, documents=pair, mask=mask)

    ours = numpy_of(xp.call(run, q, k, of_q, of_k, mask))
    assert ours.shape == (2, 3, 2, 5)
    for b, h, i, j in np.ndindex(ours.shape):
        behind = q[b, i] - k[j]
        hidden = behind < 0 or behind >= 3 or of_q[i] != of_k[j] or not mask[b, h, 0, j]
        assert ours[b, h, i, j] != hidden


def test_nothing_hides_unless_it_is_asked_to(xp):
    behind = np.array([-3, 0, 3])
    run = lambda behind: is_within(behind, causal=False, window=None)  # noqa: E731
    assert numpy_of(xp.call(run, behind)).all()
    run = lambda behind: is_within(behind, causal=False, window=3)  # noqa: E731
    assert numpy_of(xp.call(run, behind)).tolist() == [False, True, False]
