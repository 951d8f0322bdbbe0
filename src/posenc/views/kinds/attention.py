"""Attention: weights without and with positions, and again with the words shuffled."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from posenc.core.mechanisms import Bias, Scores
from posenc.encodings.registry import lookup
from posenc.explanation.cell import Cell
from posenc.explanation.demonstrations import softmax
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.place import substitute
from posenc.explanation.question import table
from posenc.i18n import N_
from posenc.views import cost
from posenc.views.embedding import embeddings
from posenc.views.kind import Kind, is_plain
from posenc.views.panels import Axis, View, common_limit
from posenc.views.scene import Scene, format_number
from posenc.views.subject import WIDTH, Subject
from posenc.views.working import check_cell, view_cell

MOST_TOKENS = 512
SOME = 2**20
"""Logits that are computed at a time, of all heads; one head is kept."""


def build(scene: Scene) -> View:
    """Show attention weights without and with positions, and both for shuffled words.

    The weights of shuffled words are put back in the original order. Without positions they have
    not changed: attention does not see the order of words. The titles give the largest difference.
    A causal mask, the same on both sides, reveals the order even without positions.

    >>> from posenc.views import view
    >>> shown = view("sinusoidal", "attention", tokens="the dog bit the man")
    >>> [panel.title for panel in shown.panels][1::2]
    ['shuffled and put back: differs by 0', 'shuffled and put back: differs by 0.463']
    """
    t = scene.t
    tokens = scene.sentence()
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"tokens must be at most {MOST_TOKENS}; got {len(tokens)}")
    order = shuffle_order(len(tokens), scene.seed)
    mixed, back = tuple(tokens[i] for i in order), np.argsort(order)
    found: list[tuple[Subject | None, str, np.ndarray]] = []
    for title, subject, (q, k) in _comparisons(scene):
        head = choose_head(scene, subject)
        plain, shuffled = (
            softmax(head_logits(scene, subject, q[at], k[at], words, head))
            for words, at in ((tokens, slice(None)), (mixed, order))
        )
        shuffled = shuffled[np.ix_(back, back)]
        # rounded, so that no difference is 0
        largest = format_number(float(np.abs(shuffled - plain).max().round(12)))
        differs = t("shuffled and put back: differs by {largest}", largest=largest)
        found += [(subject, title, plain), (subject, differs, shuffled)]
    limit = common_limit([values for *_, values in found])
    axes = Axis(t("query"), tokens), Axis(t("key"), tokens)
    panels = [
        replace(scene.square_image(*each, axes, limit, t("weight")), colours="sequential")
        for each in found
    ]
    mask = t("causal mask, with and without positions: no query sees keys ahead of it")
    notes = (
        *([mask] if scene.is_causal else []),
        t("shuffled: {words}", words=" ".join(mixed)),
        t("embeddings are derived from the text of each token, not learned"),
    )
    return KIND.compose(scene, scene.title(t("attention")), panels, *notes)


def project(tokens: tuple[str, ...], *, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return queries and keys: the embeddings of the tokens, times two random matrices."""
    rng, x = np.random.default_rng(seed), embeddings(tokens, dim)
    q, k = (x @ (rng.normal(size=(dim, dim)) / np.sqrt(dim)) for _ in range(2))
    return q, k


def head_logits(
    scene: Scene,
    subject: Subject | None,
    q: np.ndarray,
    k: np.ndarray,
    tokens: tuple[str, ...],
    head: int,
    rows: slice = slice(None),
) -> np.ndarray:
    """Return the logits of a head, for tokens at 0, 1, …: (q, k); -inf where a key is masked.

    subject  the encoding; None: without positions
    rows     the queries to return
    """
    subject = subject or Subject(lookup("nope").example())
    if not subject.encoding.scaled:  # the weights of such models include the division
        q = q / np.sqrt(q.shape[-1])
    at = np.arange(len(k))
    seen = at <= at[:, None] if scene.is_causal else np.ones((len(k), len(k)), dtype=bool)
    if needs := subject.encoding.needs:  # all queries together, as each may depend on others
        features = embeddings(tokens, subject.encoding.feature_dim or WIDTH)
        given = {"features": features, "mask": seen}
        needed = {name: given[name] for name in needs}
        logits = _logits(subject, q, k, at, at, head, **needed)[rows]
    else:
        logits = _logits(subject, q[rows], k, at[rows], at, head)
    return np.where(seen[rows], logits, -np.inf)


def _logits(
    subject: Subject,
    q: np.ndarray,
    k: np.ndarray,
    q_pos: np.ndarray,
    k_pos: np.ndarray,
    head: int,
    **needed: np.ndarray,
) -> np.ndarray:
    """Return the logits of one head, where all heads have the same queries and keys."""
    if not isinstance(subject.unwrapped, Bias | Scores):
        return subject.logits(q, k, q_pos, k_pos, **needed)
    if isinstance(subject.unwrapped, Scores):
        q, k = (np.broadcast_to(x, (subject.heads, *x.shape)).copy() for x in (q, k))
    some = len(q_pos) if needed else max(1, SOME // (subject.heads * len(k_pos)))
    parts = [slice(at, at + some) for at in range(0, len(q_pos), some)]
    blocks = [subject.logits(q[..., part, :], k, q_pos[part], k_pos, **needed) for part in parts]
    return np.concatenate([block.reshape(-1, *block.shape[-2:])[head] for block in blocks])


def shuffle_order(count: int, seed: int) -> np.ndarray:
    """Draw another order of `count` words: never the original one, unless there is only one."""
    order = np.random.default_rng(seed).permutation(count)
    return np.roll(order, 1) if count > 1 and (order == np.arange(count)).all() else order


def _comparisons(
    scene: Scene,
) -> Iterator[tuple[str, Subject | None, tuple[np.ndarray, np.ndarray]]]:
    """Yield titles, subjects, queries and keys: without positions for each width, then all."""
    t, tokens = scene.t, scene.sentence()
    widths = dict.fromkeys(subject.dim for subject in scene.subjects)
    vectors = {dim: project(tokens, dim=dim, seed=scene.seed) for dim in widths}
    yield from ((t("without positions"), None, drawn) for drawn in vectors.values())
    for subject in scene.subjects:
        name = subject.name
        if subject.heads > 1:
            name += ", " + t("head {head}", head=choose_head(scene, subject) + 1)
        yield name, subject, vectors[subject.dim]


def choose_head(scene: Scene, subject: Subject | None) -> int:
    """Return the head to show; 0 if all heads are alike."""
    if subject is None or subject.heads == 1:
        return 0
    some = [0] if scene.head is not None else scene.choose(subject.heads, 1)
    return scene.include_head(some, subject.heads)[0]


def work_out(scene: Scene, i: int, j: int) -> Cell:
    """The weight of key j for query i, with positions."""
    t, subject, tokens = scene.t, scene.subjects[0], scene.sentence()
    check_cell(i, j, len(tokens), len(tokens))
    q, k = project(tokens, dim=subject.dim, seed=scene.seed)
    here = slice(i, i + 1)
    plain, logits = (
        head_logits(scene, one, q, k, tokens, choose_head(scene, one), here)[0]
        for one in (None, subject)
    )
    value = float(softmax(logits)[j])
    words = t(
        "The weight of key {key} for query {query}: e to the power of its logit, divided by "
        "the sum over all keys.",
        key=j,
        query=i,
    )
    above, below = power("e", index("s", "i", "j")), row("Σ ", power("e", index("s", "i", "k")))
    formula = Step("formula", words, (equation(index("w", "i", "j"), frac(above, below)),))
    numbers: tuple[Maths, ...] = (value,)
    if np.isfinite(logits[j]):
        total = float(np.exp(logits[np.isfinite(logits)]).sum())
        numbers = frac(power("e", float(logits[j])), total), value
    columns: list[str] = [t("key")]
    listed: list[object] = [tokens]
    for name, line in ((t("logit without positions"), plain), (t("logit with positions"), logits)):
        columns += [name, t("weight")]
        listed += [[float(x) if np.isfinite(x) else "−∞" for x in line], softmax(line)]
    keys = t("The logits of all keys, and their weights:")
    weights = Step("logits", keys, table=table(columns, *zip(*listed, strict=True)))
    return view_cell((formula, weights, substitute(t, (index("w", i, j), *numbers))), value)


KIND = Kind(
    name="attention",
    title=N_("attention"),
    summary=N_("Attention without and with positions, and with the words shuffled."),
    build=build,
    suits=is_plain,
    provides=frozenset({"features", "mask"}),
    derived=True,
    columns=lambda plain, _: 2 if plain == 1 else 4,
    first_for=lambda _: True,
    channels=True,
    head=True,
    causal=True,
    max_tokens=MOST_TOKENS,
    sizes=cost.logits,
    intermediate=True,
    pairwise=True,
    working=work_out,
    compact=False,
)
