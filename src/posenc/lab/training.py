"""A run: train a model by its settings, test it at every length. Equal settings, equal bits."""

import io
import os
import platform
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from posenc.core.encoding import Encoding
from posenc.core.positions import randomised
from posenc.lab.batches import (
    IGNORED,
    PAD,
    Batch,
    Stream,
    count_tokens,
    draw_batch,
    draw_test,
    make_rng,
    measure_sequence,
)
from posenc.lab.model import Transformer
from posenc.lab.record import Point, Record, Score, read_versions
from posenc.lab.settings import Settings
from posenc.lab.subjects import count_rows, extend, find_encoding

POINTS, CHECKS = 50, 20
"""Points of a curve, and how often training checks whether it may stop."""
SAVED = 20.0
"""Seconds between checkpoints."""
MOST = 2**14
"""Tokens that are tested at once."""

Progress = Callable[[int, float], None]
"""Called after each step, with its number and the last loss of the curve."""


class Stopped(Exception):  # noqa: N818 (it is no error)
    """Raised by `progress` to end a run, which then saves where it is."""


@dataclass
class State:
    """What a run goes on with: the model, the optimiser, and what was noted so far."""

    model: Transformer
    optimiser: torch.optim.Optimizer
    step: int = 0
    curve: list[Point] = field(default_factory=list[Point])
    total: float = 0.0
    counted: int = 0
    seconds: float = 0.0
    done: bool = False


def run_settings(
    settings: Settings, *, progress: Progress | None = None, checkpoint: Path | None = None
) -> Record:
    """Train and test one model, in one thread.

    progress     told about the steps
    checkpoint   a file to go on from if it is there, written every 20 seconds; the result does not
                 depend on it
    """
    began = time.perf_counter()
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoding = find_encoding(settings)
        state = start(settings, encoding)
        if checkpoint is not None and checkpoint.exists():
            load_checkpoint(state, checkpoint)
        before = state.seconds

        def save(*, now: bool = False) -> None:
            nonlocal saved
            if checkpoint is not None and (now or time.perf_counter() - saved > SAVED):
                saved = time.perf_counter()
                state.seconds = before + saved - began
                with suppress(OSError):  # a full disk may still take the record, which is small
                    save_checkpoint(state, checkpoint)

        saved = began
        while not state.done:
            advance(state, settings)
            try:
                if progress is not None:
                    progress(state.step, state.curve[-1].loss if state.curve else 0.0)
            except Stopped:
                save(now=True)
                raise
            save()
        save(now=True)
        scores = tuple(evaluate(state.model, encoding, settings))
    return Record(
        settings,
        tuple(state.curve),
        scores,
        state.step,
        read_versions(),
        before + time.perf_counter() - began,
        platform.node(),
    )


def build_model(settings: Settings, encoding: Encoding) -> Transformer:
    """The model of a run, with fresh weights."""
    return Transformer(
        encoding,
        tokens=count_tokens(settings),
        layers=settings.layers,
        width=settings.width,
        heads=settings.heads,
        causal=settings.causal,
        init=settings.init,
    )


def start(settings: Settings, encoding: Encoding) -> State:
    """A run before its first step."""
    model = build_model(settings, encoding)
    kind = torch.optim.AdamW if settings.optimiser == "adamw" else torch.optim.Adam
    return State(model, kind(model.parameters(), lr=settings.learning_rate))


def advance(state: State, settings: Settings) -> None:
    """Make one step; note the loss now and then; stop at the last, or if a check finds no fault."""
    step = state.step
    batch = draw_batch(settings, "train", step)
    for group in state.optimiser.param_groups:
        group["lr"] = settings.learning_rate * (1 - step / settings.steps)
    pos = draw_positions(settings, batch, "positions", step)
    loss = compute_loss(state.model(batch.tokens, pos, batch.mask), batch)
    state.optimiser.zero_grad()
    loss.backward()  # pyright: ignore[reportUnknownMemberType]
    state.optimiser.step()
    state.step = step + 1
    state.total, state.counted = state.total + loss.item(), state.counted + 1
    last = state.step == settings.steps
    checked = settings.stop and _is_due(state.step, settings.steps, CHECKS)
    if last or checked or _is_due(state.step, settings.steps, POINTS):
        exact = check(state, settings) if checked else None
        state.curve.append(Point(state.step, state.total / state.counted, exact))
        state.total, state.counted = 0.0, 0
        state.done = last or exact == 1.0


def _is_due(step: int, steps: int, count: int) -> bool:
    """Whether this step is one of `count` evenly among `steps`."""
    return step * count // steps != (step - 1) * count // steps


def compute_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Cross entropy of what is to be predicted."""
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED
    )


def draw_positions(settings: Settings, batch: Batch, stream: Stream, step: int) -> Tensor | None:
    """Positions of a batch: None for 0, 1, …; offset in each row; or a sorted sample."""
    if settings.positions == "consecutive":
        return None
    length, rng = batch.tokens.shape[1], make_rng(settings, stream, step)
    if settings.positions == "randomised":
        return randomised(length, limit=settings.limit, rng=rng, like=batch.tokens)
    last = count_rows(settings) - 1
    sizes = (batch.tokens != PAD).sum(-1).numpy()
    starts = torch.from_numpy(rng.integers(last - sizes + 2))  # an example may end at the last row
    return (starts[:, None] + torch.arange(length)).clamp(max=last)  # where padding is, if any


def compute_test_logits(model: Transformer, settings: Settings, batch: Batch, index: int) -> Tensor:
    """Logits at positions 0, 1, …, or at a sample of them if the model has seen samples alone."""
    sampled = settings.positions == "randomised"
    pos = draw_positions(settings, batch, "test positions", index) if sampled else None
    return model(batch.tokens, pos, batch.mask)


@torch.no_grad()
def check(state: State, settings: Settings) -> float:
    """The part of fresh examples in length that are right."""
    right = 0
    for batch in draw_batch(settings, "check", state.step).split(MOST):
        logits = compute_test_logits(state.model, settings, batch, state.step)
        right += int(find_right(logits, batch).all(-1).sum())
    return right / settings.examples


def find_right(logits: Tensor, batch: Batch) -> Tensor:
    """Which tokens (batch, seq) are predicted, or need not be."""
    return (logits.argmax(-1) == batch.targets) | (batch.targets == IGNORED)


def evaluate(model: Transformer, encoding: Encoding, settings: Settings) -> Generator[Score]:
    """A score at each length, as trained and under each extension beyond the trained length."""
    trained = settings.train_lengths[1]
    for extension in ("", *settings.extensions):
        for index, lengths in enumerate(settings.lengths):
            if not extension:
                yield measure_score(model, settings, index)
            elif lengths[1] > trained:
                seen, wanted = (measure_sequence(settings, n) for n in (trained, lengths[1]))
                scaled = extend(encoding, extension, length=seen, factor=wanted / seen)
                tested = build_model(settings, scaled)
                tested.load_state_dict(model.state_dict())
                yield measure_score(tested, settings, index, extension)


@torch.no_grad()
def measure_score(model: Transformer, settings: Settings, index: int, extension: str = "") -> Score:
    """The score at `settings.lengths[index]`, or the sentence by which the encoding refuses it."""
    right, correct, loss, examples, symbols = 0, 0, 0.0, 0, 0
    for i, batch in enumerate(draw_test(settings, index).split(MOST)):
        try:
            logits = compute_test_logits(model, settings, batch, 1000 * index + i)
        except (ValueError, IndexError) as error:  # beyond its table
            return Score(settings.lengths[index], extension, refused=str(error))
        hits, asked = find_right(logits, batch), batch.targets != IGNORED
        examples, symbols = examples + len(hits), symbols + int(asked.sum())
        right, correct = right + int(hits.all(-1).sum()), correct + int((hits & asked).sum())
        loss += float(compute_loss(logits, batch).double() * asked.sum())
    return Score(
        settings.lengths[index],
        extension,
        exact=right / examples,
        symbols=correct / symbols,
        loss=loss / symbols,
    )


def save_checkpoint(state: State, path: Path) -> None:
    """Write where a run is; whoever kills it meanwhile leaves the file of before."""
    data = {
        "versions": read_versions(),
        "model": state.model.state_dict(),
        "optimiser": state.optimiser.state_dict(),
        "curve": [(point.step, point.loss, point.exact) for point in state.curve],
        "rest": (state.step, state.total, state.counted, state.seconds, state.done),
    }
    packed = io.BytesIO()
    torch.save(data, packed)  # not to the file: of a full disk it says nothing but where it was
    whole = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        whole.write_bytes(packed.getbuffer())
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)  # of a disk that is full


def load_checkpoint(state: State, path: Path) -> None:
    """Go on where `save_checkpoint` was, unless other programs had written it."""
    data: dict[str, Any] = torch.load(path, weights_only=True)
    if data["versions"] != read_versions():
        return
    state.model.load_state_dict(data["model"])
    state.optimiser.load_state_dict(data["optimiser"])
    state.curve = [Point(*point) for point in data["curve"]]
    state.step, state.total, state.counted, state.seconds, state.done = data["rest"]


@contextmanager
def one_thread() -> Generator[None]:
    """One thread for PyTorch: sums over several depend on how many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
