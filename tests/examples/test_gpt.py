"""examples/gpt.py: it trains, and writes the same with its cache and without."""

import importlib.util
import math
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import posenc as pe
from posenc.bench import handwritten
from posenc.names.resolve import SCALED
from posenc.torch import SelfAttention
from tests.slow import seldom
from tests.torch.own_encodings import Forgetting, Recency, Turning

PATH = Path(__file__).parents[2] / "examples" / "gpt.py"
SPEC = importlib.util.spec_from_file_location("gpt", PATH)
gpt = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(gpt)

WIDTH, HEADS, LENGTH = 32, 4, 24
SMALL = {"width": WIDTH, "heads": HEADS, "length": LENGTH, "layers": 2, "batch": 2, "generate": 12}
EVERY = [*pe.catalogue(), *SCALED]
OF_IMAGES = ["axial-sinusoidal", "fourier-features", "learned-fourier", "axial-rope", "swin"]
OF_IMAGES += ["swin-v2", "mrope"]
OF_TEXTS = [name for name in EVERY if name not in OF_IMAGES]
MINE = """
from dataclasses import dataclass
import posenc as pe

@dataclass(frozen=True)
class Mine(pe.Bias):
    heads: int
    def bias(self, q_pos, k_pos, params=None):
        return -abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 0.5

many = Mine(heads=4)
"""


def run(*arguments, **options):
    words = [f"--{name}={value}" for name, value in (SMALL | options).items()]
    return CliRunner().invoke(gpt.main, [*words, *arguments])


def small_gpt(encoding):
    """A model in float64, whose letters differ: untrained, it would write one letter for ever."""
    torch.manual_seed(0)
    model = gpt.GPT(encoding, layers=2, width=WIDTH, heads=HEADS).double()
    torch.nn.init.normal_(model.letters.weight)
    return model


def named(name):
    return gpt.find_encoding(name, width=WIDTH, heads=HEADS, length=LENGTH)


def test_it_is_short():
    assert len(PATH.read_text().splitlines()) < 150


@pytest.mark.parametrize(
    "encoding", seldom(OF_TEXTS, but=["sinusoidal", "learned", "rope", "t5", "transformer-xl"])
)
def test_it_trains_and_writes(encoding):
    done = run(encoding=encoding, steps=3)
    assert done.exit_code == 0, done.output
    first, *steps = done.output.splitlines()[:4]
    assert re.fullmatch(r".+\), [\d,]+ parameters", first)
    for number, line in enumerate(steps, 1):
        told = rf"step {number} of 3   loss \d\.\d+   [\d,]+ tokens/s   \d+ s left"
        assert re.fullmatch(told, line)
    assert len(done.output.split(steps[-1])[1]) == 1 + 1 + 12 + 1  # a line break, letters, another


def test_it_learns():
    """From knowing nothing to more than how often each letter comes."""
    done = run(steps=160, layers=1, batch=16)
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", done.output)]
    parts = [count / len(gpt.TEXT) for count in Counter(gpt.TEXT).values()]
    nothing, letters = math.log(len(parts)), -sum(part * math.log(part) for part in parts)
    assert losses[0] > nothing - 0.2
    assert losses[-1] < letters < nothing - 1


def test_a_seed_gives_the_same_letters():
    outputs = [run(steps=2, seed=seed).output.splitlines()[3:] for seed in (1, 1, 2)]
    assert outputs[0] == outputs[1] != outputs[2]
    assert run("--no-cache", steps=2, seed=1).output.splitlines()[3:] == outputs[0]


WRITERS = {name: named(name) for name in OF_TEXTS} | {
    "tempered": pe.Tempered(pe.T5Bias(HEADS), pe.LogN(4)),
    "tempered, added": pe.Tempered(pe.Sinusoidal(WIDTH), pe.LogN(4)),
    "own bias": Recency(HEADS),
    "own rotation": Turning(WIDTH // HEADS),
}


@pytest.mark.parametrize("encoding", WRITERS.values(), ids=WRITERS)
def test_the_cache_changes_no_letter(encoding):
    model = small_gpt(encoding)
    start = torch.randint(len(gpt.LETTERS), (2, 5))
    with_cache, without = (
        gpt.generate(model, start, 12, cached=cached, temperature=0) for cached in (True, False)
    )
    assert torch.equal(with_cache, without)
    assert len(with_cache[:, 5:].unique()) > 2


@pytest.mark.parametrize("encoding", WRITERS.values(), ids=WRITERS)
@torch.no_grad()
def test_the_cache_changes_logits_by_rounding_alone(encoding):
    """Two runs in float64 differ by their roundings, which the model carries to its logits.

    How much it makes of roundings, a run in float32 tells, whose own are 2^29 times as large. Each
    of the two has its own, and so may have twice that; 8 more for a run in float32 that was lucky.
    """
    model = small_gpt(encoding)
    tokens = torch.randint(len(gpt.LETTERS), (2, LENGTH))
    whole, _ = model(tokens)
    caches, parts = [block.attention.start_cache() for block in model.blocks], []
    for piece in tokens.split([5, 1, 1, 7, *[1] * (LENGTH - 14)], dim=1):
        logits, caches = model(piece, caches)
        parts.append(logits)
    rounded, _ = model.float()(tokens)
    bound = 16 * 2.0**-29 * (rounded - whole).abs().max()
    assert (torch.cat(parts, dim=1) - whole).abs().max() <= bound


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    assert "Mine(heads=4), " in run(encoding=f"{path}:Mine", steps=1).output
    assert "Mine(heads=4), " in run(encoding=f"{path}:many", steps=1).output
    refused = run(encoding=f"{path}:Yours", steps=1)
    assert refused.exit_code == 2
    assert f"{path} must have the encoding 'Yours', and has none of this name" in refused.output


@pytest.mark.parametrize("name", OF_IMAGES)
def test_an_encoding_of_images_is_refused(name):
    done = run(encoding=name)
    assert done.exit_code == 2
    assert re.search(r"letters have one position each; .+ wants [23]", done.output)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "rop"}, "no encoding is called 'rop'; did you mean rope?"),
        ({"encoding": "T5Bias(3)"}, "encoding must have heads=4, for 4 heads of 8 channels"),
        ({"encoding": "RoPE(8, theta=2)"}, "RoPE has no argument 'theta'; did you mean base=?"),
        ({"encoding": "none.py:Mine"}, "file must be a Python file that exists; got none.py"),
        ({"encoding": "learned", "generate": 25}, "Learned(24, 32) is too short; got --length 24"),
        ({"encoding": "Learned(8, 32)"}, "Learned(8, 32) is too short; got --length 24"),
        ({"encoding": "Sinusoidal(16)"}, "x must have the shape of its encoding"),
        ({"width": 30}, "head_dim must be given where heads do not divide dim"),
        ({"encoding": "nope", "width": 30}, "dim must be a multiple of heads"),
        ({"steps": 0}, "Invalid value for '--steps': 0 is not in the range x>=1"),
    ],
)
def test_wrong_arguments_get_a_sentence(options, message):
    done = run(**options)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_an_encoding_that_depends_on_the_tokens_is_refused(tmp_path):
    path = tmp_path / "forget.py"
    path.write_text("from tests.torch.own_encodings import Forgetting\nfox = Forgetting(32)")
    done = run(encoding=f"{path}:fox")
    assert done.exit_code == 2
    assert f"a cache does not hold; got {Forgetting.__name__}" in done.output


def test_ctrl_c_stops_with_a_sample(monkeypatch):
    steps = []

    def interrupted(self):
        steps.append(self)
        if len(steps) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(torch.optim.AdamW, "step", interrupted)
    done = run(steps=100)
    assert done.exit_code == 0
    _, sample = done.output.split("\nstopped; what it has learned so far:\n")
    assert len(sample) == 1 + 12 + 1


def test_the_benchmark_has_the_same_model():
    """`posenc.bench.handwritten`, which an installed posenc has, is compared in its place."""
    ours = small_gpt(pe.RoPE(8)).float()
    theirs = handwritten.GPT(
        lambda: SelfAttention(WIDTH, HEADS, encoding=pe.RoPE(8)),
        layers=2,
        dim=WIDTH,
        vocabulary=len(gpt.LETTERS),
    )
    state = {
        name.replace("letters", "embedding"): tensor for name, tensor in ours.state_dict().items()
    }
    theirs.load_state_dict(state)
    tokens = torch.randint(len(gpt.LETTERS), (2, LENGTH))
    assert torch.equal(ours(tokens)[0], theirs(tokens)[0])
