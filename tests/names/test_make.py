"""Any encoding by name, sized for a model."""

import numpy as np
import pytest

import posenc as pe
from posenc.core.needs import draw_needs
from posenc.names.resolve import SCALED

MODEL = {"dim": 96, "head_dim": 16, "heads": 6, "length": 40}
NAMES = [*pe.catalogue(), *SCALED]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_the_sizes_of_the_model(name, rng):
    encoding = pe.make(name, **MODEL)
    additive = isinstance(encoding, pe.Additive)
    assert encoding.dim in (None, MODEL["dim"] if additive else MODEL["head_dim"])
    assert encoding.heads in (None, MODEL["heads"])
    assert encoding.limit in (None, MODEL["length"], 49)  # a window has its own
    positions = np.zeros((3, encoding.axes) if encoding.axes else 3, dtype=int)
    q = rng.normal(size=(MODEL["heads"], 3, MODEL["dim"] if additive else MODEL["head_dim"]))
    params = encoding.init(rng)
    needs = draw_needs(encoding, rng, 3)
    assert pe.logits(encoding, q, q, positions, positions, params, **needs).shape == (6, 3, 3)


@pytest.mark.parametrize("name", NAMES)
def test_head_dim_is_a_share_of_dim(name):
    whole = {size: value for size, value in MODEL.items() if size != "head_dim"}
    assert pe.make(name, **whole) == pe.make(name, **MODEL)


@pytest.mark.parametrize("name", NAMES)
def test_only_what_an_encoding_states_must_be_given(name):
    made = pe.make(name, **MODEL)
    width = "dim" if isinstance(made, pe.Additive) else "head_dim"
    stated = {width: made.dim, "heads": made.heads, "length": isinstance(made, pe.Learned) or None}
    if made.feature_dim is not None:
        stated["dim"] = made.feature_dim
    needed = {size: MODEL[size] for size, value in stated.items() if value is not None}
    assert pe.make(name, **needed) == made
    for size in needed:
        others = {key: value for key, value in needed.items() if key != size}
        with pytest.raises(ValueError, match=f"^{size} must be given for {name}; got {size}=None"):
            pe.make(name, **others)


@pytest.mark.parametrize(
    ("name", "given", "made"),
    [
        ("Transformer_XL", {"dim": 64, "heads": 8}, pe.TransformerXL(8, 8)),
        ("旋转位置编码", {"head_dim": 8, "pairing": "halves"}, pe.RoPE(8, pairing="halves")),
        ("clipped", {"heads": 4, "reach": 5}, pe.ClippedBias(4, 5)),
        ("learned", {"dim": 8, "length": 5, "std": 0.5}, pe.Learned(5, 8, std=0.5)),
        (
            "axial-rope",
            {"head_dim": 66, "layout": pe.Split(axes=3)},
            pe.AxialRoPE(66, pe.Split(axes=3)),
        ),
        ("yarn", {"head_dim": 8, "scaling": None}, pe.RoPE(8)),
        ("nope", {}, pe.NoPE()),
    ],
)
def test_other_arguments_are_passed_on(name, given, made):
    assert pe.make(name, **given) == made


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: pe.make("rpoe"), "no encoding is called 'rpoe'; did you mean rope?"),
        (lambda: pe.make("RoPE(64)"), "no encoding is called 'RoPE(64)'"),
        (lambda: pe.make(pe.RoPE(8)), "name must be that of an encoding; got RoPE(8)"),
        (lambda: pe.make("rope", dim=64), "head_dim must be given for rope; got head_dim=None"),
        (lambda: pe.make("rope", dim=64, heads=5), "head_dim must be given where heads do not"),
        (lambda: pe.make("rope", head_dim=7), "dim must be a positive even number; got dim=7"),
        (lambda: pe.make("rope", head_dim=8, heads=0), "heads must be a whole number of at least"),
        (
            lambda: pe.make("rope", head_dim=8, theta=5e5),
            "rope has no argument 'theta'; did you mean base=?",
        ),
        (
            lambda: pe.make("t5", num_heads=8),
            "t5 has no argument 'num_heads'; did you mean heads=?",
        ),
    ],
)
def test_what_cannot_be_made_is_a_sentence(work, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        work()
    assert str(caught.value).startswith(message)
