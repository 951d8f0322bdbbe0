"""The contract: what an encoding states about itself, which every tool reads."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import posenc as pe
from posenc.core.encoding import MECHANISMS, Parameter, unwrap
from posenc.core.inputs import check_needs
from posenc.encodings.registry import load_builtins

RNG = np.random.default_rng(0)
BUILTIN = [*load_builtins().values()]


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.__name__)
def test_init_draws_the_parameters_that_are_stated(kind):
    encoding = kind.example()
    stated = {name: parameter.shape for name, parameter in encoding.parameters().items()}
    drawn = encoding.init(np.random.default_rng(0))
    assert list(drawn) == list(stated)
    assert {name: values.shape for name, values in drawn.items()} == stated
    assert all(values.dtype == np.float32 for values in drawn.values())


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.__name__)
def test_init_draws_in_the_library_of_like(kind, xp):
    like = xp.array(np.zeros(1))
    drawn = kind.example().init(np.random.default_rng(0), like=like)
    assert all(type(values) is type(like) for values in drawn.values())


def test_only_the_matrix_of_fourier_features_is_not_trained():
    fixed = {
        (kind, name)
        for kind in BUILTIN
        for name, parameter in kind.example().parameters().items()
        if not parameter.trained
    }
    assert fixed == {(pe.FourierFeatures, "matrix")}


def test_sizes_that_are_not_stated_are_none():
    rope, alibi = pe.RoPE(8), pe.ALiBi(2)
    assert (rope.dim, rope.heads, rope.axes) == (8, None, None)
    assert (alibi.dim, alibi.heads) == (None, 2)
    assert pe.Sandwich(2).dim is None  # its features are no channels of a query


def test_a_stated_size_has_no_default():
    """A class attribute None would have been the default of every field of that name."""

    @dataclass(frozen=True)
    class Own(pe.Bias):
        heads: int

        def bias(self, q_pos, k_pos, params=None):
            return pe.distances(q_pos, k_pos)[..., None, :, :] * 0.0

    with pytest.raises(TypeError, match="heads"):
        Own()
    assert Own(3).heads == 3
    assert Own.example().heads == 8
    assert Own(3).parameters() == {}


def test_a_class_with_init_alone_states_its_parameters():
    @dataclass(frozen=True)
    class Offset(pe.Bias):
        heads: int

        def init(self, rng):
            return {"table": rng.normal(size=(self.heads, 1, 1))}

        def bias(self, q_pos, k_pos, params=None):
            return params["table"] + 0.0 * pe.distances(q_pos, k_pos)[..., None, :, :]

    assert Offset(2).parameters() == {"table": Parameter((2, 1, 1))}


def test_wrappers_come_off_one_by_one():
    once = pe.Tempered(pe.Shaw(8, 2), pe.LogN(4))
    twice = pe.Tempered(once, pe.LogN(8))
    assert twice.inner == once
    assert unwrap(twice) == pe.Shaw(8, 2)
    assert (twice.dim, twice.heads, twice.parameters()) == (8, None, pe.Shaw(8, 2).parameters())
    assert pe.RoPE(8).inner is None


def test_lengths_that_are_stated():
    assert (pe.Learned(32, 8).limit, pe.Learned(32, 8).trained_length) == (32, 32)
    scaled = pe.RoPE(8, scaling=pe.YaRN(4.0, 4096))
    assert (scaled.limit, scaled.trained_length) == (None, 4096)
    assert pe.Tempered(scaled, pe.LogN(4)).trained_length == 4096
    assert pe.RoPE(8).trained_length is None


@dataclass(frozen=True)
class Turning(pe.Rotary):
    """A rotation whose frequencies are learned: w_i e^{a_i}."""

    dim: int

    def parameters(self):
        return {"a": Parameter((self.dim // 2,))}

    def init(self, rng, *, like=None):
        return {"a": rng.normal(size=self.dim // 2)}

    def cos_sin(self, positions, params=None, *, dtype=None):
        w = np.exp(self.read_params(params)["a"]) * 0.1
        angles = np.asarray(positions)[..., None] * w
        return np.cos(angles), np.sin(angles)


def test_a_rotation_learns():
    encoding = Turning(4)
    params = {"a": np.array([0.0, np.log(2.0)])}
    x = np.ones((3, 4))
    turned = encoding.rotate(x, [0, 1, 2], params)
    angles = np.arange(3)[:, None] * [0.1, 0.2]
    np.testing.assert_allclose(turned[:, 0::2], np.cos(angles) - np.sin(angles), atol=1e-15)
    np.testing.assert_allclose(encoding.rotate(turned, [0, 1, 2], params, inverse=True), x)
    both = pe.logits(encoding, x, x, range(3), range(3), params)
    np.testing.assert_allclose(both, turned @ turned.T / 2, atol=1e-15)
    with pytest.raises(ValueError, match="params must hold 'a'"):
        encoding.rotate(x, [0, 1, 2])


@dataclass(frozen=True)
class Forgetting(pe.Scores):
    """FoX: the logits of a key fade by the gates between it and its query."""

    feature_dim: int
    needs: frozenset[str] = field(default=frozenset({"features", "mask"}), init=False)

    def scores(self, q, k, q_pos, k_pos, params=None, *, features, mask):
        of_q, of_k = features
        assert of_q.shape[-1] == of_k.shape[-1] == self.feature_dim
        gates = np.cumsum(np.log(1 / (1 + np.exp(-of_k[..., 0]))), axis=-1)
        products = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        return np.where(mask, products + gates[..., :, None] - gates[..., None, :], 0.0)


def test_scores_see_features_and_the_mask():
    x, features = RNG.normal(size=(2, 4, 8)), RNG.normal(size=(4, 3))
    mask = np.tril(np.ones((4, 4), dtype=bool))
    given = {"features": features, "mask": mask}
    made = pe.logits(Forgetting(3), x, x, range(4), range(4), **given)
    assert made.shape == (2, 4, 4)
    assert (made[:, ~mask] == 0).all()
    pair = given | {"features": (features, features)}
    np.testing.assert_array_equal(made, pe.logits(Forgetting(3), x, x, range(4), range(4), **pair))
    tempered = pe.Tempered(Forgetting(3), pe.SSMax(1.0))
    factors = np.log1p(np.arange(4))[:, None]
    np.testing.assert_allclose(
        pe.logits(tempered, x, x, range(4), range(4), **given), made * factors, atol=1e-12
    )


@pytest.mark.parametrize(
    ("encoding", "given", "message"),
    [
        (
            Forgetting(3),
            {"features": None},
            "features must be given for Forgetting, which depends on the tokens; got features=None",
        ),
        (
            pe.RoPE(8),
            {"mask": np.ones((2, 2), dtype=bool)},
            "mask must be left out for RoPE, which does not depend on the tokens",
        ),
    ],
)
def test_what_is_needed_or_not_is_said(encoding, given, message):
    with pytest.raises(ValueError, match=message):
        check_needs(encoding, **given)


@pytest.mark.parametrize(
    "encoding",
    [pe.RoPE(8), pe.XPos(8), pe.AxialRoPE.split(8, axes=1), pe.ALiBi(2), pe.NoPE()],
    ids=lambda encoding: type(encoding).__name__,
)
def test_parameters_that_there_are_not_are_refused(encoding):
    x, p = np.ones((2, 3, 8)), np.arange(3)
    p = p if encoding.axes is None else p[:, None]
    with pytest.raises(ValueError, match="params must be None, for nothing is learned"):
        pe.logits(encoding, x, x, p, p, {"nonsense": np.ones(3)})
    if isinstance(encoding, pe.Rotary):
        with pytest.raises(ValueError, match="params must be None, for nothing is learned"):
            encoding.rotate(x, p, {"nonsense": np.ones(3)})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pe.RoPE(64), "RoPE(64)"),
        (pe.RoPE(64, rotary_dim=64), "RoPE(64)"),
        (pe.RoPE(64, rotary_dim=32, scaling=pe.YaRN(4, 8192)), None),
        (pe.TransformerXL(2, 4), "TransformerXL(2, 4)"),
        (pe.Learned(16, 8), "Learned(16, 8)"),
        (pe.AxialSinusoidal(8, order=(1, 0)), "AxialSinusoidal(8, order=(1, 0))"),
        (pe.Tempered(pe.RoPE(8), pe.LogN(2)), "Tempered(RoPE(8), LogN(2))"),
    ],
    ids=str,
)
def test_the_repr_is_short_and_reads_back(value, text):
    text = text or "RoPE(64, rotary_dim=32, scaling=YaRN(4, 8192))"
    assert repr(value) == text
    assert eval(text, vars(pe) | {name: getattr(pe, name) for name in pe.__all__}) == value


@dataclass(frozen=True)
class Shapes(pe.Scores):
    """Keeps the shapes of what it is given."""

    feature_dim: int
    seen: list[tuple[int, ...]] = field(default_factory=list)
    needs: frozenset[str] = field(default=frozenset({"features", "mask"}), init=False)

    def scores(self, q, k, q_pos, k_pos, params=None, *, features, mask):
        self.seen[:] = [features[0].shape, features[1].shape, mask.shape]
        return q @ k.mT


@pytest.mark.parametrize(
    ("batch", "beside"), [((), ()), ((2,), (2, 1))], ids=["one text", "a batch"]
)
@pytest.mark.parametrize("tempered", [False, True])
def test_features_and_mask_broadcast_over_the_heads(batch, beside, tempered):
    encoding = shapes = Shapes(3)
    if tempered:
        encoding = pe.Tempered(shapes, pe.SSMax(1.0))
    q, k = np.ones((*batch, 4, 2, 8)), np.ones((*batch, 2, 5, 8))
    features = np.ones((*batch, 2, 3)), np.ones((*batch, 5, 3))
    mask = np.ones((*batch, 2, 5), dtype=bool)
    pe.logits(encoding, q, k, range(3, 5), range(5), features=features, mask=mask)
    assert shapes.seen == [(*beside, 2, 3), (*beside, 5, 3), (*beside, 2, 5)]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((5, 4)), r"features of q must be \(…, 5, 3\); got shape \(5, 4\)"),
        ((np.ones((5, 3)), np.ones((4, 3))), r"features of k must be \(…, 5, 3\); got shape"),
        ((np.ones((5, 3)),), r"features must be an array, or a pair \(q, k\) of them; got 1"),
        (np.ones((5, 3), dtype=int), "features of q must have a real floating dtype; got int64"),
        (np.ones(3), r"features of q must be \(…, seq, dim\); got shape \(3,\)"),
    ],
)
def test_features_that_do_not_fit_are_refused(features, message):
    x, mask = np.ones((2, 5, 8)), np.ones((5, 5), dtype=bool)
    with pytest.raises((ValueError, TypeError), match=message):
        pe.logits(Shapes(3), x, x, range(5), range(5), features=features, mask=mask)


def test_a_class_of_ones_own_has_the_name_of_its_mechanism():
    @dataclass(frozen=True)
    class Plain(pe.Encoding):
        pass

    names = [kind.mechanism for kind in (pe.Additive, pe.Rotary, pe.Bias, pe.Scores, Plain)]
    assert names == [*MECHANISMS, None]
    assert Forgetting(2).mechanism == "scores"
    assert pe.RoPE(8).mechanism == "rotary"
