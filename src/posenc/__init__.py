"""posenc: Transformer positional encodings, exact at any position."""

from posenc.encodings import (
    AxialSinusoidal,
    FourierFeatures,
    Learned,
    LearnedFourier,
    Sinusoidal,
    catalogue,
    named,
)
from posenc.mechanisms import Additive, Bias, Encoding, Rotary, Scores, Traits, logits
from posenc.positions import (
    cape,
    consecutive,
    detr_grid,
    distances,
    grid,
    left_padded,
    packed,
    randomised,
)

__version__ = "0.1.0"

__all__ = [
    "Additive",
    "AxialSinusoidal",
    "Bias",
    "Encoding",
    "FourierFeatures",
    "Learned",
    "LearnedFourier",
    "Rotary",
    "Scores",
    "Sinusoidal",
    "Traits",
    "cape",
    "catalogue",
    "consecutive",
    "detr_grid",
    "distances",
    "grid",
    "left_padded",
    "logits",
    "named",
    "packed",
    "randomised",
]
