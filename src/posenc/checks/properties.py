"""The properties. Each is a function that measures a number; its docstring says what that is."""

import dataclasses
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from posenc.checks.engine import Check, Measured, NotApplicableError
from posenc.checks.subject import Subject
from posenc.mechanisms import Additive, Bias, Encoding, Rotary
from posenc.scalings import LongRoPE

Measure = Callable[[Subject, np.random.Generator], Measured]
ALL: list[Check] = []


def always(encoding: Encoding) -> bool:
    """Claimed by being an encoding at all."""
    return True


def trait(name: str) -> Callable[[Encoding], bool]:
    """Claimed by a trait."""
    return lambda encoding: bool(getattr(encoding.traits, name))


def check(*, claimed: Callable[[Encoding], bool], why: str) -> Callable[[Measure], Measure]:
    """Make a measure one of ALL."""

    def register(measure: Measure) -> Measure:
        what = " ".join((measure.__doc__ or "").split())
        ALL.append(Check(measure.__name__, what, why, claimed, measure))
        return measure

    return register


def rotary(subject: Subject) -> Rotary:
    """The rotary encoding that this is, or not applicable."""
    if not isinstance(subject.encoding, Rotary):
        raise NotApplicableError("only rotations have it")
    return subject.encoding


@check(claimed=always, why="A model must give the same answer twice.")
def deterministic(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest difference between calls with the same positions, of rows and of logits."""
    p = subject.points(_places(subject, rng))
    q = subject.queries(rng, len(p))
    rows, scored = subject.rows(p), subject.scored(q, q, p, p)
    worst = 0.0
    for _ in range(4):
        worst = _worst(worst, _apart(subject.rows(p), rows))
        worst = _worst(worst, _apart(subject.scored(q, q, p, p), scored))
    return Measured(worst, 0.0)


@check(claimed=always, why="A cache with an incomplete key serves one model's table to another.")
def stateless(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest change after calls of other lengths, positions, dtypes, instances; twins.

    A twin is an instance with another number in a field that gives just the same, and something
    else in a process of its own: it was served this one's table. Each counts as a change of 1.
    """
    p = subject.points(_places(subject, rng))
    before = subject.rows(p)
    twins: list[str] = []
    for told, other in subject.others():
        if _taken_for_another(other, p, before):
            twins.append(told)
    subject.rows(p[:1])
    middle = np.concatenate([p[:1], p[1:-1][::-1], p[-1:]])
    turned = _apart(subject.rows(middle)[1:-1][::-1], before[1:-1])  # the same ends, other middles
    turned = 0.0 if turned < 1e-6 * _size(before) else turned  # lanes of a processor may differ
    long = 999 if subject.width <= 2**13 else 199 if subject.width <= 2**17 else 9
    many = subject.points(np.arange(min(subject.reach, long) + 1))
    for name in reversed(_halves(subject)):  # the coarsest first: it must not be kept
        subject.rows(many, dtype=name)
    after_halves = _apart(subject.rows(p), before)
    subject.rows(many)
    detail = f"the same with {', '.join(twins)}" if twins else ""
    detail = detail or (f"{after_halves:.2g} after calls in a half" if after_halves else "")
    changed = _worst(_worst(_apart(subject.rows(p), before), after_halves), turned)
    return Measured(changed + len(twins), 0.0, detail)


@check(claimed=always, why="Results that depend on how much was asked break cached keys.")
def independent(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest difference between a position by itself and the same one among others."""
    p = subject.points(_places(subject, rng))
    together = subject.rows(p)
    alone = np.concatenate([subject.rows(p[i : i + 1]) for i in range(0, len(p), 7)])
    return Measured(_apart(alone, together[::7]) / _size(together), 1e-6)


@check(claimed=always, why="One NaN spoils a whole batch.")
def finite(subject: Subject, rng: np.random.Generator) -> Measured:
    """How many of the first 4,096 positions and of some far ones give what is no number."""
    p = np.concatenate([_first(subject), subject.points(_places(subject, rng))])
    wrong = ~np.isfinite(subject.rows(p)).all(axis=-1)
    return Measured(int(wrong.sum()), 0, f"at {p[wrong][0]}" if wrong.any() else "")


def _decodes(encoding: Encoding) -> bool:
    return not isinstance(encoding, Rotary) or encoding.settled


@check(claimed=_decodes, why="Generation runs token by token from cached keys.")
def decodes(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest difference of logits between all tokens at once and one after the other."""
    n = min(12, subject.reach + 1)
    p = subject.points(np.linspace(0, min(subject.reach, 20_000), n).astype(int))
    q, k = subject.queries(rng, n), subject.queries(rng, n)
    whole = subject.scored(q, k, p, p, whole=True)
    worst = 0.0
    for t in range(n):
        parts = q[..., t : t + 1, :], k[..., : t + 1, :], p[t : t + 1], p[: t + 1]
        one = subject.scored(*parts, whole=True)
        worst = _worst(worst, _apart(one[..., 0, :], whole[..., t, : t + 1]))
    return Measured(worst / _size(whole), 1e-5)


@check(claimed=trait("norm_preserving"), why="At the origin nothing has turned yet.")
def identity_at_zero(subject: Subject, rng: np.random.Generator) -> Measured:
    """How far R(0) x is from x; for a bias, how far b(p, p) is from 0."""
    zero = np.zeros_like(subject.points(np.arange(1)))
    if isinstance(subject.encoding, Rotary):
        x = rng.normal(size=(1, subject.dim))
        off = (_apart(subject.rotated(x, zero, keys=keys), x) for keys in (False, True))
        return Measured(_worst(*off), 1e-6)
    if isinstance(subject.encoding, Bias):
        return Measured(float(np.abs(subject.bias(zero, zero)).max()), 1e-6)
    raise NotApplicableError("only rotations and biases have an origin")


@check(claimed=trait("norm_preserving"), why="Attention must not grow with the position.")
def norm_preserving(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest relative change of a vector's length, as a query or as a key."""
    rotary(subject)
    p = subject.points(_places(subject, rng))
    x = rng.normal(size=(len(p), subject.dim))
    before = np.linalg.norm(x, axis=-1)
    after = (np.linalg.norm(subject.rotated(x, p, keys=keys), axis=-1) for keys in (False, True))
    return Measured(_worst(*(float(np.abs(a / before - 1).max()) for a in after)), 1e-5)


@check(claimed=trait("relative"), why="What is learned at one place holds at every other.")
def relative(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest relative change of logits when all positions move alike, up to 2,048."""
    far = min(subject.reach, 2048)
    p = subject.points(np.sort(rng.choice(far // 2 + 1, min(40, far // 2 + 1), replace=False)))
    q, k = subject.queries(rng, len(p)), subject.queries(rng, len(p))
    near = subject.scored(q, k, p, p)
    moves = [np.full(subject.axes, step) for step in (1, far // 3, far // 2)]
    if subject.axes > 1:  # and along each axis by itself
        moves += [
            np.eye(subject.axes, dtype=int)[axis] * (far // 3) for axis in range(subject.axes)
        ]
    worst = 0.0
    for move in moves:
        there = p + (move if subject.axes > 1 else move[0])
        worst = _worst(worst, _apart(subject.scored(q, k, there, there), near))
    return Measured(worst / _size(near), 1e-3, f"moved by up to {far // 2}")


@check(
    claimed=lambda e: isinstance(e, Rotary) and e.traits.norm_preserving and e.traits.relative,
    why="It is what makes a product of two rotations depend on their difference.",
)
def composes(subject: Subject, rng: np.random.Generator) -> Measured:
    """How far R(a) R(b) x is from R(a + b) x."""
    rotary(subject)
    half = min(subject.reach, 2000) // 2
    a, b = (subject.points(rng.integers(0, half + 1, 40)) for _ in range(2))
    x = rng.normal(size=(40, subject.dim))
    twice = subject.rotated(subject.rotated(x, a), b)
    return Measured(_apart(twice, subject.rotated(x, a + b)) / _size(x), 1e-3)


@check(claimed=trait("unique"), why="Two positions that look alike cannot be told apart.")
def unique(subject: Subject, rng: np.random.Generator) -> Measured:
    """Positions of 4,096 and some far ones that share their encoding; in a half, but by rounding.

    The far ones lie by powers of 2, where tables end and start again, and at random. Rounding may
    fall one way or the other: in a half 2% more may coincide than of the rounded float32 values.
    """
    near = _first(subject)
    far = np.array([2**n + step for n in range(12, 21) for step in range(3)])
    far = np.unique(np.concatenate([far, rng.integers(4096, 10**6, 200)]))
    p = np.concatenate([near, subject.points(far[far <= subject.reach])])
    single = subject.rows(p, dtype="float32" if _has_dtypes(subject) else None)
    shared = len(p) - _different(single)
    single = single[: len(near)]
    exact = _has_dtypes(subject) or isinstance(subject.encoding, Rotary)
    told = [f"{'float32' if exact else 'as made'}: {_different(single):,} of {len(near):,}"]
    for name in _halves(subject):
        found = _different(subject.rows(near, dtype=name))
        told.append(f"{name}: {found:,}")
        lost = _different(_rounded(single, name)) - found
        shared = max(shared, lost if lost > len(near) // 50 else 0)
    return Measured(shared, 0, ", ".join(told))


@check(claimed=trait("exact"), why="float32 angles lose 2% at a million tokens.")
def exact(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest error at 10^2 … 10^7: against float64, and of what must not change with place."""
    decades = [10**n for n in range(2, 8) if 10**n <= subject.reach]
    if not decades:
        raise NotApplicableError(f"positions end at {subject.reach:,}")
    errors = {far: _error(subject, rng, far) for far in decades}
    if all(error is None for error in errors.values()):
        raise NotApplicableError("nothing about it stays the same from place to place")
    if isinstance(subject.encoding, Rotary) and subject.encoding.traits.norm_preserving:
        a, b = (subject.points(rng.integers(0, subject.reach // 2, 20)) for _ in range(2))
        x = rng.normal(size=(20, subject.dim))
        twice = subject.rotated(subject.rotated(x, a), b)
        errors[subject.reach] = _apart(twice, subject.rotated(x, a + b)) / _size(x)
    told = ", ".join(
        f"{far:.0e}: {error:.1e}" for far, error in errors.items() if error is not None
    )
    return Measured(float(np.max([e for e in errors.values() if e is not None])), 1e-5, told)


@check(claimed=trait("linear_shift"), why="A linear layer can then move along the sequence.")
def linear_shift(subject: Subject, rng: np.random.Generator) -> Measured:
    """How far e(p + 7) is from M e(p), with M fitted at some positions and tried at others."""
    if not isinstance(subject.encoding, Additive):
        raise NotApplicableError("only what is added has it")
    if subject.dim > 1024:
        raise NotApplicableError("a matrix of more than 1,024 channels is too large to fit")
    far = min(subject.reach - 7, 10**5)  # farther than most waves are long
    count = min(6 * subject.dim + 100, far)
    p = subject.points(rng.choice(far, count, replace=False))
    here, there = p[: count // 2], p[count // 2 :]
    matrix, *_ = np.linalg.lstsq(subject.rows(here), subject.rows(here + 7), rcond=None)
    missed = subject.rows(there) @ matrix - subject.rows(there + 7)
    return Measured(float(np.abs(missed).max()) / _size(subject.rows(here)), 1e-4)


@check(claimed=trait("decays"), why="Far tokens then matter less, for content that is alike.")
def decays(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest logit far away against that nearby, for a query that equals its key."""
    far = min(subject.reach, 2**14)
    count = 200 if subject.width <= 2**17 else 40
    distances = np.unique(np.geomspace(1, far, count).astype(int))
    p, zero = subject.points(distances), subject.points(np.zeros(1, dtype=int))
    x = np.ones((*subject.queries(rng, 1).shape[:-2], 1, subject.dim))
    tall = np.broadcast_to(x, (*x.shape[:-2], len(p), subject.dim))
    aligned = subject.scored(tall, x, p, zero)[..., 0] - subject.scored(x, x, zero, zero)[..., 0]
    aligned = aligned + np.abs(subject.scored(x, x, zero, zero)[..., 0])
    aligned = aligned.reshape(-1, len(p)).mean(axis=0)
    near, last = aligned[distances <= 4].max(), aligned[distances > far // 4].max()
    q, k = subject.queries(rng, len(p)), subject.queries(rng, 1)
    random = subject.scored(q, k, p, zero)[..., 0]
    spread = [
        float(np.ptp(random[..., part], axis=-1).mean()) if part.any() else 0.0
        for part in (distances <= 64, distances > 64)
    ]
    told = f"random q and k range over {spread[0]:.1f} near, {spread[1]:.1f} far"
    return Measured(float(last / near) if near > 0 else np.inf, 0.75, told)


@check(claimed=trait("bounded"), why="What grows with the position drowns the content.")
def bounded(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest entry at far positions against that below 300."""
    count = 300 if subject.width <= 2**17 else 16
    near = np.abs(subject.rows(subject.points(np.arange(min(count, subject.reach + 1))))).max()
    far = subject.rows(subject.points(_places(subject, rng, count=200)))
    return Measured(float(np.abs(far).max() / max(near, 1e-12)), 1.5)


@check(claimed=trait("symmetric"), why="Left and right then look the same.")
def symmetric(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest difference between a key ahead and one as far behind, for q = k."""
    if isinstance(subject.encoding, Additive):
        raise NotApplicableError("an inner product is always symmetric")
    far = min(subject.reach, 300)
    p = subject.points(rng.permutation(far + 1)[:40])
    x = np.broadcast_to(subject.queries(rng, 1), subject.queries(rng, len(p)).shape)
    made = subject.scored(x, x, p, p)
    return Measured(_apart(made, np.swapaxes(made, -1, -2)) / _size(made), 1e-5)


@check(claimed=trait("extrapolates"), why="A text may be longer than those of training.")
def extrapolates(subject: Subject, rng: np.random.Generator) -> Measured:
    """The farthest position that is taken, of those up to 10^7."""
    told = "" if subject.reach >= 10**6 else f"refused beyond: {subject.refusal}"
    return Measured(subject.reach, 10**6, told, least=True)


@check(claimed=always, why="An axis without channels is invisible to the model.")
def every_axis(subject: Subject, rng: np.random.Generator) -> Measured:
    """How many of the axes change nothing."""
    if subject.axes < 2:
        raise NotApplicableError("positions have one axis")
    start = rng.integers(0, min(subject.reach, 20) + 1, subject.axes)
    blind: list[int] = []
    for axis in range(subject.axes):
        moves = start + np.eye(subject.axes, dtype=int)[axis] * np.arange(-3, 4)[:, None]
        taken = [move[None] for move in moves if subject.accepts(move)]
        rows = np.concatenate([subject.rows(move) for move in taken])
        if len(rows) > 1 and np.ptp(rows, axis=0).max() < 1e-7:
            blind.append(axis)
    return Measured(len(blind), 0, f"blind to axes {blind}" if blind else "")


@check(
    claimed=lambda e: not hasattr(e, "library"),
    why="A pair left out is capacity that the model never gets.",
)
def every_channel(subject: Subject, rng: np.random.Generator) -> Measured:
    """How many channels no position turns, beside those that are meant to stand still."""
    encoding: Any = rotary(subject)
    p = subject.points(rng.integers(0, subject.reach + 1, 50))
    x = rng.normal(size=subject.dim)
    turned = subject.rotated(np.tile(x, (50, 1)), p)
    still = int((np.abs(turned - x).max(axis=0) < 1e-7).sum())
    meant = subject.dim - (getattr(encoding, "rotary_dim", None) or subject.dim)
    if hasattr(encoding, "frequencies") and callable(encoding.frequencies):
        meant += 2 * int((np.asarray(encoding.frequencies()) < 1e-12).sum())
    return Measured(max(0, still - meant), 0)


@check(claimed=always, why="Training needs the right slope.")
def gradient(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest relative difference of a derivative from finite differences."""
    from posenc.checks.gradients import gradient_error

    return gradient_error(subject, rng)


@check(claimed=always, why="Two ways to lay out the same channels must give the same model.")
def layout(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest difference of logits between the two layouts, channels permuted alike."""
    made = _other_layout(subject.encoding)
    if made is None:
        raise NotApplicableError("it has one layout")
    other, order = made
    p = subject.points(_places(subject, rng, far=2000)[:20])
    q, k = rng.normal(size=(2, len(p), subject.dim))
    first = subject.scored(q, k, p, p)
    second = Subject(other).scored(q[:, order], k[:, order], p, p)
    return Measured(_apart(first, second) / _size(first), 1e-5)


@check(claimed=trait("ordered"), why="Without it a sentence is a bag of words.")
def ordered(subject: Subject, rng: np.random.Generator) -> Measured:
    """How much the logits of shuffled tokens differ from the shuffled logits."""
    n = min(6, subject.reach + 1)
    if n < 2:
        raise NotApplicableError("positions end at once")
    p = subject.points(rng.choice(min(subject.reach, 60) + 1, n, replace=False))
    order, x = np.roll(np.arange(n), 1), subject.queries(rng, n)
    shuffled = subject.scored(x, x, p, p)[..., order, :][..., order]
    of_shuffled = subject.scored(x[..., order, :], x[..., order, :], p, p)
    return Measured(_apart(_centred(shuffled), _centred(of_shuffled)), 1e-3, least=True)


@check(claimed=always, why="Mixed precision casts modules; an angle must not change.")
def castproof(subject: Subject, rng: np.random.Generator) -> Measured:
    """The largest change, up to position 2,000, of what a module cast to bfloat16 makes.

    Rounding what comes out, or a table of it, stays below the bound; rounding angles does not.
    """
    module = getattr(subject.encoding, "module", None)
    if module is None or any(x.requires_grad for x in module.parameters()):
        raise NotApplicableError("no module without learned parameters holds it")
    import copy

    import torch

    cast = copy.deepcopy(module).to(torch.bfloat16)
    spoiled: Any = dataclasses.replace(subject.encoding, fn=cast)  # type: ignore[type-var]
    other = Subject(spoiled)
    p = subject.points(_places(subject, rng, far=2000))
    rows = subject.rows(p)
    off = _apart(other.rows(p, dtype="bfloat16"), rows) / _size(rows)
    every = subject.points(np.arange(min(subject.reach + 1, 4096)))
    found = _different(other.rows(every, dtype="bfloat16"))
    return Measured(off, 2**-6, f"then {found:,} of {len(every):,} positions distinct")


@check(
    claimed=lambda e: not isinstance(getattr(e, "scaling", None), LongRoPE),
    why="Context extension stretches the slow waves; fast ones tell neighbours apart.",
)
def stretches(subject: Subject, rng: np.random.Generator) -> Measured:
    """How much more a fast pair is stretched than a slower one by the scaling of a RoPE."""
    encoding: Any = subject.encoding
    if getattr(encoding, "scaling", None) is None or not hasattr(encoding, "frequencies"):
        raise NotApplicableError("it has no scaling")
    plain = dataclasses.replace(encoding, scaling=None).frequencies()
    ratios = encoding.frequencies() / plain
    ratios = ratios[ratios > 0]  # pairs that stand still are not stretched
    return Measured(float(np.max(np.diff(ratios), initial=0.0)), 1e-9)


def _first(subject: Subject) -> np.ndarray:
    """The first 4,096 positions, or on several axes a grid of about as many; fewer if wide."""
    count = 4096 if subject.width <= 8192 else 512
    count = count if subject.width <= 2**17 else 16
    if subject.encoding.axes is None:
        return np.arange(min(subject.reach + 1, count))
    side = min(int(count ** (1 / subject.axes) + 1e-9), subject.reach + 1)
    axes = np.meshgrid(*[np.arange(side)] * subject.axes, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=-1)


FRESH = """
import pickle, sys
from posenc.checks.subject import Subject
encoding, p = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(Subject(encoding).rows(p)))
"""


def _taken_for_another(other: Encoding, p: np.ndarray, before: np.ndarray) -> bool:
    """Whether `other` gives just what this one gave, though by itself it gives something else."""
    try:
        if not np.array_equal(Subject(other).rows(p), before):
            return False
        done = subprocess.run(
            [sys.executable, "-c", FRESH],
            input=pickle.dumps((other, p)),
            capture_output=True,
            check=True,
            timeout=15,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        alone = pickle.loads(done.stdout)
    except Exception:  # of another size, or of a notebook, which cannot go there: nothing is known
        return False
    return not np.array_equal(alone, before)


def _places(
    subject: Subject, rng: np.random.Generator, *, far: int = 10**6, count: int = 60
) -> np.ndarray:
    """Different places up to `far`, near ones, hundreds and far ones, in no order."""
    top = min(far, subject.reach)
    count = count if subject.width <= 2**17 else 4
    near, middle = np.arange(min(top, 8) + 1), rng.integers(0, min(top, 999) + 1, 20)
    drawn = np.concatenate([near, middle, rng.integers(0, top + 1, count)])
    return rng.permutation(np.unique(drawn))


def _error(subject: Subject, rng: np.random.Generator, far: int) -> float | None:
    """The error about the place `far`, by what an encoding of its kind keeps; None if nothing."""
    found: list[float] = []
    steps = np.array([0, 1, 5, 63])
    steps = steps[steps <= subject.reach - far] if far + 63 > subject.reach else steps
    here, there = subject.points(steps), subject.points(steps) + far
    if _has_dtypes(subject):
        single, double = (subject.rows(there, dtype=name) for name in ("float32", "float64"))
        found.append(_apart(single, double) / _size(double))
    if subject.encoding.traits.relative and len(steps) > 1:
        q, k = subject.queries(rng, len(steps)), subject.queries(rng, len(steps))
        near, moved = (subject.scored(q, k, p, p) for p in (here, there))
        found.append(_apart(near, moved) / _size(near))
    elif subject.encoding.traits.linear_shift:
        near, moved = (rows @ rows.T for rows in (subject.rows(here), subject.rows(there)))
        found.append(_apart(near, moved) / _size(near))
    return float(np.max(found)) if found else None


def _has_dtypes(subject: Subject) -> bool:
    """Whether a dtype can be asked for: a foreign function that is added has the one it has."""
    foreign = hasattr(subject.encoding, "library")
    kinds = Rotary if foreign else Additive | Rotary
    return isinstance(subject.encoding, kinds) and subject.library == "numpy"


def _halves(subject: Subject) -> list[str]:
    if not isinstance(subject.encoding, Additive | Rotary):
        return []
    return ["float16", "bfloat16"] if subject.takes_tensors else ["float16"]


def _rounded(rows: np.ndarray, name: str) -> np.ndarray:
    if name == "float16":
        return rows.astype(np.float16)
    import torch

    return torch.from_numpy(rows).to(torch.bfloat16).double().numpy()


def _different(rows: np.ndarray) -> int:
    return len({row.tobytes() for row in np.ascontiguousarray(rows + 0.0)})  # -0.0 is 0.0


def _other_layout(encoding: Encoding) -> tuple[Encoding, np.ndarray] | None:
    """The same encoding with its channels laid out the other way, and where each one comes from."""
    dim = getattr(encoding, "dim", 0)
    if not dataclasses.is_dataclass(encoding) or isinstance(encoding, type) or dim % 2:
        return None
    names = {field.name for field in dataclasses.fields(encoding) if field.init}
    paired = np.arange(dim).reshape(-1, 2).T.ravel()  # evens, then odds
    turned = getattr(encoding, "rotary_dim", dim)
    if "pairing" in names and turned == dim:
        field, first, second = "pairing", "interleaved", "halves"
    elif "layout" in names and type(encoding).__name__ == "Sinusoidal":
        field, first, second = "layout", "interleaved", "concat"
    else:
        return None
    forth = getattr(encoding, field) == first
    other = dataclasses.replace(encoding, **{field: second if forth else first})
    return other, paired if forth else np.argsort(paired)


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference; NaN if anything is."""
    return float(np.max(np.abs(a - b), initial=0.0))


def _centred(made: np.ndarray) -> np.ndarray:
    """Logits without what all keys of a query share, which no softmax sees."""
    return made - made.mean(axis=-1, keepdims=True)


def _worst(a: float, b: float) -> float:
    return float(np.maximum(a, b))


def _size(a: np.ndarray) -> float:
    return max(1.0, float(np.max(np.abs(a), initial=0.0)))
