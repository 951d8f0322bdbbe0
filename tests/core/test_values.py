"""Values: frozen, equal by plain fields, with a repr that reads back."""

import dataclasses
from dataclasses import field

import numpy as np
import pytest

from posenc.core.values import UNSTATED, value


@value
class Stretch:
    """A value with every kind of field."""

    factor: float
    length: int = field(default=8, kw_only=True)
    order: tuple[int, ...] | None = field(default=None, kw_only=True)
    _half: float = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        if self.order is None:
            object.__setattr__(self, "order", tuple(range(self.length)))
        object.__setattr__(self, "_half", self.factor / 2)

    def computed_defaults(self):
        return {"order": tuple(range(self.length))}


def test_numbers_of_numpy_make_equal_values():
    assert Stretch(np.float64(2.5), length=np.int32(4)) == Stretch(2.5, length=4)
    assert hash(Stretch(np.int64(3))) == hash(Stretch(3))
    assert type(Stretch(1.0, order=(np.int8(1),)).order[0]) is int


def test_the_repr_leaves_out_defaults_also_those_that_are_computed():
    assert repr(Stretch(2)) == "Stretch(2)"
    assert repr(Stretch(2, length=3)) == "Stretch(2, length=3)"
    assert repr(Stretch(2, length=3, order=(2, 1, 0))) == "Stretch(2, length=3, order=(2, 1, 0))"


def test_fields_are_checked_after_they_are_plain_and_cannot_be_changed():
    assert type(Stretch(np.float32(1))._half) is float
    with pytest.raises(dataclasses.FrozenInstanceError):
        Stretch(1).factor = 2


def test_what_is_not_stated_is_none_and_no_default():
    class Base:
        size: int | None = UNSTATED

    @value
    class Sized(Base):
        size: int

    assert Base().size is None
    assert not hasattr(Base, "size")
    with pytest.raises(TypeError, match="size"):
        Sized()
