"""A small GPT with any positional encoding, trained on Python's own documentation.

python examples/gpt.py --encoding alibi                  # a name: see `posenc list`
python examples/gpt.py --encoding "RoPE(32, base=500)"   # an expression
python examples/gpt.py --encoding mine.py:Mine           # a class or a value in your own file
"""

import time
from pydoc_data.topics import topics

import click
import torch
from torch import Tensor, nn

import posenc as pe
from posenc.names.resolve import canonical_name, load_file, resolve_one
from posenc.torch import KVCache, Positions, SelfAttention

TEXT = "\n".join(topics.values())
LETTERS = sorted({*TEXT})
COUNT = click.IntRange(min=1)


class Block(nn.Module):
    """Attention, then a network of two layers, each added to what comes in."""

    def __init__(self, width: int, heads: int, positions: Positions):
        super().__init__()
        self.attention = SelfAttention(width, heads, encoding=positions)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        wide = 4 * width
        self.mlp = nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))

    def forward(self, x: Tensor, cache: KVCache | None) -> tuple[Tensor, KVCache | None]:
        y = self.attention(self.norm_1(x), cache=cache)
        y, cache = (y, None) if cache is None else y
        x = x + y
        return x + self.mlp(self.norm_2(x)), cache


class GPT(nn.Module):
    """Logits of the next letter. All layers share one encoding and what it learns."""

    def __init__(self, encoding: pe.Encoding, *, layers: int, width: int, heads: int):
        super().__init__()
        self.positions = Positions(encoding)
        self.letters = nn.Embedding(len(LETTERS), width)
        self.blocks = nn.ModuleList(Block(width, heads, self.positions) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(LETTERS))
        nn.init.normal_(self.letters.weight, std=0.02)

    def forward(self, tokens: Tensor, caches: list | None = None) -> tuple[Tensor, list]:
        """Logits (batch, seq, letter) of tokens that follow those of the caches, and the caches."""
        before = len(caches[0]) if caches else 0
        kept = [*caches] if caches else [None] * len(self.blocks)
        x = self.letters(tokens)
        x = self.positions.embed(x, torch.arange(before, before + tokens.shape[1]))
        for i, block in enumerate(self.blocks):
            x, kept[i] = block(x, kept[i])
        return self.head(self.norm(x)), kept


@torch.no_grad()
def generate(model: GPT, tokens: Tensor, count: int, *, cached=True, temperature=0.8) -> Tensor:
    """`tokens` (batch, seq) and `count` more; a temperature of 0 takes the likeliest."""
    caches, new = [block.attention.start_cache() for block in model.blocks], tokens
    for _ in range(count):
        logits, caches = model(new, caches) if cached else (model(tokens)[0], caches)
        last = logits[:, -1:]
        noise = -torch.empty_like(last).exponential_().log()  # the largest sum: a softmax sample
        new = (last + temperature * noise).argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


def train(model: GPT, *, steps: int, length: int, batch: int) -> None:
    """AdamW on random pieces of the text, with progress; Ctrl-C ends it early."""
    text = torch.tensor([*map({letter: i for i, letter in enumerate(LETTERS)}.get, TEXT)])
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    began = time.perf_counter()
    try:
        for step in range(1, steps + 1):
            starts = torch.randint(len(text) - length, (batch, 1))
            pieces = text[starts + torch.arange(length + 1)]
            logits, _ = model(pieces[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if step in (1, steps) or step % max(1, steps // 20) == 0:
                seconds = time.perf_counter() - began
                speed, left = step * batch * length / seconds, seconds * (steps / step - 1)
                told = (
                    f"step {step:,} of {steps:,}   loss {loss.item():.3f}   {speed:,.0f} tokens/s"
                )
                print(f"{told}   {left:.0f} s left", flush=True)
    except KeyboardInterrupt:
        print("\nstopped; what it has learned so far:")


def find_encoding(what: str, *, width: int, heads: int, length: int) -> pe.Encoding:
    """The encoding that `what` names, of the model's size unless it has its own."""
    if canonical_name(what):
        return pe.make(what, dim=width, heads=heads, length=length)
    file, _, name = what.rpartition(":")
    if not file.endswith(".py"):
        return resolve_one(what)
    mine = load_file(file).get(name)
    if mine is None:
        raise ValueError(f"{file} must have the encoding {name!r}, and has none of this name")
    if type(mine).__name__ != name:  # a value rather than a class
        return mine
    dim = width if isinstance(mine, pe.Additive) else width // heads
    return type(mine).example(dim=dim, heads=heads, length=length)


@click.command(context_settings={"show_default": True})
@click.option("--encoding", "what", default="rope", help="A name, an expression or mine.py:Mine.")
@click.option("--steps", default=1000, type=COUNT, help="Training steps.")
@click.option("--layers", default=4, type=COUNT, help="Blocks of the model.")
@click.option("--width", default=128, type=COUNT, help="Channels of an embedding.")
@click.option("--heads", default=4, type=COUNT, help="Attention heads.")
@click.option("--length", default=256, type=COUNT, help="Letters of a piece of text.")
@click.option("--batch", default=16, type=COUNT, help="Pieces in a step.")
@click.option("--generate", "count", default=200, type=COUNT, help="Letters to write in the end.")
@click.option("--no-cache", is_flag=True, help="Write without the cache.")
@click.option("--seed", default=0, help="Of everything random.")
def main(what, steps, layers, width, heads, length, batch, count, no_cache, seed):
    """Train a small GPT with any positional encoding, and let it write."""
    torch.manual_seed(seed)
    start = torch.tensor([[LETTERS.index("\n")]])
    try:
        encoding = find_encoding(what, width=width, heads=heads, length=length)
        model = GPT(encoding, layers=layers, width=width, heads=heads)
        if encoding.axes is not None:
            raise ValueError(f"letters have one position each; {encoding} wants {encoding.axes}")
        if encoding.limit is not None and encoding.limit < max(length, count):
            raise ValueError(f"{encoding} is too short; got --length {length} --generate {count}")
        generate(model, start, 2, temperature=0)  # what else cannot work says so now
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error
    print(f"{encoding}, {sum(p.numel() for p in model.parameters()):,} parameters")
    train(model, steps=steps, length=length, batch=batch)
    tokens = generate(model, start, count, cached=not no_cache)
    print("".join(LETTERS[token] for token in tokens[0]))


if __name__ == "__main__":
    main()
