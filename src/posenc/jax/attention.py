"""`attend` for JAX: the specification that `posenc.torch.attend` has, in blocks of queries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array

from posenc.core import rules
from posenc.core.arrays import working
from posenc.core.attention import attend_densely
from posenc.core.attention_inputs import (
    check_rate,
    check_shapes,
    check_sizes,
    fill_positions,
    order_tokens,
    read_causal,
    read_documents,
    read_mask,
    read_scale,
    read_sinks,
    read_window,
    require_order,
    scale_queries,
)
from posenc.core.dropout import scale_kept
from posenc.core.encoding import Encoding, suggest_making
from posenc.core.hints import hinted
from posenc.core.inputs import at_length_of
from posenc.core.logits import read_softcap, rotate_both
from posenc.core.mechanisms import Additive, Bias, Rotary, Scores, Unbiased
from posenc.core.seen import find_seen

FEW_PAIRS = 2**20
"""Pairs of a query and a key, in all heads, that are written down at once."""
ROWS = 128
"""Queries of a block, where they are more."""

Layout = Literal["bhsd", "bshd"]


@hinted("attend")
def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    encoding: Bias | Rotary | Scores,
    params: Mapping[str, Array] | None = None,
    q_pos: Any = None,
    k_pos: Any = None,
    causal: bool = False,
    window: int | None = None,
    documents: Array | tuple[Array, Array] | None = None,
    mask: Array | None = None,
    scale: float | None = None,
    features: Array | tuple[Array, Array] | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
    dropout: float = 0.0,
    dropout_key: Array | None = None,
    layout: Layout = "bhsd",
    return_lse: bool = False,
) -> Any:
    """softmax(logits) v for q (batch, heads, q, dim), with the encoding that makes the logits.

    q            queries, (batch, heads, q, dim)
    k, v         keys and values, (batch, heads or fewer, k, dim), as projected
    encoding     a value of any mechanism but Additive, with the `params` that it learns
    q_pos, k_pos positions (seq,) or (batch, seq); without any the keys are at 0, 1, … and the
                 queries are the last of them
    causal       whether keys ahead of their query are hidden
    window       keys that far away and farther are hidden
    documents    the document of each key, (k,) or (batch, k), or a pair for queries and keys
    mask         of bool, False where a key is hidden, or of numbers, added to the logits, -inf
                 where it is hidden: (batch, k), or (batch or 1, heads or 1, q or 1, k)
    scale        factor on the products in place of the encoding's own
    features     hidden states of the tokens, for an encoding that needs them
    softcap      c, which makes c tanh(x / c) of the products x, before a bias or a mask is added
    sinks        (heads,), a logit of each head that is in the softmax's denominator only
    dropout      probability that a weight is dropped
    dropout_key  a key of `jax.random`, from which the dropout's seed is drawn
    layout       "bhsd" as above, or "bshd": (batch, seq, heads, dim)
    return_lse   whether to return a pair, with the logarithm of the denominator, (batch, heads, q)

    What it says of each option is what `posenc.torch.attend` says. Calls of more than 2^20 pairs go
    through blocks of 128 queries, forward and backward, and build nothing that is N x N. A query
    that sees nothing gets 0; a key or a value that is not finite makes NaN of the queries that see
    it, and of no others. It works under `jit`, `grad` and `vmap`.

    >>> import posenc as pe
    >>> q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 8, 100, 16))
    >>> run = jax.jit(lambda q, k, v: attend(q, k, v, encoding=pe.ALiBi(8), causal=True))
    >>> run(q, k, v).shape
    (1, 8, 100, 16)
    """
    rules.one_of("layout", layout, ("bhsd", "bshd"))
    rules.flag("return_lse", return_lse)
    _check_arrays(q=q, k=k, v=v)
    if layout == "bshd":
        q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
    check_shapes(q, k, v)
    _check_encoding(encoding)
    check_sizes(encoding, q, k)
    where = fill_positions(q, k, q_pos, k_pos, encoding)
    order, hides = where, read_causal(causal, encoding) or window is not None
    if encoding.axes is not None:
        order = order_tokens(q, k)
        q = require_order(q, *where) if hides else q
    seen, added = read_mask(mask, q, k)
    call = _Call(
        at_length_of(encoding, *where),
        read_scale(scale, encoding, q),
        order,
        causal,
        read_window(window),
        read_documents(documents, q, k),
        seen,
        added,
        read_softcap(softcap),
        read_sinks(sinks, q),
        check_rate(dropout),
        _draw_seed(dropout, dropout_key),
        features,
    )
    out, lse = _attend(call, q, k, v, *where, params)
    out = out.astype(v.dtype)
    out = jnp.swapaxes(out, 1, 2) if layout == "bshd" else out
    return (out, lse) if return_lse else out


@dataclass(frozen=True)
class _Call:
    """What is asked of an attention, read, beside its arrays."""

    encoding: Encoding
    scale: float
    order: tuple[Array, Array]
    causal: bool
    window: int | None
    documents: tuple[Array, Array] | None
    mask: Array | None
    added: Array | None
    softcap: float | None
    sinks: Array | None
    dropout: float
    seed: Array | None
    features: Any


def _attend(
    call: _Call, q: Array, k: Array, v: Array, q_pos: Array, k_pos: Array, params: Any
) -> tuple[Array, Array]:
    """The result and its logarithm, at once or in blocks of queries."""
    batch, heads, queries, _ = q.shape
    if not q.size or not k.shape[2]:
        return _attend_to_nothing(call, q, v)
    encoding, wide = call.encoding, working(jnp, q.dtype)
    q, k, v = (x.astype(wide) for x in (q, k, v))
    if isinstance(encoding, Rotary) and not encoding.needs:  # once, not in every block
        q, k = rotate_both(encoding, q, k, q_pos, k_pos, params)
        encoding, params = Unbiased(), None
        q_pos, k_pos = call.order  # of points on a grid, a number each is left
    q = scale_queries(q, encoding, call.scale)
    rows = partial(_attend_rows, call, encoding, k, v, k_pos, params)
    if encoding.needs or batch * heads * queries * k.shape[2] <= FEW_PAIRS:
        return rows(q, q_pos, jnp.arange(queries))
    return _in_blocks(rows, q, q_pos, grid=encoding.axes is not None)


def _in_blocks(
    rows: Callable[..., tuple[Array, Array]], q: Array, q_pos: Array, *, grid: bool
) -> tuple[Array, Array]:
    """The rows in blocks, each made once more in a backward pass; the last is filled up."""
    batch, heads, queries, _ = q.shape
    count = -(-queries // ROWS)
    number = jnp.minimum(jnp.arange(count * ROWS), queries - 1)  # the last query again and again
    seq = q_pos.ndim - 1 - grid

    def block(numbers: Array) -> tuple[Array, Array]:
        return rows(jnp.take(q, numbers, axis=2), jnp.take(q_pos, numbers, axis=seq), numbers)

    out, lse = jax.lax.map(jax.checkpoint(block), number.reshape(count, ROWS))
    out = jnp.moveaxis(out, 0, 2).reshape(batch, heads, count * ROWS, -1)
    lse = jnp.moveaxis(lse, 0, 2).reshape(batch, heads, count * ROWS)
    return out[:, :, :queries], lse[:, :, :queries]


def _attend_rows(
    call: _Call,
    encoding: Encoding,
    k: Array,
    v: Array,
    k_pos: Array,
    params: Any,
    q: Array,
    q_pos: Array,
    numbers: Array,
) -> tuple[Array, Array]:
    """Attention, by its definition, of the queries with these numbers."""
    q_order, k_order = call.order
    documents = call.documents
    seen = find_seen(
        jnp.take(q_order, numbers, axis=-1),
        k_order,
        causal=call.causal,
        window=call.window,
        documents=documents and (jnp.take(documents[0], numbers, axis=-1), documents[1]),
        mask=_take_rows(call.mask, numbers),
    )
    needed: dict[str, Any] = {} if call.features is None else {"features": call.features}
    if "mask" in encoding.needs:
        needed["mask"] = seen
    kept = None
    if call.seed is not None:
        kept = scale_kept(
            call.seed,
            call.dropout,
            batch=q.shape[0],
            heads=q.shape[1],
            queries=numbers,
            keys=jnp.arange(k.shape[2]),
            dtype=q.dtype,
        )
    return attend_densely(
        encoding,
        q,
        k,
        v,
        q_pos,
        k_pos,
        params,
        seen=seen,
        added=_take_rows(call.added, numbers),
        softcap=call.softcap,
        sinks=call.sinks,
        kept=kept,
        **needed,
    )


def _take_rows(pairs: Array | None, numbers: Array) -> Array | None:
    """What is there (…, q or 1, k) for these queries."""
    if pairs is None or pairs.shape[-2] == 1:
        return pairs
    return jnp.take(pairs, numbers, axis=-2)


def _attend_to_nothing(call: _Call, q: Array, v: Array) -> tuple[Array, Array]:
    """The result where there is no query, or none that sees a key."""
    wide = working(jnp, q.dtype)
    lse = jnp.full(q.shape[:3], -jnp.inf, dtype=wide)
    if call.sinks is not None:
        lse = jnp.broadcast_to(call.sinks.astype(wide)[:, None], lse.shape)
    return jnp.zeros((*q.shape[:3], v.shape[3]), dtype=wide), lse


def _check_arrays(**arrays: object) -> None:
    for name, x in arrays.items():
        if not isinstance(x, jax.Array):
            raise TypeError(f"{name} must be a jax.Array; got {type(x).__qualname__}")
        if not jnp.issubdtype(x.dtype, jnp.floating):
            raise TypeError(f"{name} must have a real floating dtype; got {x.dtype}")


def _check_encoding(encoding: object) -> None:
    if not isinstance(encoding, Encoding) or isinstance(encoding, Additive):
        raise TypeError(
            "encoding must be a Rotary, a Bias or Scores; an additive encoding is added to the "
            f"embeddings, before attention; got {encoding!r}{suggest_making(encoding)}"
        )


def _draw_seed(rate: float, key: Array | None) -> Array | None:
    """The seed of a call's dropout; None if nothing is dropped."""
    if not rate:
        return None
    if key is None:
        raise ValueError(
            "dropout_key must be a key of jax.random for a dropout of more than 0; got None"
        )
    return jax.random.bits(key, dtype=jnp.uint32)
