"""The relative attention of Transformer-XL, for keys on both sides of the query."""

import math
from dataclasses import field

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import Array, ArrayT, Dtype, cast, namespace, working
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.frequencies import geometric
from posenc.core.mechanisms import Scores
from posenc.core.positions import as_arrays
from posenc.core.rotation import cos_sin
from posenc.core.values import value
from posenc.encodings.tables import MOST_HEADS
from posenc.i18n import N_
from posenc.i18n.arguments import HEAD_DIM, sentences


@value
class TransformerXL(Scores):
    """((q_i + u) k_j + (q_i + v) W R_{i-j}) / sqrt(dim), R_p = [sin(p w), cos(p w)] of `features`.

    Dai et al. (2019), "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context".
    Each head learns vectors u and v; W (head, dim, features) projects the sinusoids.

    heads      number of attention heads, at least 1
    dim        channels of one head
    features   sines and cosines in R, even; None: heads * dim, the width of the model
    base       at least 1; the larger, the longer the wavelengths
    std        standard deviation of the initial u, v and W

    The original shifts a matrix of products, which is correct only on and below the diagonal. Here
    R_{i-j} is R_j rotated by i, so that positions may be any, ahead or behind, whole or fractional:
    (q + v) W R_{i-j} = rotate((q + v) W, i) R_j.

    >>> encoding = TransformerXL(2, 4)
    >>> params = encoding.init(np.random.default_rng(0))
    >>> q = k = np.ones((2, 5, 4), dtype=np.float32)
    >>> encoding.scores(q, k, np.arange(5), np.arange(5), params).shape
    (2, 5, 5)
    """

    heads: int
    dim: int
    features: int | None = field(default=None, kw_only=True)
    base: float = field(default=10_000.0, kw_only=True)
    std: float = field(default=0.02, kw_only=True)
    _frequencies: np.ndarray = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("Transformer-XL relative position encoding"),
        summary=N_(
            "sinusoids of the distance, scored against the query, Dai et al. (2019); keys on "
            "both sides"
        ),
        paper=(
            "Dai et al., Transformer-XL: Attentive Language Models Beyond a Fixed-Length "
            "Context, arXiv:1901.02860"
        ),
        year=2019,
        models=("Transformer-XL", "XLNet"),
        strengths=(N_("what a distance means depends on the query"),),
    )

    argument_help = sentences(
        dim=HEAD_DIM,
        features=N_("How many sines and cosines stand for a distance; heads × dim unless given."),
    )

    def __post_init__(self) -> None:
        heads = rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        dim = rules.dim("dim", self.dim)
        features = rules.dim("features", heads * dim if self.features is None else self.features)
        if features % 2:
            raise rules.odd_error("features", features)
        rules.real("std", self.std, least=0, most=1e6)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "_frequencies", geometric(features, base=self.base))

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, relative=True, exact=True, ordered=True)

    def computed_defaults(self) -> dict[str, int]:
        """The value of `features` if it is not given."""
        return {"features": self.heads * self.dim}

    def parameters(self) -> dict[str, Parameter]:
        each = (self.heads, self.dim)
        features = 2 * len(self._frequencies)
        return {
            "u": Parameter(each),
            "v": Parameter(each),
            "projection": Parameter((*each, features)),
        }

    def frequencies(self) -> np.ndarray:
        """Frequencies w of R, in radians per position: (features/2,)."""
        return self._frequencies.copy()

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        shapes = self.parameters().items()
        return params_like(
            {name: rng.normal(scale=self.std, size=p.shape) for name, p in shapes}, like
        )

    def scores(
        self, q: ArrayT, k: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> ArrayT:
        q, k = self.fold(q, k, q_pos, k_pos, params)
        return q @ namespace(k=k).matrix_transpose(k) / math.sqrt(self.dim)

    def fold(
        self, q: ArrayT, k: ArrayT, q_pos: Array, k_pos: Array, params: Params[ArrayT] = None
    ) -> tuple[ArrayT, ArrayT]:
        """[q + u, rotate((q + v) W, i)] and [k, R_j]."""
        q, left = self.query_terms(q, q_pos, params)
        xp = namespace(q=q, k=k)
        _, k_pos = as_arrays(q_pos, k_pos, like=q)
        right = self.key_terms(k_pos, dtype=q.dtype)[..., None, :, :]  # broadcast over heads
        right = xp.broadcast_to(right, (*k.shape[:-1], self.features))
        return xp.concat([q, left], axis=-1), xp.concat([cast(k, q.dtype), right], axis=-1)

    def query_terms(
        self, q: ArrayT, q_pos: Array, params: Params[ArrayT] = None
    ) -> tuple[ArrayT, ArrayT]:
        """q + u and rotate((q + v) W, i)."""
        xp = namespace(q=q)
        q_pos, _ = as_arrays(q_pos, q_pos, like=q)
        with_u, with_v, w = self._shift(q, params)
        of_sin, of_cos = _halves(with_v @ w)
        cos, sin = self._turns(q_pos, with_v.dtype)
        # a sin((i-j)w) + b cos((i-j)w) as a dot product of a vector of i and one of j
        turned = xp.concat([of_cos * sin - of_sin * cos, of_cos * cos + of_sin * sin], axis=-1)
        return with_u, turned

    def key_terms(self, k_pos: ArrayT, *, dtype: Dtype) -> ArrayT:
        """R_j."""
        return self.sinusoids(k_pos, dtype=dtype)

    def relative_terms(
        self, behind: ArrayT, params: Params[ArrayT] = None, *, dtype: Dtype
    ) -> tuple[ArrayT, ArrayT, ArrayT]:
        """u, v and W R_{i-j}."""
        u, v, w = self._weights(params, dtype)
        waves = self.sinusoids(behind, dtype=dtype)
        return u, v, waves @ namespace(w=w).matrix_transpose(w)

    def _shift(self, q: Array, params: Params[Array]) -> tuple[Array, Array, Array]:
        """q + u, q + v and W, in the working dtype."""
        for weights in self.read_params(params).values():
            namespace(q=q, params=weights)
        wide = working(namespace(q=q), q.dtype)
        for weights in self.read_params(params).values():
            namespace(q=q, params=weights)  # before a cast to a dtype of another library
        u, v, w = self._weights(params, wide)
        if q.ndim < 3 or q.shape[-3] != self.heads or q.shape[-1] != self.dim:
            raise ValueError(
                f"q must be (…, {self.heads}, seq, {self.dim}); got shape {tuple(q.shape)}"
            )
        q = cast(q, wide)
        return q + u, q + v, w

    def _weights(self, params: Params[Array], dtype: Dtype) -> tuple[Array, Array, Array]:
        """u and v (head, 1, dim), and W."""
        u, v, w = (cast(weights, dtype) for weights in self.read_params(params).values())
        return u[:, None, :], v[:, None, :], w

    def sinusoids(self, positions: Array, *, dtype: Dtype) -> Array:
        """R_p = [sin(p w), cos(p w)]: (…, features).

        positions   (…), whole or fractional
        dtype       floating dtype of the result

        >>> TransformerXL(1, 2, base=1.0).sinusoids(np.array([0, -1]), dtype=float).round(3)
        array([[ 0.   ,  1.   ],
               [-0.841,  0.54 ]])
        """
        xp = namespace(positions=positions)
        cos, sin = cos_sin(positions, self._frequencies, dtype=dtype)
        return xp.concat([sin, cos], axis=-1)

    def _turns(self, positions: Array, dtype: object) -> tuple[Array, Array]:
        """Cosines and sines (…, 1, seq, pair), to broadcast over heads."""
        cos, sin = cos_sin(positions, self._frequencies, dtype=dtype)
        return cos[..., None, :, :], sin[..., None, :, :]


def _halves(x: Array) -> tuple[Array, Array]:
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]
