"""Every model type of transformers is read, or refused by a sentence that says what it has."""

import importlib
import json
import re
from functools import cache
from typing import Any

import pytest

pytest.importorskip("transformers", reason="transformers is not installed: make conformance")

import torch
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

import posenc as pe
from posenc.interop.conventions import ABSOLUTE, OUTSIDE, REFUSED
from tests.conformance import models_page
from tests.conformance.model_types import Reading, read_default, readings

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]

NEEDS = re.compile(r" must | needs ")
"""What a sentence says of a type that is known, whose default config leaves something out."""
INCOMPLETE = {"gemma4_assistant", "nougat"}
"""Types whose own class refuses to be built without arguments."""


def test_every_model_type_is_read_or_refused_by_its_own_sentence() -> None:
    for name, reading in readings().items():
        assert reading.layers or name in REFUSED or NEEDS.search(reading.refusal), reading
        assert "model_type must be a known one" not in reading.refusal, reading


def test_only_types_that_transformers_cannot_build_are_left_out() -> None:
    assert set(CONFIG_MAPPING_NAMES) - readings().keys() == INCOMPLETE


def test_what_is_refused_is_a_model_type_of_theirs() -> None:
    assert REFUSED.keys() - OUTSIDE <= set(CONFIG_MAPPING_NAMES)
    assert not OUTSIDE & set(CONFIG_MAPPING_NAMES)


def test_the_walk_can_say_no() -> None:
    reading = read_default("new", {"model_type": "new", "rope_theta": 1e4})
    assert reading == Reading("new", (), reading.refusal)
    assert "model_type must be a known one" in reading.refusal


def part_classes(config: Any) -> list[Any]:
    """The models that are built from a config, in the module beside its own."""
    home = type(config).__module__.replace(".configuration_", ".modeling_")
    kinds = vars(importlib.import_module(home)).values()
    return [kind for kind in kinds if getattr(kind, "config_class", None) is type(config)]


@cache
def tables(name: str) -> frozenset[tuple[int, ...]] | None:
    """The shapes of the parameters and buffers of a model that are about positions."""
    config: Any = CONFIG_MAPPING[name]()
    shapes: set[tuple[int, ...]] = set()
    built = False
    for kind in (AutoModel.from_config, *part_classes(config)):
        try:
            with torch.device("meta"):
                model = kind(config)
        except (ValueError, ImportError, TypeError):  # not a model by itself, or needs a library
            continue
        built = True
        named = [*model.named_parameters(), *model.named_buffers()]
        about = [x for key, x in named if re.search(r"pos|wpe", key) and "position_ids" not in key]
        shapes |= {tuple(x.shape[-2:]) for x in about}
    return frozenset(shapes) if built else None


@pytest.mark.parametrize("name", sorted(ABSOLUTE.keys() & set(CONFIG_MAPPING_NAMES)))
def test_a_learned_table_has_the_shape_of_theirs(name: str) -> None:
    config = json.loads(CONFIG_MAPPING[name]().to_json_string())
    encodings = set(pe.read_config(config).layers)
    shapes = tables(name)
    if shapes is None:
        pytest.skip("transformers builds it as a part of another model only")
    for encoding in encodings:
        if isinstance(encoding, pe.Learned):
            assert (encoding.length, encoding.dim) in shapes


def test_the_page_says_what_is_read() -> None:
    assert models_page.PAGE.read_text(encoding="utf-8") == models_page.page()
