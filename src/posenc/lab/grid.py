"""The grid of a command: a run for each seed, task and encoding, checked before any work."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from posenc.core import rules
from posenc.lab.batches import count_tokens, measure_sequence, measure_text
from posenc.lab.protocols import Protocol, find_protocol
from posenc.lab.settings import Lengths, Settings
from posenc.lab.subjects import find_encoding, hash_code, parse_subject
from posenc.lab.tasks import Task, TextTask, find_task


def plan(
    *,
    encodings: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    protocol: str = "own",
    seeds: int = 3,
    train_length: Lengths | int | None = None,
    test_lengths: Iterable[Lengths | int] | None = None,
    **settings: Any,
) -> list[Settings]:
    """The runs of a protocol, with whatever is given instead of its own; the first seed first.

    encodings      name, expression, file.py:Name, each perhaps with @offsets or @randomised
    tasks          names of tasks
    seeds          how many runs of each
    train_length   of a task with prompts: examples up to so long, or a range; of text: windows
    test_lengths   lengths or ranges
    settings       other fields of `Settings`

    >>> [(run.label, run.seed) for run in plan(protocol="quick", seeds=2)]
    [('learned@offsets', 0), ('rope', 0), ('learned@offsets', 1), ('rope', 1)]
    """
    chosen = find_protocol(protocol)
    rules.whole("seeds", seeds, least=1, most=1000)
    for name, given in (("encodings", encodings), ("tasks", tasks)):
        if given is not None and (isinstance(given, str) or not given):
            raise ValueError(f"{name} must be a list of at least one name; got {given!r}")
    lengths = {"train": train_length, "test": None if test_lengths is None else [*test_lengths]}
    first = [
        _settle(chosen, protocol, task, subject, lengths, settings)
        for task in (tasks or chosen.tasks)
        for subject in (encodings or chosen.tasks.get(task) or _any_encodings(chosen))
    ]
    runs = [replace(run, seed=seed) for seed in range(seeds) for run in first]
    for run in first:
        check_text(run)
        check_memory(run)
    return list(dict.fromkeys(runs))


def _any_encodings(protocol: Protocol) -> tuple[str, ...]:
    """The encodings of a protocol, for a task that is not its own."""
    return next(iter(protocol.tasks.values()))


def _settle(
    protocol: Protocol,
    name: str,
    task: str,
    subject: str,
    lengths: dict[str, Any],
    given: dict[str, Any],
) -> Settings:
    """The settings of one cell, once its encoding was found to fit."""
    kind, (what, policy) = find_task(task), parse_subject(subject)
    code = hash_code(what)
    fields = {**protocol.settings_of(task, subject), **given}
    fields |= {"protocol": name, "task": task, "encoding": what, "code": code}
    if lengths["train"] is not None:
        fields["train_lengths"] = _read_range(lengths["train"], kind, up_to=True)
    if lengths["test"] is not None:
        fields["test_lengths"] = tuple(_read_range(each, kind) for each in lengths["test"])
    if isinstance(kind, TextTask):
        fields |= {"metric": "loss", "stop": False, "causal": kind.causal}
        fields["train_lengths"] = (fields["train_lengths"][1],) * 2  # windows of one length
        fields["test_lengths"] = tuple((high, high) for _, high in fields["test_lengths"])
    if isinstance(kind, Task) and kind.distinct and "symbols" not in given:
        ranges = (fields["train_lengths"], *fields["test_lengths"])
        fields["symbols"] = max(fields.get("symbols", 0), *(high for _, high in ranges))
    fields["positions"] = policy or "consecutive"
    if policy != "randomised":
        fields.pop("limit", None)  # it says nothing of other positions, so it names no other run
    settings = Settings(**fields)
    if policy is None and protocol.offsets and find_encoding(settings).limit is not None:
        settings = replace(settings, positions="offsets")
    find_encoding(settings)
    return settings


def _read_range(lengths: Lengths | int, task: Task | TextTask, *, up_to: bool = False) -> Lengths:
    if not isinstance(lengths, int):
        return lengths
    return (min(task.least, lengths) if up_to and isinstance(task, Task) else lengths, lengths)


def parse_lengths(text: str) -> Lengths | int:
    """A length, or a range of them.

    >>> parse_lengths("64"), parse_lengths("51-100")
    (64, (51, 100))
    """
    low, dash, high = text.strip().partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()):
        raise ValueError(
            f"lengths must be numbers such as 64 or ranges such as 51-100; got {text!r}"
        )
    return (int(low), int(high)) if dash else int(low)


def check_text(settings: Settings) -> None:
    """Say that a window is longer than the text that there is."""
    if not isinstance(find_task(settings.task), TextTask):
        return
    longest, most = max(high for _, high in settings.lengths), measure_text(settings)
    if longest > most:
        raise ValueError(
            f"{settings.task} needs lengths of at most {most:,}, as many characters as the "
            f"model is tested on; got {longest}"
        )


def estimate_memory(settings: Settings) -> int:
    """About how many bytes a run needs: activations of a step, and logits of the longest test."""
    longest = max(measure_sequence(settings, high) for _, high in settings.lengths)
    trained = measure_sequence(settings, settings.train_lengths[1])
    width, tokens, heads = settings.width, count_tokens(settings), settings.heads
    step = settings.batch * trained * (settings.layers * 20 * width + 4 * tokens)
    step += settings.layers * settings.batch * heads * trained**2
    test = max(2**14, longest) * (20 * width + 3 * tokens) + 2 * heads * longest**2
    return 300_000_000 + 4 * max(step, test) + 16 * 12 * settings.layers * width**2


def check_memory(settings: Settings) -> None:
    """Say that a run needs more memory than the machine has left."""
    if "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    needed, most = estimate_memory(settings), max(free, total // 2)
    if needed > most:
        raise ValueError(
            f"{settings.task} with {settings.encoding} needs about {needed / 1e9:.1f} GB of "
            f"memory, and {most / 1e9:.1f} GB can be had; take a smaller batch or shorter lengths"
        )
