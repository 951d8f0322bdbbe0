"""Where an encoding is asked."""

import numpy as np
import pytest

import posenc as pe
from posenc.checks.properties import samples
from posenc.checks.subject import Subject


@pytest.mark.parametrize(
    ("encoding", "shape"),
    [(pe.RoPE(8), (4096,)), (pe.Learned(9, 4), (9,)), (pe.AxialRoPE.split(8), (64 * 64, 2))],
    ids=str,
)
def test_the_first_positions_are_as_many_as_there_are(encoding, shape):
    made = samples.first_positions(Subject(encoding))
    assert made.shape == shape
    assert len(np.unique(made, axis=0)) == shape[0]


def test_blocks_are_all_positions_in_order_and_never_too_many_numbers(monkeypatch):
    monkeypatch.setattr(samples, "MOST_NUMBERS", 2**12)
    blocks = [*samples.split_blocks(Subject(pe.Sinusoidal(16)), np.arange(1000))]
    assert [len(block) for block in blocks] == [256, 256, 256, 232]
    assert np.array_equal(np.concatenate(blocks), np.arange(1000))


def test_places_are_distinct_near_and_far_and_within_reach():
    rng = np.random.default_rng(0)
    places = samples.draw_places(Subject(pe.RoPE(8)), rng)
    assert len(np.unique(places)) == len(places)
    assert set(range(9)) <= set(places.tolist())
    assert 10**5 < places.max() <= 10**6
    assert samples.draw_places(Subject(pe.Learned(20, 4)), rng).max() <= 19


def test_a_dtype_is_asked_for_where_there_is_one():
    assert samples.half_dtypes(Subject(pe.RoPE(8))) == ["float16", "bfloat16"]
    assert samples.half_dtypes(Subject(pe.ALiBi(2))) == []
    assert samples.has_dtypes(Subject(pe.Sinusoidal(8)))
    assert not samples.has_dtypes(Subject(pe.ALiBi(2)))
