"""How a property is written down."""

import pytest

import posenc as pe
from posenc.checks.engine import Measurement, NotApplicableError
from posenc.checks.properties.claims import always, check, require_rotary, trait
from posenc.checks.subject import Subject


def test_a_measure_becomes_a_check_of_its_name():
    @check(claimed=trait("relative"), why="It shows.")
    def shown(subject, rng):
        """How much
        is shown.
        """
        return Measurement(1.0, 2.0)

    assert (shown.name, shown.what, shown.why) == ("shown", "How much is shown.", "It shows.")
    assert shown.claimed(pe.RoPE(8))
    assert not shown.claimed(pe.Sinusoidal(8))
    assert always(pe.NoPE())


def test_only_rotations_are_rotations():
    rope = pe.RoPE(8)
    assert require_rotary(Subject(rope)) == rope
    with pytest.raises(NotApplicableError, match="only rotations have it"):
        require_rotary(Subject(pe.ALiBi(2)))
