"""Fourier features: sines and cosines of random or learned projections of the coordinates."""

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

import numpy as np

from posenc.core import rules
from posenc.core.about import About, Traits
from posenc.core.arrays import (
    Array,
    ArrayT,
    Dtype,
    Positions,
    cast,
    disable_autocast,
    namespace,
    working,
)
from posenc.core.encoding import Parameter, Params, params_like
from posenc.core.inputs import result_dtype
from posenc.core.mechanisms import Additive
from posenc.core.positions import as_positions
from posenc.core.values import value
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import sentences

Order = Literal["cos-sin", "sin-cos"]


@value
class FourierFeatures(Additive):
    """Random directions: e(v) = [cos 2 pi v G | sin 2 pi v G] with G ~ N(0, sigma^2).

    Tancik et al. (2020), "Fourier Features Let Networks Learn High Frequency Functions in Low
    Dimensional Domains", for coordinates in [0, 1]. The matrix G is drawn by `init` and not
    trained. `sam(dim)` is the variant of Segment Anything.

    dim       channels of the result, even
    axes      coordinates of a point
    sigma     standard deviation of G: the larger, the shorter the waves
    order     which half comes first: "cos-sin" (the paper) or "sin-cos" (Segment Anything)
    centred   map coordinates from [0, 1] to [-1, 1] first, as Segment Anything does

    >>> pe = FourierFeatures(8, axes=2)
    >>> pe.encode([[0.0, 0.0]], pe.init(np.random.default_rng(0)))
    array([[1., 1., 1., 1., 0., 0., 0., 0.]])
    """

    dim: int
    axes: int = 2
    sigma: float = field(default=1.0, kw_only=True)
    order: Order = field(default="cos-sin", kw_only=True)
    centred: bool = field(default=False, kw_only=True)

    unit_positions = True
    about = About(
        title=N_("random Fourier features"),
        summary=N_(
            "sinusoids along random directions, Tancik et al. (2020); `.sam(dim)` as in "
            "Segment Anything"
        ),
        paper=(
            "Tancik et al., Fourier Features Let Networks Learn High Frequency Functions in "
            "Low Dimensional Domains, arXiv:2006.10739"
        ),
        year=2020,
        models=("Segment Anything",),
        strengths=(N_("all directions alike, not only the axes"),),
        weaknesses=(N_("its random matrix must be kept with the weights"),),
    )

    argument_help = sentences(
        sigma=N_(
            "The larger, the shorter the waves: the standard deviation of the random directions."
        ),
        order=N_("Whether the cosines or the sines come first."),
        centred=N_("Whether coordinates are first moved from 0 .. 1 to −1 .. 1."),
    )

    def __post_init__(self) -> None:
        check_even("dim", self.dim)
        rules.dim("axes", self.axes)
        rules.real("sigma", self.sigma, least=1e-6, most=1e6)
        rules.one_of("order", self.order, ("cos-sin", "sin-cos"))
        rules.flag("centred", self.centred)

    @classmethod
    def sam(cls, dim: int) -> "FourierFeatures":
        """Kirillov et al. (2023), "Segment Anything": sines first, coordinates mapped to [-1, 1].

        dim   channels of the result, even; positions are pixel centres in [0, 1]
        """
        return cls(dim, 2, order="sin-cos", centred=True)

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, bounded=True, linear_shift=True, ordered=True)

    def parameters(self) -> dict[str, Parameter]:
        return {"matrix": Parameter((self.axes, self.dim // 2), trained=False)}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)
        matrix = rng.normal(scale=self.sigma, size=(self.axes, self.dim // 2))
        return params_like({"matrix": matrix}, like)

    def encode(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> ArrayT:
        matrix = self.read_params(params)["matrix"]
        points, dtype = _coordinates(positions, matrix, self.axes, dtype)
        xp = namespace(points=points)
        points = 2 * points - 1 if self.centred else points
        angles = 2 * math.pi * _project(points, cast(matrix, points.dtype))
        waves = [xp.cos(angles), xp.sin(angles)]
        return cast(xp.concat(waves[:: 1 if self.order == "cos-sin" else -1], axis=-1), dtype)


@value
class LearnedFourier(Additive):
    """Sines and cosines of learned projections of the coordinates, followed by a small network.

    f(v) = [cos v W_r^T | sin v W_r^T] / sqrt(features), e(v) = GELU(f W_1 + b_1) W_2 + b_2, with
    W_r ~ N(0, gamma^-2) at first (gamma^-2 is the variance). Li et al. (2021), "Learnable Fourier
    Features for Multi-Dimensional Spatial Positional Encoding", with one group of coordinates. GELU
    is the tanh approximation.

    dim        channels of the result
    axes       coordinates of a point
    features   sines and cosines together, even
    hidden     hidden units of the network
    gamma      1 / standard deviation of W_r: the larger, the longer the initial waves

    >>> pe = LearnedFourier(8, axes=2)
    >>> pe.encode([[0.5, 0.25]], pe.init(np.random.default_rng(0))).shape
    (1, 8)
    """

    dim: int
    axes: int = 2
    features: int = field(default=64, kw_only=True)
    hidden: int = field(default=32, kw_only=True)
    gamma: float = field(default=1.0, kw_only=True)

    unit_positions = True
    about = About(
        title=N_("learnable Fourier features"),
        summary=N_("sinusoids along learned directions, then a small network, Li et al. (2021)"),
        paper=(
            "Li et al., Learnable Fourier Features for Multi-Dimensional Spatial Positional "
            "Encoding, arXiv:2106.02795"
        ),
        year=2021,
        strengths=(N_("learns which directions matter"),),
    )

    argument_help = sentences(
        features=N_("How many cosines and sines of the point enter the network."),
        gamma=N_(
            "The larger, the longer the waves before training: directions deviate by 1/gamma."
        ),
    )

    def __post_init__(self) -> None:
        rules.dim("dim", self.dim)
        rules.dim("axes", self.axes)
        check_even("features", self.features)
        rules.dim("hidden", self.hidden)
        rules.real("gamma", self.gamma, least=1e-6, most=1e6)

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, bounded=True, ordered=True)

    def parameters(self) -> dict[str, Parameter]:
        shapes = {
            "w_r": (self.features // 2, self.axes),
            "w_1": (self.features, self.hidden),
            "b_1": (self.hidden,),
            "w_2": (self.hidden, self.dim),
            "b_2": (self.dim,),
        }
        return {name: Parameter(shape) for name, shape in shapes.items()}

    def init(self, rng: np.random.Generator, *, like: ArrayT | None = None) -> dict[str, ArrayT]:
        rules.generator("rng", rng)

        def uniform(fan_in: int, *shape: int) -> np.ndarray:
            return rng.uniform(-1, 1, shape) / math.sqrt(fan_in)

        drawn = {
            "w_r": rng.normal(scale=1 / self.gamma, size=(self.features // 2, self.axes)),
            "w_1": uniform(self.features, self.features, self.hidden),
            "b_1": uniform(self.features, self.hidden),
            "w_2": uniform(self.hidden, self.hidden, self.dim),
            "b_2": uniform(self.hidden, self.dim),
        }
        return params_like(drawn, like)

    def encode(
        self, positions: Positions[ArrayT], params: Params[ArrayT] = None, *, dtype: Dtype = None
    ) -> ArrayT:
        weights = self.read_params(params)
        points, dtype = _coordinates(positions, weights["w_r"], self.axes, dtype)
        given = {name: cast(w, points.dtype) for name, w in weights.items()}
        with disable_autocast(points):
            hidden = gelu(self.hidden_inputs(points, given))
            return cast(hidden @ given["w_2"] + given["b_2"], dtype)

    def hidden_inputs(self, points: Array, params: Mapping[str, Array]) -> Array:
        """f(v) W_1 + b_1, the input of each hidden unit: (…, hidden).

        points   coordinates, (…, axes)
        params   the parameters of `init`, in the dtype of `points`

        >>> pe = LearnedFourier(8, hidden=3)
        >>> pe.hidden_inputs(np.ones((5, 2), np.float32), pe.init(np.random.default_rng(0))).shape
        (5, 3)
        """
        xp = namespace(points=points)
        angles = _project(points, xp.matrix_transpose(params["w_r"]))
        waves = xp.concat([xp.cos(angles), xp.sin(angles)], axis=-1) / math.sqrt(self.features)
        return waves @ params["w_1"] + params["b_1"]


def _project(points: Array, matrix: Array) -> Array:
    """points @ matrix as a sum of products: autocast would round the operands of a matmul."""
    return namespace(points=points).sum(points[..., :, None] * matrix, axis=-2)


def check_even(name: str, value: object) -> None:
    """Raise an error unless `value` is a positive even number."""
    if rules.dim(name, value) % 2:
        raise translatable(
            ValueError,
            "{name} must be a positive even number; got {name}={value}",
            name=name,
            value=value,
        )


def _coordinates(
    positions: Positions[Array], like: Array, axes: int, dtype: Dtype
) -> tuple[Array, Dtype]:
    """The coordinates in the dtype of the computation, and the dtype of the result."""
    points = as_positions(positions, axes=axes, like=like)
    xp = namespace(positions=points, params=like)
    dtype = result_dtype(points, dtype)
    return cast(points, working(xp, dtype)), dtype


def gelu(x: Array) -> Array:
    """GELU of Hendrycks and Gimpel (2016), tanh approximation: the array API standard has no erf.

    >>> gelu(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.1588,  0.    ,  0.8412])
    """
    tanh = namespace(x=x).tanh
    return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
