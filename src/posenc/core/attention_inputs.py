"""What attention takes, over any array library: each read, or refused by a sentence."""

import math
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.arrays import (
    Array,
    cast,
    host,
    is_array,
    is_floating,
    is_integer,
    is_torch,
    namespace,
    whole_dtype,
    working,
)
from posenc.core.encoding import Encoding, unwrap
from posenc.core.inputs import positions_for
from posenc.core.mechanisms import Scores


def check_shapes(q: Array, k: Array, v: Array) -> None:
    """Raise an error unless q, k and v are those of one attention."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4 or not x.shape[3]:
            raise ValueError(f"{name} must be (batch, heads, seq, dim); got shape {tuple(x.shape)}")
    if q.dtype != k.dtype or q.dtype != v.dtype:
        raise TypeError(
            f"q, k and v must have the same dtype; got {q.dtype}, {k.dtype} and {v.dtype}"
        )
    if q.shape[3] != k.shape[3]:
        raise ValueError(f"q and k must have the same dim; got {q.shape[3]} and {k.shape[3]}")
    if k.shape[:3] != v.shape[:3]:
        raise ValueError(
            "k and v must agree in batch, heads and length; "
            f"got shapes {tuple(k.shape)} and {tuple(v.shape)}"
        )
    if q.shape[0] != k.shape[0] or not k.shape[1] or q.shape[1] % k.shape[1]:
        raise ValueError(
            "q and k must have the same batch, and q a multiple of the heads of k; "
            f"got shapes {tuple(q.shape)} and {tuple(k.shape)}"
        )


def check_sizes(encoding: Encoding, q: Array, k: Array) -> None:
    """Raise an error unless q and k have the heads and the dim of the encoding."""
    heads = encoding.heads or q.shape[1]
    if heads != q.shape[1]:
        raise ValueError(f"q must have the heads of the encoding, {heads}; got {q.shape[1]}")
    if encoding.dim is not None and q.shape[3] != encoding.dim:
        raise ValueError(
            f"q and k must have the dim of {type(unwrap(encoding)).__name__}, {encoding.dim}; "
            f"got shapes {tuple(q.shape)} and {tuple(k.shape)}"
        )


def read_causal(causal: bool, encoding: Encoding) -> bool:
    """Whether keys ahead are hidden, which some encodings need."""
    rules.flag("causal", causal)
    if encoding.causal_only and not causal:
        both = f" ({encoding.two_sided_hint})" if encoding.two_sided_hint else ""
        raise ValueError(
            f"causal must be True for an encoding that looks back only, "
            f"{type(encoding).__name__}{both}; got causal=False"
        )
    return causal


def read_window(window: int | None) -> int | None:
    """How far a query sees, at least itself."""
    return None if window is None else rules.whole("window", window, least=1, most=2**31)


def read_scale(scale: float | None, encoding: Encoding, q: Array) -> float:
    """The factor on products: that of the encoding unless given."""
    if scale is None:
        return 1 / math.sqrt(q.shape[3]) if encoding.scaled else 1.0
    if isinstance(unwrap(encoding), Scores):
        raise ValueError(
            f"scale must be None for an encoding that makes the logits itself; got scale={scale!r}"
        )
    if rules.real("scale", scale) <= 0:
        raise ValueError(f"scale must be more than 0; got scale={scale!r}")
    return float(scale)


def scale_queries(q: Array, encoding: Encoding, scale: float) -> Array:
    """q for `logits`, which has a scale of its own: products then have this one."""
    if isinstance(unwrap(encoding), Scores):
        return q
    return q * (scale * (math.sqrt(q.shape[-1]) if encoding.scaled else 1.0))


def fill_positions(
    q: Array, k: Array, q_pos: Any, k_pos: Any, encoding: Encoding
) -> tuple[Array, Array]:
    """The positions: without any the keys are at 0, 1, … and the queries are the last of them."""
    queries, keys = q.shape[2], k.shape[2]
    if q_pos is None and k_pos is None:
        if encoding.axes is not None:
            raise ValueError(
                f"q_pos must be (…, seq, {encoding.axes}), as grid(…, like=q) makes them; "
                "got q_pos=None"
            )
        if queries > keys:
            raise ValueError(
                f"q_pos and k_pos must be given when queries are more than keys; "
                f"got {queries} and {keys}"
            )
        k_pos = count(keys, like=k)
        q_pos = k_pos[keys - queries :]
    elif queries == keys:
        q_pos = k_pos if q_pos is None else q_pos
        k_pos = q_pos if k_pos is None else k_pos
    elif q_pos is None or k_pos is None:
        raise ValueError(
            "q_pos and k_pos must be given both where lengths differ; "
            f"got {queries} queries, {keys} keys and only {'k_pos' if q_pos is None else 'q_pos'}"
        )
    same = q_pos is k_pos and queries == keys
    q_pos = _widen(positions_for("q", q, q_pos, axes=encoding.axes))
    return q_pos, q_pos if same else _widen(positions_for("k", k, k_pos, axes=encoding.axes))


def count(length: int, *, like: Array) -> Array:
    """0, 1, … in the library of an array and, of a tensor, on its device."""
    xp = namespace(like=like)
    return xp.arange(length, device=like.device) if is_torch(like) else xp.arange(length)


def _widen(positions: Array) -> Array:
    """Small and unsigned whole numbers wrap when they are subtracted."""
    if not is_integer(positions):
        return positions
    return cast(positions, whole_dtype(namespace(positions=positions)))


def order_tokens(q: Array, k: Array) -> tuple[Array, Array]:
    """The order of points on several axes: that of the sequence, last query beside last key."""
    return count(q.shape[2], like=q) + k.shape[2] - q.shape[2], count(k.shape[2], like=k)


def require_order(q: Array, q_pos: Array, k_pos: Array) -> Array:
    """q, once its points on several axes are known to be the last of the keys'; else an error.

    Where values cannot be read, queries that are elsewhere become NaN.
    """
    xp, (queries, keys) = namespace(q=q), (q_pos.shape[-2], k_pos.shape[-2])
    if queries > keys:
        raise ValueError(
            "q_pos must be the last of k_pos for a causal mask or a window on several axes; "
            f"got {queries} queries and {keys} keys"
        )
    if q_pos is k_pos:
        return q
    beside = k_pos[..., keys - queries :, :]
    ours, theirs = host(q_pos), host(beside)
    if ours is None or theirs is None:
        apart = xp.any(q_pos != beside, axis=-1)  # (q,) or (batch, q)
        apart = (apart if apart.ndim == 2 else apart[None, :])[:, None, :, None]
        return xp.where(apart, xp.full_like(q, math.nan), q)
    ours, theirs = np.broadcast_arrays(ours, theirs)
    if len(wrong := np.argwhere((ours != theirs).any(-1))):
        at = tuple(wrong[0])
        raise ValueError(
            "q_pos must be the last of k_pos for a causal mask or a window on several axes, which "
            "have no order of their own: give attend a mask of bool in its place, True where a "
            f"query sees a key; got {ours[at].tolist()} beside {theirs[at].tolist()}"
        )
    return q


def read_documents(documents: Any, q: Array, k: Array) -> tuple[Array, Array] | None:
    """The document of each query and each key; one array is the keys', queries being the last."""
    if documents is None:
        return None
    pair = documents if isinstance(documents, tuple) else (documents, documents)
    if len(pair) != 2 or not all(is_array(ids) for ids in pair):
        array = "a tensor" if is_torch(q) else "an array"
        raise TypeError(f"documents must be {array}, or a pair (q, k) of them; got {documents!r}")
    namespace(q=q, documents=pair[0], documents_of_keys=pair[1])
    of_q, of_k = pair
    if not isinstance(documents, tuple) and of_k.ndim:
        of_q = of_k[..., max(0, k.shape[2] - q.shape[2]) :]
    for name, ids, x in (("q", of_q, q), ("k", of_k, k)):
        rows = math.prod(ids.shape[:-1])
        if ids.ndim not in (1, 2) or ids.shape[-1] != x.shape[2] or rows not in (1, x.shape[0]):
            raise ValueError(
                f"documents of {name} must be (seq,) or (batch, seq) with seq = {x.shape[2]}; "
                f"got shape {tuple(ids.shape)}"
            )
    return of_q, of_k


def read_mask(
    mask: Array | None, q: Array, k: Array
) -> tuple[Array, Array | None] | tuple[None, None]:
    """Where a key is seen, of bool, and what is added to logits: (batch, heads, q, k), or 1 each.

    A mask of bool is the first; one of numbers is the second, and hides a key where it is -inf.
    """
    if mask is None:
        return None, None
    xp = namespace(q=q)
    if not is_array(mask) or xp.isdtype(mask.dtype, "complex floating"):
        raise TypeError(
            "mask must be of bool, True where a key is seen, or of floating numbers, which are "
            f"added to the logits; got {getattr(mask, 'dtype', mask)!r}"
        )
    namespace(q=q, mask=mask)
    batch, heads, queries, _ = q.shape
    if mask.ndim == 2 and batch == queries > 1:
        raise ValueError(
            "mask must be mask[:, None, None] for (batch, k) or mask[None, None] for (q, k) where "
            f"both would fit; got shape {tuple(mask.shape)}"
        )
    four = mask[:, None, None, :] if mask.ndim == 2 else mask
    fits = four.ndim == 4 and all(
        size in (1, wanted)
        for size, wanted in zip(four.shape[:3], (batch, heads, queries), strict=True)
    )
    if not fits or four.shape[3] != k.shape[2]:
        raise ValueError(
            f"mask must be (batch, k) or (batch, heads, q, k), here {(batch, k.shape[2])} or "
            f"{(batch, heads, queries, k.shape[2])}; got shape {tuple(mask.shape)}"
        )
    if not is_floating(xp, mask.dtype):
        values = None if xp.isdtype(mask.dtype, "bool") else host(mask)
        if values is not None and not ((values == 0) | (values == 1)).all():
            raise ValueError(
                "mask of whole numbers must be 0 where a key is hidden and 1 where it is seen; "
                f"got {values.min()} to {values.max()}"
            )
        return cast(four, xp.bool), None
    return four != -math.inf, cast(four, working(xp, q.dtype))


def read_sinks(sinks: Array | None, q: Array) -> Array | None:
    """A logit for each head; raise an error for anything else."""
    if sinks is None:
        return None
    right = is_array(sinks) and is_floating(namespace(sinks=sinks), sinks.dtype)
    if not right or tuple(sinks.shape) != (q.shape[1],):
        got = f"{sinks.dtype} {tuple(sinks.shape)}" if is_array(sinks) else repr(sinks)
        raise ValueError(
            "sinks must be a floating array (heads,), one logit for each of "
            f"{q.shape[1]} heads; got {got}"
        )
    namespace(q=q, sinks=sinks)
    return sinks


def check_rate(rate: float) -> float:
    """The probability of dropout; raise an error unless it is at least 0 and less than 1."""
    if rules.real("dropout", rate, least=0) >= 1:
        raise ValueError(f"dropout must be less than 1; got dropout={rate!r}")
    return float(rate)
