"""Biases that are kernels of the distance: KERPLE (learned) and Sandwich (from sinusoids)."""

from dataclasses import field
from typing import Literal

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Positions,
    cast,
    clip,
    default_float,
    detach,
    has_float64,
    namespace,
    send,
    working,
)
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.frequencies import geometric_to_base
from posenc.core.mechanisms import Bias
from posenc.core.positions import as_arrays, as_positions, distances
from posenc.core.rotation import cos_sin
from posenc.core.values import value
from posenc.encodings.tables import MOST_HEADS
from posenc.i18n import N_
from posenc.i18n.arguments import sentences

Kernel = Literal["log", "power"]
LEAST = 0.01
"""Lower bound of r1 and r2 in the authors' code."""


@value
class KERPLE(Bias):
    """A learned kernel: -r1 log(1 + r2 |i - j|), or with `kernel="power"` -r1 |i - j|^r2.

    Chi et al. (2022), "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation".
    Each head learns its r1 and r2, which the paper shares between layers. Both are clamped to at
    least 0.01, and the exponent to at most 2, beyond which the kernel is not conditionally positive
    definite. Gradients pass through the clamp, as in the authors' code.

    heads    number of attention heads, at least 1
    kernel   "log" or "power", the two formulas above

    >>> encoding = KERPLE(1)
    >>> params = {"r1": np.array([1.0]), "r2": np.array([1.0])}
    >>> encoding.bias(np.arange(4), np.arange(1), params).ravel().round(3)
    array([-0.   , -0.693, -1.099, -1.386])
    """

    heads: int
    kernel: Kernel = field(default="log", kw_only=True)

    about = About(
        title=N_("kernelized relative position embedding"),
        summary=N_("a learned kernel of the distance, logarithmic or power, Chi et al. (2022)"),
        paper=(
            "Chi et al., KERPLE: Kernelized Relative Positional Embedding for Length "
            "Extrapolation, arXiv:2205.09921"
        ),
        year=2022,
        strengths=(N_("learns how fast far keys fade"),),
    )

    argument_help = sentences(
        kernel=N_("What the bias is of the distance: a logarithm (log) or a power (power)."),
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        rules.one_of("kernel", self.kernel, ("log", "power"))

    @property
    def traits(self) -> Traits:
        # float32 cannot tell far neighbours apart by their logarithms
        return Traits(
            unique=self.kernel == "power",
            any_length=True,
            relative=True,
            exact=True,
            ordered=True,
            decays=True,
            symmetric=True,
        )

    def parameters(self) -> dict[str, Parameter]:
        return {"r1": Parameter((self.heads,)), "r2": Parameter((self.heads,))}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        """Draw r1 ~ U(0, 2) and r2 ~ U(0, 1), or the reverse for the power kernel."""
        rules.generator("rng", rng)
        most = (2.0, 1.0) if self.kernel == "log" else (1.0, 2.0)
        r1, r2 = (np.maximum(rng.uniform(0, top, self.heads), LEAST) for top in most)
        return params_like({"r1": r1, "r2": r2}, like)

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        r1, r2 = (namespace(r=r).reshape(r, (-1, 1, 1)) for r in self.clamp(params))
        behind = distances(q_pos, k_pos, like=r1)[..., None, :, :]
        xp = namespace(positions=behind, params=r1)
        away = cast(abs(behind), r1.dtype)
        if self.kernel == "log":
            return -r1 * xp.log1p(r2 * away)
        return -r1 * away**r2

    def clamp(self, params: Params[ArrayT]) -> tuple[ArrayT, ArrayT]:
        """r1 and r2 of each head, clamped to their bounds: (heads,) each.

        params   "r1" and "r2", each (heads,)

        >>> given = {"r1": np.array([0.0]), "r2": np.array([3.0])}
        >>> KERPLE(1, kernel="power").clamp(given)
        (array([0.01]), array([2.]))
        """
        r1, r2 = map(_at_least, self.read_params(params).values())
        if self.kernel == "power":
            r2 = _keep_gradient(r2, clip(r2, most=2.0))
        return r1, r2


def _at_least(r: Array) -> Array:
    xp = namespace(params=r)
    r = cast(r, working(xp, r.dtype))
    return _keep_gradient(r, clip(r, least=LEAST))


def _keep_gradient(r: Array, within: Array) -> Array:
    """The clamped value with the gradient of r, so that training can bring r back into bounds."""
    return r + detach(within - r)


@value
class Sandwich(Bias):
    """Inner products of sinusoids: b_h(i, j) = sum_k cos((i - j) w_k) / (8h/H).

    w_k = base^(-2k/features), k = 1 .. features/2, and h = 1 .. H, the heads. Chi et al. (2022),
    "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis". There is
    no official code, and the paper was not at hand when this was written: the sum follows later
    papers that cite it (FIRE, DAPE), and the compression 8h/H follows NVIDIA's NeMo, which also
    subtracts the constant features/2.

    heads      number of attention heads H, at least 1
    features   twice the number of cosines in the sum, even
    base       at least 1; the longest wavelength is 2 pi base positions

    >>> Sandwich(8).bias(np.array([0, 10, 1000]), np.arange(1))[0].ravel().round(2)
    array([64.  , 44.66, 10.61])
    """

    heads: int
    features: int = field(default=128, kw_only=True)
    base: float = field(default=10_000.0, kw_only=True)
    _frequencies: np.ndarray = field(init=False, repr=False, compare=False)

    about = About(
        title=N_("sandwich position bias"),
        summary=N_("inner products of sinusoids, Chi et al. (2022)"),
        paper=(
            "Chi et al., Dissecting Transformer Length Extrapolation via the Lens of "
            "Receptive Field Analysis, arXiv:2212.10356"
        ),
        year=2022,
        weaknesses=(N_("no official code"),),
    )

    argument_help = sentences(
        features=N_("Twice the number of cosines that are added up."),
    )

    def __post_init__(self) -> None:
        rules.whole("heads", self.heads, least=1, most=MOST_HEADS)
        if rules.dim("features", self.features) % 2:
            raise rules.odd_error("features", self.features)
        w = geometric_to_base(self.features + 2, base=self.base)[1:]  # k starts at 1, not at 0
        object.__setattr__(self, "_frequencies", w)

    @property
    def traits(self) -> Traits:
        return Traits(
            any_length=True,
            relative=True,
            bounded=True,
            exact=True,
            ordered=True,
            decays=self._decays(),
            symmetric=True,
        )

    def _decays(self) -> bool:
        """Whether there are cosines enough that their sum, once it has fallen, does not come back.

        Measured: with the paper's base it rises again by at most 0.46 of its fall from 32 features
        on (0.62 with 16), with bases of 10 to 10^10 by at most 0.43 from 128 on.
        """
        if self.base == 10_000:
            return self.features >= 32
        return self.features >= 128 and 10 <= self.base <= 1e10

    def frequencies(self) -> np.ndarray:
        """w_k in radians per position, k = 1 .. features/2."""
        return self._frequencies.copy()

    def bias(
        self, q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], params: Params[ArrayT] = None
    ) -> ArrayT:
        left, right = self.terms(q_pos, k_pos, params)
        products = left @ namespace(right=right).matrix_transpose(right)
        shared = self.features / 2 * self._ratios(products)
        return cast(products + shared, default_float(products))

    def terms(
        self,
        q_pos: Positions[ArrayT],
        k_pos: Positions[ArrayT],
        params: Params[ArrayT] = None,
        *,
        causal: bool = False,
    ) -> tuple[ArrayT, ArrayT]:
        """cos((i - j) w) - 1 = cos(i w) cos(j w) + sin(i w) sin(j w) - 1.

        The 1 is common to all keys; subtracting it term by term keeps sums small for near keys.
        """
        self.read_params(params)
        q_pos, k_pos = as_arrays(q_pos, k_pos)
        left = self._sinusoids(q_pos, 1.0)[..., None, :, :]
        return left * self._ratios(left), self._sinusoids(k_pos, -1.0)[..., None, :, :]

    def _ratios(self, like: Array) -> Array:
        ratios = self.heads / (8 * np.arange(1, self.heads + 1))
        return send(ratios.reshape(-1, 1, 1), like, dtype=like.dtype)

    def _sinusoids(self, positions: Array, last: float) -> Array:
        """cos, sin and `last` for each frequency, slowest first: (…, seq, 3 features/2)."""
        positions = as_positions(positions)
        xp = namespace(positions=positions)
        dtype = xp.float64 if has_float64(positions) else xp.float32
        cos, sin = cos_sin(positions, self._frequencies[::-1].copy(), dtype=dtype)
        parts = xp.stack([cos, sin, xp.full_like(cos, last)], axis=-1)
        return xp.reshape(parts, (*positions.shape, 3 * self.features // 2))
