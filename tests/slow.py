"""Cases that `make test` leaves to `make test-slow`: they repeat what others hold, or take long."""

from itertools import product

import pytest


def slow(*cases):
    """These cases, of `make test-slow` only; a tuple has a value for each argument."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]


def seldom(cases, *, but):
    """All cases in their order; `make test` has those in `but`."""
    return [case if case in but else slow(case)[0] for case in cases]


def in_turn(*axes, of):
    """All combinations; `make test` has one of `of` with each of the axes', taken in turn."""
    return [
        (*each, last) if at % len(of) == number % len(of) else slow((*each, last))[0]
        for number, each in enumerate(product(*axes))
        for at, last in enumerate(of)
    ]
