"""Which layers are local and which global, where a file does not list them: as in transformers."""

import logging
from typing import Any

import pytest

pytest.importorskip("transformers", reason="transformers is not installed: make conformance")

from posenc.interop.conventions import ROTARY
from posenc.interop.fields import Fields
from posenc.interop.layers import read_layer_types
from tests.conformance import walk

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]

COUNTED = [name for name, convention in ROTARY.items() if convention.every is not None]
FORCED = [name for name, convention in ROTARY.items() if convention.global_last == "always"]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Transformers warns about the last layers that it changes."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def read(name: str, **fields: Any) -> list[str]:
    return read_layer_types(Fields(fields, name), ROTARY[name])


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("layers", [1, 2, 7, 8, 13])
def test_layers_are_counted_as_in_the_config_class(name: str, layers: int) -> None:
    theirs = walk.config_classes()[name](num_hidden_layers=layers)
    assert read(name, num_hidden_layers=layers) == list(theirs.layer_types)


@pytest.mark.parametrize("name", COUNTED)
def test_a_last_layer_that_the_file_calls_local_is_read_as_in_the_config_class(name: str) -> None:
    local = [ROTARY[name].local_type] * 4
    theirs = walk.config_classes()[name](num_hidden_layers=4, layer_types=list(local))
    ours = read(name, num_hidden_layers=4, layer_types=local)
    assert ours == list(theirs.layer_types)
    assert (ours[-1] == "full_attention") == (name in FORCED)
