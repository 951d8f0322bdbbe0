"""PyTorch modules over any encoding of their mechanism. Needs the extra `torch`."""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError("posenc.torch needs PyTorch: pip install torch")

from posenc.torch.additive import AddPositions
from posenc.torch.attention import attend
from posenc.torch.cache import KVCache
from posenc.torch.logits import BiasLogits, ScoreQK
from posenc.torch.positions import Positions
from posenc.torch.rotary import RotateQK
from posenc.torch.self_attention import SelfAttention

__all__ = [
    "AddPositions",
    "BiasLogits",
    "KVCache",
    "Positions",
    "RotateQK",
    "ScoreQK",
    "SelfAttention",
    "attend",
]
