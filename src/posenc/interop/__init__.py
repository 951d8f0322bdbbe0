"""Read and write the positional encodings of a model's config.json, and convert checkpoints."""

from posenc.interop.checkpoints.convert import convert
from posenc.interop.config import from_config, read_config
from posenc.interop.model import ModelPositions
from posenc.interop.pairing import PairingGuess, pairing_by_loss, pairing_of
from posenc.interop.state_dict import from_state_dict
from posenc.interop.write import to_config

__all__ = [
    "ModelPositions",
    "PairingGuess",
    "convert",
    "from_config",
    "from_state_dict",
    "pairing_by_loss",
    "pairing_of",
    "read_config",
    "to_config",
]
