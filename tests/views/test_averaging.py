"""Fewer values: means over boxes, of numbers and of directions."""

import numpy as np
import pytest

from posenc.views import averaging


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (700, 900), (701, 1801)])
def test_boxes_leave_at_most_as_many_as_fit_and_cannot_be_smaller(shape):
    box = averaging.box_shape(shape, (700, 900))
    assert all(
        -(-size // step) <= most for size, step, most in zip(shape, box, (700, 900), strict=True)
    )
    assert all(
        step == 1 or -(-size // (step - 1)) > most
        for size, step, most in zip(shape, box, (700, 900), strict=True)
    )


@pytest.mark.parametrize("box", [(1, 1), (2, 3), (4, 4), (9, 9)])
@pytest.mark.parametrize("holes", [False, True])
def test_means_are_those_of_each_box(rng, box, holes):
    values = rng.normal(size=(9, 10))
    if holes:
        values[rng.random(values.shape) < 0.4] = np.nan
    made = averaging.box_means(values, box)
    for i in range(made.shape[0]):
        for j in range(made.shape[1]):
            part = values[i * box[0] : (i + 1) * box[0], j * box[1] : (j + 1) * box[1]]
            known = part[np.isfinite(part)]
            expected = known.mean() if known.size else np.nan
            assert made[i, j] == pytest.approx(expected, nan_ok=True)


def test_a_fast_wave_fades_and_a_fast_rotation_has_no_direction():
    p = np.arange(0, 4096)[:, None]
    assert np.abs(averaging.box_means(np.cos(3.1 * p), (64, 1))).max() < 0.05
    assert np.isnan(
        averaging.direction_means((3.1 * p + np.pi) % (2 * np.pi) - np.pi, (64, 1))
    ).all()
    around = averaging.direction_means(np.array([[3.0], [-3.0]]), (2, 1))
    assert abs(around.item()) == pytest.approx(np.pi)


def test_extremes_bracket_every_value(rng):
    values = rng.normal(size=101)
    low, high = averaging.box_extremes(values, 10)
    assert len(low) == 11
    assert (np.repeat(low, 10)[:101] <= values).all()
    assert set(high.tolist()) <= set(values.tolist())


@pytest.mark.parametrize(("count", "most"), [(3, 10), (10, 3), (1000, 7), (1, 1)])
def test_a_few_are_spread_from_the_first_to_the_last(count, most):
    made = averaging.spread_evenly(np.arange(count), most)
    assert len(made) == min(count, most)
    assert (made[0], made[-1]) == (0, count - 1)
    assert np.ptp(np.diff(made)) <= 1 if len(made) > 2 else True
