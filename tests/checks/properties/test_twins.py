"""Twins: an instance that is served the table of another."""

import dataclasses
from dataclasses import dataclass

import numpy as np

import posenc as pe
from posenc.checks.properties.twins import shares_cache
from posenc.checks.subject import Subject
from tests.mutants.encodings import BaseMissingFromKey, Turned
from tests.patient import check


def test_a_field_that_changes_nothing_is_no_stale_cache():
    @dataclass(frozen=True)
    class WithRate(Turned):
        dropout_rate: float = 0.1

    assert check(WithRate()).failed == ()


def test_a_table_kept_by_too_little_is_found():
    """The same rows here, and others in a process of its own."""
    p = np.arange(4)
    before = Subject(BaseMissingFromKey()).rows(p)
    other = dataclasses.replace(BaseMissingFromKey(), base=500.0)
    assert shares_cache(other, p, before, seed=0)


def test_an_equal_table_is_no_stale_one():
    p = np.arange(4)
    rope, wider = pe.RoPE(8), pe.RoPE(8, pairing="halves")
    assert not shares_cache(wider, p, Subject(rope).rows(p), seed=0)
    assert not shares_cache(rope, p, Subject(rope).rows(p), seed=0)
