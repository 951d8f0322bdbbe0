"""Batches of a task as tensors: the same for every encoding, given the seed and the step."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from posenc.lab.settings import Lengths, Settings
from posenc.lab.tasks import CHARACTERS, Task, TextTask, find_task, read_text

PAD, START, ASK, END, MASK = range(5)
SPECIAL = 5
"""Tokens before those of symbols: padding, the start, answer now, the end, a masked symbol."""
IGNORED = -100
"""The target of tokens that nothing is predicted at."""
MASKED = 0.15
"""Part of the characters that are masked: Devlin et al. (2018)."""

Stream = Literal["train", "check", "test", "positions", "test positions"]
STREAMS: tuple[Stream, ...] = get_args(Stream)


@dataclass(frozen=True)
class Batch:
    """Tokens (batch, seq), what is to be predicted at each, and which are no padding."""

    tokens: Tensor
    targets: Tensor
    mask: Tensor | None = None

    def split(self, most: int) -> Iterator["Batch"]:
        """The same in pieces of at most `most` tokens, or of one row."""
        rows = max(1, most // self.tokens.shape[1])
        for start in range(0, len(self.tokens), rows):
            end = start + rows
            mask = None if self.mask is None else self.mask[start:end]
            yield Batch(self.tokens[start:end], self.targets[start:end], mask)


def make_rng(settings: Settings, stream: Stream, index: int) -> "np.random.Generator":
    """A generator that depends on the seed, what it is for and the index alone."""
    return np.random.default_rng([settings.seed, STREAMS.index(stream), index])


def count_tokens(settings: Settings) -> int:
    """The size of the model's vocabulary."""
    task = find_task(settings.task)
    if isinstance(task, TextTask):
        return SPECIAL + len(CHARACTERS)
    return SPECIAL + (task.symbols or settings.symbols) + task.extra


def measure_sequence(settings: Settings, length: int) -> int:
    """How many tokens the model sees of an example of this length.

    >>> measure_sequence(Settings("unique-copy", "rope", symbols=50), 16)
    34
    """
    task = find_task(settings.task)
    if isinstance(task, TextTask):
        return length
    prompt, answer = task.draw(np.random.default_rng(0), length, task.symbols or settings.symbols)
    return len(prompt) + len(answer) + (2 if settings.causal else 3)


def draw_batch(settings: Settings, stream: Stream, step: int) -> Batch:
    """The batch of a training step, or of a check in the middle of training."""
    return draw_examples(
        settings,
        settings.train_lengths,
        settings.batch if stream == "train" else settings.examples,
        make_rng(settings, stream, step),
    )


def draw_examples(
    settings: Settings, lengths: Lengths, count: int, rng: "np.random.Generator"
) -> Batch:
    """So many examples, each of a length drawn from a range."""
    task = find_task(settings.task)
    if isinstance(task, TextTask):
        text = read_text("train")
        window = lengths[1] + task.causal
        starts = rng.integers(len(text) - window + 1, size=(count, 1))
        return _cut_windows(text[starts + np.arange(window)], task, rng)
    sizes = rng.integers(lengths[0], lengths[1] + 1, size=count)
    return _join_examples(settings, task, sizes.tolist(), rng)


def draw_test(settings: Settings, index: int) -> Batch:
    """The examples of one of `settings.lengths`; of text, windows of the same text at each."""
    task, lengths = find_task(settings.task), settings.lengths[index]
    rng = make_rng(settings, "test", index)
    if not isinstance(task, TextTask):
        return draw_examples(settings, lengths, settings.examples, rng)
    text = read_text("test")[: measure_text(settings) + task.causal]
    windows = np.lib.stride_tricks.sliding_window_view(text, lengths[1] + task.causal)
    return _cut_windows(windows[:: lengths[1]], task, rng)


def measure_text(settings: Settings) -> int:
    """How many characters a model of text is tested on, so the longest window that there is."""
    causal = settings.causal  # then the last character is only a target
    return min(len(read_text("test")) - causal, settings.examples * settings.train_lengths[1])


def _cut_windows(windows: np.ndarray, task: TextTask, rng: "np.random.Generator") -> Batch:
    """The next character at each, or those that are masked, of windows (batch, seq)."""
    tokens = torch.from_numpy(windows + SPECIAL)
    if task.causal:
        return Batch(tokens[:, :-1], tokens[:, 1:])
    hidden = rng.random(windows.shape) < MASKED
    hidden[np.arange(len(windows)), rng.integers(windows.shape[1], size=len(windows))] = True
    masked = torch.from_numpy(hidden)
    return Batch(tokens.masked_fill(masked, MASK), tokens.masked_fill(~masked, IGNORED))


def _join_examples(
    settings: Settings, task: Task, sizes: list[int], rng: "np.random.Generator"
) -> Batch:
    """start prompt ask answer end, padded at the end.

    A decoder predicts each token of the answer from those before; an encoder sees masks instead.
    """
    symbols = task.symbols or settings.symbols
    drawn = [task.draw(rng, size, symbols) for size in sizes]
    longest = max(len(prompt) + len(answer) for prompt, answer in drawn) + 3
    tokens = np.full((len(drawn), longest), PAD)
    answers = np.zeros_like(tokens, dtype=bool)
    for row, answered, (prompt, answer) in zip(tokens, answers, drawn, strict=True):
        begin, end = len(prompt) + 2, len(prompt) + len(answer) + 2
        row[0], row[begin - 1], row[end] = START, ASK, END
        row[1 : begin - 1], row[begin:end] = prompt, answer
        row[1 : begin - 1] += SPECIAL
        row[begin:end] += SPECIAL
        answered[begin : end + 1] = True
    whole, asked = torch.from_numpy(tokens), torch.from_numpy(answers)
    targets = whole.masked_fill(~asked, IGNORED)
    if settings.causal:
        return Batch(whole[:, :-1], targets[:, 1:])
    return Batch(whole.masked_fill(asked, MASK), targets, whole != PAD)
