"""Encodings of other libraries, ready for `pe.check` and every other tool.

Each function imports its library when it is called and returns what `pe.adapt` makes of it. Where a
library takes no positions but lengths and offsets, each run of positions is asked for by itself, or
a table up to the farthest one is; a table too large is refused.

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
