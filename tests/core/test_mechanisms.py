import numpy as np
import pytest

import posenc as pe
from posenc.core.needs import draw_needs
from posenc.encodings.registry import load_builtins
from tests.libraries import numpy_of

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
        yield lambda: encoding.fold(x, x, p, p, params)
        yield lambda: encoding.mix(x @ array(np.ones((dim, len(p)), "f")), x, p, p, params)


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
        r"^params must (be None, since nothing is learned; got the names \['nonsense'\]|"
        r"hold only the names \[.*\]; got \['nonsense'\] too)$"
    )
    for call in calls(encoding, p, np.asarray, {**params, "nonsense": np.ones(3)}):
        inherited = [
            getattr(type(encoding), name) is getattr(base, name)  # which takes none
            for base, names in ((pe.Scores, ("fold", "mix")), (pe.Bias, ("terms",)))
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
            TypeError, match=r"^params must be None, since nothing is learned; got 3$"
        ):
            next(calls(encoding, p, np.asarray, 3))()


def test_query_terms_without_key_terms_are_refused_where_the_class_is_defined():
    def terms(self, *args, **options):
        return None

    with pytest.raises(TypeError, match="Half must define key_terms, as it defines query_terms"):
        type("Half", (pe.Scores,), {"query_terms": terms})
    type("Both", (pe.Scores,), {"query_terms": terms, "key_terms": terms})
    type("Inherited", (pe.TransformerXL,), {"query_terms": terms})
    neither = pe.Tempered(pe.RoPE(8), pe.LogN(4))
    assert neither.key_terms(np.arange(3), dtype=np.float32).shape == (3, 0)
