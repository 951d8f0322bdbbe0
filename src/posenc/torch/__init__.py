"""PyTorch modules over any encoding of their mechanism. Needs the extra `torch`."""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError("posenc.torch needs PyTorch: pip install torch")

from posenc.torch.additive import AddPositions
from posenc.torch.attention import attend
from posenc.torch.cache import KVCache
from posenc.torch.logits import BiasLogits, ScoreQK
from posenc.torch.rotary import RotateQK

__all__ = ["AddPositions", "BiasLogits", "KVCache", "RotateQK", "ScoreQK", "attend"]
