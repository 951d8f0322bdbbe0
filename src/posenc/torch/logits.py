"""The modules that make or change attention logits, with the parameters that are learned."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from posenc.core.arrays import Array, Positions, refuse_dtensor
from posenc.core.hints import hinted
from posenc.core.inputs import Features, read_needs
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
    def __init__(self, encoding: Bias, *, params: Mapping[str, Array] | None = None):
        super().__init__(of_kind(encoding, Bias), params)
        self.of_bias = encoding

    @hinted("BiasLogits")
    def forward(
        self,
        logits: Tensor,
        q_pos: Positions[Tensor],
        k_pos: Positions[Tensor] | None = None,
        *,
        features: Features[Tensor] | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Biased logits; k_pos is q_pos unless given, features and mask as in `pe.logits`."""
        refuse_dtensor("logits", logits)
        q_pos, k_pos = as_arrays(q_pos, q_pos if k_pos is None else k_pos, like=logits)
        bias = self.bias(q_pos, k_pos, features=features, mask=mask)
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

    if TYPE_CHECKING:

        @property  # a call has the types of `forward`
        def __call__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.forward

    def bias(
        self,
        q_pos: Positions[Tensor],
        k_pos: Positions[Tensor] | None = None,
        *,
        features: Features[Tensor] | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """b (…, heads, q, k) itself, for a mask of scaled_dot_product_attention, say."""
        params = self.tensors()
        like = next(iter(params.values()), None)
        q_pos, k_pos = as_arrays(q_pos, q_pos if k_pos is None else k_pos, like=like)
        needed = read_needs(self.of_bias, features=features, mask=mask)
        return compute_bias(self.of_bias, q_pos, k_pos, params, **needed)


class ScoreQK(EncodingModule):
    """Logits (batch, heads, q, k) of an encoding that makes them itself: Shaw, Transformer-XL.

    >>> import torch
    >>> import posenc as pe
    >>> score = ScoreQK(pe.TransformerXL(2, 4))
    >>> score(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4), torch.arange(5)).shape
    torch.Size([1, 2, 5, 5])
    """

    @hinted("ScoreQK")
    def __init__(self, encoding: Scores, *, params: Mapping[str, Array] | None = None):
        super().__init__(of_kind(encoding, Scores), params)

    @hinted("ScoreQK")
    def forward(
        self,
        q: Tensor,
        k: Tensor,
        q_pos: Positions[Tensor],
        k_pos: Positions[Tensor] | None = None,
        *,
        features: Features[Tensor] | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Logits of q and k; k_pos is q_pos unless given, features and mask as in `pe.logits`."""
        k_pos, params = q_pos if k_pos is None else k_pos, self.tensors()
        return logits(self.encoding, q, k, q_pos, k_pos, params, features=features, mask=mask)

    if TYPE_CHECKING:

        @property  # a call has the types of `forward`
        def __call__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.forward
