"""Attention with any encoding: one definition, and forms of it that build no N x N matrix."""

from posenc.torch.attention.attend import Choice, attend

__all__ = ["Choice", "attend"]
