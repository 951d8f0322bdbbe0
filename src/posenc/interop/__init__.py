"""Read the positional encodings of a model from its config.json and checkpoint, and write them."""

from posenc.interop.config import from_config, read_config
from posenc.interop.model import ModelPositions
from posenc.interop.state_dict import from_state_dict
from posenc.interop.write import to_config

__all__ = ["ModelPositions", "from_config", "from_state_dict", "read_config", "to_config"]
