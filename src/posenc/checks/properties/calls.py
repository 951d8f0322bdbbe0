"""Properties of how an encoding is called: twice, alone, token by token, after a cast."""

import numpy as np

from posenc.checks.engine import Measurement, NotApplicableError
from posenc.checks.properties.claims import always, check
from posenc.checks.properties.differences import DistinctRows, max_difference, max_or_nan, scale_of
from posenc.checks.properties.samples import draw_places, first_positions, half_dtypes, split_blocks
from posenc.checks.properties.twins import shares_cache
from posenc.checks.subject import Subject
from posenc.core.mechanisms import Bias, Scores


@check(claimed=always, why="A model must give the same answer twice.")
def deterministic(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest difference between calls with the same positions, of rows and of logits."""
    p = subject.points(draw_places(subject, rng))
    q = subject.queries(rng, len(p))
    first, *later = ((subject.rows(p), subject.score(q, q, p, p)) for _ in range(5))
    pairs = (each for call in later for each in zip(call, first, strict=True))
    return Measurement(max_or_nan(max_difference(*pair) for pair in pairs), 0.0)


@check(claimed=always, why="A cache with an incomplete key serves one model's table to another.")
def stateless(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest change after calls with other lengths, positions, dtypes and instances; twins.

    A twin is an instance with another number in a field that returns the same values here, but
    different ones in a process of its own: it was served this one's table. Each counts as a change
    of 1.
    """
    p = subject.points(draw_places(subject, rng))
    before = subject.rows(p)
    others = subject.list_variants()
    twins = [name for name, other in others if shares_cache(other, p, before, seed=subject.seed)]
    subject.rows(p[:1])
    middle = np.concatenate([p[:1], p[1:-1][::-1], p[-1:]])
    # the same length and ends, another order between: a cache may be keyed by these
    reordered = max_difference(subject.rows(middle)[1:-1][::-1], before[1:-1])
    reordered = 0.0 if reordered < 1e-6 * scale_of(before) else reordered  # SIMD lanes may differ
    long = 999 if subject.width <= 2**13 else 9 if subject.very_wide else 199
    many = subject.points(np.arange(min(subject.reach, long) + 1))
    for name in reversed(half_dtypes(subject)):  # the coarsest first: it must not be cached
        subject.rows(many, dtype=name)
    after_halves = max_difference(subject.rows(p), before)
    subject.rows(many)
    detail = f"the same with {', '.join(twins)}" if twins else ""
    detail = detail or (f"{after_halves:.2g} after calls in 16 bits" if after_halves else "")
    changed = max_or_nan([max_difference(subject.rows(p), before), after_halves, reordered])
    return Measurement(changed + len(twins), 0.0, detail)


@check(claimed=always, why="Results that depend on how much was asked break cached keys.")
def independent(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest difference between a position by itself and the same one among others."""
    p = subject.points(draw_places(subject, rng))
    together = subject.rows(p)
    alone = np.concatenate([subject.rows(p[i : i + 1]) for i in range(0, len(p), 7)])
    return Measurement(max_difference(alone, together[::7]) / scale_of(together), 1e-6)


@check(claimed=always, why="One NaN spoils a whole batch.")
def finite(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How many of the first 4,096 positions and of some far ones give NaN or infinity.

    Logits may be -inf, which hides a key.
    """
    p = np.concatenate([first_positions(subject), subject.points(draw_places(subject, rng))])
    may_hide, found = isinstance(subject.encoding, Bias | Scores), list[np.ndarray]()
    for block in split_blocks(subject, p):
        rows = subject.rows(block)
        found.append(~(np.isfinite(rows) | ((rows == -np.inf) & may_hide)).all(axis=-1))
    wrong = np.concatenate(found)
    return Measurement(int(wrong.sum()), 0, f"at {p[wrong][0]}" if wrong.any() else "")


@check(claimed=lambda e: e.fits_any_length, why="Generation runs token by token from cached keys.")
def decodes(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest difference of logits between all tokens at once and one after the other."""
    n = min(6 if subject.very_wide else 12, subject.reach + 1)
    p = subject.points(np.linspace(0, min(subject.reach, 20_000), n).astype(int))
    q, k = subject.queries(rng, n), subject.queries(rng, n)
    whole = subject.score(q, k, p, p, whole=True)
    off: list[float] = []
    for t in range(n):
        parts = q[..., t : t + 1, :], k[..., : t + 1, :], p[t : t + 1], p[: t + 1]
        one = subject.score(*parts, whole=True)
        off.append(max_difference(one[..., 0, :], whole[..., t, : t + 1]))
    return Measurement(max_or_nan(off) / scale_of(whole), 1e-5)


@check(claimed=always, why="Mixed precision casts modules; an angle must not change.")
def castproof(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest change of the output, up to position 2,000, when the module is cast to bfloat16.

    Rounding the output, or a table of it, stays below the bound; rounding angles does not.
    """
    cast = None
    if subject.takes_tensors and not isinstance(subject.encoding, Bias):  # which has no dtype
        import torch

        cast = subject.encoding.cast_module(torch.bfloat16)
    if cast is None:
        raise NotApplicableError("it has no module, or one that is trained")
    other = Subject(cast, seed=subject.seed)
    p = subject.points(draw_places(subject, rng, far=2000))
    rows = subject.rows(p)
    off = max_difference(other.rows(p, dtype="bfloat16"), rows) / scale_of(rows)
    every = subject.points(np.arange(min(subject.reach + 1, 4096)))
    made = (other.rows(block, dtype="bfloat16") for block in split_blocks(subject, every))
    found = len(DistinctRows(made))
    return Measurement(off, 2**-6, f"then {found:,} of {len(every):,} positions distinct")
