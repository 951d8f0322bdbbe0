import numpy as np
import pytest

import posenc as pe
from tests.libraries import numpy_of
from tests.oracles import additive as oracle


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


def test_distances_of_small_numbers_do_not_wrap(xp):
    q, k = np.array([127], dtype=np.int8), np.array([-128, 127], dtype=np.int8)
    assert numpy_of(xp.call(pe.distances, q, k)).tolist() == [[255, 0]]


def test_cape_equals_the_oracle(rng):
    drawn, positions = np.random.default_rng(5), np.array([[3.0, 4.0, 9.0], [0.0, 1.0, 2.0]])
    moved = pe.cape(
        positions, rng=np.random.default_rng(5), global_shift=4, local_shift=0.5, scale=2
    )
    shift, local = drawn.uniform(-4, 4, (2, 1)), drawn.uniform(-0.5, 0.5, (2, 3))
    log_scale = drawn.uniform(-np.log(2), np.log(2), (2, 1))
    for row in range(2):
        truth = oracle.cape(
            positions[row],
            global_shift=shift[row, 0],
            local_shifts=local[row],
            log_scale=log_scale[row, 0],
        )
        assert np.allclose(moved[row], truth)


def test_cape_stretches_as_often_as_it_shrinks(rng):
    """log lambda is uniform, so half of the rows shrink."""
    rows = np.tile([0.0, 1.0], (4000, 1))
    stretch = np.diff(pe.cape(rows, rng=rng, scale=4.0), axis=1)
    assert abs((stretch < 1).mean() - 0.5) < 0.03
    assert abs((stretch < 0.5).mean() - 0.25) < 0.03


def test_cape_of_points_keeps_the_axes_apart(rng):
    points = pe.grid(3, 4)[None] + 10
    centred = pe.cape(points, rng=rng, axes=2)
    assert np.allclose(centred.mean(axis=1), 0)
    assert np.allclose(centred[0] - centred[0, 0], points[0] - points[0, 0])
    moved = pe.cape(points, rng=rng, axes=2, global_shift=5, scale=2)
    steps = moved[0, 1] - moved[0, 0]
    assert steps[0] == 0
    assert 0.5 <= steps[1] <= 2
    assert np.allclose(moved[0, 4] - moved[0, 0], [steps[1], 0])


def test_lists_are_checked_before_a_library_narrows_them(xp):
    x = xp.array(np.zeros((1, 8), dtype=np.float32))
    for far in (2**24, 2**32 + 1, 2**40):
        with pytest.raises(ValueError, match="positions must lie between"):
            pe.Sinusoidal(8).add(x, [far])


@pytest.mark.parametrize(
    ("q", "k"),
    [
        (np.array([2**32 - 1, 5], "u4"), np.array([2**32 - 1, 2**32 - 4, 5], "u4")),
        (np.array([2**31 - 1, -(2**31), 7], "i4"), np.array([-(2**31), 2**31 - 1, -9], "i4")),
        (np.array([-5, 2**24], "i4"), np.array([2**32 - 1, 2**31 + 3, 0], "u4")),
    ],
)
@pytest.mark.parametrize("jitted", [True, False])
def test_distances_that_32_bits_cannot_hold_never_wrap_in_jax(q, k, jitted):
    """2^32 - 1 as an int32 is -1; near ones stay exact, far ones end just below 2^31."""
    import jax
    import jax.numpy as jnp

    call = jax.jit(pe.distances) if jitted else pe.distances
    ours = np.asarray(call(jnp.asarray(q), jnp.asarray(k))).astype(np.int64)
    truth = q.astype(np.int64)[:, None] - k.astype(np.int64)
    ended = np.clip(truth, 128 - 2**31, 2**31 - 128)
    # q, k and their difference are each rounded to a float32 of 2^32 at most, whose halves of
    # steps are 2^7, where 2^30 is reached; below it all is exact
    far = abs(truth) >= 2**29
    assert (abs(ours - ended)[far] <= 3 * 2**7).all()
    assert np.array_equal(ours[~far], truth[~far])


@pytest.mark.parametrize("kind", [pe.ALiBi, pe.T5Bias, pe.KERPLE], ids=lambda k: k.__name__)
def test_no_bias_takes_a_position_of_32_bits_for_a_negative_one(kind):
    import jax
    import jax.numpy as jnp

    encoding = kind(2)
    params = encoding.init(np.random.default_rng(0)) or None
    q, k = np.array([2**32 - 1, 2**31], "u4"), np.array([5, 9], "u4")
    on_jax = None if params is None else {name: jnp.asarray(x) for name, x in params.items()}
    ours = jax.jit(lambda q, k: encoding.bias(q, k, on_jax))(jnp.asarray(q), jnp.asarray(k))
    within = np.minimum(q.astype(np.int64), 2**31 - 128)  # where JAX's distances end
    truth = encoding.bias(within, k.astype(np.int64), params)
    assert np.allclose(np.asarray(ours), truth, rtol=1e-5)


def test_fire_takes_no_position_of_32_bits_for_a_negative_one():
    import jax
    import jax.numpy as jnp

    q, k = np.array([2**32 - 1], "u4"), np.array([5], "u4")
    call = jax.jit(lambda q, k: pe.FIRE(1).ratios(q, k, jnp.float32(0.1), jnp.float32(1.0)))
    truth = pe.FIRE(1).ratios(q.astype(np.int64), k.astype(np.int64), 0.1, 1.0)
    # the distance ends at half of what it is, the position itself does not
    assert abs(np.asarray(call(q, k)) - truth).max() <= 1.01 * np.log(2) / np.log(0.1 * 2**32)
