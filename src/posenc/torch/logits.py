"""The modules that make or change attention logits, with the parameters that are learned."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from posenc.core.hints import hinted
from posenc.core.logits import compute_bias, logits
from posenc.core.mechanisms import Bias, Scores
from posenc.core.positions import as_arrays
from posenc.torch.parameters import EncodingModule, of_kind


class BiasLogits(EncodingModule):
    """logits + b(p_q, p_k) for logits (batch, heads, q, k), in their dtype.

    One module for all layers shares its table, as T5 does; one for each has its own, as in UMT5 and
    Swin. `attend` takes such a module and builds no matrix of biases.

    >>> import torch
    >>> import posenc as pe
    >>> bias = BiasLogits(pe.T5Bias(8))
    >>> bias(torch.zeros(1, 8, 5, 5), torch.arange(5)).shape
    torch.Size([1, 8, 5, 5])
    """

    @hinted("BiasLogits")
    def __init__(self, encoding: Bias, *, params: Mapping[str, Any] | None = None):
        super().__init__(of_kind(encoding, Bias), params)
        self.of_bias = encoding

    @hinted("BiasLogits")
    def forward(self, logits: Tensor, q_pos: Any, k_pos: Any = None) -> Tensor:
        """Biased logits; k_pos is q_pos unless given."""
        q_pos, k_pos = as_arrays(q_pos, q_pos if k_pos is None else k_pos, like=logits)
        bias = self.bias(q_pos, k_pos)
        if logits.ndim < 3 or bias.shape[-2:] != logits.shape[-2:]:
            raise ValueError(
                f"logits must be (…, heads, q, k) with q, k = {tuple(bias.shape[-2:])}; "
                f"got shape {tuple(logits.shape)}"
            )
        if 1 != bias.shape[-3] != logits.shape[-3]:
            raise ValueError(
                f"logits must have the heads of the bias, {bias.shape[-3]}; got {logits.shape[-3]}"
            )
        return (logits + bias).to(logits.dtype)

    def bias(self, q_pos: Any, k_pos: Any = None) -> Tensor:
        """b (…, heads, q, k) itself, for a mask of scaled_dot_product_attention, say."""
        params = self.tensors()
        like = next(iter((params or {}).values()), None)
        where = as_arrays(q_pos, q_pos if k_pos is None else k_pos, like=like)
        return compute_bias(self.of_bias, *where, params)


class ScoreQK(EncodingModule):
    """Logits (batch, heads, q, k) of an encoding that makes them itself: Shaw, Transformer-XL.

    >>> import torch
    >>> import posenc as pe
    >>> score = ScoreQK(pe.TransformerXL(2, 4))
    >>> score(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4), torch.arange(5)).shape
    torch.Size([1, 2, 5, 5])
    """

    @hinted("ScoreQK")
    def __init__(self, encoding: Scores, *, params: Mapping[str, Any] | None = None):
        super().__init__(of_kind(encoding, Scores), params)

    @hinted("ScoreQK")
    def forward(self, q: Tensor, k: Tensor, q_pos: Any, k_pos: Any = None) -> Tensor:
        """Logits of q and k; k_pos is q_pos unless given."""
        k_pos = q_pos if k_pos is None else k_pos
        return logits(self.encoding, q, k, q_pos, k_pos, self.tensors())
