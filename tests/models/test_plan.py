"""Which encoding goes into which layer, and why it cannot."""

import numpy as np
import pytest

import posenc as pe
from posenc.models.anatomy import find_anatomy
from posenc.models.plan import plan_layers
from tests.models.architectures import GROUPED, build


class Gated(pe.Bias):
    heads = 4
    needs = frozenset({"features"})

    def bias(self, q_pos, k_pos, params=None, *, features):
        return np.zeros((4, 1, 1))


class LearnedTurn(pe.Rotary):
    def init(self, rng, *, like=None):
        return {"w": np.ones(2, dtype=np.float32)}

    def cos_sin(self, positions, params=None, *, dtype=None):
        angles = positions[..., None] * params["w"]
        return angles.cos(), angles.sin()


@pytest.fixture(scope="module")
def models():
    """The anatomy of a model of each kind that a test asks for, made once."""
    found = {}

    def find(name, **changes):
        return found.setdefault(name, find_anatomy(build(name, **changes)))

    return find


REFUSED = [
    ("llama", pe.RoPE(128), "must turn 4 pairs of channels, as the heads of llama do"),
    ("llama", pe.RoPE(8, scaling=pe.DynamicNTK(4, 64)), r"settle it with encoding.at\(length\)"),
    ("llama", pe.XPos(8), "rotate keys as it rotates queries, .* got XPos"),
    ("llama", pe.AxialRoPE(8, pe.Sections((1, 1, 2))), "must have axes=None, .* with axes=3"),
    ("qwen2_vl", pe.RoPE(8), "must have axes=3, .* got RoPE with axes=None"),
    ("qwen2_vl", pe.ALiBi(4), "positions have several axes, .* got ALiBi"),
    ("llama", pe.ALiBi(8), r"for 4 heads of 8 channels; got ALiBi\(8\)"),
    ("llama", pe.TransformerXL(4, 16), "for 4 heads of 8 channels; got TransformerXL"),
    ("llama", Gated(), "must not need features, .* got Gated"),
    ("modernbert", pe.T5Bias(4), "must look both ways .bidirectional=True .*, since modernbert"),
    ("gptj", pe.ALiBi(4), "AttentionInterface, as gptj does; got ALiBi"),
    ("gptj", LearnedTurn(), "must not learn where gptj stores its table .* got LearnedTurn"),
    (
        "gptj",
        pe.Tempered(pe.RoPE(8, rotary_dim=4), pe.LogN(64)),
        "AttentionInterface, as gptj does; got Tempered",
    ),
    ("deepseek_v3", pe.TransformerXL(4, 16), "deepseek_v3 multiplies them by 0.324119; got Tra"),
    ("llama", [pe.RoPE(8)] * 3, "one for each of 2 layers; got 3"),
    ("llama", [pe.RoPE(8), pe.NoPE()], "must turn layers 0 and 1 alike, since llama has one table"),
]


@pytest.mark.parametrize(("name", "encoding", "message"), REFUSED)
def test_what_cannot_be_swapped_is_a_sentence(models, name, encoding, message):
    with pytest.raises(ValueError, match=message):
        plan_layers(models(name), encoding)


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (pe.Sinusoidal(8), "Rotary, Bias or Scores; got Sinusoidal, which is added to the emb"),
        ("rope", "encoding must be an Encoding, a list with one for each layer, .* got 'rope'"),
        (["rope"], "encoding must be an Encoding, a list with one for each layer, .* got .'rope'."),
        ("alibi", "got 'alibi'; pe.make makes one by its name$"),
        ([pe.ALiBi(4), "alibi"], r"got \[ALiBi\(4\), 'alibi'\]; pe.make makes one by its name$"),
        (pe.ALiBi, r"got <class '.*ALiBi'>; did you mean ALiBi\(…\)\?$"),
    ],
)
def test_what_is_no_encoding_of_attention_is_a_sentence(models, encoding, message):
    with pytest.raises(TypeError, match=message):
        plan_layers(models("llama"), encoding)


def test_types_of_layers_may_be_turned_differently(models):
    local, whole = pe.RoPE(8), pe.NoPE()
    planned = plan_layers(models("gemma3_text"), [local, whole])
    assert [each.in_tables for each in planned] == [local, None]
    assert [each.on_logits for each in planned] == [None, None]


def test_a_rotation_goes_where_a_model_rotates(models):
    fields = {"no_rope_layers": [1, 0], "no_rope_layer_interval": 2}
    from tests.models import architectures

    architectures.FIELDS["smollm3"] = GROUPED
    try:
        anatomy = models("smollm3", **fields)
    finally:
        del architectures.FIELDS["smollm3"]
    planned = plan_layers(anatomy, pe.RoPE(8, base=7.0))
    assert [each.is_new for each in planned] == [True, False]
    assert planned[1].encoding == pe.NoPE()
    with pytest.raises(ValueError, match="must not rotate in layer 1, where smollm3 does not"):
        plan_layers(anatomy, [pe.RoPE(8), pe.RoPE(8)])
    assert all(each.is_new for each in plan_layers(anatomy, pe.ALiBi(4)))


def test_a_temperature_acts_on_the_logits_of_a_rotation(models):
    (first, _) = plan_layers(models("llama"), pe.Tempered(pe.RoPE(8), pe.LogN(64)))
    assert first.in_tables == pe.RoPE(8)
    assert first.on_logits.temperature == pe.LogN(64)
    (first, _) = plan_layers(models("llama"), pe.Tempered(pe.NoPE(), pe.LogN(64)))
    assert first.in_tables is None
    assert first.on_logits == pe.Tempered(pe.NoPE(), pe.LogN(64))


def test_a_temperature_of_the_models_own_code_is_not_applied_twice(models):
    from tests.models import architectures

    architectures.FIELDS["ministral3"] = GROUPED | {
        "head_dim": 8,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 1e4,
            "factor": 4.0,
            "original_max_position_embeddings": 64,
            "llama_4_scaling_beta": 0.1,
        },
    }
    try:
        anatomy = models("ministral3")
    finally:
        del architectures.FIELDS["ministral3"]
    own = anatomy.positions.layers[0]
    assert own.temperature is not None
    assert plan_layers(anatomy, own)[0].on_logits is None
    with pytest.raises(ValueError, match=r"must have the temperature of layer 0, .* which the"):
        plan_layers(anatomy, pe.RoPE(8))
