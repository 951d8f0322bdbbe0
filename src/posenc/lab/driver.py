"""The driver: what is left of a grid goes to an engine, and what comes back to the disk."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from posenc.lab.engines import Advance, Engine, Event
from posenc.lab.record import Failure, Record
from posenc.lab.settings import Settings
from posenc.lab.store import Store

Tell = Callable[["Progress", Event], None]
"""Told about each event, with how far the whole is."""


def estimate_work(settings: Settings) -> float:
    """How long a run takes, in units of its own: multiplications of its training."""
    length = sum(settings.train_lengths)  # a prompt and an answer of half of that each
    layer = 12 * settings.width**2 + 2 * length * settings.width
    return (
        settings.steps * settings.batch * length * (settings.layers * layer + 20 * settings.width)
    )


@dataclass
class Progress:
    """How far a grid is, and how long the rest takes.

    left    the work of each run that is not finished, by its key
    before  of runs that go on from a checkpoint, what had been done
    now     what is done of each run that is under way
    made    the work of runs that were finished since `began`
    """

    total: int
    done: int
    left: dict[str, float]
    began: float
    made: float = 0.0
    before: dict[str, float] = field(default_factory=dict[str, float])
    now: dict[str, float] = field(default_factory=dict[str, float])
    failed: int = 0

    @classmethod
    def of(cls, grid: Sequence[Settings], todo: Sequence[Settings]) -> "Progress":
        """Before anything was done."""
        work = {settings.key: estimate_work(settings) for settings in todo}
        return cls(len(grid), len(grid) - len(todo), work, time.monotonic())

    def note(self, event: Event) -> None:
        """Take an event into account."""
        if isinstance(event, Advance):
            if event.settings is not None:
                key = event.settings.key
                step = self.left[key] / event.settings.steps
                self.before.setdefault(key, (event.step - 1) * step)  # its first is told at once
                self.now[key] = event.step * step
            return
        key = event.settings.key
        self.now.pop(key, None)
        self.made += self.left.pop(key) - self.before.pop(key, 0.0)
        self.done += 1
        self.failed += isinstance(event, Failure)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at the speed so far; None before there is one."""
        made = self.made + sum(self.now.values()) - sum(self.before.values())
        seconds = time.monotonic() - self.began
        rest = sum(self.left.values()) - sum(self.now.values())
        return rest * seconds / made if made and seconds > 1 else None


def execute(
    grid: Sequence[Settings],
    store: Store,
    engine: Engine,
    *,
    processes: int | None = None,
    minutes: float | None = None,
    tell: Tell | None = None,
) -> bool:
    """Make the runs of a grid that are not on the disk yet, and write each when it is finished.

    processes   runs at once; None: as many as there are cores
    minutes     end after so long; what is unfinished goes on with the next call

    Returns whether all runs are there. Ctrl-C passes through; nothing that was finished is lost.
    """
    finished = store.list_finished()
    todo = [settings for settings in grid if settings.key not in finished]
    progress = Progress.of(grid, todo)
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    if not todo:
        return True
    with closing(engine(todo, store, processes=processes)) as events:
        for event in events:
            progress.note(event)
            if isinstance(event, Record | Failure):
                store.write(event)
            if tell is not None:
                tell(progress, event)
            if deadline is not None and time.monotonic() > deadline:
                break
    return progress.done == progress.total and not progress.failed


def format_seconds(seconds: float) -> str:
    """A time for people.

    >>> format_seconds(42.1), format_seconds(4000)
    ('42 s', '1 h 07 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"
