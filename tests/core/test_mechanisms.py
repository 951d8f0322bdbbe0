from dataclasses import dataclass
from importlib import metadata

import numpy as np
import pytest

import posenc as pe
from posenc.core.needs import draw_needs
from posenc.encodings.registry import load_builtins
from tests import bounds
from tests.libraries import numpy_of


@dataclass(frozen=True)
class Turn(pe.Rotary):
    speed: float

    def cos_sin(self, positions, *, dtype=None):
        angle = positions[..., None] * self.speed
        return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


@dataclass(frozen=True)
class Nearness(pe.Bias):
    heads: int

    def bias(self, q_pos, k_pos, params=None):
        slopes = np.arange(1, self.heads + 1)[:, None, None]
        return -slopes * abs(pe.distances(q_pos, k_pos))[..., None, :, :]


@dataclass(frozen=True)
class Gated(pe.Scores):
    def scores(self, q, k, q_pos, k_pos, params=None):
        return np.tanh(q @ np.swapaxes(k, -1, -2)) * (pe.distances(q_pos, k_pos) >= 0)


@pytest.fixture
def q(rng):
    return rng.normal(size=(2, 3, 5, 8))  # batch, head, q, dim


@pytest.fixture
def k(rng):
    return rng.normal(size=(2, 3, 7, 8))


def test_additive_logits_are_those_of_the_sums(xp, q, k):
    encoding, q_pos, k_pos = pe.Sinusoidal(8), np.arange(5, dtype=np.int32), np.arange(7) + 2
    q, k, k_pos = q.astype("f"), k.astype("f"), k_pos.astype(np.int32)
    ours = xp.call(lambda *a: pe.logits(encoding, *a), q, k, q_pos, k_pos)
    e_q, e_k = encoding.encode(q_pos), encoding.encode(k_pos)
    truth = (q + e_q) @ np.swapaxes(k + e_k, -1, -2) / np.sqrt(8)
    # beside the products' sum, e(p) and x + e(p) on both sides and the division are rounded
    bound = bounds.products(abs(q) + abs(e_q), abs(k) + abs(e_k), more=6) / np.sqrt(8)
    assert (abs(numpy_of(ours) - truth) < bound).all()


def test_rotary_logits_are_relative_and_rotate_undoes_itself(q, k):
    encoding, k_pos = Turn(0.3), np.arange(7)
    near = pe.logits(encoding, q[..., :2], k[..., :2], np.arange(5), k_pos)
    far = pe.logits(encoding, q[..., :2], k[..., :2], np.arange(5) + 1000, k_pos + 1000)
    assert np.allclose(near, far, atol=1e-10)
    turned = encoding.rotate(q[..., :2], np.arange(5))
    assert not np.allclose(turned, q[..., :2])
    assert np.allclose(encoding.rotate(turned, np.arange(5), inverse=True), q[..., :2])


def test_rotary_positions_of_a_batch_reach_every_head(q):
    encoding, positions = Turn(0.3), np.array([[0, 1, 2, 3, 4], [9, 8, 7, 6, 5]])
    turned = encoding.rotate(q[..., :2], positions)
    for row in range(2):
        for head in range(3):
            alone = encoding.rotate(q[row, head, :, :2], positions[row])
            assert np.array_equal(turned[row, head], alone)


def test_bias_is_added_for_each_head(q, k):
    ours = pe.logits(Nearness(3), q, k, range(5), range(7))
    products = q @ np.swapaxes(k, -1, -2) / np.sqrt(8)
    assert np.allclose((ours - products)[1, 2, 4], [-12, -9, -6, -3, 0, -3, -6])


def test_sixteen_bit_products_do_not_overflow_on_the_way():
    q = np.full((1, 8), 100.0, dtype=np.float16)
    ours = pe.logits(pe.NoPE(), q, q, [0], [0])
    assert ours.dtype == np.float16
    assert ours.item() == np.float16(80_000 / np.sqrt(8))


def test_scores_make_the_logits_themselves(q, k):
    ours = pe.logits(Gated(), q, k, range(5), range(7))
    assert ours.shape == (2, 3, 5, 7)
    assert ours[0, 0, 0, 1] == 0


def test_learned_parameters_are_passed_in(q, k, rng):
    encoding = pe.Learned(10, 8)
    params = encoding.init(rng)
    assert pe.logits(encoding, q, k, range(5), range(7), params).shape == (2, 3, 5, 7)


def test_user_encodings_claim_nothing_and_have_no_parameters(rng):
    assert Turn(0.1).traits.claims() == ()
    assert Turn(0.1).init(rng) == {}


def test_attention_without_an_encoding_does_not_see_order(rng):
    """Shuffled tokens give shuffled outputs; with positions they do not."""
    x, order = rng.normal(size=(6, 8)), rng.permutation(6)

    def attend(x, encoding=None):
        scores = x @ x.T if encoding is None else pe.logits(encoding, x, x, range(6), range(6))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ x

    assert np.allclose(attend(x)[order], attend(x[order]))
    encoding = pe.Sinusoidal(8)
    assert not np.allclose(attend(x, encoding)[order], attend(x[order], encoding), atol=1e-2)


def test_names_come_from_the_tuple_and_from_entry_points(monkeypatch):
    assert list(pe.catalogue()) == [*load_builtins()]
    entry = metadata.EntryPoint("turn", f"{__name__}:Turn", "posenc.encodings")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    assert pe.catalogue()["turn"] is Turn


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sinusoidal", "Turn", "encoding names must differ; .*:Turn takes 'sinusoidal' again"),
        ("turn", "numpy_of", "entry point 'turn' must name an Encoding; got .*:numpy_of"),
    ],
)
def test_bad_entry_points_are_named(monkeypatch, name, value, message):
    entry = metadata.EntryPoint(name, f"{__name__}:{value}", "posenc.encodings")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    with pytest.raises((ValueError, TypeError), match=message):
        pe.catalogue()


BUILTIN = [*load_builtins().values()]
ENCODINGS = [
    *(kind.example() for kind in BUILTIN),
    pe.Tempered(pe.RoPE(8), pe.LogN(2)),
    pe.Tempered(pe.AxialRoPE.split(8), pe.LogN(2)),
    pe.Tempered(pe.NoPE(), pe.LogN(2)),
]


def calls(encoding, p, array, params):
    """Everything of `encoding` that takes positions, called with p for queries and keys."""
    heads = encoding.heads or 2
    dim = encoding.dim or 8
    rng = np.random.default_rng(0)
    x = array(rng.normal(size=(heads, len(p), dim)).astype("f"))
    needs = {name: array(each) for name, each in draw_needs(encoding, rng, len(p)).items()}
    yield lambda: pe.logits(encoding, x, x, p, p, params, **needs)
    if "features" in needs:
        needs["features"] = (needs["features"], needs["features"])
    if isinstance(encoding, pe.Additive):
        yield lambda: encoding.encode(p, params)
        yield lambda: encoding.add(x, p, params)
    if isinstance(encoding, pe.Bias):
        yield lambda: encoding.bias(p, p, params, **needs)
        yield lambda: encoding.terms(p, p, params, causal=True)
    if isinstance(encoding, pe.Scores):
        yield lambda: encoding.scores(x, x, p, p, params, **needs)
        yield lambda: encoding.folded(x, x, p, p, params)
        yield lambda: encoding.mixed(x @ array(np.ones((dim, len(p)), "f")), x, p, p, params)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("encoding", ENCODINGS, ids=str)
def test_wherever_positions_go_a_list_will_do(encoding, library):
    import torch

    array = np.asarray if library == "numpy" else torch.from_numpy
    params = {name: array(x) for name, x in encoding.init(np.random.default_rng(0)).items()} or None
    listed = [0, 1, 4] if encoding.axes is None else [[a] * encoding.axes for a in (0, 1, 4)]
    arrays = array(np.array(listed))
    pairs = zip(
        calls(encoding, listed, array, params), calls(encoding, arrays, array, params), strict=True
    )
    for of_list, of_array in pairs:
        ours, theirs = of_list(), of_array()
        for one, other in zip(_parts(ours), _parts(theirs), strict=True):
            if type(one) is not type(other):  # a list alone is NumPy's
                assert params is None
                assert isinstance(one, np.ndarray)
                assert one.shape == tuple(other.shape)
            else:
                assert np.array_equal(numpy_of(one), numpy_of(other))


def _parts(made):
    return made if isinstance(made, tuple) else () if made is None else (made,)


@pytest.mark.parametrize("encoding", ENCODINGS, ids=str)
def test_params_that_an_encoding_does_not_have_are_refused(encoding):
    params = encoding.init(np.random.default_rng(0))
    p = np.arange(3) if encoding.axes is None else np.zeros((3, encoding.axes), dtype=int)
    message = (
        r"^params must (be None, for nothing is learned; got the names \['nonsense'\]|hold no "
    )
    message += r"names but \[.*\]; got \['nonsense'\] too)$"
    for call in calls(encoding, p, np.asarray, {**params, "nonsense": np.ones(3)}):
        inherited = [
            getattr(type(encoding), name) is getattr(base, name)  # which takes none
            for base, names in ((pe.Scores, ("folded", "mixed")), (pe.Bias, ("terms",)))
            for name in names
            if name in call.__code__.co_names
        ]
        if any(inherited):
            continue
        with pytest.raises(ValueError, match=message):
            call()
    if not params:
        for call in calls(encoding, p, np.asarray, {}):
            call()  # none at all is what it has
        with pytest.raises(
            TypeError, match=r"^params must be None, for nothing is learned; got 3$"
        ):
            next(calls(encoding, p, np.asarray, 3))()
