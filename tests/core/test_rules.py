"""Rules: a plain argument passes unchanged, or the error names it, the rule and the value."""

import numpy as np
import pytest

from posenc.core import rules
from posenc.i18n import translate


@pytest.mark.parametrize("value", [4, np.int8(4), np.uint64(4)])
def test_a_whole_number_of_any_type_is_an_int(value):
    made = rules.whole("n", value, least=4, most=4)
    assert (type(made), made) == (int, 4)


@pytest.mark.parametrize(
    ("bounds", "value", "message"),
    [
        ({}, 1.0, "n must be a whole number; got n=1.0"),
        ({}, True, "n must be a whole number; got n=True"),
        ({"least": 2}, 1, "n must be a whole number of at least 2; got n=1"),
        (
            {"least": 0, "most": 5000},
            5001,
            "n must be a whole number of at least 0 and at most 5,000; got n=5001",
        ),
    ],
)
def test_what_is_no_whole_number_within_the_bounds(bounds, value, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        rules.whole("n", value, **bounds)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, "1", None, 1j, False])
def test_what_is_no_finite_number(value):
    with pytest.raises((TypeError, ValueError), match=r"^x must be a finite number; got x="):
        rules.real("x", value)


def test_there_is_one_zero():
    """-0.0 == 0.0, but 1 / -0.0 and the repr of a value differ."""
    assert repr(rules.real("x", -0.0)) == "0.0"
    assert repr(rules.plain_value((np.float32(-0.0), np.int16(2)))) == "(0.0, 2)"


def test_the_name_of_an_entry_is_translated_and_the_argument_is_not():
    with pytest.raises(ValueError, match="each of lengths must be") as caught:
        rules.whole("each of lengths", -1, least=0)
    assert str(caught.value).startswith("each of lengths must be")
    said = translate(caught.value, "ja")
    assert "lengths" in said
    assert "each of" not in said


def test_missing_names_of_parameters_are_told_before_those_that_are_too_many():
    rules.known_params({"nonsense": 1}, "table")  # reading table raises the error
    with pytest.raises(ValueError, match=r"got \['nonsense'\] too$"):
        rules.known_params({"table": 0, "nonsense": 1}, "table")
    with pytest.raises(TypeError, match="params must be None, since nothing is learned; got 3"):
        rules.known_params(3)
