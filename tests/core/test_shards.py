"""Which positions each rank has."""

import numpy as np
import pytest

import posenc as pe
from tests.libraries import numpy_of


def by_hand(length, rank, world, zigzag):
    """Of 2 world chunks, number c is that of rank min(c, 2 world - 1 - c)."""
    chunks = 2 * world if zigzag else world
    owners = [t * chunks // length for t in range(length)]
    owners = [min(c, chunks - 1 - c) if zigzag else c for c in owners]
    return [t for t in range(length) if owners[t] == rank]


@pytest.mark.parametrize("zigzag", [True, False])
@pytest.mark.parametrize("world", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("times", [1, 5, 125])
def test_a_text_is_shared_out(world, zigzag, times):
    length = times * world * (2 if zigzag else 1)
    parts = [pe.sharded(length, rank=r, world=world, zigzag=zigzag) for r in range(world)]
    assert [part.tolist() for part in parts] == [
        by_hand(length, r, world, zigzag) for r in range(world)
    ]
    assert sorted(np.concatenate(parts).tolist()) == [*range(length)]


@pytest.mark.parametrize("world", [2, 4, 8])
def test_zigzag_gives_all_ranks_the_same_work(world):
    """Keys at or behind the queries of each rank: as many for all, unlike with one chunk each."""
    work = {
        zigzag: [
            (pe.sharded(1024, rank=r, world=world, zigzag=zigzag) + 1).sum() for r in range(world)
        ]
        for zigzag in (True, False)
    }
    assert len(set(work[True])) == 1
    assert max(work[False]) > (2 - 1.5 / world) * sum(work[False]) / world - 1024


def test_every_library_indexes_its_own_positions_by_them(xp, rng):
    ids = rng.integers(0, 50, (8, 3)).astype(np.int32)
    like = xp.array(ids)
    mine = pe.sharded(8, rank=1, world=2, like=like)
    assert type(mine) is type(like)
    assert numpy_of(mine).tolist() == [2, 3, 4, 5]
    if xp.name != "strict":  # which has no indexing by arrays along one axis
        assert np.array_equal(numpy_of(like[mine]), ids[2:6])


def test_nothing_is_shared_out_too():
    assert pe.sharded(0, rank=1, world=4).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            {"length": 63, "rank": 0, "world": 4},
            ValueError,
            "length must be a multiple of 2 * world = 8, so that all ranks have as many tokens; "
            "got length=63, which padding makes 64",
        ),
        (
            {"length": 7, "rank": 0, "world": 2, "zigzag": False},
            ValueError,
            "length must be a multiple of world = 2, so that all ranks have as many tokens; "
            "got length=7, which padding makes 8",
        ),
        (
            {"length": 8, "rank": 2, "world": 2},
            ValueError,
            "rank must be a whole number of at least 0 and at most 1; got rank=2",
        ),
        (
            {"length": 8, "rank": 0, "world": 0},
            ValueError,
            "world must be a whole number of at least 1 and at most 65,536; got world=0",
        ),
        (
            {"length": 8.0, "rank": 0, "world": 1},
            TypeError,
            "length must be a whole number of at least 0 and at most 16,777,216; got length=8.0",
        ),
        (
            {"length": 8, "rank": 0, "world": 1, "zigzag": 1},
            TypeError,
            "zigzag must be True or False; got zigzag=1",
        ),
    ],
)
def test_what_cannot_be_shared_out_is_a_sentence(arguments, kind, message):
    with pytest.raises(kind) as caught:
        pe.sharded(**arguments)
    assert str(caught.value) == message


def test_names_of_other_libraries_are_hinted():
    with pytest.raises(TypeError, match="sharded has no argument 'world_size'; did you mean world"):
        pe.sharded(8, rank=0, world_size=2)
