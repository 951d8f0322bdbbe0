"""Which keys a query sees, over any array library."""

from posenc.core.arrays import Array, namespace


def find_seen(
    q_order: Array,
    k_order: Array,
    *,
    causal: bool,
    window: int | None,
    documents: tuple[Array, Array] | None,
    mask: Array | None,
) -> Array:
    """Which of these keys each query sees: (batch or 1, heads or 1, q, k) of bool.

    q_order     places of queries in their text, (q,) or (batch, q); k_order, of keys
    causal      whether keys ahead of their query are hidden
    window      keys that far away and farther are hidden
    documents   the document of each query and of each key, as their places: others are hidden
    mask        (batch or 1, heads or 1, q or 1, k) of bool, False where a key is hidden

    >>> import numpy as np
    >>> place = np.arange(3)
    >>> find_seen(place, place, causal=True, window=2, documents=None, mask=None)[0, 0].astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 1, 1]])
    """
    behind = q_order[..., :, None] - k_order[..., None, :]
    seen = _beside_heads(is_within(behind, causal=causal, window=window))
    if documents is not None:
        of_q, of_k = documents
        seen = seen & _beside_heads(of_q[..., :, None] == of_k[..., None, :])
    return seen if mask is None else seen & mask


def is_within(behind: Array, *, causal: bool, window: int | None) -> Array:
    """Whether a key that far behind its query is seen, by order and window alone."""
    xp = namespace(behind=behind)
    seen = behind >= 0 if causal else xp.ones_like(behind, dtype=xp.bool)
    return seen if window is None else seen & (xp.abs(behind) < window)


def _beside_heads(pairs: Array) -> Array:
    """(q, k) or (batch, q, k) as (batch or 1, 1, q, k)."""
    return pairs[None, None, ...] if pairs.ndim == 2 else pairs[:, None, ...]
