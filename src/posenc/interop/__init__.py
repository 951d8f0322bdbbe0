"""Reading what other libraries write: the config.json of a model."""

from posenc.interop.config import ModelPositions, from_config, read_config

__all__ = ["ModelPositions", "from_config", "read_config"]
