"""Faults are found by the check that should find them, with their numbers; sound code passes."""

import contextlib
import io

import pytest

from tests.peers.cases import CASES, report

pytestmark = pytest.mark.peers
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("name", BY_NAME)
def test_what_fails_is_what_is_at_fault(name):
    found = report(BY_NAME[name])
    assert found.failed == BY_NAME[name].failed, str(found)


@pytest.mark.parametrize(
    ("name", "check", "told"),
    [
        ("rotary-embedding-torch: rotary", "unique", "float16: 3,073, bfloat16: 769"),
        ("rotary-embedding-torch: rotary, one module in two dtypes", "stateless", "in 16 bits"),
        ("x-transformers: rotary", "castproof", "769 of 4,096"),
        ("positional-encodings: 1-D", "castproof", "769 of 4,096"),
        ("positional-encodings: 3-D, 8 channels", "every_axis", "blind to axes [2]"),
        ("keras-hub: sine, mixed_bfloat16", "unique", "as made: 769 of 4,096"),
        ("transformers: BLOOM's ALiBi, bfloat16", "unique", "as made: 1,161 of 4,096"),
        ("transformers: V-JEPA 2", "unique", "bfloat16: 769"),
    ],
)
def test_the_numbers_are_those_known(name, check, told):
    assert told in report(BY_NAME[name])[check].detail


@pytest.mark.parametrize(
    ("name", "check", "least", "most"),
    [
        ("transformers: V-JEPA 2", "norm_preserving", 0.1, 0.5),
        ("transformers: V-JEPA 2", "relative", 0.5, 2),
        ("transformers: Llama", "castproof", 0.3, 2),
        ("transformers: Llama", "exact", 1e-2, 0.2),  # at ten million
        ("transformers: BLOOM's ALiBi, bfloat16", "relative", 3e-3, 0.1),
    ],
)
def test_the_sizes_are_those_known(name, check, least, most):
    assert least < report(BY_NAME[name])[check].measured < most


def test_reproductions_have_five_lines():
    for case in CASES:
        if case.fault:
            assert len(case.fault.code.splitlines()) <= 5
            assert case.failed


def ran(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("rotary-embedding-torch: rotary", "769 of 4096 positions distinct\n"),
        ("keras-hub: sine, mixed_bfloat16", "769 of 4096 positions distinct\n"),
        ("positional-encodings: 3-D, 8 channels", "z tensor(0.)\n"),
        ("transformers: BLOOM's ALiBi, bfloat16", "747 of 4096 distinct"),
    ],
)
def test_reproductions_show_it(name, printed):
    assert printed in ran(BY_NAME[name].fault.code)
