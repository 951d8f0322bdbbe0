"""PyTorch modules over any encoding of their mechanism. Needs the extra `torch`."""

from posenc.torch.additive import AddPositions

__all__ = ["AddPositions"]
