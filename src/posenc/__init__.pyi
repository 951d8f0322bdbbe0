# made by `make stub` out of the public names; do not edit

from posenc import adapt as adapt
from posenc import checks as checks
from posenc import encodings as encodings
from posenc import interop as interop
from posenc import jax as jax
from posenc import lab as lab
from posenc import models as models
from posenc import torch as torch
from posenc import views as views
from posenc.checks import Report as Report
from posenc.checks import check as check
from posenc.comparison import Comparison as Comparison
from posenc.comparison import compare as compare
from posenc.core.about import About as About
from posenc.core.about import Traits as Traits
from posenc.core.encoding import Encoding as Encoding
from posenc.core.grids import detr_grid as detr_grid
from posenc.core.grids import grid as grid
from posenc.core.grids import mrope_positions as mrope_positions
from posenc.core.logits import logits as logits
from posenc.core.mechanisms import Additive as Additive
from posenc.core.mechanisms import Bias as Bias
from posenc.core.mechanisms import Rotary as Rotary
from posenc.core.mechanisms import Scores as Scores
from posenc.core.positions import cape as cape
from posenc.core.positions import consecutive as consecutive
from posenc.core.positions import distances as distances
from posenc.core.positions import documents as documents
from posenc.core.positions import left_padded as left_padded
from posenc.core.positions import packed as packed
from posenc.core.positions import randomised as randomised
from posenc.core.scaling import Scaling as Scaling
from posenc.core.shards import sharded as sharded
from posenc.core.shift import rotate_cached as rotate_cached
from posenc.encodings.alibi import ALiBi as ALiBi
from posenc.encodings.alibi import TwoSidedALiBi as TwoSidedALiBi
from posenc.encodings.axial import AxialRoPE as AxialRoPE
from posenc.encodings.fire import FIRE as FIRE
from posenc.encodings.fourier import FourierFeatures as FourierFeatures
from posenc.encodings.fourier import LearnedFourier as LearnedFourier
from posenc.encodings.kernels import KERPLE as KERPLE
from posenc.encodings.kernels import Sandwich as Sandwich
from posenc.encodings.learned import Learned as Learned
from posenc.encodings.nope import NoPE as NoPE
from posenc.encodings.registry import catalogue as catalogue
from posenc.encodings.registry import lookup as lookup
from posenc.encodings.rope import RoPE as RoPE
from posenc.encodings.rope import XPos as XPos
from posenc.encodings.shaw import Shaw as Shaw
from posenc.encodings.sinusoidal import AxialSinusoidal as AxialSinusoidal
from posenc.encodings.sinusoidal import Sinusoidal as Sinusoidal
from posenc.encodings.swin import SwinBias as SwinBias
from posenc.encodings.swin import SwinV2Bias as SwinV2Bias
from posenc.encodings.t5 import T5Bias as T5Bias
from posenc.encodings.tables import ClippedBias as ClippedBias
from posenc.encodings.transformer_xl import TransformerXL as TransformerXL
from posenc.explanation import Explanation as Explanation
from posenc.explanation import demonstrate as demonstrate
from posenc.explanation import explain as explain
from posenc.explorer.widget import explore as explore
from posenc.interop import ModelPositions as ModelPositions
from posenc.interop import PairingGuess as PairingGuess
from posenc.interop import convert as convert
from posenc.interop import from_config as from_config
from posenc.interop import from_state_dict as from_state_dict
from posenc.interop import pairing_by_loss as pairing_by_loss
from posenc.interop import pairing_of as pairing_of
from posenc.interop import read_config as read_config
from posenc.interop import to_config as to_config
from posenc.layouts import Alternating as Alternating
from posenc.layouts import AxisLayout as AxisLayout
from posenc.layouts import PairTable as PairTable
from posenc.layouts import Periods as Periods
from posenc.layouts import Sections as Sections
from posenc.layouts import SpaceThenTime as SpaceThenTime
from posenc.layouts import Split as Split
from posenc.names.make import make as make
from posenc.plot import show as show
from posenc.scalings import NTK as NTK
from posenc.scalings import DynamicNTK as DynamicNTK
from posenc.scalings import Interpolation as Interpolation
from posenc.scalings import Llama3 as Llama3
from posenc.scalings import LongRoPE as LongRoPE
from posenc.scalings import Proportional as Proportional
from posenc.scalings import YaRN as YaRN
from posenc.temperatures import Llama4Temperature as Llama4Temperature
from posenc.temperatures import LogN as LogN
from posenc.temperatures import MinistralTemperature as MinistralTemperature
from posenc.temperatures import PowerTemperature as PowerTemperature
from posenc.temperatures import SSMax as SSMax
from posenc.temperatures import Temperature as Temperature
from posenc.temperatures import Tempered as Tempered

__version__: str
__all__ = [
    "FIRE",
    "KERPLE",
    "NTK",
    "ALiBi",
    "About",
    "Additive",
    "Alternating",
    "AxialRoPE",
    "AxialSinusoidal",
    "AxisLayout",
    "Bias",
    "ClippedBias",
    "Comparison",
    "DynamicNTK",
    "Encoding",
    "Explanation",
    "FourierFeatures",
    "Interpolation",
    "Learned",
    "LearnedFourier",
    "Llama3",
    "Llama4Temperature",
    "LogN",
    "LongRoPE",
    "MinistralTemperature",
    "ModelPositions",
    "NoPE",
    "PairTable",
    "PairingGuess",
    "Periods",
    "PowerTemperature",
    "Proportional",
    "Report",
    "RoPE",
    "Rotary",
    "SSMax",
    "Sandwich",
    "Scaling",
    "Scores",
    "Sections",
    "Shaw",
    "Sinusoidal",
    "SpaceThenTime",
    "Split",
    "SwinBias",
    "SwinV2Bias",
    "T5Bias",
    "Temperature",
    "Tempered",
    "Traits",
    "TransformerXL",
    "TwoSidedALiBi",
    "XPos",
    "YaRN",
    "adapt",
    "cape",
    "catalogue",
    "check",
    "compare",
    "consecutive",
    "convert",
    "demonstrate",
    "detr_grid",
    "distances",
    "documents",
    "explain",
    "explore",
    "from_config",
    "from_state_dict",
    "grid",
    "left_padded",
    "logits",
    "lookup",
    "make",
    "mrope_positions",
    "packed",
    "pairing_by_loss",
    "pairing_of",
    "randomised",
    "read_config",
    "rotate_cached",
    "sharded",
    "show",
    "to_config",
]
