import numpy as np
import pytest

import posenc as pe
from tests.bounds import gamma
from tests.libraries import numpy_of
from tests.oracles import additive as oracle


@pytest.fixture
def points(rng):
    return rng.uniform(size=(7, 2)).astype(np.float32)


@pytest.mark.parametrize(
    ("encoding", "convention"),
    [
        (pe.FourierFeatures(16, 2), {"order": "cos-sin", "centred": False}),
        (pe.FourierFeatures.sam(16), {"order": "sin-cos", "centred": True}),
    ],
)
def test_gaussian_features_equal_the_oracle(xp, rng, points, encoding, convention):
    matrix = encoding.init(rng)["matrix"]
    encoded = xp.call(lambda p, m: encoding.encode(p, {"matrix": m}), points, matrix)
    truth = oracle.gaussian_fourier(points, matrix, **convention)
    # of the angle: centring, two products and their sum, 2 pi, the product with it; then a cosine
    size = abs(2 * points - 1) if convention["centred"] else points  # 2 v is exact
    angles = 2 * np.pi * size.astype(float) @ abs(matrix)
    bound = gamma(6) * angles + gamma(1)
    assert (abs(numpy_of(encoded) - truth) < np.tile(bound, 2)).all()
    exact = encoding.encode(points.astype(float), {"matrix": matrix})
    assert abs(exact - truth).max() < 1e-13


def test_gaussian_matrix_has_the_deviation_asked_for(rng):
    matrix = pe.FourierFeatures(4000, 2, sigma=3.0).init(rng)["matrix"]
    assert matrix.shape == (2, 2000)
    assert abs(matrix.std() - 3.0) < 0.15


def test_learned_features_equal_the_oracle(xp, rng, points):
    encoding = pe.LearnedFourier(6, 2, features=8, hidden=5, gamma=0.5)
    params = encoding.init(rng)
    names, values = list(params), list(params.values())
    encoded = xp.call(
        lambda p, *weights: encoding.encode(p, dict(zip(names, weights, strict=True))),
        points,
        *values,
    )
    truth = oracle.learnable_fourier(points, *values, gelu="tanh")
    # Angles of at most 2 |w_r|, features of 1 / sqrt(8), sums of 8 and of 5 products and a bias, of
    # magnitude at most 1 + 1 and 5 (2 + 1) / sqrt(5); GELU has a slope below 1.13.
    angle = gamma(3) * np.abs(params["w_r"]).sum(1).max() + gamma(4)
    hidden = 1.13 * (8 * angle / 8 + gamma(10) * 2) + gamma(16) * 2
    assert abs(numpy_of(encoded) - truth).max() < np.sqrt(5) * hidden + gamma(7) * 3 * np.sqrt(5)
    with_erf = oracle.learnable_fourier(points, *values, gelu="erf")
    assert abs(truth - with_erf).max() < 2e-3  # what the tanh form costs


def test_learned_directions_have_deviation_1_over_gamma(rng):
    w_r = pe.LearnedFourier(4, 2, features=4000, gamma=10.0).init(rng)["w_r"]
    assert abs(w_r.std() - 0.1) < 0.005


def test_sam_draws_with_deviation_one_and_network_weights_by_fan_in(rng):
    assert abs(pe.FourierFeatures.sam(4000).init(rng)["matrix"].std() - 1) < 0.05
    params = pe.LearnedFourier(200, 2, features=400, hidden=100).init(rng)
    for name, fan_in in (("w_1", 400), ("b_1", 400), ("w_2", 100), ("b_2", 100)):
        drawn = params[name] * np.sqrt(fan_in)
        assert -1 <= drawn.min() < -0.9
        assert 0.9 < drawn.max() <= 1


def test_half_results_are_computed_in_float32(rng, points):
    encoding = pe.FourierFeatures(16, 2)
    params = encoding.init(rng)
    whole = encoding.encode(points, params, dtype=np.float32)
    assert np.array_equal(encoding.encode(points, params, dtype=np.float16), whole.astype("f2"))


def test_gradients_reach_every_learned_parameter(rng):
    import torch

    from posenc.torch import AddPositions

    module = AddPositions(pe.LearnedFourier(6, 2, features=4, hidden=3)).double()
    x, points = torch.zeros(1, 5, 6).double(), torch.from_numpy(rng.uniform(size=(5, 2)))
    module(x, points).square().sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in module.parameters())

    names = list(module.params)

    def encode(*weights):
        params = dict(zip(names, weights, strict=True))
        return module.encoding.encode(points, params, dtype=torch.float64)

    assert torch.autograd.gradcheck(encode, [module.params[name] for name in names])
