"""Any encoding inside a model: added to the embeddings, or used in attention, where it acts."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import Array
from posenc.core.arrays import Positions as Where
from posenc.core.encoding import Encoding, unwrap
from posenc.core.hints import hinted
from posenc.core.mechanisms import Additive
from posenc.torch.attention import attend
from posenc.torch.cache import KVCache
from posenc.torch.given import keep_wrappers
from posenc.torch.parameters import EncodingModule, of_kind


class Positions(EncodingModule):
    """An encoding of any mechanism for a model, with what it learns.

    encoding   what acts on the embeddings or in attention; `NoPE()` does neither
    params     what it learns; drawn as its paper says unless given

    A model calls `embed` once, before its first layer, and `attend` in every layer. Each does
    nothing where the encoding does not act: `embed` returns x as it is unless the encoding is added
    to it, and `attend` is plain attention if it is. One module for all layers shares what it
    learns, as T5 does; one for each layer learns its own.

    >>> import posenc as pe
    >>> x, qkv = torch.randn(1, 10, 32), torch.randn(3, 1, 4, 10, 8)
    >>> for encoding in (pe.Learned(10, 32), pe.RoPE(8), pe.T5Bias(4), pe.TransformerXL(4, 8)):
    ...     positions = Positions(encoding)
    ...     assert positions.embed(x).shape == x.shape
    ...     assert positions.attend(*qkv, causal=True).shape == (1, 4, 10, 8)
    """

    @hinted("Positions")
    def __init__(self, encoding: Encoding, *, params: Mapping[str, Array] | None = None):
        super().__init__(of_kind(encoding, Encoding), params)
        inner = unwrap(encoding)
        self.additive = inner if isinstance(inner, Additive) else None
        self._rest = None if self.additive is None else keep_wrappers(encoding)

    def embed(self, x: Tensor, pos: Where[Tensor] | None = None) -> Tensor:
        """x + e(pos) with an additive encoding, else x.

        x     token embeddings, (batch, …, seq, dim)
        pos   positions, (seq,) or (batch, seq), with a last axis of size `axes` on a grid; without
              any, a sequence starts at 0: decoding from a cache must say where it is
        """
        if self.additive is None:
            return x
        if pos is None:
            pos = torch.arange(x.shape[-2], device=x.device)
        return self.additive.add(x, pos, self.tensors() or None)

    def attend(
        self, q: Tensor, k: Tensor | None = None, v: Tensor | None = None, **options: Any
    ) -> Any:
        """`posenc.torch.attend` with this encoding, or without any if it was added by `embed`.

        q         queries as projected, (batch, heads, q, dim)
        k, v      keys and values, (batch, heads or fewer, k, dim); none with a `cache`
        options   the other arguments of `attend`: cache, q_pos, k_pos, causal, mask, window, …
        """
        return attend(q, k, v, encoding=self._rest or self, **options)

    def start_cache(self) -> KVCache:
        """An empty cache that keeps keys as this encoding wants them: one for each layer."""
        return KVCache(self._rest or self)
