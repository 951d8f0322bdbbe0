"""A layer of self-attention with any encoding, grouped-query heads and a cache."""

from typing import Any

import torch
from torch import Tensor, nn

from posenc.core import rules
from posenc.core.arrays import Positions as Where
from posenc.core.attention_inputs import check_rate
from posenc.core.encoding import Encoding, unwrap
from posenc.core.hints import hinted
from posenc.core.logits import read_softcap
from posenc.core.mechanisms import Additive, Unbiased
from posenc.torch.cache import KVCache
from posenc.torch.positions import Positions


class SelfAttention(nn.Module):
    """Self-attention over x (batch, seq, dim) with any encoding.

    dim        channels of x, divided among the heads
    heads      attention heads
    kv_heads   heads of keys and values, each shared by heads / kv_heads queries; all unless given
    encoding   of any mechanism; None: no encoding. `Positions(encoding)` given to several layers
               shares what it learns. An additive one is added before the first layer, by
               `Positions.embed`; the layers then have plain attention
    causal     whether a query sees only keys at or before its own position: a decoder
    bias       whether the projections have one
    softcap    c, which makes c tanh(x / c) of the products x of queries and keys, as in Gemma 2
    sinks      whether each head learns a logit for attention that goes nowhere, as in gpt-oss; 0 at
               first
    dropout    probability that a weight of the attention is dropped in training

    >>> import torch
    >>> import posenc as pe
    >>> layer = SelfAttention(64, 8, kv_heads=2, encoding=pe.RoPE(8))
    >>> x = torch.randn(1, 10, 64)
    >>> y, cache = layer(x[:, :9], cache=layer.start_cache())    # a prompt
    >>> last, cache = layer(x[:, 9:], cache=cache)                # and one more token
    >>> torch.allclose(torch.cat([y, last], dim=1), layer(x), atol=1e-6)
    True
    """

    @hinted("SelfAttention")
    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        encoding: Encoding | Positions | None = None,
        causal: bool = True,
        bias: bool = False,
        softcap: float | None = None,
        sinks: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        dim, heads = rules.dim("dim", dim), rules.whole("heads", heads, least=1)
        kv_heads = heads if kv_heads is None else rules.whole("kv_heads", kv_heads, least=1)
        if dim % heads:
            raise ValueError(f"dim must be a multiple of heads; got dim={dim}, heads={heads}")
        if heads % kv_heads:
            raise ValueError(
                f"heads must be a multiple of kv_heads; got heads={heads}, kv_heads={kv_heads}"
            )
        rules.flag("causal", causal)
        rules.flag("sinks", sinks)
        self.softcap, self.dropout = read_softcap(softcap), check_rate(dropout)
        self.sinks = nn.Parameter(torch.zeros(heads)) if sinks else None
        shared = isinstance(encoding, Positions)
        self.positions = (
            encoding if shared else Positions(Unbiased() if encoding is None else encoding)
        )
        self.causal, self.head_dim, self.split = causal, dim // heads, (heads, kv_heads, kv_heads)
        _check_sizes(self.positions.encoding, heads, self.head_dim)
        self.qkv = nn.Linear(dim, sum(self.split) * self.head_dim, bias=bias)
        self.out = nn.Linear(dim, dim, bias=bias)

    def start_cache(self) -> KVCache:
        """An empty cache for this layer."""
        return self.positions.start_cache()

    def forward(
        self,
        x: Tensor,
        pos: Where[Tensor] | None = None,
        cache: KVCache | None = None,
        *,
        mask: Tensor | None = None,
        **options: Any,
    ) -> Tensor | tuple[Tensor, KVCache]:
        """The output (batch, seq, dim), and the cache with these tokens if one was given.

        x         hidden states, (batch, seq, dim)
        pos       positions, (seq,) or (batch, seq); 0, 1, … unless given, after those of the cache
        cache     keys and values of the tokens before x, from `start_cache`
        mask      (batch, seq) of bool, False at padding
        options   further arguments of `attend`: window, documents, …
        """
        _check_options(options)
        if x.ndim != 3:
            raise ValueError(f"x must be (batch, seq, dim); got shape {tuple(x.shape)}")
        if cache is not None and not isinstance(cache, KVCache):
            raise TypeError(f"cache must be a KVCache; got {type(cache).__name__}")
        options = self._options() | options
        heads = self.qkv(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        q, k, v = heads.split(self.split, dim=1)
        options["causal"] = self.causal
        if cache is not None:
            cache = cache.append(k, v, pos, mask)
            y = self.positions.attend(q, cache=cache, **options)  # which has the positions
            return self.out(y.transpose(1, 2).flatten(2)), cache
        if "features" in self.positions.encoding.needs:
            options["features"] = x
        seen = None if mask is None else mask[:, None, None]
        y = self.positions.attend(q, k, v, q_pos=pos, k_pos=pos, mask=seen, **options)
        return self.out(y.transpose(1, 2).flatten(2))

    def _options(self) -> dict[str, Any]:
        """What this layer has of its own among the arguments of `attend`."""
        own = {"softcap": self.softcap, "sinks": self.sinks}
        given: dict[str, Any] = {name: x for name, x in own.items() if x is not None}
        return given | {"dropout": self.dropout} if self.training and self.dropout else given


def _check_options(options: dict[str, Any]) -> None:
    """Refuse what would change the shape of a layer's result."""
    for name in ("layout", "return_lse"):
        if name in options:
            raise ValueError(
                f"{name} must be left out for SelfAttention, whose result is (batch, seq, dim); "
                f"got {name}={options[name]!r}"
            )


def _check_sizes(encoding: Encoding, heads: int, head_dim: int) -> None:
    """Refuse an encoding made for other heads; an additive one has the model's width instead."""
    if isinstance(unwrap(encoding), Additive):
        return
    for name, size, wanted in (("dim", encoding.dim, head_dim), ("heads", encoding.heads, heads)):
        if size not in (None, wanted):
            raise ValueError(
                f"encoding must have {name}={wanted}, for {heads} heads of {head_dim} channels; "
                f"got {encoding}"
            )
