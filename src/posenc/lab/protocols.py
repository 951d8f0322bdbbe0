"""Protocols of papers as data: tasks, encodings, sizes and lengths, and what the papers found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc.core.hints import did_you_mean, nearest
from posenc.i18n import N_

Overrides = Mapping[str, Any]
"""Fields of `Settings` by name."""


@dataclass(frozen=True)
class Finding:
    """What a paper reports: the part of right answers at each of the ranges of lengths."""

    task: str
    encoding: str
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Protocol:
    """How a paper trains and tests.

    about       what it shows
    source      the paper
    tasks       by name, with the encodings that each is run with: name, name@positions
    settings    fields of `Settings` for all runs
    offsets     whether encodings with a table are trained at random offsets in it
    by_task     what differs for a task
    by_run      what differs for a task and an encoding
    findings    the paper's numbers
    """

    about: str
    source: str
    tasks: Mapping[str, tuple[str, ...]]
    settings: Overrides
    offsets: bool = False
    by_task: Mapping[str, Overrides] = field(default_factory=dict[str, Overrides])
    by_run: Mapping[tuple[str, str], Overrides] = field(
        default_factory=dict[tuple[str, str], Overrides]
    )
    findings: tuple[Finding, ...] = ()

    def settings_of(self, task: str, encoding: str) -> dict[str, Any]:
        """The fields of `Settings` for a task and an encoding (with its @positions)."""
        return {
            **self.settings,
            **self.by_task.get(task, {}),
            **self.by_run.get((task, encoding), {}),
        }


TEXT: dict[str, Any] = {"metric": "loss", "stop": False}
"""What tasks of text have in common."""
TABLE = "learned@offsets"

OWN = Protocol(
    about=N_("a small decoder, for tasks and encodings of your choice"),
    source="",
    tasks={"unique-copy": ("rope", "alibi", "t5", TABLE, "nope")},
    settings={
        "layers": 2,
        "heads": 4,
        "width": 64,
        "train_lengths": (1, 64),
        "test_lengths": ((64, 64), (128, 128), (256, 256)),
        "batch": 64,
        "steps": 5000,
    },
    offsets=True,
)

QUICK = Protocol(
    about=N_("unique copy in minutes: learned positions with offsets hold, rotations do not"),
    source="",
    tasks={"unique-copy": (TABLE, "rope")},
    settings={
        "layers": 2,
        "heads": 1,
        "width": 64,
        "symbols": 50,
        "train_lengths": (1, 16),
        "test_lengths": ((17, 32),),
        "batch": 64,
        "steps": 2000,
        "stop": False,
        "fit": 0.9,
        "examples": 512,
    },
    offsets=True,
)

LACOCO = Protocol(
    about=N_("algorithmic tasks up to 50 symbols, tested up to 150"),
    source="Huang et al., A Formal Framework for Understanding Length Generalization in "
    "Transformers, ICLR 2025",
    tasks=dict.fromkeys(
        ("majority", "unique-copy", "sort", "repeat-copy", "parity", "addition"),
        (TABLE, "nope"),
    ),
    settings={
        "layers": 4,
        "heads": 4,
        "width": 256,
        "symbols": 150,
        "train_lengths": (1, 50),
        "test_lengths": ((51, 100), (101, 150)),
        "batch": 64,
        "steps": 30_000,
        "fit": 0.99,
        "examples": 2000,
        "init": "gpt2",  # as in the paper's code, which trains GPT2LMHeadModel of Transformers
    },
    offsets=True,
    by_task={
        "majority": {"layers": 1, "heads": 1, "width": 16},
        "sort": {"layers": 2, "heads": 1, "width": 256},
    },
    by_run={("unique-copy", TABLE): {"layers": 2, "heads": 1, "width": 64}},
    findings=(
        Finding("majority", TABLE, (1.0, 1.0)),
        Finding("majority", "nope", (1.0, 1.0)),
        Finding("unique-copy", TABLE, (0.999, 0.987)),
        Finding("unique-copy", "nope", (0.180, 0.000)),
        Finding("sort", TABLE, (1.0, 0.994)),
        Finding("sort", "nope", (0.998, 0.806)),
        Finding("repeat-copy", TABLE, (0.256, 0.000)),
        Finding("repeat-copy", "nope", (0.280, 0.000)),
        Finding("parity", TABLE, (0.830, 0.621)),
        Finding("parity", "nope", (0.745, 0.633)),
        Finding("addition", TABLE, (0.268, 0.000)),
        Finding("addition", "nope", (0.277, 0.000)),
    ),
)

RANDOMISED = Protocol(
    about=N_("an encoder whose positions are randomised, up to 40 symbols, tested up to 100"),
    source="Ruoss et al., Randomized Positional Encodings Boost Length Generalization of "
    "Transformers, ACL 2023",
    tasks=dict.fromkeys(
        ("reverse", "repeat-copy", "sort", "parity", "addition"),
        ("sinusoidal", "sinusoidal@randomised", "rope", "rope@randomised", "nope"),
    ),
    settings={
        "layers": 5,
        "heads": 8,
        "width": 64,
        "causal": False,
        "symbols": 100,
        "train_lengths": (1, 40),
        "test_lengths": ((41, 100),),
        "batch": 128,
        "steps": 10_000,
        "optimiser": "adam",
        "metric": "symbols",
        "fit": 0.9,
    },
)

PRESS = Protocol(
    about=N_("a character language model trained at a length, tested at 2 to 16 times as many"),
    source="Press et al., Train Short, Test Long: Attention with Linear Biases, ICLR 2022",
    tasks={"causal-lm": ("alibi", "t5", "rope", "sinusoidal", "learned", "nope")},
    settings={
        **TEXT,
        "layers": 4,
        "heads": 8,
        "width": 128,
        "train_lengths": (64, 64),
        "test_lengths": tuple((64 * n, 64 * n) for n in (2, 4, 8, 16)),
        "batch": 32,
        "steps": 2000,
    },
)

HAVIV = Protocol(
    about=N_("causal and masked language models with and without an encoding"),
    source="Haviv et al., Transformer Language Models without Positional Encodings Still Learn "
    "Positional Information, EMNLP 2022",
    tasks={
        "causal-lm": ("nope", "learned", "sinusoidal", "alibi"),
        "masked-lm": ("nope", "learned", "sinusoidal", "two-sided-alibi"),
    },
    settings={
        **TEXT,
        "layers": 4,
        "heads": 4,
        "width": 128,
        "train_lengths": (128, 128),
        "test_lengths": (),
        "batch": 32,
        "steps": 2000,
    },
    by_task={"masked-lm": {"causal": False}},
)

KAZEMNEJAD = Protocol(
    about=N_("a decoder on tasks up to 20 symbols, tested up to 40"),
    source="Kazemnejad et al., The Impact of Positional Encoding on Length Generalization in "
    "Transformers, NeurIPS 2023",
    tasks=dict.fromkeys(
        ("repeat-copy", "reverse", "addition", "sort", "parity"),
        ("nope", "t5", "alibi", "rope", "learned@offsets"),
    ),
    settings={
        "layers": 4,
        "heads": 4,
        "width": 128,
        "symbols": 40,
        "train_lengths": (1, 20),
        "test_lengths": ((21, 30), (31, 40)),
        "batch": 64,
        "steps": 10_000,
        "fit": 0.95,
    },
    offsets=True,
)

EXTENSION = Protocol(
    about=N_("RoPE trained at a length, tested at 2 to 8 times as many under scalings"),
    source="Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023",
    tasks={"causal-lm": ("rope",)},
    settings={
        **TEXT,
        "layers": 4,
        "heads": 4,
        "width": 128,
        "train_lengths": (128, 128),
        "test_lengths": ((256, 256), (512, 512), (1024, 1024)),
        "batch": 32,
        "steps": 2000,
        "extensions": ("interpolation", "ntk", "dynamic-ntk", "yarn"),
    },
)

PROTOCOLS: dict[str, Protocol] = {
    "own": OWN,
    "quick": QUICK,
    "lacoco": LACOCO,
    "randomised": RANDOMISED,
    "press": PRESS,
    "haviv": HAVIV,
    "kazemnejad": KAZEMNEJAD,
    "extension": EXTENSION,
}
"""Every protocol by name."""


def find_protocol(name: str) -> Protocol:
    """The protocol of this name.

    >>> find_protocol("lacocco")
    Traceback (most recent call last):
    ValueError: no protocol is called 'lacocco'; did you mean lacoco? `posenc lab list` shows every
    name
    """
    if name not in PROTOCOLS:
        hint = did_you_mean(nearest(name, PROTOCOLS)) or ";"
        raise ValueError(f"no protocol is called {name!r}{hint} `posenc lab list` shows every name")
    return PROTOCOLS[name]
