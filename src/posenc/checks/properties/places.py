"""Properties of what a position is given: told apart, exact, shifted, far away, on axes."""

from collections.abc import Iterator

import numpy as np

from posenc.checks.engine import Measurement, NotApplicableError
from posenc.checks.properties.claims import always, check, trait
from posenc.checks.properties.differences import DistinctRows, max_difference, round_to, scale_of
from posenc.checks.properties.fitting import fit
from posenc.checks.properties.rotations import measure_composition
from posenc.checks.properties.samples import (
    draw_places,
    first_positions,
    half_dtypes,
    has_dtypes,
    split_blocks,
)
from posenc.checks.subject import Subject
from posenc.core.mechanisms import Additive, Rotary


@check(claimed=trait("unique"), why="Two positions that look alike cannot be told apart.")
def unique(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How many of 4,096 positions and of some far ones share their encoding.

    In 16 bits, collisions caused by rounding are excluded. The far ones lie near powers of 2, where
    tables end and start again, and at random. Rounding may go either way: in 16 bits, 2% more may
    coincide than among the rounded float32 values.
    """
    _require_own_rows(subject)
    near = first_positions(subject)
    far = np.array([2**n + step for n in range(12, 21) for step in range(3)])
    count = 12 if subject.very_wide else 200
    far = np.unique(np.concatenate([far, rng.integers(4096, 10**6, count)]))
    p = np.concatenate([near, subject.points(far[far <= subject.reach])])
    dtype = "float32" if has_dtypes(subject) else None

    def rows(points: np.ndarray, dtype: str | None = dtype) -> Iterator[np.ndarray]:
        return (subject.rows(block, dtype=dtype) for block in split_blocks(subject, points))

    names = half_dtypes(subject)
    made, every = DistinctRows(), DistinctRows()
    in_half = [DistinctRows() for _ in names]  # what rounding leaves of it
    at = 0
    for block in rows(p):
        first, at = block[: max(0, len(near) - at)], at + len(block)
        made.add(first)
        every.add(block)
        for name, found in zip(names, in_half, strict=True):
            found.add(round_to(first, name))
    shared = len(p) - len(every)
    exact = has_dtypes(subject) or isinstance(subject.encoding, Rotary)
    counts = [f"{'float32' if exact else 'as made'}: {len(made):,} of {len(near):,}"]
    for name, expected in zip(names, in_half, strict=True):
        found = DistinctRows(rows(near, name))
        counts.append(f"{name}: {len(found):,}")
        lost = len(expected) - len(found)
        shared = max(shared, lost if lost > len(near) // 50 else 0)
    return Measurement(shared, 0, ", ".join(counts))


@check(claimed=trait("exact"), why="float32 angles lose 2% at a million tokens.")
def exact(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest error at 10^2 … 10^7: against float64, and of what must not change with place."""
    decades = [10**n for n in range(2, 8) if 10**n <= subject.reach]
    if not decades:
        raise NotApplicableError(f"positions end at {subject.reach:,}")
    errors = {f"{far:.0e}": _measure_error(subject, rng, far) for far in decades}
    if all(error is None for error in errors.values()):
        raise NotApplicableError("nothing about it stays the same from place to place")
    if isinstance(subject.encoding, Rotary) and subject.encoding.traits.norm_preserving:
        errors["R(a) R(b)"] = measure_composition(subject, rng, most=subject.reach // 2, count=20)
    detail = ", ".join(f"{at}: {error:.1e}" for at, error in errors.items() if error is not None)
    return Measurement(float(np.max([e for e in errors.values() if e is not None])), 1e-5, detail)


@check(claimed=trait("linear_shift"), why="A linear layer can then move along the sequence.")
def linear_shift(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How far e(p + 7) is from M e(p), with M fitted at some positions and tried at others."""
    if not isinstance(subject.encoding, Additive):
        raise NotApplicableError("only additive encodings have it")
    if subject.dim > 1024:
        raise NotApplicableError("a matrix of more than 1,024 channels is too large to fit")
    far = min(subject.reach - 7, 10**5)  # farther than most waves are long
    count = min(3 * subject.dim + 100, far)
    if count // 2 < subject.dim:  # a matrix would fit them whatever they are
        raise NotApplicableError(f"positions end at {subject.reach:,}, too soon to fit a matrix")
    p = subject.points(rng.choice(far, count, replace=False))
    here, there = p[: count // 2], p[count // 2 :][:256]
    # a channel of e(p + 7) that no M gives spoils each of a few random mixtures of all channels
    mixed = rng.normal(size=(subject.dim, 8))
    rows = subject.rows(here)
    matrix = fit(rows, subject.rows(here + 7) @ mixed)
    missed = subject.rows(there) @ matrix - subject.rows(there + 7) @ mixed
    return Measurement(float(np.abs(missed).max()) / scale_of(rows), 1e-4)


@check(claimed=trait("bounded"), why="What grows with the position drowns the content.")
def bounded(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest entry at far positions against that below 300."""
    _require_own_rows(subject)
    count = 16 if subject.very_wide else 300
    near = np.abs(subject.rows(subject.points(np.arange(min(count, subject.reach + 1)))))
    far = np.abs(subject.rows(subject.points(draw_places(subject, rng, count=200))))
    return Measurement(float(_max_finite(far) / max(_max_finite(near), 1e-12)), 1.5)


@check(
    claimed=trait("any_length"),
    why="Positions beyond a fixed length are accepted; how well a trained model copes there is not "
    "measured.",
)
def any_length(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The farthest position that is accepted, of those up to 10^7."""
    detail = "" if subject.reach >= 10**6 else f"refused beyond: {subject.refusal}"
    return Measurement(subject.reach, 10**6, detail, least=True)


@check(claimed=always, why="An axis without channels is invisible to the model.")
def every_axis(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How many of the axes have no effect."""
    if subject.axes < 2:
        raise NotApplicableError("positions have one axis")
    start = rng.integers(0, min(subject.reach, 20) + 1, subject.axes)
    blind: list[int] = []
    for axis in range(subject.axes):
        along = np.eye(subject.axes, dtype=int)[axis]
        # between whole places too: a wave of one turn to each stands still on them
        moves = [start + along * step for step in (*range(-3, 4), 0.3)]
        taken = [move[None] for move in moves if subject.accepts(move)]
        rows = np.concatenate([subject.rows(move) for move in taken])
        if len(rows) > 1 and max_difference(rows, rows[:1]) < 1e-7:
            blind.append(axis)
    return Measurement(len(blind), 0, f"blind to axes {blind}" if blind else "")


def _require_own_rows(subject: Subject) -> None:
    """Refuse an encoding that looks at other keys: alone with one, a position says nothing."""
    if "mask" in subject.encoding.needs:
        raise NotApplicableError("it depends on the other tokens that a query sees")


def _max_finite(sizes: np.ndarray) -> float:
    """The largest entry beside infinities, which hide a key; NaN if anything is."""
    return float(np.max(np.where(np.isinf(sizes), 0.0, sizes)))


def _measure_error(subject: Subject, rng: np.random.Generator, far: int) -> float | None:
    """The error about the place `far`, by what an encoding of its kind keeps; None if nothing."""
    found: list[float] = []
    steps = np.array([0, 1, 5, 63])
    steps = steps[steps <= subject.reach - far]
    here, there = subject.points(steps), subject.points(steps) + far
    if has_dtypes(subject):
        single, double = (subject.rows(there, dtype=name) for name in ("float32", "float64"))
        found.append(max_difference(single, double) / scale_of(double))
    if subject.encoding.traits.relative and len(steps) > 1:
        q, k = subject.queries(rng, len(steps)), subject.queries(rng, len(steps))
        near, moved = (subject.score(q, k, p, p, tokens=(here, here)) for p in (here, there))
        found.append(max_difference(moved, near) / scale_of(near))
    elif subject.encoding.traits.linear_shift:
        near, moved = (rows @ rows.T for rows in (subject.rows(here), subject.rows(there)))
        found.append(max_difference(moved, near) / scale_of(near))
    return float(np.max(found)) if found else None
