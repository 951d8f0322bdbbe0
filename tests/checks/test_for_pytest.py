"""The checks as tests of a suite."""

import os
import re
import subprocess
import sys

import pytest

import posenc as pe
from posenc.checks import ALL
from posenc.checks.for_pytest import parametrize_with_checks
from tests.mutants.encodings import MUTANTS
from tests.test_project import ROOT


@parametrize_with_checks([pe.RoPE(8), pe.ALiBi(2)])
def test_checks_run_one_by_one_in_a_suite(encoding, check):
    check(encoding)


def test_a_check_in_a_suite_fails_with_a_sentence():
    mark = parametrize_with_checks([MUTANTS["OffByOne"][0]])
    case = next(c for c in mark.args[1] if c.id.endswith("identity_at_zero"))
    with pytest.raises(
        AssertionError, match=r"claims identity_at_zero and fails: How far R\(0\) x"
    ):
        case.values[1](case.values[0])


def test_the_example_of_the_docs_runs_in_a_suite(tmp_path):
    text = (ROOT / "docs" / "checks.md").read_text()
    (example,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "@param" in b]
    example = example.replace("])\n", "], limit=300.0)\n")  # a busy machine may take its time
    assert "limit=300.0" in example
    (tmp_path / "test_mine.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # it needs none of ours
    )
    assert f"{2 * len(ALL)} passed" in done.stdout, done.stdout
