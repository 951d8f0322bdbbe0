"""Properties of logits: order, symmetry and decay, also where keys are hidden."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.checks import ALL
from posenc.checks.engine import run
from tests.checks.hiding import HiddenHead, Window
from tests.patient import LIMIT, check


def test_biases_that_hide_keys_are_sound():
    report = check(Window())
    assert report.failed == (), str(report)
    assert report["gradient"].verdict == "holds"
    assert report["relative"].verdict == "holds"


@pytest.mark.filterwarnings("error")
def test_a_head_that_hides_all_its_keys_is_left_out():
    report = check(HiddenHead())
    assert report.failed == (), str(report)
    assert report["ordered"].verdict == report["decays"].verdict == "holds"
    assert "nan" not in report["decays"].detail


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 14, 16])
@pytest.mark.parametrize("kernel", ["log", "power"])
def test_a_bias_may_fall_slowly(heads, kernel):
    """An exponent of 0.05, as KERPLE draws them: a fall of 0.6 r1 in 2^14 places."""
    decays = [each for each in ALL if each.name == "decays"]
    for seed in range(20):
        report = run(pe.KERPLE(heads, kernel=kernel), decays, seed=seed, limit=LIMIT)
        assert report.failed == (), str(report)


@pytest.mark.parametrize(
    ("features", "base", "claimed"),
    [
        (8, 1e4, False),
        (16, 1e4, False),
        (32, 1e4, True),
        (128, 1e4, True),
        (32, 1e3, False),
        (32, 5e5, False),
        (128, 10.0, True),
        (128, 1e6, True),
        (128, 2.0, False),
    ],
)
def test_a_sum_of_few_waves_comes_back(features, base, claimed):
    decays = [each for each in ALL if each.name == "decays"]
    encoding = pe.Sandwich(4, features=features, base=base)
    row = run(encoding, decays, limit=LIMIT).rows[0]
    assert row.verdict == ("holds" if claimed else "not claimed: does not hold"), row


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_the_slowest_kernel_decays(kernel):
    @dataclass(frozen=True)
    class Slowest(pe.KERPLE):
        def init(self, rng):
            return {name: np.full(self.heads, 0.01) for name in ("r1", "r2")}

    assert check(Slowest(2, kernel=kernel))["decays"].verdict == "holds"


def test_a_bias_that_hides_every_key_says_nothing_of_decay():
    @dataclass(frozen=True)
    class Blind(HiddenHead):
        def bias(self, q_pos, k_pos, params=None):
            return super().bias(q_pos, k_pos) - np.inf

    assert check(Blind())["decays"].verdict == "not applicable"
