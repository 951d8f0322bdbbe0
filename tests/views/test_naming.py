"""Short names of encodings for titles."""

import pytest

import posenc as pe
from posenc.views.naming import LONGEST, short_name

FACTORS = tuple(1.0 + i / 7 for i in range(32))


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        (pe.RoPE(64, base=500_000.0), "RoPE(64, base=500000)"),
        (pe.RoPE(64, base=2.5), "RoPE(64, base=2.5)"),
        (pe.SwinBias(3, (7, 7)), "SwinBias(3, (7, 7))"),
        (
            pe.RoPE(64, scaling=pe.LongRoPE(FACTORS, FACTORS, 4096)),
            "RoPE(64, scaling=LongRoPE(…, …, 4096))",
        ),
    ],
    ids=str,
)
def test_numbers_are_plain_and_long_tuples_are_left_out(encoding, name):
    assert short_name(encoding) == name


def test_a_name_has_an_end():
    encoding = pe.RoPE(64)
    for scale in range(1, 6):
        encoding = pe.Tempered(encoding, pe.LogN(1000 + scale))
    made = short_name(encoding)
    assert len(made) <= LONGEST
    assert made.endswith("…)")
