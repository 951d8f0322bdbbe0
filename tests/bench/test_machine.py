"""The machine that was measured on, and what others did there."""

import sys
import time

import pytest

from posenc.bench import machine
from posenc.bench.machine import Watch, describe_machine, is_busy
from tests.bench.regress import name_class
from tests.bench.test_timing import set_machine


def test_a_machine_is_named():
    told = describe_machine()
    assert told["cpu"]
    assert name_class(told).startswith(f"{told['cpu']} ({told['simd']}), {told['threads']} threads")
    assert "active" in told["kernels"]


def test_a_patch_of_pytorch_is_the_same_class_and_a_thread_more_is_not():
    told = {"cpu": "x", "simd": "AVX2", "threads": 2, "torch": "2.13.0+cpu", "kernels": "active"}
    assert name_class(told) == name_class(told | {"torch": "2.13.1"})
    for other in ({"threads": 3}, {"torch": "2.14.0"}, {"kernels": "not active"}, {"cpu": "y"}):
        assert name_class(told) != name_class(told | other)


def test_what_others_use_is_what_is_left_of_the_busy_time(monkeypatch):
    readings = iter([(10.0, 100.0, 7.0), (12.0, 103.5, 8.0)])
    monkeypatch.setattr(Watch, "_read", staticmethod(lambda: next(readings)))
    assert Watch().others() == pytest.approx((3.5 - 1.0) / 2.0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/stat")
def test_our_own_work_is_not_that_of_others():
    first = Watch._read()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    last = Watch._read()
    # the kernel rounds the seconds of the user and of the system down to a tick of 10 ms
    assert last[2] - first[2] >= 0.2 - 2 * 0.01 - 1e-9
    assert last[1] - first[1] >= 0.1  # ticks of 10 ms on each core


def test_a_system_that_does_not_tell_is_not_called_busy(monkeypatch):
    monkeypatch.setattr(Watch, "_read", staticmethod(lambda: None))
    assert Watch().others() is None
    assert is_busy(None) is False


@pytest.mark.parametrize(("others", "busy"), [(1.0, False), (1.01, True)])
def test_busy_is_more_than_half_of_the_cores(monkeypatch, others, busy):
    set_machine(monkeypatch, 0.0)
    assert machine.is_busy(others) is busy
