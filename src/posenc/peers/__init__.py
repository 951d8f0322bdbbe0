"""Encodings of other libraries, adapted for `pe.check` and every other tool.

Each function imports its library when it is called and returns an adapted encoding. If a library
takes lengths and offsets instead of positions, it is called once for each run of consecutive
positions, or for a table up to the last one; a table that is too large is refused.

>>> import posenc as pe
>>> pe.check(bloom(16, "bfloat16")).failed
('relative',)
"""

from posenc.peers.libraries import (
    keras_hub_rotary,
    keras_hub_sine,
    positional_encodings,
    rotary_embedding_torch,
    timm_rotary,
    torchtune,
    x_transformers,
    x_transformers_alibi,
)
from posenc.peers.models import bloom, hugging_face, hugging_face_module, vjepa2

__all__ = [
    "bloom",
    "hugging_face",
    "hugging_face_module",
    "keras_hub_rotary",
    "keras_hub_sine",
    "positional_encodings",
    "rotary_embedding_torch",
    "timm_rotary",
    "torchtune",
    "vjepa2",
    "x_transformers",
    "x_transformers_alibi",
]
