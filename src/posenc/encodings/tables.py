"""Biases that are looked up in a table of distances."""

from dataclasses import field

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import Array, ArrayT, Positions, clip, is_integer, namespace
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.mechanisms import Bias
from posenc.core.positions import LIMIT, distances
from posenc.core.values import value
from posenc.i18n import N_

MOST_HEADS = 4096


def look_up(table: Array, index: Array) -> Array:
    """Look up rows of a table (row, head) by index (…, q, k): a bias (…, head, q, k)."""
    xp = namespace(positions=index, params=table)
    rows = xp.take(table, xp.reshape(index, (-1,)), axis=0)
    return xp.moveaxis(xp.reshape(rows, (*index.shape, table.shape[-1])), -1, -3)


def whole_distances(q_pos: Positions[Array], k_pos: Positions[Array], *, like: Array) -> Array:
    """Distances between whole positions, to index a table; raise an error for fractional ones."""
    behind = distances(q_pos, k_pos, like=like)
    if not is_integer(behind):
        raise TypeError(f"positions must be whole numbers to look up a bias; got {behind.dtype}")
    return behind


@value
class ClippedBias(Bias):
    """A learned bias for each distance up to `reach`: b_h(i, j) = table[clip(i - j, ±reach), h].

    The table has 2 reach + 1 rows, from the farthest key ahead to the farthest behind. Distances
    are clipped as by Shaw et al. (2018); the bias is a scalar per head as in T5, without buckets.

    heads   number of attention heads, at least 1
    reach   the largest distance with a row of its own, at least 0
    std     standard deviation of the initial table

    >>> encoding = ClippedBias(1, 1)
    >>> params = {"table": np.array([[-1.0], [0.0], [1.0]])}
    >>> encoding.bias(np.arange(3), np.arange(3), params)[0]
    array([[ 0., -1., -1.],
           [ 1.,  0., -1.],
           [ 1.,  1.,  0.]])
    """

    heads: int
    reach: int
    std: float = field(default=0.02, kw_only=True)

    about = About(
        title=N_("clipped relative position bias"),
        summary=N_("a learned bias for each distance, clipped at `reach`"),
        paper=(
            "Shaw et al., Self-Attention with Relative Position Representations, "
            "arXiv:1803.02155 (its distances)"
        ),
        year=2018,
        strengths=(N_("the simplest relative bias"),),
        axial="swin",
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        rules.whole("reach", self.reach, least=0, most=LIMIT // 2)
        rules.real("std", self.std, least=0, most=1e6)

    @property
    def traits(self) -> Traits:
        ordered = self.reach > 0  # one row for all distances tells none apart
        return Traits(any_length=True, relative=True, bounded=True, exact=True, ordered=ordered)

    def parameters(self) -> dict[str, Parameter]:
        return {"table": Parameter((2 * self.reach + 1, self.heads))}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        table = rng.normal(scale=self.std, size=(2 * self.reach + 1, self.heads))
        return params_like({"table": table}, like)

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        table = self.read_params(params)["table"]
        return look_up(table, self.rows_of(whole_distances(q_pos, k_pos, like=table)))

    def rows_of(self, behind: Array) -> Array:
        """The row of the table for each distance i - j (positive: the key is behind the query).

        >>> ClippedBias(1, 2).rows_of(np.array([-9, -1, 0, 1, 9]))
        array([0, 1, 2, 3, 4])
        """
        return clip(behind, least=-self.reach, most=self.reach) + self.reach
