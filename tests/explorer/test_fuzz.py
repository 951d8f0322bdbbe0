"""Malformed requests: none is answered by a 5xx, shows a traceback, or takes long."""

import json
import random
import resource
import time
from collections import Counter

import pytest

from tests.explorer.asking import Client
from tests.explorer.malformed import drawn


def fuzzed(count: int, seed: int) -> tuple[Counter[int], float]:
    rng, client, statuses, slowest = random.Random(seed), Client(), Counter(), 0.0
    for number in range(count):
        asked = drawn(rng)
        start = time.process_time()
        answer = client.ask(
            asked.method, asked.path, asked.query, headers=asked.headers, body=asked.body
        )
        spent = time.process_time() - start
        slowest = max(slowest, spent)
        statuses[answer.status] += 1
        told = f"request {number} of seed {seed}: {asked}: {answer.status} {answer.body[:300]}"
        assert answer.status < 500 or (answer.status == 503 and asked.path == b"/"), told
        assert b"Traceback" not in answer.body, told
        assert b'File "' not in answer.body, told
        assert "content-security-policy" in answer.headers, told
        assert spent < 20, told
        if answer.status >= 400 and asked.method != "HEAD" and asked.path != b"/":
            assert set(json.loads(answer.body)["error"]) == {"message", "argument"}, told
        elif answer.headers["content-type"] == "application/json" and asked.method != "HEAD":
            json.loads(answer.body, parse_constant=no_number)
    client.close()
    return statuses, slowest


def no_number(name: str) -> None:
    pytest.fail(f"{name} is not JSON")


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_a_thousand_malformed_requests_are_refused_or_answered(fuzz_seed):
    statuses, _ = fuzzed(1_000, seed=fuzz_seed)
    assert statuses[200] > 100  # it does get through to what computes
    assert statuses[400] > 200


@pytest.mark.explorer_slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(1, 11))
def test_ten_thousand_malformed_requests_are_refused_or_answered(seed):
    before = peak()
    statuses, slowest = fuzzed(1_000, seed=seed)
    print(
        f"\nseed {seed}: {dict(statuses)}, slowest {slowest:.1f} s, peak {peak() / 2**20:.0f} MiB"
    )
    assert peak() - before < 2**30
