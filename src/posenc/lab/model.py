"""The lab's model: a small Transformer over the public layers, with any encoding."""

import torch
from torch import Tensor, nn

from posenc.core.arrays import Positions as Where
from posenc.core.encoding import Encoding
from posenc.lab.settings import Init
from posenc.torch import Positions, SelfAttention

SMALL = 0.02
"""The standard deviation of GPT-2's first weights."""


class Block(nn.Module):
    """Attention, then a network of two layers, each added to what comes in."""

    def __init__(self, width: int, heads: int, positions: Positions, *, causal: bool):
        super().__init__()
        self.attention = SelfAttention(width, heads, encoding=positions, causal=causal)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, pos: Where[Tensor] | None, mask: Tensor | None) -> Tensor:
        """x (batch, seq, width) after both."""
        x = x + self.attention(self.norm_1(x), pos, mask=mask)
        return x + self.mlp(self.norm_2(x))


class Transformer(nn.Module):
    """Logits of a token at each position; all layers share the encoding and what it learns.

    encoding   of any mechanism, for heads of width / heads channels
    tokens     size of the vocabulary
    causal     whether a token sees only those before it: a decoder
    init       the first weights: "unit" or "gpt2", see `posenc.lab.Settings`

    >>> import posenc as pe
    >>> model = Transformer(pe.RoPE(16), tokens=10, layers=2, width=32, heads=2)
    >>> model(torch.zeros(3, 7, dtype=torch.long)).shape
    torch.Size([3, 7, 10])
    """

    def __init__(
        self,
        encoding: Encoding,
        *,
        tokens: int,
        layers: int,
        width: int,
        heads: int,
        causal: bool = True,
        init: Init = "unit",
    ):
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # the other weights are the same for every encoding
            self.positions = Positions(encoding)
        self.embedding = nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(
            Block(width, heads, self.positions, causal=causal) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=init == "unit")
        if init == "unit":
            nn.init.normal_(self.embedding.weight, std=balance_scales(self.positions))
        else:
            self._start_like_gpt2()
        self.acts_in_layers = self.positions.additive is None or encoding.inner is not None

    def forward(
        self, tokens: Tensor, pos: Where[Tensor] | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Logits (batch, seq, token).

        tokens   (batch, seq)
        pos      positions, (seq,) or (batch, seq); 0, 1, … unless given
        mask     (batch, seq) of bool, False at padding
        """
        x = self.positions.embed(self.embedding(tokens), pos)
        pos = pos if self.acts_in_layers else None
        for block in self.blocks:
            x = block(x, pos, mask)
        return self.head(self.norm(x))

    @torch.no_grad()
    def _start_like_gpt2(self) -> None:
        """Small weights, smaller ones where a layer adds to x, and a head tied to the tokens."""
        adding = SMALL / (2 * len(self.blocks)) ** 0.5  # so that x is no larger in deep models
        for name, values in self.named_parameters():
            if name.startswith("positions."):
                continue  # the encoding has drawn them; tables begin at 0.02
            if values.ndim == 2:
                last = name.endswith(("attention.out.weight", "mlp.2.weight"))
                values.normal_(std=adding if last else SMALL)
            elif name.endswith("bias"):
                values.zero_()
        self.head.weight = self.embedding.weight


@torch.no_grad()
def balance_scales(positions: Positions) -> float:
    """How large token embeddings begin: as large as what is added to them, so that both count.

    That is 1 unless the encoding says otherwise: layers begin with outputs of that size, beside
    which tables of 0.02, as in GPT-2, are learned slowly. So a table is brought to 1 here.
    """
    added = positions.additive
    if added is None:
        return 1.0
    places = torch.arange(added.limit or 512)
    rows = added.encode(places, positions.tensors() or None)
    scale = float(rows.square().mean().sqrt())
    if added.limit is None:
        return scale
    for table in positions.parameters():
        table.div_(scale)
    return 1.0
