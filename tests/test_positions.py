import numpy as np
import pytest

import posenc as pe
from tests.libraries import numpy_of


def test_consecutive_starts_anywhere():
    assert pe.consecutive(3, start=-1).tolist() == [-1, 0, 1]
    assert pe.consecutive(0).tolist() == []


def test_positions_follow_the_library_of_like(xp):
    like = xp.array(np.zeros(1))
    for positions in (
        pe.consecutive(3, like=like),
        pe.packed([2, 1], like=like),
        pe.grid(1, 3, like=like),
        pe.detr_grid(1, 3, like=like),
    ):
        assert type(positions) is type(like)
        assert positions.shape[0] == 3


def test_packed_documents_start_again_at_zero():
    assert pe.packed([2, 0, 3]).tolist() == [0, 1, 0, 1, 2]
    assert pe.packed([]).tolist() == []


def test_left_padding_starts_at_the_first_real_token(xp):
    mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])
    expected = [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4], [0, 0, 0, 0, 0]]
    assert numpy_of(xp.call(pe.left_padded, mask)).tolist() == expected
    assert numpy_of(xp.call(pe.left_padded, mask.astype(bool))).tolist() == expected


def test_grid_counts_the_last_axis_fastest():
    assert pe.grid(2, 1, 2).tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
def test_distances_are_query_minus_key_and_never_wrap(xp, dtype):
    q, k = np.array([0, 3]), np.array([1, 2, 3])
    result = numpy_of(xp.call(pe.distances, q.astype(dtype), k.astype(dtype)))
    assert result.tolist() == [[-1, -2, -3], [2, 1, 0]]


def test_distances_of_a_batch(xp):
    q, k = np.array([[0], [5]]), np.array([[0, 1], [2, 3]])
    assert numpy_of(xp.call(pe.distances, q, k)).tolist() == [[[0, -1]], [[3, 2]]]


def test_randomised_positions_are_a_sorted_sample(rng):
    drawn = pe.randomised(100, limit=150, rng=rng)
    assert len(set(drawn.tolist())) == 100
    assert drawn.tolist() == sorted(drawn)
    assert 0 <= drawn.min() <= drawn.max() < 150
    counts = np.zeros(10)
    for _ in range(2000):
        counts[pe.randomised(3, limit=10, rng=rng)] += 1
    assert np.all(abs(counts / 2000 - 0.3) < 0.05)


def test_randomised_positions_work_with_any_encoding(rng):
    assert pe.Sinusoidal(8).encode(pe.randomised(5, limit=2048, rng=rng)).shape == (5, 8)


def test_cape_shifts_and_stretches_within_its_bounds(rng):
    positions = np.tile(np.arange(50), (200, 1))
    moved = pe.cape(positions, rng=rng, global_shift=5.0, local_shift=0.5, scale=1.5)
    stretch = np.diff(moved, axis=1).mean(axis=1)
    assert np.all((stretch > 1 / 1.5 * 0.97) & (stretch < 1.5 * 1.03))
    assert stretch.std() > 0.1
    middle = moved.mean(axis=1) / stretch
    assert np.all(abs(middle) < 5.2)
    assert middle.std() > 2.0


def test_cape_is_the_identity_up_to_the_mean_without_augmentation(xp, rng):
    positions = np.array([[0.0, 1.0, 5.0], [10.0, 11.0, 12.0]], dtype=np.float32)
    moved = xp.call(lambda p: pe.cape(p, rng=rng), positions)
    assert numpy_of(moved).tolist() == [[-2, -1, 3], [-1, 0, 1]]
    kept = xp.call(lambda p: pe.cape(p, rng=rng, centre=False), positions)
    assert numpy_of(kept).tolist() == positions.tolist()


def test_cape_moves_neighbours_by_at_most_the_local_shift(rng):
    moved = pe.cape(np.arange(1000), rng=rng, local_shift=0.25, centre=False)
    error = moved - np.arange(1000)
    assert 0.2 < abs(error).max() <= 0.25
