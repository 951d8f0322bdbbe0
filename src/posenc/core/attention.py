"""Attention by its definition, over any array library: logits, what is seen, softmax, values."""

import math

from posenc.core.arrays import Array, ArrayT, cast, detach, host, namespace, working
from posenc.core.encoding import Encoding, Params
from posenc.core.inputs import repeat_heads
from posenc.core.logits import logits
from posenc.core.mechanisms import Scores


def attend_densely(
    encoding: Encoding,
    q: ArrayT,
    k: ArrayT,
    v: ArrayT,
    q_pos: ArrayT,
    k_pos: ArrayT,
    params: Params[ArrayT] = None,
    *,
    seen: ArrayT,
    added: ArrayT | None = None,
    softcap: float | None = None,
    sinks: ArrayT | None = None,
    kept: ArrayT | None = None,
    **needed: object,
) -> tuple[ArrayT, ArrayT]:
    """softmax(logits + added) v, and the logarithm of the softmax's denominator.

    q         queries (batch, heads, q, dim), already times a scale of the caller's
    k, v      keys and values, (batch, heads or fewer, k, dim)
    seen      which keys a query sees, of bool, broadcast to (batch, heads, q, k)
    added     what is added to the logits, likewise
    softcap   products are first made c tanh(x / c), before a bias or `added`
    sinks     a logit of each head, (heads,), that is in the denominator only
    kept      factors on the weights, as dropout has them
    needed    what the encoding needs of the tokens

    Both results are in at least float32. A query that sees nothing gets 0, and -inf for the
    logarithm. One that sees a key or a value that is not finite gets NaN; no other query does,
    nor its gradient.
    """
    xp = namespace(q=q, k=k, v=v)
    wide = working(xp, v.dtype)
    q, k, v = (cast(x, wide) for x in (q, k, v))
    k, v = repeat_heads("k", k, q), repeat_heads("v", v, q)
    lost = ~(xp.all(xp.isfinite(k), axis=-1) & xp.all(xp.isfinite(v), axis=-1))
    k, v = (xp.where(lost[..., None], xp.zeros_like(x), x) for x in (k, v))
    made = logits(encoding, q, k, q_pos, k_pos, params, softcap=softcap, **needed)  # type: ignore[arg-type]
    made = made if added is None else made + cast(added, wide)
    weights, total = weigh(made, seen, None if sinks is None else cast(sinks, wide))
    weights = weights if kept is None else weights * cast(kept, wide)
    if isinstance(encoding, Scores):
        out = encoding.mix(weights, v, q_pos, k_pos, params)
    else:
        out = weights @ v
    known = host(lost)
    if known is None or known.any():
        touched = xp.any(seen & lost[..., None, :], axis=-1)
        out = xp.where(touched[..., None], xp.full_like(out, math.nan), out)
        total = xp.where(touched, xp.full_like(total, math.nan), total)
    return out, total


def weigh(made: Array, seen: Array, sinks: Array | None = None) -> tuple[Array, Array]:
    """softmax over what is seen of logits (…, heads, q, k), and log of its denominator (…, q)."""
    xp = namespace(made=made)
    nothing = xp.full_like(made[..., :1], -math.inf)
    made = xp.where(seen, made, nothing)
    aside = nothing if sinks is None else xp.broadcast_to(sinks[:, None, None], nothing.shape)
    top = detach(xp.maximum(xp.max(made, axis=-1, keepdims=True), aside))
    top = xp.where(top == -math.inf, xp.zeros_like(top), top)  # of a query that sees nothing
    parts = xp.exp(made - top)
    total = xp.sum(parts, axis=-1, keepdims=True) + xp.exp(aside - top)
    blind = total == 0
    safe = xp.where(blind, xp.ones_like(total), total)
    return parts / safe, xp.where(blind, nothing, xp.log(safe) + top)[..., 0]
