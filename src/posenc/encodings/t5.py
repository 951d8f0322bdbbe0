"""The relative bias of T5: one learned scalar for each head and bucket of distances."""

import math
from dataclasses import field

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import Array, ArrayT, Positions, cast, clip, default_float, namespace
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.mechanisms import Bias
from posenc.core.positions import LIMIT
from posenc.core.values import value
from posenc.encodings.tables import MOST_HEADS, look_up, whole_distances
from posenc.i18n import N_
from posenc.i18n.arguments import sentences


@value
class T5Bias(Bias):
    """A learned bias of the distance: b_h(i, j) = table[bucket(j - i), h].

    Near distances have a bucket each; farther ones share buckets that widen geometrically. Raffel
    et al. (2019), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer". In T5 all layers share one table; in UMT5 each layer has its own.

    heads           number of attention heads, at least 1
    buckets         rows of the table, even, at least 2 (4 if bidirectional)
    max_distance    the distance from which all keys share the last bucket
    bidirectional   reserve half of the buckets for keys ahead; False: all are for keys behind
    std             standard deviation of the initial table
    scaled          divide q k^T by sqrt(dim); T5 does not, so its checkpoints need scaled=False

    >>> T5Bias(8).buckets_of(np.array([0, 1, 15, 16, 19, 113, 10_000]))
    array([ 0,  1, 15, 16, 17, 31, 31])
    """

    heads: int
    buckets: int = field(default=32, kw_only=True)
    max_distance: int = field(default=128, kw_only=True)
    bidirectional: bool = field(default=False, kw_only=True)
    std: float = field(default=0.02, kw_only=True)
    scaled: bool = field(default=True, kw_only=True)
    causal_only: bool = field(init=False, repr=False, compare=False)
    two_sided_hint = "bidirectional=True makes one of both ways"

    about = About(
        title=N_("T5 relative position bias"),
        summary=N_(
            "a learned bias for each bucket of distances, Raffel et al. (2019); "
            "`scaled=False` for T5 checkpoints, whose logits are not divided by √dim"
        ),
        paper=(
            "Raffel et al., Exploring the Limits of Transfer Learning with a Unified "
            "Text-to-Text Transformer, arXiv:1910.10683"
        ),
        year=2019,
        models=("T5", "mT5", "UMT5"),
        axial="swin",
    )

    argument_help = sentences(
        buckets=N_("How many ranges distances are sorted into, each with a learned bias."),
        max_distance=N_("From this distance on, all share one bucket."),
        bidirectional=N_("Whether keys ahead of the query get half of the buckets."),
        scaled=N_("Whether products are divided by √dim; T5 itself does not."),
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        rules.flag("bidirectional", self.bidirectional)
        least = 4 if self.bidirectional else 2
        if rules.whole("buckets", self.buckets, least=least, most=2**20) % 2:
            raise rules.odd_error("buckets", self.buckets)
        exact = self.buckets // (4 if self.bidirectional else 2)
        rules.whole("max_distance", self.max_distance, least=exact + 1, most=LIMIT)
        rules.real("std", self.std, least=0, most=1e6)
        rules.flag("scaled", self.scaled)
        object.__setattr__(self, "causal_only", not self.bidirectional)

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, relative=True, bounded=True, exact=True, ordered=True)

    def parameters(self) -> dict[str, Parameter]:
        return {"table": Parameter((self.buckets, self.heads))}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        table = rng.normal(scale=self.std, size=(self.buckets, self.heads))
        return params_like({"table": table}, like)

    def buckets_of(self, behind: Array) -> Array:
        """The bucket of each distance i - j (positive: the key is behind the query)."""
        xp = namespace(behind=behind)
        count, first, away = self.buckets, 0, clip(behind, least=0)
        if self.bidirectional:
            count //= 2
            first, away = count * cast(behind < 0, behind.dtype), abs(behind)
        near = count // 2
        # with 32 buckets up to 128, float32 and float64 agree: no edge falls on a whole distance
        floats = cast(xp.where(away < near, near, away), default_float(behind))
        steps = xp.log(floats / near) / math.log(self.max_distance / near) * (count - near)
        far = clip(near + cast(steps, away.dtype), most=count - 1)
        return first + xp.where(away < near, away, far)

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        table = self.read_params(params)["table"]
        return look_up(table, self.buckets_of(whole_distances(q_pos, k_pos, like=table)))
