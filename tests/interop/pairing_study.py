"""How often `pairing_of` is right: small models trained in both pairings.

python -m tests.interop.pairing_study SEED...    # 10 to 20 seconds for each seed and pairing

Prints a line for each model, then how many are right, cannot tell and wrong, and in how many the
right pairing has the larger score. docs/howto/convert-a-checkpoint.md has the result.
"""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import torch

import posenc as pe

SPEC = importlib.util.spec_from_file_location(
    "gpt", Path(__file__).parents[2] / "examples" / "gpt.py"
)
gpt = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(gpt)
STEPS, LAYERS, WIDTH, HEADS, LENGTH, BATCH = 1200, 2, 64, 2, 64, 8


def train(pairing, seed, steps=STEPS):
    """The weights of queries and keys of each layer, and the model."""
    torch.manual_seed(seed)
    text = torch.tensor([gpt.LETTERS.index(letter) for letter in gpt.TEXT])
    rope = pe.RoPE(WIDTH // HEADS, base=1000.0, pairing=pairing)
    model = gpt.GPT(rope, layers=LAYERS, width=WIDTH, heads=HEADS)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    for _ in range(steps):
        starts = torch.randint(len(text) - LENGTH, (BATCH, 1))
        pieces = text[starts + torch.arange(LENGTH + 1)]
        logits = model(pieces[:, :-1])[0].flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, pieces[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    weights = [block.attention.qkv.weight.detach() for block in model.blocks]
    return [w[:WIDTH] for w in weights], [w[WIDTH : 2 * WIDTH] for w in weights]


def judge(guess, truth):
    if guess.pairing is None:
        return "cannot tell"
    return "right" if guess.pairing == truth else "wrong"


def main(seeds):
    torch.set_num_threads(1)
    verdicts, larger = Counter(), 0
    for seed in seeds:
        for truth in ("halves", "interleaved"):
            guess = pe.pairing_of(*train(truth, seed), heads=HEADS)
            verdicts[judge(guess, truth)] += 1
            larger += max(guess.evidence, key=guess.evidence.get) == truth
            print(f"seed {seed}, trained with {truth}: {guess}", flush=True)
    print(dict(verdicts), f"larger score: {larger} of {sum(verdicts.values())}")


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
