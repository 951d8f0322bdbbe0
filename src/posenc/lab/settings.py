"""The settings of a run: everything that its result depends on, and nothing else."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from posenc.core import rules
from posenc.core.hints import hint_arguments
from posenc.core.positions import LIMIT
from posenc.lab.tasks import Task, find_task

Lengths: TypeAlias = tuple[int, int]
"""The shortest and the longest of a range of lengths."""
Policy: TypeAlias = Literal["consecutive", "offsets", "randomised"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
Metric: TypeAlias = Literal["exact", "symbols", "loss"]
METRICS: tuple[Metric, ...] = get_args(Metric)
Init: TypeAlias = Literal["unit", "gpt2"]
INITS: tuple[Init, ...] = get_args(Init)


@dataclass(frozen=True)
class Settings:
    """One run: a model with an encoding, trained on a task and tested at several lengths.

    protocol       where the numbers come from, by which reports group runs
    task           a name of `posenc.lab.tasks.TASKS`
    encoding       a name, an expression, file.py:Name or package.module:name
    code           a hash of the file that defines the encoding; "" if none does
    positions      "consecutive": 0, 1, …; "offsets": training starts anywhere in the table of a
                   learned encoding; "randomised": a sorted sample of 0 .. limit - 1
    limit          positions are randomised below this
    causal         whether the model is a decoder
    init           the first weights: "unit", token embeddings and learned tables of unit size;
                   "gpt2", weights of 0.02 and logits that are products with token embeddings
    symbols        symbols of tasks that let one choose; 0: the task's own
    train_lengths  of the examples of training, each drawn from this range
    test_lengths   ranges beyond, each evaluated by itself
    steps          at most; the learning rate falls linearly to 0 at the last
    stop           whether training ends once all examples of a check are right
    fit            the part of right examples in length from which on a run is trained
    metric         what is reported: "exact", the part of answers that are right as a whole;
                   "symbols", the part of their symbols; "loss", in nats
    examples       tested at each length; of text, as many characters as they have in training
    extensions     scalings of RoPE, by name, under which the trained model is tested too
    """

    task: str
    encoding: str
    seed: int = 0
    protocol: str = "own"
    code: str = ""
    positions: Policy = "consecutive"
    limit: int = 2048
    layers: int = 2
    heads: int = 4
    width: int = 64
    causal: bool = True
    symbols: int = 0
    train_lengths: Lengths = (1, 16)
    test_lengths: tuple[Lengths, ...] = ((17, 32),)
    batch: int = 64
    steps: int = 2000
    optimiser: Literal["adamw", "adam"] = "adamw"
    learning_rate: float = 1e-3
    stop: bool = True
    fit: float = 0.9
    metric: Metric = "exact"
    examples: int = 512
    extensions: tuple[str, ...] = ()
    init: Init = "unit"

    def __post_init__(self) -> None:
        task = find_task(self.task)
        for name in ("layers", "heads", "width", "batch", "steps", "examples"):
            rules.whole(name, getattr(self, name), least=1, most=2**20)
        for name in ("seed", "symbols"):
            rules.whole(name, getattr(self, name), least=0, most=2**31)
        rules.whole("limit", self.limit, least=1, most=LIMIT)
        rules.real("learning_rate", self.learning_rate, least=0, most=10)
        rules.real("fit", self.fit, least=0, most=1)
        rules.one_of("positions", self.positions, POLICIES)
        rules.one_of("metric", self.metric, METRICS)
        rules.one_of("init", self.init, INITS)
        rules.one_of("optimiser", self.optimiser, ("adamw", "adam"))
        if self.width % self.heads:
            raise ValueError(
                f"width must be a multiple of heads; got width={self.width}, heads={self.heads}"
            )
        for low, high in self.lengths:
            _check_lengths(self, low, high)
        if not isinstance(task, Task):
            if task.causal != self.causal:
                raise ValueError(f"causal must be {task.causal} for {self.task}")
            if self.metric != "loss":
                raise ValueError(f"metric must be 'loss' for {self.task}; got {self.metric!r}")
            if any(low != high for low, high in self.lengths):
                raise ValueError(f"{self.task} has windows of one length; got {self.lengths}")

    @property
    def lengths(self) -> tuple[Lengths, ...]:
        """What is evaluated: the lengths of training first, then those beyond."""
        return tuple(dict.fromkeys((self.train_lengths, *self.test_lengths)))

    @property
    def label(self) -> str:
        """The encoding with how its positions are drawn: rope, rope@randomised."""
        return self.encoding + ("" if self.positions == "consecutive" else f"@{self.positions}")

    @property
    def key(self) -> str:
        """The name of the run's directory: 16 hexadecimal digits of the hash of the settings."""
        data = self.to_json()
        if self.init == "unit":
            del data["init"]  # runs that were made when there was no other keep their names
        text = json.dumps(data, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Plain values; lists for tuples."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Settings":
        """The settings that `to_json` has written.

        >>> settings = Settings("parity", "rope", seed=3)
        >>> Settings.from_json(settings.to_json()) == settings
        True
        """
        known = {field.name for field in fields(cls)}
        if unknown := sorted(data.keys() - known):
            raise ValueError(f"settings must have the names of Settings; got {unknown} too")
        tuples = {name: _to_tuples(value) for name, value in data.items()}
        return cls(**tuples)


hint_arguments(Settings)


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _check_lengths(settings: Settings, low: int, high: int) -> None:
    """Say which lengths a task cannot have."""
    task, name = find_task(settings.task), settings.task
    rules.whole("each of lengths", low, least=0, most=2**20)
    rules.whole("each of lengths", high, least=0, most=2**20)
    if low > high:
        raise ValueError(f"lengths must be from a smaller to a larger number; got {low}-{high}")
    if low < task.least:
        raise ValueError(
            f"{name} needs lengths of at least {task.least} {task.length}; "
            f"got {format_lengths((low, high))}"
        )
    if isinstance(task, Task) and task.distinct and settings.symbols < high:
        raise ValueError(
            f"{name} has different symbols, so symbols must be at least the longest length, "
            f"{high}; got symbols={settings.symbols}"
        )


def format_lengths(lengths: Lengths) -> str:
    """A range for people.

    >>> format_lengths((17, 32)), format_lengths((64, 64))
    ('17-32', '64')
    """
    low, high = lengths
    return str(low) if low == high else f"{low}-{high}"
