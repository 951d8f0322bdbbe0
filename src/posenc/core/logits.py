"""Attention logits under an encoding of any mechanism: the function that all tools build on."""

import math

from posenc.core import rules
from posenc.core.arrays import (
    Array,
    ArrayT,
    Positions,
    cast,
    disable_autocast,
    is_array,
    namespace,
    working,
)
from posenc.core.encoding import Encoding, Params, suggest_making, unwrap
from posenc.core.hints import hinted
from posenc.core.inputs import (
    Features,
    at_length_of,
    beside_heads,
    call,
    check_floating,
    if_given,
    positions_for,
    read_needs,
    repeat_heads,
)
from posenc.core.mechanisms import Additive, Bias, Rotary, Scores
from posenc.core.positions import shared_rows


@hinted("logits")
def logits(
    encoding: Encoding,
    q: ArrayT,
    k: ArrayT,
    q_pos: Positions[ArrayT],
    k_pos: Positions[ArrayT],
    params: Params[ArrayT] = None,
    *,
    features: Features[ArrayT] | None = None,
    mask: ArrayT | None = None,
    softcap: float | None = None,
) -> ArrayT:
    """The attention logits of queries and keys under `encoding`: (…, head, q, k).

    encoding   any of the four mechanisms
    q          queries, (…, head, q, dim); the head axis is optional for all but biases
    k          keys, (…, head, k, dim); may have fewer heads, each shared by a group of queries'
    q_pos      positions of queries, (q,) or (batch, q), with a last axis of size `axes` on a grid
    k_pos      positions of keys, (k,) or (batch, k), likewise
    params     learned parameters as from `encoding.init`; None if there are none
    features   hidden states (seq, feature_dim) or (batch, seq, feature_dim), or a pair of them if
               those of queries and keys differ; for encodings that list "features" in `needs`
    mask       (q, k), (batch, q, k) or (batch, heads or 1, q, k) of bool, True where the query sees
               the key; for encodings that list "mask"
    softcap    c, which makes c tanh(x / c) of products x, as in Gemma 2: of products before a bias
               is added to them, as in FlashAttention, and of scores as they are

    An additive encoding is added to q and k themselves, as if the projections were the identity.
    Products are divided by sqrt(dim) unless `encoding.scaled` is False.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> q, k = rng.normal(size=(2, 5, 8))
    >>> from posenc import Sinusoidal
    >>> logits(Sinusoidal(8), q, k, range(5), range(5)).shape
    (5, 5)
    """
    if not isinstance(encoding, Encoding):
        raise TypeError(
            "encoding must be an Encoding (Additive, Rotary, Bias, Scores); "
            f"got {encoding!r}{suggest_making(encoding)}"
        )
    namespace(q=q, k=k)
    q_pos = positions_for("q", q, q_pos, axes=encoding.axes)
    k_pos = positions_for("k", k, k_pos, axes=encoding.axes)
    k = repeat_heads("k", k, q)
    needed = read_needs(encoding, features=features, mask=mask)
    softcap = read_softcap(softcap)
    if "features" in needed:
        needed["features"] = _fit_features(encoding, needed["features"], q, k)
        if isinstance(encoding, Bias) and needed["features"][0].ndim == 3:
            # a bias has a row for each row of its positions
            q_pos = _in_rows(q_pos, q.shape[0], encoding.axes)
            k_pos = _in_rows(k_pos, q.shape[0], encoding.axes)
    if "mask" in needed:
        needed["mask"] = beside_heads(mask, q)
    with disable_autocast(q):
        match encoding:
            case Additive():
                q, k = encoding.add(q, q_pos, params), encoding.add(k, k_pos, params)
                return cast(_products(q, k, softcap, scaled=encoding.scaled), q.dtype)
            case Rotary():
                q, k = rotate_both(encoding, q, k, q_pos, k_pos, params, **needed)
                return cast(_products(q, k, softcap, scaled=encoding.scaled), q.dtype)
            case Bias():
                products = _products(q, k, softcap, scaled=encoding.scaled)
                bias = compute_bias(encoding, q_pos, k_pos, params, **needed)
                return cast(_add_bias(products, bias), q.dtype)
            case Scores():
                scores = call(
                    encoding, encoding.scores, q_pos, q, k, q_pos, k_pos, params, **needed
                )
                return cast(_cap(scores, softcap), q.dtype)
            case _:
                raise TypeError(
                    "encoding must derive from Additive, Rotary, Bias or Scores; "
                    f"got {type(encoding).__name__}"
                )


def _fit_features(
    encoding: Encoding, both: tuple[Array, ...], q: Array, k: Array
) -> tuple[Array, ...]:
    """Features of queries and of keys; of scores, they broadcast over the heads of q and k."""
    if len(both) != 2:
        raise ValueError(f"features must be an array, or a pair (q, k) of them; got {len(both)}")
    for name, x, beside in zip(("q", "k"), both, (q, k), strict=True):
        check_floating(f"features of {name}", x)
        namespace(**{name: beside, f"features of {name}": x})
        shape = (beside.shape[-2], encoding.feature_dim or x.shape[-1])
        if tuple(x.shape[-2:]) != shape:
            raise ValueError(
                f"features of {name} must be (…, {shape[0]}, {shape[1]}); "
                f"got shape {tuple(x.shape)}"
            )
    if not isinstance(unwrap(encoding), Scores):
        return both
    return beside_heads(both[0], q), beside_heads(both[1], k)


def _in_rows(positions: ArrayT, batch: int, axes: int | None) -> ArrayT:
    """Positions with a row for each text of a batch: (batch, seq), or (batch, seq, axis)."""
    own = tuple(positions.shape[-1:] if axes is None else positions.shape[-2:])
    return namespace(positions=positions).broadcast_to(positions, (batch, *own))


def rotate_both(
    encoding: Rotary,
    q: ArrayT,
    k: ArrayT,
    q_pos: ArrayT,
    k_pos: ArrayT,
    params: Params[ArrayT],
    features: tuple[ArrayT, ArrayT] | None = None,
) -> tuple[ArrayT, ArrayT]:
    """R(p) q and R(p) k of a whole text; `params` is passed on only if given."""
    rotary, given = at_length_of(encoding, q_pos, k_pos), if_given(params)
    if features is None:
        return rotary.rotate(q, q_pos, *given), rotary.rotate_keys(k, k_pos, *given)
    return (
        rotary.rotate(q, q_pos, *given, features=features[0]),
        rotary.rotate_keys(k, k_pos, *given, features=features[1]),
    )


def compute_bias(
    encoding: Bias,
    q_pos: ArrayT,
    k_pos: ArrayT,
    params: Params[ArrayT] = None,
    *,
    heads: int | None = None,
    **needed: object,
) -> ArrayT:
    """`encoding.bias`; raise an error unless its shape is (…, head, q, k)."""
    made = call(encoding, encoding.bias, q_pos, q_pos, k_pos, params, **needed)
    seq = -1 if encoding.axes is None else -2
    rows = shared_rows(q_pos, k_pos, axes=encoding.axes)
    heads = encoding.heads or heads
    shape = tuple(made.shape) if is_array(made) else None
    if shape is not None and len(shape) == len(rows) + 3:
        fits = shape[:-3] in (rows, (1,) * len(rows)) and (heads is None or shape[-3] in (1, heads))
        if fits and shape[-2:] == (q_pos.shape[seq], k_pos.shape[seq]):
            return made
    wanted = (*rows, heads or "heads", q_pos.shape[seq], k_pos.shape[seq])
    listed = ", ".join(map(str, wanted))
    raise ValueError(
        f"bias of {type(encoding).__name__} must be an array ({listed}); "
        f"got {type(made).__name__ if shape is None else f'shape {shape}'}"
    )


def read_softcap(softcap: float | None) -> float | None:
    """The bound of `softcap`, or None; raise an error unless it is more than 0."""
    if softcap is not None and rules.real("softcap", softcap) <= 0:
        raise ValueError(f"softcap must be more than 0; got softcap={softcap!r}")
    return None if softcap is None else float(softcap)


def _cap(made: Array, softcap: float | None) -> Array:
    return made if softcap is None else softcap * namespace(made=made).tanh(made / softcap)


def _products(q: Array, k: Array, softcap: float | None, *, scaled: bool) -> Array:
    """q k^T in the working dtype, so that 16-bit results are rounded only once, at the end."""
    xp = namespace(q=q, k=k)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must have the same dim; got {q.shape[-1]} and {k.shape[-1]}")
    wide = working(xp, q.dtype)  # 16-bit products may overflow before they are divided
    products = cast(q, wide) @ xp.matrix_transpose(cast(k, wide))
    return _cap(products / math.sqrt(q.shape[-1]) if scaled else products, softcap)


def _add_bias(products: Array, bias: Array) -> Array:
    if products.ndim > 2 and 1 != bias.shape[-3] != products.shape[-3]:
        raise ValueError(
            f"q and k must have the heads of the bias, {bias.shape[-3]}; got {products.shape[-3]}"
        )
    return products + bias
