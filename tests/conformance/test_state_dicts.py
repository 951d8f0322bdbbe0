"""What a config names as learned is found in the weights of a model of that type."""

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("transformers", reason="transformers is not installed: make conformance")

import torch
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import posenc as pe
from posenc.core.encoding import Encoding
from tests.conformance.model_types import readings

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]

LEARNED = {"Learned", "T5Bias", "SwinBias", "SwinV2Bias"}
UNBUILT = {"aimv2_text_model", "esm", "idefics_vision"}
"""Types that transformers builds as a part of another model only, or not without a vocabulary."""


def models(config: Any) -> Iterator[Any]:
    """The models of a config that can be built, without weights."""
    home = type(config).__module__.replace(".configuration_", ".modeling_")
    kinds = [kind for kind in vars(importlib.import_module(home)).values() if inspect.isclass(kind)]
    kinds = [kind for kind in kinds if getattr(kind, "config_class", None) is type(config)]
    kinds.sort(key=lambda kind: bool(re.search("For[A-Z]|With[A-Z]", kind.__name__)))
    builds: list[Any] = [AutoModel.from_config, *kinds]
    for build in builds:
        try:
            with torch.device("meta"):
                yield build(config)
        except (ValueError, ImportError, TypeError, AttributeError):  # a part, or needs a library
            continue


def fits(encoding: Encoding, params: dict[str, Any]) -> bool:
    shapes = {key: parameter.shape for key, parameter in encoding.parameters().items()}
    return {key: tuple(value.shape) for key, value in params.items()} == shapes


@pytest.mark.parametrize(
    "name", sorted(name for name, found in readings().items() if LEARNED & {*found.layers})
)
def test_learned_parameters_are_found(name: str) -> None:
    config: Any = CONFIG_MAPPING[name]()
    written = json.loads(config.to_json_string())
    said: list[str] = []
    for model in models(config):
        try:
            layers = pe.from_state_dict(written, dict(model.state_dict()))
        except ValueError as error:  # the base class of a part has no table: try the next
            said.append(str(error))
            continue
        assert all(fits(encoding, params) for encoding, params in layers)
        return
    assert name in UNBUILT, said
