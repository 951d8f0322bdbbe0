"""Benchmarks whose errors were made up."""

import torch

from posenc.bench.case import Bound, Case, Entry, Setup


def entry(error, bound=1.0, **options):
    """One whose result is off by `error`."""
    pair = torch.tensor(error), torch.tensor(0.0)
    return Entry(lambda: None, lambda: [pair], Bound(bound), **options)


def case_of(**entries):
    named = {name.replace("_", " "): each for name, each in entries.items()}
    return Case("made-up", "group", "work", lambda request: Setup(named), quick=True)
