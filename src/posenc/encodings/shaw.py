"""Relative positions of Shaw et al.: a learned vector per distance, for keys and values."""

import math
from dataclasses import field

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import Array, ArrayT, cast, clip, namespace, take_along_last, working
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.mechanisms import Scores
from posenc.core.positions import LIMIT
from posenc.core.values import value
from posenc.encodings.tables import whole_distances
from posenc.i18n import N_
from posenc.i18n.arguments import HEAD_DIM, sentences


@value
class Shaw(Scores):
    """q_i (k_j + a_d) / sqrt(dim) and sum_j weight_ij (v_j + b_d), d = clip(j - i, ±reach).

    Shaw et al. (2018), "Self-Attention with Relative Position Representations". The tables a and b
    have 2 reach + 1 rows, the first for the farthest key behind. Heads share them, and they are
    initialised as by Glorot and Bengio.

    dim      channels of one head
    reach    the largest distance with a row of its own, at least 0
    values   whether b is used; leaving it out made little difference in the paper

    >>> encoding = Shaw(4, 2)
    >>> params = encoding.init(np.random.default_rng(0))
    >>> q = k = np.ones((3, 5, 4), dtype=np.float32)
    >>> encoding.scores(q, k, np.arange(5), np.arange(5), params).shape
    (3, 5, 5)
    """

    dim: int
    reach: int
    values: bool = field(default=True, kw_only=True)

    about = About(
        title=N_("relative position representations"),
        summary=N_("a learned vector for each distance, in keys and values, Shaw et al. (2018)"),
        paper=(
            "Shaw et al., Self-Attention with Relative Position Representations, arXiv:1803.02155"
        ),
        year=2018,
        models=("Music Transformer",),
        strengths=(N_("what a distance means depends on the query"),),
    )

    argument_help = sentences(
        dim=HEAD_DIM,
        values=N_("Whether learned vectors are added to the values too, not to the keys alone."),
    )

    def __post_init__(self) -> None:
        rules.dim("dim", self.dim)
        rules.whole("reach", self.reach, least=0, most=LIMIT // 2)
        rules.flag("values", self.values)

    @property
    def traits(self) -> Traits:
        ordered = self.reach > 0  # one row for all distances tells none apart
        return Traits(any_length=True, relative=True, bounded=True, exact=True, ordered=ordered)

    def parameters(self) -> dict[str, Parameter]:
        names = ("key_table", "value_table") if self.values else ("key_table",)
        return {name: Parameter((2 * self.reach + 1, self.dim)) for name in names}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        most = math.sqrt(6 / (2 * self.reach + 1 + self.dim))
        drawn = {name: rng.uniform(-most, most, p.shape) for name, p in self.parameters().items()}
        return params_like(drawn, like)

    def scores(
        self, q: ArrayT, k: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> ArrayT:
        xp = namespace(q=q, k=k)
        wide = working(xp, q.dtype)
        q, k = cast(q, wide), cast(k, wide)
        products = q @ xp.matrix_transpose(k) + self.relative(q, q_pos, k_pos, params)
        return products / math.sqrt(self.dim)

    def relative(
        self, q: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> ArrayT:
        """q_i a_d for every query and key: (…, q, k), undivided.

        q              queries, (…, q, dim)
        q_pos, k_pos   whole positions, (…, q) and (…, k)
        params         "key_table", (2 reach + 1, dim), and "value_table" alike
        """
        if q.shape[-1] != self.dim:
            raise ValueError(f"q must be (…, seq, {self.dim}); got shape {tuple(q.shape)}")
        xp = namespace(q=q)
        table = self.read_param(params, "key_table")
        namespace(q=q, params=table)
        by_row = q @ xp.matrix_transpose(cast(table, q.dtype))
        index = _beside_heads(self.rows_of(-whole_distances(q_pos, k_pos, like=q)), by_row)
        shape = (*by_row.shape[:-1], index.shape[-1])
        return take_along_last(by_row, xp.broadcast_to(index, shape))

    def mix(
        self, weights: Array, v: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> ArrayT:
        if self.values and v.shape[-1] != self.dim:
            raise ValueError(f"v must be (…, seq, {self.dim}); got shape {tuple(v.shape)}")
        out = weights @ v
        if not self.values:
            rules.known_params(params, *self.parameters())
            return out
        table = self.read_param(params, "value_table")
        xp = namespace(weights=weights, params=table)
        table = cast(table, weights.dtype)
        index = _beside_heads(self.rows_of(-whole_distances(q_pos, k_pos, like=v)), weights)
        # sum the weights of each row of the table in turn, to avoid a (q, k, row) array
        by_row = [
            xp.sum(xp.where(index == row, weights, 0.0), axis=-1) for row in range(table.shape[0])
        ]
        return out + xp.stack(by_row, axis=-1) @ table

    def rows_of(self, ahead: Array) -> Array:
        """The row of the table for each distance j - i (positive: the key is ahead of the query).

        >>> Shaw(4, 2).rows_of(np.array([-9, -1, 0, 1, 9]))
        array([0, 1, 2, 3, 4])
        """
        return clip(ahead, least=-self.reach, most=self.reach) + self.reach


def _beside_heads(index: Array, like: Array) -> Array:
    """Insert axes into an index (…, q, k) so that it broadcasts over the heads of `like`."""
    if index.ndim == 2:
        return index
    heads = (1,) * (like.ndim - index.ndim)
    return namespace(index=index).reshape(index, (index.shape[0], *heads, *index.shape[1:]))
