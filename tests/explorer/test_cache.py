"""Concurrent callers share one computation, and the last results are kept within bounds."""

import threading
import time

import pytest

from posenc.explorer.cache import SharedCache
from posenc.explorer.parameters import RequestError


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_value_is_computed_once_for_many_callers():
    made, cache = [], SharedCache(4)

    def make():
        time.sleep(0.02)
        made.append(1)
        return 1

    threads = [threading.Thread(target=lambda: cache.get("a", make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_the_last_values_are_kept_within_bounds():
    cache = SharedCache(3, size=len, room=10)
    for key in "abc":
        cache.get(key, lambda: "xxxx")
    assert cache.get("c", lambda: "new") == "xxxx"
    assert cache.get("a", lambda: "new") == "new"  # there was no room for three
    assert cache.get("large", lambda: "x" * 11) == "x" * 11
    assert cache.get("large", lambda: "made anew") == "made anew"


def test_a_failure_is_not_kept():
    cache = SharedCache(3)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: 2) == 2


def asked_at_once(cache, make, count=3):
    """What so many threads get that ask for the same while the first makes it."""
    got, waiting, begun, release = [], [], threading.Event(), threading.Event()
    wait = cache._wait_for
    cache._wait_for = lambda *of: waiting.append(of) or wait(*of)

    def first():
        begun.set()
        release.wait()
        return make()

    def ask(make):
        try:
            got.append(cache.get("key", make))
        except Exception as error:
            got.append(error)

    threads = [threading.Thread(target=ask, args=(first,))]
    threads += [threading.Thread(target=ask, args=(make,)) for _ in range(count - 1)]
    threads[0].start()
    begun.wait()
    for thread in threads[1:]:
        thread.start()
    wait_until(lambda: len(waiting) == count - 1)
    release.set()
    for thread in threads:
        thread.join()
    return got


def test_waiters_receive_the_error_and_the_next_caller_tries_again():
    made, cache = [], SharedCache(4)

    def fail():
        made.append(1)
        raise ValueError("no")

    assert [str(error) for error in asked_at_once(cache, fail)] == ["no"] * 3
    assert len(made) == 1
    assert cache.get("key", lambda: "now") == "now"


def test_waiters_receive_a_value_too_large_to_keep():
    made, cache = [], SharedCache(4, size=len, room=2)
    assert asked_at_once(cache, lambda: made.append(1) or "large") == ["large"] * 3
    assert len(made) == 1


def test_waiters_do_not_wait_for_what_hangs():
    cache, begun, release = SharedCache(4, seconds=0.1), threading.Event(), threading.Event()

    def hang():
        begun.set()
        release.wait()
        return "late"

    thread = threading.Thread(target=cache.get, args=("key", hang))
    thread.start()
    begun.wait()
    for _ in range(3):  # also those who come after the time was up
        with pytest.raises(RequestError, match=r"this takes longer than 0.1 seconds") as refused:
            cache.get("key", lambda: pytest.fail("it is not made twice"))
        assert refused.value.status == 503
    assert cache.get("another", lambda: 1) == 1
    release.set()
    thread.join()
    assert cache.get("key", lambda: "anew") == "late"
